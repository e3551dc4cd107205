import type { WhatIfFlip, WhatIfReport, WhatIfShare, WhatIfSide } from '../../contracts/facts/what-if-report.ts'
import type { CaseReplay } from '../../judging/recorded/replay-recorded.ts'
import { weightedShare } from '../../record/drawn-rates.ts'
import type { RecordedCase } from '../../record/recorded-cases.ts'

/** A case that was replayed, and the chance with which it was drawn. */
export interface ReplayedCase {
  readonly of: RecordedCase
  readonly chance: number
  readonly replay: CaseReplay
}

/** By the hash of the policy that is live, the ids of clauses that the tried one has changed. */
export type ChangedClauses = ReadonlyMap<string, ReadonlySet<string>>

const MOST_POSTS = 500

/** What a run knows beside its replayed cases. */
export type WhatIfRun = Pick<WhatIfReport, 'protocol' | 'tried' | 'since' | 'until'> & {
  readonly found: number
  readonly leftOut: WhatIfReport['cases']['leftOut']
  readonly notDrawn: number
  readonly usd: Pick<WhatIfReport['usd'], 'all' | 'drawn' | 'bill'>
  /** Null: more than clauses that forbid is tried. */
  readonly changed: ChangedClauses | null
}

export function whatIfReport(
  { found, leftOut, notDrawn, usd, changed, ...run }: WhatIfRun,
  cases: readonly ReplayedCase[],
): WhatIfReport {
  const flipped = cases.filter(isFlip)
  const clausesOf = ({ of, replay }: ReplayedCase) => [
    ...new Set([...(of.verdict.clauses ?? []), ...(replay.ruling.clauses ?? [])].map(({ id }) => id)),
  ]
  const decided = cases.filter(({ of }) => of.person !== null)
  const tried = [...new Set([...(changed?.values() ?? [])].flatMap((ids) => [...ids]))]
  const citesChange = (one: ReplayedCase) => {
    const ids = changed?.get(one.of.verdict.policy?.hash ?? '')
    return clausesOf(one).some((id) => ids?.has(id) ?? false)
  }
  // Of a case that was judged by an older policy nobody knows what has changed since.
  const isKnown = changed !== null && flipped.every(({ of }) => changed.has(of.verdict.policy?.hash ?? ''))
  return {
    schema: 1,
    ...run,
    cases: {
      found,
      leftOut,
      replayed: cases.length,
      unchanged: cases.filter(({ replay }) => replay.newQuestions === 0).length,
      notDrawn,
    },
    usd: {
      ...usd,
      perThousand: {
        before: perThousand(cases, ({ of }) => of.verdict.usage.costUsd),
        after: perThousand(cases, ({ replay }) => replay.usage.costUsd),
      },
    },
    flips: {
      all: shareOf(cases, isFlip),
      directions: directionsOf(flipped).map(({ from, to }) => ({
        from,
        to,
        ...shareOf(cases, (one) => isFlip(one) && one.of.verdict.label === from && one.replay.ruling.label === to),
      })),
      labels: byPart(cases, ({ of }) => of.verdict.label),
      languages: byPart(cases, ({ of }) => of.lang),
      tenants: byPart(cases, ({ of }) => of.verdict.tenant),
      ...(isKnown ? { byChange: { clauses: tried, ...shareOf(cases, (one) => isFlip(one) && citesChange(one)) } } : {}),
      clauses: [...new Set([...flipped.flatMap(clausesOf), ...tried])]
        .sort()
        .map((value) => ({ value, ...shareOf(cases, (one) => isFlip(one) && clausesOf(one).includes(value)) })),
    },
    people: {
      before: shareOf(decided, ({ of }) => of.verdict.label === of.person),
      after: shareOf(decided, ({ of, replay }) => replay.ruling.label === of.person),
    },
    posts: flipped
      .toSorted((one, other) => Number(other.of.person !== null) - Number(one.of.person !== null))
      .slice(0, MOST_POSTS)
      .map(flipOf),
  }
}

function isFlip({ of, replay }: ReplayedCase): boolean {
  return of.verdict.label !== replay.ruling.label
}

function shareOf(cases: readonly ReplayedCase[], isHit: (one: ReplayedCase) => boolean): WhatIfShare {
  const results = cases.map((one) => ({ weight: 1 / one.chance, isHit: isHit(one) }))
  return { ...weightedShare(results), cases: cases.length, hits: results.filter((one) => one.isHit).length }
}

/** Of the cases of each part, how many flip; the largest part first. */
function byPart(cases: readonly ReplayedCase[], partOf: (one: ReplayedCase) => string | null) {
  return [...Map.groupBy(cases, partOf)]
    .map(([value, own]) => ({ value, ...shareOf(own, isFlip) }))
    .toSorted((one, other) => other.cases - one.cases)
}

function directionsOf(flipped: readonly ReplayedCase[]): { from: string | null; to: string | null }[] {
  const all = Map.groupBy(flipped, ({ of, replay }) => JSON.stringify([of.verdict.label, replay.ruling.label]))
  return [...all.values()]
    .toSorted((one, other) => other.length - one.length)
    .flatMap(([first]) =>
      first === undefined ? [] : [{ from: first.of.verdict.label, to: first.replay.ruling.label }],
    )
}

/** The weighted mean, a thousand times. */
function perThousand(cases: readonly ReplayedCase[], usdOf: (one: ReplayedCase) => number): number | null {
  const weight = cases.reduce((sum, { chance }) => sum + 1 / chance, 0)
  return weight === 0 ? null : (1000 * cases.reduce((sum, one) => sum + usdOf(one) / one.chance, 0)) / weight
}

function flipOf({ of, chance, replay }: ReplayedCase): WhatIfFlip {
  const { verdict, lang, words, person } = of
  const side = ({ label, decidedBy, rationale, clauses }: WhatIfSide): WhatIfSide => ({
    label,
    decidedBy,
    rationale,
    clauses,
  })
  return {
    verdictId: verdict.id,
    subjectId: verdict.subjectId,
    tenant: verdict.tenant,
    lang,
    words,
    chance,
    person,
    before: side(verdict),
    after: side(replay.ruling),
  }
}
