import type { z } from 'zod'
import type { Fence } from '../domain/fence.ts'
import type { Protocol } from '../engine/script.ts'
import { rumor } from './rumor/index.ts'

/** How a protocol is made of its settings and its prompt files. */
export interface ProtocolKind {
  readonly name: string
  /** Its switches, without `enabled`. */
  readonly settings: z.ZodObject
  make(parts: { settings: unknown; prompts: ReadonlyMap<string, string>; fence: Fence }): Protocol
}

/** All protocols. A new one is a folder beside `rumor/` and one line here. */
export const PROTOCOLS: readonly ProtocolKind[] = [rumor]
