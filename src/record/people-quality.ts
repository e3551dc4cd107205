import type { PersonQuality } from '../contracts/ports/review.ts'
import { GOLDEN_ANSWER, GOLDEN_KEY, GOLDEN_UNSEEN, OPINION, OPINION_SIGHTED, OPINION_UNSEEN } from './opinion-code.ts'

/** What a person said of a subject, as any store has it. */
export interface PersonNoteRow {
  readonly s: number
  readonly protocol: string
  readonly by: string
  readonly at: number
  /** null: they withdrew a verdict. */
  readonly label: string | null
  /** The revision that they saw. */
  readonly against: number | null
  /** By `opinionCode`. */
  readonly opinion: number | null
  /** How long they had it before them. */
  readonly seconds: number | null
}

/** A person's verdict. */
export interface HumanRow {
  readonly s: number
  readonly protocol: string
  readonly number: number
  readonly label: string | null
  readonly decider: string | null
  readonly standing: number
}

/** What people said since a time, as both databases are asked for it; of some tenants' subjects by {@link peopleQuery}. */
const SAID_SINCE = "said.said = 'decision' AND said.at >= ?"

/** The same of subjects of these tenants; the time is the first value. */
export function peopleQuery(tenants: readonly string[] | undefined) {
  const isSeen =
    tenants === undefined
      ? '1 = 1'
      : `(SELECT tenant FROM subjects WHERE subjects.s = said.s) IN (${['NULL', ...tenants.map(() => '?')].join(', ')})`
  return { sql: `${SAID_SINCE} AND ${isSeen}`, values: tenants ?? [] }
}

/** Most that people said which is counted, the newest. */
export const MOST_SAID = 20_000

/** Of fewer than this no share is told: it would speak of single items. */
export const FEWEST_TOLD = 10

/**
 * How people decided from the time of the first row until `until`; of their decisions those that took effect. `said` goes on to the
 * present: what was decided then may have been overturned since.
 */
export function qualityOf(
  said: readonly PersonNoteRow[],
  verdicts: readonly HumanRow[],
  until: number,
): PersonQuality[] {
  const verdictsOf = Map.groupBy(verdicts, ({ s }) => s)
  const people = new Map<string, Counted>()
  const of = (by: string) => {
    const known = people.get(by) ?? { decided: new Set(), overturned: 0, opinions: 0, blind: [], golden: [], times: [] }
    people.set(by, known)
    return known
  }
  const lastOpinions = new Map<string, { one: PersonNoteRow; verdict: HumanRow }>()
  for (const [s, protocol, notes] of bySubject(said)) {
    const own = (verdictsOf.get(s) ?? [])
      .filter((one) => one.protocol === protocol)
      .sort((one, other) => one.number - other.number)
    for (const one of notes) {
      if (one.label === null || one.at >= until || NOTHING.includes(one.opinion)) continue
      if (one.seconds !== null) of(one.by).times.push(one.seconds)
      if (one.opinion === OPINION || one.opinion === GOLDEN_ANSWER) {
        const verdict = own.find(({ number, decider }) => number === one.against && decider !== one.by)
        // By a key that was wrong nobody is measured, whoever found that.
        if (verdict === undefined || (one.opinion === GOLDEN_ANSWER && isOverturned(verdict, own, notes, null)))
          continue
        lastOpinions.set(JSON.stringify([s, protocol, verdict.number, one.by]), { one, verdict })
        continue
      }
      const made = own.find(
        ({ number, decider, label }) => number > (one.against ?? 0) && decider === one.by && label === one.label,
      )
      const { decided } = of(one.by)
      if (made === undefined || decided.has(made) || isTakenBack(made, own, notes)) continue
      decided.add(made)
      of(one.by).overturned += Number(isOverturned(made, own, notes, made.decider))
    }
  }
  for (const { one, verdict } of lastOpinions.values()) {
    if (one.opinion === GOLDEN_ANSWER) {
      of(one.by).golden.push(one.label === verdict.label)
      continue
    }
    of(one.by).opinions++
    // Who of the two was wrong is not known: it counts for both.
    for (const by of [one.by, verdict.decider ?? '']) of(by).blind.push(one.label === verdict.label)
  }
  const told = (times: number, among: number) => (among < FEWEST_TOLD ? null : { times, of: among })
  const agreeing = (all: readonly boolean[]) => told(all.filter((agrees) => agrees).length, all.length)
  return [...people]
    .filter(
      ([, { decided, opinions, blind, golden }]) =>
        decided.size + opinions + golden.length > 0 || blind.length >= FEWEST_TOLD,
    )
    .map(([by, { decided, overturned, opinions, blind, golden, times }]) => ({
      by,
      decisions: decided.size,
      opinions,
      blindAgreement: agreeing(blind),
      golden: agreeing(golden),
      seconds: times.length < FEWEST_TOLD ? null : median(times),
      overturned: told(overturned, decided.size),
    }))
    .toSorted((a, b) => b.decisions - a.decisions || (a.by < b.by ? -1 : 1))
}

/** What tells nothing of how somebody decides. */
const NOTHING: readonly (number | null)[] = [GOLDEN_KEY, GOLDEN_UNSEEN, OPINION_UNSEEN, OPINION_SIGHTED]

interface Counted {
  readonly decided: Set<HumanRow>
  overturned: number
  opinions: number
  /** Whether second opinions, given and received, and answers to golden items have the same label. */
  readonly blind: boolean[]
  readonly golden: boolean[]
  readonly times: number[]
}

function median(values: readonly number[]): number {
  const inOrder = values.toSorted((a, b) => a - b)
  const [low, high] = [inOrder[(values.length - 1) >> 1] ?? 0, inOrder[values.length >> 1] ?? 0]
  return (low + high) / 2
}

/** By subject and protocol; numbers are grouped in far less time than texts. */
function* bySubject(said: readonly PersonNoteRow[]): Generator<[s: number, protocol: string, notes: PersonNoteRow[]]> {
  for (const [s, all] of Map.groupBy(said, (one) => one.s)) {
    const [first, ...others] = all
    if (first !== undefined && others.length === 0) yield [s, first.protocol, all]
    else for (const [protocol, notes] of Map.groupBy(all, (one) => one.protocol)) yield [s, protocol, notes]
  }
}

/**
 * Whether who decided it withdrew it themselves: then it counts as little as a slip of a key. A withdrawal that came too late, after
 * another person's decision, took nothing back.
 */
function isTakenBack(
  { number, decider, standing }: HumanRow,
  verdicts: readonly HumanRow[],
  said: readonly PersonNoteRow[],
): boolean {
  return (
    standing === 0 &&
    !verdicts.some((next) => next.number === number + 1) &&
    said.some(({ label, opinion, against, by }) => label === null && !opinion && against === number && by === decider)
  )
}

/** Whether it was given another label, or withdrawn, by anybody but this person. */
function isOverturned(
  made: HumanRow,
  verdicts: readonly HumanRow[],
  said: readonly PersonNoteRow[],
  but: string | null,
): boolean {
  const next = verdicts.find(({ number }) => number > made.number)
  if (next !== undefined && next.decider !== but && next.label !== made.label) return true
  const isWithdrawn = said.some(
    ({ label, opinion, against, by }) => label === null && opinion !== 1 && against === made.number && by !== but,
  )
  return isWithdrawn && made.standing === 0
}
