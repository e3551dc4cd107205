import type { Conduct } from './conduct-words.ts'
import type { Cue } from './cues.ts'
import { isSchema, type LooseSchema, property } from './json-schema.ts'
import type { PlayedAnswer } from './role.ts'

/** What clauses about a kind of words mostly say. */
const SAYS: Readonly<Partial<Record<Conduct, RegExp>>> = {
  threat: /threat|violence/i,
  hazard: /dangerous goods|weapon|crime/i,
  dehumanising: /liken|less than|demean|\bhate\b/i,
  coded: /slur|\bhate\b/i,
  exclusion: /exclu|belong|\bhate\b/i,
  stereotype: /stereotyp/i,
  insult: /abuse|harass|contempt/i,
  evasion: /systems|cyber/i,
}

/**
 * The clauses that an answer cites where it is asked for any: the first that says what the text's words do, else the first of all, with
 * the words where they stand in the text as they are on the list.
 */
export function citations(
  schema: LooseSchema,
  { outside, text, cues }: { outside: readonly string[]; text: string; cues: readonly Cue<Conduct>[] },
): PlayedAnswer {
  const items = property(schema, 'clauses')?.items
  const ids = isSchema(items) ? property(items, 'id')?.enum : undefined
  if (!Array.isArray(ids) || ids.length === 0) return {}
  const [cue] = cues
  const says = cue === undefined ? undefined : SAYS[cue.kind]
  let [id, found] = [ids[0], false]
  let within: unknown
  for (const line of outside.flatMap((part) => part.split('\n'))) {
    within = ids.find((one) => line.startsWith(`${String(one)} `)) ?? within
    if (found || within === undefined || says?.test(line) !== true) continue
    id = within
    found = true
  }
  const quote = cue !== undefined && text.toLowerCase().includes(cue.phrase) ? cue.phrase : ''
  return { clauses: [{ id, quote }] }
}

/** Shorter words are in too many texts. */
const FEWEST_LETTERS = 3
const QUOTED = /["“„]([^"“”„]+)["”“]/g

/**
 * The first clause that forbids and quotes words which stand in the text, and these as they stand there: of a policy's prose the
 * understudy understands no more. Null where there is none.
 */
export function forbiddenWords(
  schema: LooseSchema,
  { outside, text }: { outside: readonly string[]; text: string },
): { readonly id: string; readonly quote: string } | null {
  const items = property(schema, 'clauses')?.items
  const ids = isSchema(items) ? property(items, 'id')?.enum : undefined
  if (!Array.isArray(ids)) return null
  let within: string | undefined
  for (const line of outside.flatMap((part) => part.split('\n'))) {
    const heading = ids.find((one) => line === one || line.startsWith(`${String(one)} `))
    if (heading !== undefined) within = String(heading)
    else if (!line.startsWith('- ')) within = undefined
    if (within === undefined || line.startsWith('- does not cover: ')) continue
    for (const [, words = ''] of line.matchAll(QUOTED)) {
      const quote = wholeWordsIn(text, words.replace(/[\s.,!?]+$/, ''))
      if (quote !== null) return { id: within, quote }
    }
  }
  return null
}

function wholeWordsIn(text: string, words: string): string | null {
  if ([...words.matchAll(/\p{L}/gu)].length < FEWEST_LETTERS) return null
  const escaped = words.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
  return new RegExp(`(?<!\\p{L})${escaped}(?!\\p{L})`, 'iu').exec(text)?.[0] ?? null
}
