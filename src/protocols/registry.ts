import * as all from './all.ts'
import type { ProtocolKind } from './kind.ts'

/** All protocols. A new one is a folder beside `rumor/` and one line in `all.ts`. */
export const PROTOCOLS: readonly ProtocolKind[] = Object.values<ProtocolKind>(all)
