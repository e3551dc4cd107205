import { scoreInterval } from './score-interval.ts'
import type { ThreadRef } from './thread.ts'

/** Whose word a verdict is held against: feedback, as a platform sends its own moderation, or a decision that is in force. */
export const WORD_SOURCES = ['feedback', 'decision'] as const
export type WordSource = (typeof WORD_SOURCES)[number]

/** Whether Gavel's label was shown to who gave their word. */
export const WORD_SIGHTS = ['blind', 'shown', 'unknown'] as const
export type WordSight = (typeof WORD_SIGHTS)[number]

/** Where a band of reach begins, in comments of the thread. */
export const REACH_BANDS = [0, 1, 10, 100, 1_000] as const

/** A machine's verdict beside people's word on the same subject. */
interface ComparedWords {
  readonly protocol: string
  /** null: the verdict has no label. */
  readonly machine: string | null
  readonly people: string
  readonly source: WordSource
  readonly seen: WordSight
  /** What the verdict cites, each with its policy's name before it. */
  readonly clauses: readonly string[]
  /** The beginning of its band. */
  readonly reach: number
  readonly lang: string | null
}

/** Verdicts that are alike in all of this. */
export interface ComparedGroup extends ComparedWords {
  /** The Monday of the week, by UTC, in which people gave their word: `2026-03-02`. */
  readonly week: string
  readonly count: number
}

/** One such verdict. */
export interface ComparedRuling extends ComparedWords {
  readonly verdict: string
  readonly subject: ThreadRef
  /** When people gave their word, ms since 1970. */
  readonly at: number
  /** Where it stands among all. */
  readonly place: string
}

/** Which verdicts are compared. */
export interface AgreementQuery {
  /** On which people gave their word at or after this time, ms since 1970. */
  readonly since: number
  readonly tenants?: readonly string[] | undefined
  readonly source?: WordSource | undefined
  readonly seen?: WordSight | undefined
}

/** Of a protocol's those of one figure. */
export interface ComparedQuery extends AgreementQuery {
  readonly protocol: string
  readonly part?: AgreementPart | undefined
  readonly value?: string | undefined
  /** People's label. */
  readonly people?: string | undefined
  /** The verdict's label; empty: those without one. */
  readonly machine?: string | undefined
  readonly agrees?: boolean | undefined
  /** Behind the one of this place. */
  readonly before?: string | undefined
}

/** By what verdicts are told apart; `label`: the verdict's own. */
export const AGREEMENT_PARTS = [
  'all',
  'label',
  'week',
  'label-language',
  'language',
  'clause',
  'reach',
  'seen',
  'source',
] as const
export type AgreementPart = (typeof AGREEMENT_PARTS)[number]

/** A value of `label-language`. */
function labelInLanguage(label: string, lang: string | null): string {
  return `${label}/${lang ?? ''}`
}

/** How often verdicts with a label have people's. */
export interface AgreementFigure {
  readonly protocol: string
  readonly part: AgreementPart
  readonly value: string
  readonly agreeing: number
  readonly of: number
  /** The 95 % interval of the share that agrees (Wilson 1927); null where nothing is compared. */
  readonly interval: { readonly low: number; readonly high: number } | null
  /** On which people gave their word, and which have no label. */
  readonly undecided: number
}

/** How often people and verdicts say this of the same. */
export interface ConfusionCell {
  readonly protocol: string
  readonly people: string
  readonly machine: string | null
  readonly count: number
}

/** Languages, clauses and labels of people that have figures of their own, the commonest; there is no end to what people write. */
const MOST_OWN = 100
/** The value of all others. */
export const OTHER_VALUES = '(others)'

/** The same groups, with one name for the values beyond the commonest. */
function withCommonest(groups: readonly ComparedGroup[]): readonly ComparedGroup[] {
  const rare = (valuesOf: (one: ComparedGroup) => readonly string[]) => {
    const counts = new Map<string, number>()
    for (const one of groups) for (const value of valuesOf(one)) counts.set(value, (counts.get(value) ?? 0) + one.count)
    if (counts.size <= MOST_OWN) return null
    const own = [...counts].toSorted(([, a], [, b]) => b - a).slice(0, MOST_OWN)
    const kept = new Set(own.map(([value]) => value))
    return (value: string) => (kept.has(value) ? value : OTHER_VALUES)
  }
  const [language, clause, label] = [
    rare(({ lang }) => [lang ?? '']),
    rare(({ clauses }) => clauses),
    rare(({ people }) => [people]),
  ]
  if (language === null && clause === null && label === null) return groups
  return groups.map((one) => ({
    ...one,
    lang: one.lang === null || language === null ? one.lang : language(one.lang),
    clauses: clause === null ? one.clauses : [...new Set(one.clauses.map(clause))],
    // What a verdict says is one of few, and stays comparable.
    people: label === null || one.people === one.machine ? one.people : label(one.people),
  }))
}

/** The figures of these groups, by protocol and part, the most frequent values first; and their confusion tables. */
export function agreementOfGroups(groups: readonly ComparedGroup[]): {
  readonly figures: readonly AgreementFigure[]
  readonly cells: readonly ConfusionCell[]
} {
  const sums = new Map<string, Sum>()
  const cells = new Map<string, ConfusionCell>()
  for (const one of withCommonest(groups)) {
    const { protocol, machine, people, count } = one
    for (const [part, value] of partsOf(one)) {
      const name = JSON.stringify([protocol, part, value])
      const sum = sums.get(name) ?? { protocol, part, value, agreeing: 0, of: 0, undecided: 0 }
      sums.set(name, sum)
      if (machine === null) sum.undecided += count
      else {
        sum.of += count
        if (machine === people) sum.agreeing += count
      }
    }
    const cell = JSON.stringify([protocol, people, machine])
    cells.set(cell, { protocol, people, machine, count: (cells.get(cell)?.count ?? 0) + count })
  }
  return {
    figures: [...sums.values()].toSorted(inOrder).map((sum) => ({
      ...sum,
      interval: sum.of === 0 ? null : scoreInterval(sum.agreeing / sum.of, sum.of),
    })),
    cells: [...cells.values()].toSorted((a, b) => (cellOrder(a) < cellOrder(b) ? -1 : 1)),
  }
}

interface Sum {
  readonly protocol: string
  readonly part: AgreementPart
  readonly value: string
  agreeing: number
  of: number
  undecided: number
}

function partsOf({ machine, lang, clauses, reach, seen, source, week }: ComparedGroup): [AgreementPart, string][] {
  const ofLabel: [AgreementPart, string][] =
    machine === null
      ? []
      : [
          ['label', machine],
          ['label-language', labelInLanguage(machine, lang)],
        ]
  return [
    ['all', ''],
    ...ofLabel,
    ['week', week],
    ['language', lang ?? ''],
    ...clauses.map((clause): [AgreementPart, string] => ['clause', clause]),
    ['reach', String(reach)],
    ['seen', seen],
    ['source', source],
  ]
}

function inOrder(a: Sum, b: Sum): number {
  if (a.protocol !== b.protocol) return a.protocol < b.protocol ? -1 : 1
  if (a.part !== b.part) return AGREEMENT_PARTS.indexOf(a.part) - AGREEMENT_PARTS.indexOf(b.part)
  if (a.part === 'reach') return Number(a.value) - Number(b.value)
  if (a.part === 'week') return a.value < b.value ? -1 : 1
  return b.of + b.undecided - (a.of + a.undecided) || (a.value < b.value ? -1 : 1)
}

function cellOrder({ protocol, people, machine }: ConfusionCell): string {
  return [protocol, people, machine ?? ''].join('\0')
}
