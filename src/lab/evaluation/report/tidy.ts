import { entryOf } from '../../../contracts/facts/entry-of.ts'
import type { Evaluation } from '../evaluation.ts'
import type { TextTable } from './cells.ts'

/** A column of the tidy table: a value for each line, null where there is none. */
export interface TidyColumn {
  readonly name: string
  readonly type: 'STRING' | 'INT32' | 'DOUBLE'
  readonly data: readonly (string | number | null)[]
}

/**
 * Every judging as a line: item × row × repeat, on all data sets. One value a cell: of a row beside the table's own also the model, and
 * the settings file or preset; ratings are the people's means, scores the
 * verdict's, a column for each aspect.
 */
export function tidyColumns({ protocol, table }: Evaluation): TidyColumn[] {
  const lines = table.flatMap(({ row, data, variant = {}, outcomes }) =>
    outcomes.map((outcome) => ({ row, data, variant, outcome })),
  )
  const texts = (name: string, of: (line: (typeof lines)[number]) => string | null): TidyColumn => ({
    name,
    type: 'STRING',
    data: lines.map(of),
  })
  const numbers = (
    name: string,
    of: (line: (typeof lines)[number]) => number | null | undefined,
    type: 'INT32' | 'DOUBLE' = 'DOUBLE',
  ): TidyColumn => ({ name, type, data: lines.map((line) => of(line) ?? null) })
  const aspects = [...new Set(lines.flatMap(({ outcome }) => Object.keys(outcome.ratings ?? {})))].sort()
  return [
    texts('protocol', () => protocol),
    texts('data', ({ data }) => data),
    texts('row', ({ row }) => row),
    texts('model', ({ variant: { model = null } }) => model),
    texts('settings', ({ variant: { settings, preset = null } }) => settings ?? preset),
    numbers('repeat', ({ outcome: { repeat = 1 } }) => repeat, 'INT32'),
    texts('item', ({ outcome }) => outcome.id),
    texts('unit', ({ outcome }) => outcome.unit),
    texts('gold', ({ outcome }) => outcome.gold),
    texts('label', ({ outcome }) => outcome.label),
    numbers('confidence', ({ outcome }) => outcome.confidence),
    numbers('calls', ({ outcome }) => outcome.usage.calls, 'INT32'),
    numbers('tokens', ({ outcome }) => outcome.usage.tokens, 'INT32'),
    numbers('usd', ({ outcome }) => outcome.usage.costUsd),
    ...aspects.map((aspect) =>
      numbers(`rating_${aspect}`, ({ outcome: { ratings = {} } }) => entryOf(ratings, aspect)),
    ),
    ...aspects.map((aspect) => numbers(`score_${aspect}`, ({ outcome: { scores } }) => entryOf(scores, aspect))),
  ]
}

/** The columns as a table of texts, for CSV. */
export function tidyTable(columns: readonly TidyColumn[]): TextTable {
  const [first] = columns
  return {
    head: columns.map(({ name }) => name),
    rows: (first?.data ?? []).map((_, at) => columns.map(({ data }) => String(data[at] ?? ''))),
  }
}
