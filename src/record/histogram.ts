import type { HistogramBin, RecordFilter, RecordHistogram } from '../contracts/ports/record.ts'
import { conditionsOf } from './conditions.ts'

interface BinRow {
  readonly bin: number
  readonly label: string | null
  /** 1: of all labels; 2: of all time as well. */
  readonly every: number
  readonly verdicts: number
  readonly contested: number
  readonly subjects: number
}

/** The newest `most` verdicts that fit, counted by label and time, as both databases are asked. */
export function histogramQuery(
  filter: RecordFilter,
  { width, most }: { width: number; most: number },
  markOf?: (mark: string, value: string) => string,
) {
  const { sql: fits, values } = conditionsOf(filter, markOf)
  // The width stands in it as digits: SQLite takes a number that is handed in for a fraction.
  const sql = `WITH few AS (SELECT decided_at / ${Math.max(1, Math.floor(width))} AS bin, label, contested, s FROM rulings
      WHERE ${fits} ORDER BY doc DESC LIMIT ?)
    SELECT bin, label, 0 AS every, count(*) AS verdicts, 0 AS contested, 0 AS subjects FROM few GROUP BY bin, label
    UNION ALL SELECT bin, NULL, 1, count(*), sum(contested), count(DISTINCT s) FROM few GROUP BY bin
    UNION ALL SELECT 0, NULL, 2, count(*), 0, count(DISTINCT s) FROM few`
  return { sql, values: [...values, most] }
}

export function histogramOf(
  rows: readonly BinRow[],
  { width, most }: { width: number; most: number },
): RecordHistogram {
  const all = rows.filter(({ every }) => every === 1).toSorted((a, b) => a.bin - b.bin)
  const bins = all.map(
    ({ bin, verdicts, contested, subjects }): HistogramBin => ({
      at: bin * width,
      verdicts,
      subjects,
      contested,
      labels: rows
        .filter((row) => row.every === 0 && row.bin === bin)
        .map(({ label, verdicts: of }) => ({ label, verdicts: of })),
    }),
  )
  const whole = rows.find(({ every }) => every === 2)
  return { bins, subjects: whole?.subjects ?? 0, isCut: (whole?.verdicts ?? 0) >= most }
}
