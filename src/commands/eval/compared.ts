import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { OperatorError } from '../../domain/errors.ts'
import { commentCounts } from '../../domain/verdict.ts'
import { type Comparison, compare } from '../../evaluation/against.ts'
import type { Cell, Counts, Evaluation } from '../../evaluation/evaluation.ts'

const outcome = z.looseObject({
  id: z.string(),
  unit: z.string(),
  slices: z.record(z.string(), z.string()),
  gold: z.string().nullable(),
  label: z.string().nullable(),
  comments: commentCounts,
})

/** As much of an evaluation as a comparison needs. */
const baseline = z.looseObject({
  schema: z.literal(1),
  protocol: z.string(),
  table: z.array(
    z.looseObject({ row: z.string(), data: z.string(), counts: z.looseObject({}), outcomes: z.array(outcome) }),
  ),
})

/** What changed since the evaluation in a file, for the first row on each data set. */
export interface Compared {
  readonly data: string
  readonly comparison: Comparison
}

/**
 * Compares an evaluation with an earlier one that was written as JSON. Throws an `OperatorError` where the file is none, or is of
 * another protocol, or has no data set in common.
 */
export async function comparedWith(file: string, now: Evaluation, margin: number): Promise<Compared[]> {
  const before = await readBaseline(file)
  if (before.protocol !== now.protocol)
    throw new OperatorError(`${file} is of the protocol ${before.protocol}, and this run of ${now.protocol}.`)
  const compared = now.data.flatMap(({ name }): Compared[] => {
    const [earlier, cell] = [firstOf(before.table, name), firstOf(now.table, name)]
    if (earlier === undefined || cell === undefined) return []
    const runs = [earlier, cell].map(({ outcomes, counts }) => ({ outcomes, counts: flat(counts) }))
    const [one, two] = runs as [(typeof runs)[0], (typeof runs)[0]]
    return [{ data: name, comparison: compare(one, two, { margin, seed: now.seed }) }]
  })
  if (compared.length === 0)
    throw new OperatorError(`${file} has none of these data sets: ${now.data.map(({ name }) => name).join(', ')}.`)
  return compared
}

async function readBaseline(file: string): Promise<Pick<Evaluation, 'protocol' | 'table'>> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new OperatorError(`${file} cannot be read: ${error.code}`, { cause: error })
  })
  const read = baseline.safeParse(jsonIn(text))
  if (!read.success)
    throw new OperatorError(`${file} is no result of "gavel eval --json", nor the report.json of a folder of --out.`)
  // Written by this program: what the comparison does not read is not checked.
  return read.data as unknown as Evaluation
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function firstOf(table: readonly Cell[], data: string): Cell | undefined {
  return table.find((cell) => cell.data === data && cell.why == null)
}

/** What must not change unnoticed: not how verdicts fared, but what was read and shown. */
function flat({ items, comments, commentsJudged, commentsLeftOut, unreadable, refused, noVerdict }: Counts) {
  const leftOut = Object.entries(commentsLeftOut).map(([why, count]) => [`comments left out (${why})`, count])
  return {
    ...{ items, comments, 'comments judged': commentsJudged, 'unreadable lines': unreadable },
    ...{ 'refused messages': refused, 'items without a verdict': noVerdict },
    ...Object.fromEntries(leftOut),
  }
}
