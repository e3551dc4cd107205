import type { DrawnRate } from '../../../contracts/ports/review.ts'
import type { Statement } from '../../../record/statement.ts'

/** An action as the report counts it. */
export interface ReportedAction {
  readonly action: string
  readonly tenant: string
  /** ms since 1970 */
  readonly at: number
  readonly isWithdrawn: boolean
  /** Whether it needs no statement. */
  readonly isExempt: boolean
  /** ms from when its post came until it was acted on; null where the record no longer has the post. */
  readonly after: number | null
  /** Null where it has none. */
  readonly statement: Statement | null
  /** Why it has none. */
  readonly why: string
}

/** An appeal as the report counts it. */
export interface ReportedAppeal {
  readonly appeal: string
  /** ms since 1970 */
  readonly at: number
  /** Who appealed; empty where that is not known. */
  readonly side: string
  readonly protocol: string
  /** `open` while it waits; `undone` where the answer was withdrawn. */
  readonly outcome: string
  /** As it was told, also where the answer was withdrawn; null while it waits. */
  readonly ended: string | null
  /** ms from when it came until a person answered; null where none did. */
  readonly after: number | null
}

/** A line of the report: one figure, what it is of, and its interval where it is an estimate. */
export type Figure = Readonly<Record<(typeof COLUMNS)[number], string>>
export const COLUMNS = [
  'indicator',
  'category',
  'decision',
  'ground',
  'source',
  'automated_detection',
  'automated_decision',
  'protocol',
  'label',
  'side',
  'outcome',
  'value',
  'low',
  'high',
  'of',
] as const

const NONE: Figure = {
  indicator: '',
  category: '',
  decision: '',
  ground: '',
  source: '',
  automated_detection: '',
  automated_decision: '',
  protocol: '',
  label: '',
  side: '',
  outcome: '',
  value: '',
  low: '',
  high: '',
  of: '',
}

/** What a row of the report counts, by its columns. */
export function rowOf({ statement }: ReportedAction): Partial<Figure> {
  if (statement === null) return { category: 'without a statement' }
  return {
    category: statement.category,
    decision: statement.decision,
    ground: statement.ground,
    source: statement.source,
    automated_detection: statement.automatedDetection,
    automated_decision: statement.automatedDecision,
    protocol: statement.found?.protocol ?? '',
    label: statement.found?.label ?? '',
  }
}

/** What a row of the report counts of an appeal. */
export const appealRowOf = ({ side, protocol, outcome }: ReportedAppeal): Partial<Figure> => ({
  protocol,
  side,
  outcome,
})

/** The figures of these appeals. */
export function appealFiguresOf(appeals: readonly ReportedAppeal[]): Figure[] {
  const groups = Map.groupBy(appeals, (one) => JSON.stringify(appealRowOf(one)))
  return [...groups.values()]
    .flatMap((of) => {
      const [first] = of
      const row = first === undefined ? {} : appealRowOf(first)
      return [
        figure({ ...row, indicator: 'appeals', value: String(of.length) }),
        ...medianOf('median_seconds_to_answer', row, of),
      ]
    })
    .sort(inOrder)
}

function medianOf(indicator: string, row: Partial<Figure>, of: readonly { readonly after: number | null }[]): Figure[] {
  const times = of.flatMap(({ after }) => after ?? []).sort((a, b) => a - b)
  const median = times[Math.floor((times.length - 1) / 2)]
  return median === undefined ? [] : [figure({ ...row, indicator, value: seconds(median), of: String(times.length) })]
}

/** The figures of these actions and draws. Each counts the rows with its words in the same columns. */
export function figuresOf(actions: readonly ReportedAction[], rates: readonly DrawnRate[]): Figure[] {
  const groups = Map.groupBy(actions, (one) => JSON.stringify(rowOf(one)))
  const counted = [...groups].flatMap(([key, of]) => {
    const row = JSON.parse(key) as Partial<Figure> // Written above.
    return [
      figure({ ...row, indicator: 'actions', value: String(of.length) }),
      figure({ ...row, indicator: 'actions_withdrawn', value: String(of.filter((one) => one.isWithdrawn).length) }),
      ...medianOf('median_seconds_to_act', row, of),
    ]
  })
  const wrong = rates
    .filter(({ purpose, part }) => purpose === 'audit' && part !== 'language')
    .map(({ protocol, value: label, share, interval, counted: of }) =>
      figure({
        indicator: 'error_rate_of_automated_means',
        protocol,
        label,
        value: share === null ? '' : String(share),
        low: String(interval.low),
        high: String(interval.high),
        of: String(of),
      }),
    )
  return [...counted.sort(inOrder), ...wrong]
}

const inOrder = (a: Figure, b: Figure) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)
const figure = (given: Partial<Figure>): Figure => ({ ...NONE, ...given })
const seconds = (ms: number) => String(Math.round(ms / 1_000))
