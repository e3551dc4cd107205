import type { Ruling } from '../../contracts/facts/verdict.ts'
import { weightedShare } from '../../record/drawn-rates.ts'
import type { RecordedCase } from './recorded-cases.ts'
import type { CaseReplay } from './replay-case.ts'
import type { LeftOutReason } from './replayable.ts'

/** A case that was replayed, and the chance with which it was drawn. */
export interface ReplayedCase {
  readonly of: RecordedCase
  readonly chance: number
  readonly replay: CaseReplay
}

/** A share of verdicts with its 95 % interval; weighted by the chances of a sample. */
export interface WhatIfShare {
  readonly share: number | null
  readonly interval: { readonly low: number; readonly high: number }
  /** Cases that it rests on, those of them that count for it, and how many equal draws would say as much. */
  readonly cases: number
  readonly hits: number
  readonly effective: number
}

/** What a verdict says, before or after. */
export type WhatIfSide = Pick<Ruling, 'label' | 'decidedBy' | 'rationale' | 'clauses'>

/** A verdict that would be another. */
export interface WhatIfFlip {
  readonly verdictId: string
  readonly subjectId: string
  readonly tenant: string
  readonly lang: string | null
  readonly words: string | null
  readonly chance: number
  readonly person: string | null
  readonly before: WhatIfSide
  readonly after: WhatIfSide
}

export interface WhatIfReport {
  readonly schema: 1
  readonly protocol: string
  /** What is tried, in words. */
  readonly tried: readonly string[]
  readonly since: string
  readonly until: string
  readonly cases: {
    readonly found: number
    readonly leftOut: Readonly<Partial<Record<LeftOutReason, number>>>
    readonly replayed: number
    /** Of these: without a new question, so that nothing had to be asked. */
    readonly unchanged: number
    /** Cases with new questions that were not drawn. */
    readonly notDrawn: number
  }
  readonly usd: {
    /** Of all cases, and of those that were drawn, as it was foretold; what their new questions cost by the bill, in this run and in earlier ones. */
    readonly all: number
    readonly drawn: number
    readonly bill: number
    /** Of a thousand verdicts, as they were and as they would be. */
    readonly perThousand: { readonly before: number | null; readonly after: number | null }
  }
  readonly flips: {
    readonly all: WhatIfShare
    readonly directions: readonly (WhatIfShare & { readonly from: string | null; readonly to: string | null })[]
    readonly labels: readonly (WhatIfShare & { readonly value: string | null })[]
    readonly languages: readonly (WhatIfShare & { readonly value: string | null })[]
    readonly tenants: readonly (WhatIfShare & { readonly value: string | null })[]
    /** Of all cases, those that flip and cite this clause, before or after. */
    readonly clauses: readonly (WhatIfShare & { readonly value: string | null })[]
  }
  /** Of the cases that people decided: how many verdicts have their label. */
  readonly people: { readonly before: WhatIfShare; readonly after: WhatIfShare }
  /** Up to 500 flips, those first on which people had decided, then the newest. */
  readonly posts: readonly WhatIfFlip[]
}

const MOST_POSTS = 500

/** What a run knows beside its replayed cases. */
export type WhatIfRun = Pick<WhatIfReport, 'protocol' | 'tried' | 'since' | 'until'> & {
  readonly found: number
  readonly leftOut: WhatIfReport['cases']['leftOut']
  readonly notDrawn: number
  readonly usd: Pick<WhatIfReport['usd'], 'all' | 'drawn' | 'bill'>
}

export function whatIfReport(
  { found, leftOut, notDrawn, usd, ...run }: WhatIfRun,
  cases: readonly ReplayedCase[],
): WhatIfReport {
  const flipped = cases.filter(isFlip)
  const clausesOf = ({ of, replay }: ReplayedCase) => [
    ...new Set([...(of.verdict.clauses ?? []), ...(replay.ruling.clauses ?? [])].map(({ id }) => id)),
  ]
  const decided = cases.filter(({ of }) => of.person !== null)
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
      clauses: [...new Set(flipped.flatMap(clausesOf))]
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
    before: side(verdict as WhatIfSide), // A machine's verdict: who decided it is one of those who rule.
    after: side(replay.ruling),
  }
}
