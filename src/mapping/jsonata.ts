import { createRequire } from 'node:module'
import type jsonata from 'jsonata'
import { RE2JS } from 're2js'
import { entryOf } from '../contracts/facts/entry-of.ts'
import { MappingSettingFault, UnmappedRecord } from './faults.ts'
import type { SourceRecord } from './paths.ts'
import { timeOf } from './times.ts'

// Loaded only where a mapping is written in it: it is CommonJS of 300 kB.
const require = createRequire(import.meta.url)

/** Longest expression, in characters. */
const MOST_CHARS = 20_000
/** Most steps of one evaluation, deepest nesting of them, and most items of a list that it makes. */
const MOST = { steps: 200_000, stack: 300, sequence: 100_000 }
/** What gives another answer when a record is read again, or hides what it does until then. */
const REFUSED: ReadonlySet<unknown> = new Set(['eval', 'now', 'millis', 'random', 'shuffle'])
/** Of what the language calls by codes, what an operator can't look up by them. */
const WORDS: Readonly<Record<string, string>> = {
  D1011: `nests deeper than ${MOST.stack} steps`,
  D2014: `makes a list of more than ${MOST.sequence} items`,
  D2015: `makes a list of more than ${MOST.sequence} items`,
}

/** An expression, compiled. */
export interface JsonataExpression {
  /** What it makes of a record; undefined for nothing. It holds its process until then. */
  evaluate(record: SourceRecord): Promise<unknown>
  /** Whether this text stands in it. */
  names(text: string): boolean
}

/**
 * An expression in JSONata, compiled. Its steps, its nesting and its lists are bounded, its regular expressions RE2's. Throws a
 * `MappingSettingFault` where it is none, or calls what is refused.
 */
export function jsonataOf(text: string, at: readonly (string | number)[]): JsonataExpression {
  if (text.length > MOST_CHARS) throw new MappingSettingFault(at, `more than ${MOST_CHARS} characters`)
  const compile = require('jsonata') as typeof jsonata // as its own types say
  const expression = compiled(() => compile(text, { ...MOST, RegexEngine: LinearRegExp as never }), at) // exec is all that it uses
  const nodes = [...nodesOf(expression.ast())]
  for (const node of nodes) checkNode(node, at)
  const texts = new Set(nodes.filter(({ type }) => type === 'string').map(({ value }) => value))
  let steps = 0
  const count = () => {
    if (++steps > MOST.steps) throw new UnmappedRecord(`takes more than ${MOST.steps} steps`)
  }
  expression.assign(Symbol.for('jsonata.__evaluate_entry') as never, count) // its types know no symbols
  return {
    names: (name) => texts.has(name),
    async evaluate({ value, key, headers, timestamp }) {
      steps = 0
      try {
        return await expression.evaluate(value, { key: key ?? undefined, headers, time: timeOf(timestamp, 'ms') })
      } catch (error) {
        throw unmapped(error)
      }
    },
  }
}

function compiled<Made>(compile: () => Made, at: readonly (string | number)[]): Made {
  try {
    return compile()
  } catch (error) {
    const { message = String(error), position } = (error ?? {}) as Partial<jsonata.JsonataError> // what it throws is such an object
    throw new MappingSettingFault(
      at,
      `is no JSONata${position === undefined ? '' : ` at character ${position}`}: ${message}`,
    )
  }
}

interface SyntaxNode {
  readonly type?: unknown
  readonly value?: unknown
}

function checkNode({ type, value }: SyntaxNode, at: readonly (string | number)[]): void {
  if (type === 'variable' && REFUSED.has(value))
    throw new MappingSettingFault(
      at,
      `calls $${value}: what it makes would not be the same when a record is read again`,
    )
  if (type === 'regex') compiled(() => new LinearRegExp(value as RegExp), at) // as its parser makes it
}

/** All nodes of a syntax tree. */
function nodesOf(tree: unknown): Iterable<SyntaxNode> {
  const [known, open] = [new Set<object>(), [tree]]
  while (open.length > 0) {
    const node = open.pop()
    if (typeof node !== 'object' || node === null || known.has(node)) continue
    known.add(node)
    open.push(...Object.values(node))
  }
  return known
}

/** What an error of the language says. Its own words quote the record. */
function unmapped(error: unknown): UnmappedRecord {
  if (error instanceof UnmappedRecord) return error
  if (error instanceof RangeError) return new UnmappedRecord('nests too deep, or makes too long a text')
  const { code = '', position } = (error ?? {}) as Partial<jsonata.JsonataError> // what it throws is such an object
  const where = position === undefined ? '' : ` at character ${position}`
  return new UnmappedRecord(entryOf(WORDS, code) ?? `fails with ${code || 'an error'} of JSONata${where}`)
}

/** As much of a regular expression as JSONata uses, in a time in proportion to the text. */
class LinearRegExp {
  lastIndex = 0
  readonly #pattern: RE2JS

  constructor({ source, flags }: RegExp) {
    const own = (flags.includes('i') ? RE2JS.CASE_INSENSITIVE : 0) | (flags.includes('m') ? RE2JS.MULTILINE : 0)
    this.#pattern = RE2JS.compile(source, own)
  }

  exec(text: string): (Array<string | undefined> & { index: number }) | null {
    const matcher = this.#pattern.matcher(text)
    if (this.lastIndex > text.length || !matcher.find(this.lastIndex)) {
      this.lastIndex = 0
      return null
    }
    const groups = Array.from({ length: matcher.groupCount() + 1 }, (_, nth) => matcher.group(nth) ?? undefined)
    this.lastIndex = matcher.end()
    return Object.assign(groups, { index: matcher.start() })
  }
}
