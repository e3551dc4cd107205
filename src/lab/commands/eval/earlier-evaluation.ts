import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import { commentCounts } from '../../../contracts/facts/verdict.ts'
import { type Comparison, compare, type EvaluationRun } from '../../evaluation/against.ts'
import type { Counts, DataSet, Evaluation, EvaluationCell } from '../../evaluation/evaluation.ts'

const outcome = z.looseObject({
  id: z.string(),
  unit: z.string(),
  slices: z.record(z.string(), z.string()),
  gold: z.string().nullable(),
  label: z.string().nullable(),
  comments: commentCounts,
})

const counts = z.looseObject({
  items: z.number(),
  comments: z.number(),
  commentsJudged: z.number(),
  unreadable: z.number(),
  refused: z.number(),
  noVerdict: z.number(),
  commentsLeftOut: z.record(z.string(), z.number()),
})

/** As much of an evaluation as a comparison needs. */
const earlier = z.looseObject({
  schema: z.literal(1),
  protocol: z.string(),
  table: z.array(
    z.looseObject({
      row: z.string(),
      data: z.string(),
      why: z.string().nullable(),
      counts,
      outcomes: z.array(outcome),
    }),
  ),
})

/** An earlier evaluation, and the file that it was read from. */
export interface Baseline {
  readonly file: string
  readonly table: readonly EvaluationCell[]
}

/** What changed since the evaluation in a file, for the first row on each data set. */
export interface DataComparison {
  readonly data: string
  readonly comparison: Comparison
}

/**
 * Reads an earlier evaluation that was written as JSON. Throws an `OperatorError` where the file is none, or is of another
 * protocol, and where none of the labelled items that are to be judged is in it: a comparison of nothing would find no change.
 */
export async function readBaseline(file: string, protocol: string, sets: readonly DataSet[]): Promise<Baseline> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new OperatorError(`${file} cannot be read: ${error.code}`, { cause: error })
  })
  const read = earlier.safeParse(jsonIn(text))
  if (!read.success)
    throw new OperatorError(`${file} is no result of "gavel eval --json", nor the report.json of a folder of --out.`)
  if (read.data.protocol !== protocol)
    throw new OperatorError(`${file} is for the protocol ${read.data.protocol}, and this run for ${protocol}.`)
  // Written by this program: what the comparison does not read is not checked.
  const table = read.data.table as unknown as readonly EvaluationCell[]
  const named = sets.map((set) => ({ set, cell: firstOf(table, set.name) })).filter(({ cell }) => cell !== undefined)
  if (named.length === 0)
    throw new OperatorError(`${file} has none of these data sets: ${sets.map(({ name }) => name).join(', ')}.`)
  for (const { set, cell } of named) {
    const labelled = new Set(cell?.outcomes.flatMap(({ id, gold }) => (gold === null ? [] : [id])))
    if (!set.items.some(({ id, label }) => label !== null && labelled.has(id)))
      throw new OperatorError(
        `${file} has no labelled item of ${set.name} in common with this run, so --against has nothing to compare: it compares accuracy, and not ratings.`,
      )
  }
  return { file, table }
}

/**
 * Compares an evaluation with an earlier one: the first row on each data set that both have. Throws an `OperatorError` where the
 * earlier one's is another row.
 */
export function comparedWith({ file, table }: Baseline, now: Evaluation, margin: number): DataComparison[] {
  return now.data.flatMap(({ name }): DataComparison[] => {
    const [before, cell] = [firstOf(table, name), firstOf(now.table, name)]
    if (before === undefined || cell === undefined) return []
    if (before.row !== cell.row)
      throw new OperatorError(`On ${name} the first row of ${file} is ${before.row}, and this run's is ${cell.row}.`)
    const [one, two] = [before, cell].map((of) => ({ outcomes: of.outcomes, counts: flat(of.counts) })) as [
      EvaluationRun,
      EvaluationRun,
    ]
    return [{ data: name, comparison: compare(one, two, { margin, seed: now.seed }) }]
  })
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function firstOf(table: readonly EvaluationCell[], data: string): EvaluationCell | undefined {
  return table.find((cell) => cell.data === data && cell.why == null)
}

/** What must not change unnoticed: not how verdicts fared, but what was read and shown. */
function flat({ items, comments, commentsJudged, commentsLeftOut, unreadable, refused, noVerdict }: Counts) {
  const leftOut = Object.entries(commentsLeftOut).map(([why, count]) => [`comments left out (${why})`, count])
  return {
    items,
    comments,
    'comments judged': commentsJudged,
    'unreadable lines': unreadable,
    'refused messages': refused,
    'items without a verdict': noVerdict,
    ...Object.fromEntries(leftOut),
  }
}
