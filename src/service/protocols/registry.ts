import { z } from 'zod'
import * as all from './all.ts'
import type { ProtocolKind } from './kind.ts'

/** All protocols. A new one is a folder beside `rumor/` and one line in `all.ts`. */
export const PROTOCOLS: readonly ProtocolKind[] = Object.values<ProtocolKind>(all)

/** The settings' block `protocols`: the switches that each protocol brings, and whether it is on. */
export const protocolsSettings = z.strictObject(
  Object.fromEntries(
    PROTOCOLS.map(({ name, settings }) => [name, settings.extend({ enabled: z.boolean().default(true) }).prefault({})]),
  ),
)
