import type { ServerDialect } from './dialect.ts'
import { gateways } from './gateways.ts'
import { hosted } from './hosted.ts'
import { local } from './local.ts'
import { openai } from './openai.ts'

/** Every dialect by its name. */
export const DIALECTS = { ...openai, ...local, ...hosted, ...gateways } satisfies Readonly<
  Record<string, ServerDialect>
>

export type DialectName = keyof typeof DIALECTS

/** A dialect by its name, or a row of one's own. */
export function dialectOf(given: DialectName | ServerDialect): ServerDialect {
  return typeof given === 'string' ? DIALECTS[given] : given
}
