import type { Protocol } from '../../../judging/engine/script.ts'
import type { ProtocolKind } from '../../../protocols/kind.ts'
import type { RowPlan } from '../../evaluation/rows.ts'
import { CHAIN_OF_THOUGHT } from './evaluation.ts'

/** Which rows stand beside the protocol's own. */
export type ExtraRows = 'none' | 'baselines' | 'all' | 'thrifty' | 'gates'
export const BESIDE = ['none', 'baselines', 'all', 'thrifty', 'gates'] as const satisfies readonly ExtraRows[]

/** The subject that a protocol judges, and the form of its labels. */
export type Judges = Pick<Protocol, 'labels' | 'scales' | 'subject' | 'learns'>

/**
 * The rows of an evaluation: the protocol as it is set, what it must beat, with `all` the protocol without each of its parts, and
 * with `thrifty` that preset and each of its switches alone. With `gates` its ways to decide stand in its place.
 * A protocol that gives scores instead of labels has no baseline of one prompt.
 */
export function rowsBeside(kind: ProtocolKind, { labels, subject }: Judges, beside: ExtraRows): RowPlan[] {
  const whole: RowPlan = { name: kind.name, how: { by: 'protocol', switches: {} } }
  if (beside === 'none') return [whole]
  if (beside === 'gates') return gatesOf(kind, subject)
  const ablations = Object.entries(kind.ablations ?? {}).map(
    ([name, switches]): RowPlan => ({ name, how: { by: 'protocol', switches } }),
  )
  const savings: RowPlan[] = [
    { name: THRIFTY, how: { by: 'protocol', switches: { preset: 'thrifty' } } },
    ...Object.entries(kind.savings ?? {}).map(
      ([name, switches]): RowPlan => ({ name, how: { by: 'protocol', switches: { preset: 'none', ...switches } } }),
    ),
  ]
  if (beside === 'thrifty') return [whole, ...(labels.length === 0 ? [] : BASELINES), ...savings]
  return [
    whole,
    ...(labels.length === 0 ? [] : BASELINES),
    ...(subject === 'thread' ? [CROWD] : []),
    ...(beside === 'all' ? ablations : []),
  ]
}

/** Each way to decide, and what is printed beside them. Of a thread also what one prompt says that sees no comment: what is remembered. */
function gatesOf(
  { gates: { ways, beside } = { ways: {}, beside: {} } }: ProtocolKind,
  subject: Judges['subject'],
): RowPlan[] {
  const rows = Object.entries({ ...ways, ...beside }).map(
    ([name, switches]): RowPlan => ({ name, how: { by: 'protocol', switches: { preset: 'none', ...switches } } }),
  )
  const blind: RowPlan = {
    name: 'zero-shot without comments',
    how: { by: 'one-prompt', ask: 'zero-shot' },
    firstComments: 0,
  }
  return subject === 'thread' ? [...rows, blind] : rows
}

/** The row that saves all that can be saved: where it stands, the report has a cost curve. */
export const THRIFTY = 'thrifty'

const BASELINES: readonly RowPlan[] = [
  { name: 'zero-shot', how: { by: 'one-prompt', ask: 'zero-shot' } },
  { name: CHAIN_OF_THOUGHT, how: { by: 'one-prompt', ask: 'chain-of-thought' } },
  { name: 'self-consistency', how: { by: 'self-consistency', draws: 'as-many-tokens-as-the-first-row' } },
]

/** What the comments alone are worth, by people's labels of them. */
const CROWD: RowPlan = { name: 'gold stances', how: { by: 'gold-stances' } }
