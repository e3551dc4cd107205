import { variableOf } from './variables.ts'

/** Settings of earlier versions, each with the one that decides in its place. */
const REPLACED: Readonly<Record<string, string>> = {
  'protocols.rumor.undisputed': 'protocols.rumor.debateWhen',
  'protocols.rumor.oneSided': 'protocols.rumor.debateWhen',
  'protocols.hate.unanimous': 'protocols.hate.debateWhen',
  'protocols.safety.furtherRounds': 'protocols.safety.debateWhen',
}
const PATHS = new Map(Object.entries(REPLACED))
const VARIABLES = new Map(
  Object.entries(REPLACED).map((pair) => pair.map((path) => variableOf(path.split('.'))) as [string, string]),
)

/** ` Set "debateWhen" instead.`, for the end of a sentence; empty where nothing took the place of this path or variable. */
export function insteadOf(name: string): string {
  const path = PATHS.get(name)
  const now = path === undefined ? VARIABLES.get(name) : path.slice(path.lastIndexOf('.') + 1)
  return now === undefined ? '' : ` Set "${now}" instead.`
}
