import type { DebateEffect } from '../debate-effects.ts'
import type { Evaluation } from '../evaluation.ts'
import type { TextTable } from './cells.ts'

export const DEBATE_HEADING = 'What the debates changed'
export const DEBATE_NOTE =
  'Before a debate stand the majority of the perspectives (hate), the first opinions, or where they differ the larger side (rumor), the mean of the first scores (safety). Repaired: wrong before and right after; broken: the reverse. Calls and US dollars are of all that was asked after the answer before.'

/** What debates did to the answers before them, by row and cause; null where no row has debates. */
export function debateTable({ table, data }: Pick<Evaluation, 'table' | 'data'>): TextTable | null {
  const many = data.length > 1
  const rows = table.flatMap(({ row, data: name, debates = [] }) =>
    debates.map((effect) => [row, ...(many ? [name] : []), ...figuresOf(effect)]),
  )
  if (rows.length === 0) return null
  const unchanged = ['right before and after', 'wrong before and after']
  const undecided = ['undecided before', 'undecided after']
  const head = ['cause', 'items', 'repaired', 'broken', ...unchanged, ...undecided, 'calls', 'USD', 'USD a repair']
  return { head: ['row', ...(many ? ['data'] : []), ...head], rows }
}

function figuresOf({
  cause,
  items,
  repaired,
  broken,
  unchanged,
  undecided,
  usage,
  usdPerRepair,
}: DebateEffect): string[] {
  const counts = [
    items,
    repaired,
    broken,
    unchanged.right,
    unchanged.wrong,
    undecided.before,
    undecided.after,
    usage.calls,
  ]
  return [cause, ...counts.map(String), usage.costUsd.toFixed(6), usdPerRepair === null ? '–' : usdPerRepair.toFixed(6)]
}
