import { z } from 'zod'
import type { DecisionWire } from '../../contracts/facts/ask.ts'
import { entryOf } from '../../contracts/facts/entry-of.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import { printable } from '../../contracts/facts/printable.ts'
import type { BadLine } from '../../data-files/file-message.ts'
import { recordsOf } from '../../data-files/file-records.ts'
import { surest } from '../../protocols/lane-file.ts'
import type { DecidedItem } from './fit-lane.ts'

/** What a decider said of items, by their ids, and its name where the file has one. */
export interface DeciderAnswers {
  readonly model: string | null
  /** How Gavel asked it; null where somebody else did. */
  readonly wire: DecisionWire | null
  readonly said: ReadonlyMap<string, NonNullable<DecidedItem['said']>>
}

const line = z.looseObject({
  id: z.union([z.string(), z.number()]).transform(String),
  model: z.string().min(1).max(200).nullish(),
  probabilities: z.record(z.string(), z.unknown()).nullish(),
})

/** Probabilities may be written with two digits. */
const ROUNDED = 0.01

/**
 * Reads what a decider said: JSON Lines with `id` and `probabilities` by label, or a table with a column for each label; `model` where
 * it has a name. Labels may be named otherwise, by `labelAs`. Throws an `OperatorError` at the first line that is no such answer, at an
 * id that stands twice, and at a second model: a part of somebody's answers tells nothing of the rest.
 */
export async function readAnswers(
  file: string,
  { labels, labelAs }: { readonly labels: readonly string[]; readonly labelAs: Readonly<Record<string, string>> },
): Promise<DeciderAnswers> {
  const faulty = (at: BadLine): never => {
    throw new OperatorError(`${file}:${at.line} ${at.why}.`)
  }
  const columns = { needed: ['id'], known: ['model', ...labels, ...Object.keys(labelAs)], hint: 'See docs/lane.md.' }
  const said = new Map<string, NonNullable<DecidedItem['said']>>()
  let model: string | null = null
  for await (const { line: at, json, isRow } of recordsOf(file, {}, columns, faulty)) {
    const read = line.safeParse(json)
    if (!read.success)
      return faulty({ line: at, why: `has no readable ${String(read.error.issues[0]?.path[0] ?? 'id')}` })
    const { id, model: by, probabilities, ...others } = read.data
    const given = isRow === true ? ofColumns(others, labels, labelAs) : (probabilities ?? {})
    const fault = faultOf(given, labels, labelAs)
    if (typeof fault === 'string') return faulty({ line: at, why: fault })
    if (said.has(id)) return faulty({ line: at, why: `answers ${printable(id, 80)} a second time` })
    if (by != null && model !== null && by !== model)
      return faulty({ line: at, why: `is of ${printable(by, 80)}, and lines before are of ${printable(model, 80)}` })
    model ??= by ?? null
    said.set(id, surest(fault))
  }
  if (said.size === 0) throw new OperatorError(`${file} has no answer.`)
  return { model, wire: null, said }
}

function ofColumns(
  row: Readonly<Record<string, unknown>>,
  labels: readonly string[],
  labelAs: Readonly<Record<string, string>>,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(row).filter(([name]) => labels.includes(name) || entryOf(labelAs, name) !== undefined),
  )
}

/** The probability of each label, in the protocol's order; or in words what they lack. */
function faultOf(
  given: Readonly<Record<string, unknown>>,
  labels: readonly string[],
  labelAs: Readonly<Record<string, string>>,
): string | ReadonlyMap<string, number> {
  const found = new Map<string, number>()
  for (const [name, value] of Object.entries(given)) {
    const label = entryOf(labelAs, name) ?? name
    if (!labels.includes(label)) return `has the label "${printable(name, 80)}"; there are ${labels.join(', ')}`
    if (found.has(label)) return `has ${label} twice`
    const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
    if (typeof number !== 'number' || !(number >= 0 && number <= 1))
      return `gives ${label} ${printable(String(value), 40)}: a probability is a number from 0 to 1`
    found.set(label, number)
  }
  const missing = labels.find((label) => !found.has(label))
  if (missing !== undefined) return `gives no probability of ${missing}`
  const sum = [...found.values()].reduce((total, one) => total + one, 0)
  if (Math.abs(sum - 1) > ROUNDED + 1e-9)
    return `has probabilities that add up to ${Number(sum.toFixed(4))}, and not to 1`
  return new Map(labels.map((label) => [label, found.get(label) ?? 0]))
}
