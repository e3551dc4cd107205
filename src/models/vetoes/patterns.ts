import { readFile } from 'node:fs/promises'
import { setImmediate as others } from 'node:timers/promises'
import { RE2JS, RE2Set } from 're2js'
import { OperatorError } from '../../contracts/facts/errors.ts'

/** Most patterns of a list, and longest pattern, in characters: what they become takes memory. */
const MOST = { patterns: 10_000, characters: 1_000 }
/** Patterns that are looked for together; then other work has its turn. */
const TOGETHER = 50
/** Most memory that their automata take, in bytes: of a list, and of those that are looked for together. */
const MOST_MEMORY = { list: 2 ** 26, together: 2 ** 23 }
/** Longest name of an entry, in characters. */
const NAME_CHARS = 200

/** Regular expressions that take a time in proportion to the text, whatever it is (RE2). */
export interface PatternList {
  readonly entries: number
  /** The first of its patterns that matches one of the texts; null if none does. */
  find(texts: readonly string[]): Promise<string | null>
}

/** Reads a list of one pattern a line; empty lines and lines with # are passed over. Throws an `OperatorError`. */
export async function openPatterns(path: string): Promise<PatternList> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    throw new OperatorError(`the list ${path} can't be read: ${error instanceof Error ? error.message : error}`)
  }
  const lines = text.split(/\r?\n/).map((pattern, at) => ({ pattern, line: at + 1 }))
  const wanted = lines.filter(({ pattern }) => pattern.trim() !== '' && !pattern.startsWith('#'))
  if (wanted.length > MOST.patterns) throw new OperatorError(`${path} has more than ${MOST.patterns} patterns`)
  for (const { pattern, line } of wanted) {
    const why = whyNot(pattern)
    if (why !== null) throw new OperatorError(`${path}:${line} ${why}`)
  }
  return patternList(wanted.map(({ pattern }) => pattern))
}

function whyNot(pattern: string): string | null {
  if (pattern.length > MOST.characters) return `is longer than ${MOST.characters} characters`
  try {
    const compiled = RE2JS.compile(pattern)
    return compiled.matcher('').find() ? 'matches every text' : null
  } catch (error) {
    return `is no pattern of RE2: ${error instanceof Error ? error.message : error}`
  }
}

function patternList(patterns: readonly string[]): PatternList {
  const sets: { readonly set: RE2Set; readonly from: number }[] = []
  const memory = Math.min(MOST_MEMORY.together, (MOST_MEMORY.list * TOGETHER) / patterns.length)
  for (let from = 0; from < patterns.length; from += TOGETHER) {
    const set = new RE2Set(RE2Set.UNANCHORED, 0, memory)
    for (const pattern of patterns.slice(from, from + TOGETHER)) set.add(pattern)
    set.compile()
    sets.push({ set, from })
  }
  return {
    entries: patterns.length,
    async find(texts) {
      for (const text of texts)
        for (const { set, from } of sets) {
          const [first] = set.match(text).toSorted((one, other) => one - other)
          if (first !== undefined) return (patterns[from + first] ?? '').slice(0, NAME_CHARS)
          await others()
        }
      return null
    },
  }
}
