import { createHash } from 'node:crypto'
import { entryOf } from '../contracts/facts/entry-of.ts'
import type { Ruling } from '../contracts/facts/verdict.ts'
import { type Clause, policyText } from './policy-text.ts'
import { PUBLISHED_NAME } from './published-policy.ts'

/** A policy that people wrote, as it was read. */
export interface Policy {
  readonly name: string
  /** As its author numbers it; where nobody does, the beginning of its hash. */
  readonly version: string
  /** Of the file, as it stands. */
  readonly hash: string
  /** The tenant whose posts it is for; left out: for everybody without one of their own. */
  readonly tenant?: string | undefined
  readonly language?: string | undefined
  /** The protocols that it is for; left out: any. */
  readonly protocols?: readonly string[] | undefined
  /** Sections that are no clause, such as definitions: a line each, the heading first. */
  readonly general: readonly string[]
  readonly clauses: readonly Clause[]
  /** What was left out of the questions, since it tells a model how to answer: a line each. */
  readonly leftOut: readonly { readonly line: number; readonly what: string }[]
  /** Lines that look like the beginning of a clause, and are none. */
  readonly notClauses: readonly { readonly line: number; readonly what: string }[]
}

/** What a verdict says of its policy. */
export function nameOf({ name, version, hash }: Policy): NonNullable<Ruling['policy']> {
  return { name, version, hash }
}

/** The policy as questions show it. */
export function renderPolicy({ general, clauses }: Pick<Policy, 'general' | 'clauses'>): string {
  const [forbidding, allowing] = [clauses.filter(({ allows }) => !allows), clauses.filter(({ allows }) => allows)]
  return [
    ...general,
    'Clauses that forbid:',
    ...forbidding.flatMap(linesOf),
    ...(allowing.length === 0 ? [] : ['Clauses that allow:', ...allowing.flatMap(linesOf)]),
  ].join('\n')
}

function linesOf({ id, title, says, covers, excludes, examples }: Clause): string[] {
  const head = [[id, title].join(' ').trim(), says.join(' ')].filter((part) => part !== '').join('. ')
  const list = (what: string, points: readonly string[]) => points.map((point) => `- ${what}${point}`)
  return [head, ...list('', covers), ...list('does not cover: ', excludes), ...list('example: ', examples)]
}

/** Longest policy, in bytes: more than ten times what models follow well. */
export const MOST_POLICY_BYTES = 65_536
const MOST_CLAUSES = 200
const MOST_ID_CHARS = 32

/**
 * Reads a policy file. Throws one error that names every fault, one per line, each with the file's name and, where it has one, the
 * line: a file that is too long, front matter that can't be read, no clause that forbids, ids that are not ASCII, come twice or look
 * alike, a part of a clause that there is none of.
 */
export function readPolicy(file: string, source: string): Policy {
  if (Buffer.byteLength(source) > MOST_POLICY_BYTES)
    throw new Error(`${file}: has more than ${MOST_POLICY_BYTES} bytes`)
  const faults: string[] = []
  const fault = (line: number, why: string) => faults.push(`${file}:${line}: ${why}`)
  const { front, title, ...text } = policyText(source, fault)
  checkIds(text.clauses, fault)
  if (!text.clauses.some(({ allows }) => !allows))
    fault(1, 'no clause forbids anything: a clause is a heading that begins with its id, such as "## H1 Threats"')
  if (text.clauses.length > MOST_CLAUSES)
    fault(1, `has ${text.clauses.length} clauses; a policy may have ${MOST_CLAUSES}`)
  if (faults.length > 0) throw new Error(faults.join('\n'))
  const hash = createHash('sha256').update(source).digest('hex').slice(0, 16)
  const {
    name = title ?? file.replace(/^.*\//, '').replace(PUBLISHED_NAME, '').replace(/\.md$/, ''),
    version = hash.slice(0, 8),
    ...rest
  } = front
  return { ...rest, name, version, hash, ...text }
}

/** Characters that a reader may take for one another. */
const LOOK_ALIKE: Readonly<Record<string, string>> = { o: '0', i: '1', l: '1' }

function checkIds(clauses: readonly Clause[], fault: (line: number, why: string) => void): void {
  const known = new Map<string, Clause>()
  for (const clause of clauses) {
    const { id, line } = clause
    // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
    if (!/^[\u0000-\u007f]*$/.test(id)) {
      fault(
        line,
        `the id ${JSON.stringify(id)} has letters that only look like plain ones, or are none: use A to Z and digits`,
      )
      continue
    }
    if (id.length > MOST_ID_CHARS)
      fault(line, `the id ${id.slice(0, MOST_ID_CHARS)}… is longer than ${MOST_ID_CHARS} characters`)
    const look = id.toLowerCase().replace(/[oil]/g, (letter) => entryOf(LOOK_ALIKE, letter) ?? letter)
    const other = known.get(look)
    if (other !== undefined)
      fault(
        line,
        other.id === id
          ? `the id ${id} comes twice, first on line ${other.line}`
          : `the id ${id} looks like ${other.id} on line ${other.line}`,
      )
    known.set(look, other ?? clause)
  }
}
