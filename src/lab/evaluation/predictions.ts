import { z } from 'zod'
import { entryOf } from '../../contracts/facts/entry-of.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import { printable } from '../../contracts/facts/printable.ts'
import { type BadLine, faultIn } from '../../data-files/file-message.ts'
import { recordsOf } from '../../data-files/file-records.ts'
import type { GoldItem, GoldProtocol } from './gold-item.ts'
import { type ItemOutcome, unjudged } from './outcomes.ts'
import { labelsFault, readLabel } from './own-gold.ts'

/** What another system says of items, each time that it was asked: by the time's name as the file has it, then by their ids. */
export type Predictions = ReadonlyMap<string, ReadonlyMap<string, Prediction>>

interface Prediction {
  readonly label: string | null
  readonly scores: Readonly<Record<string, number>>
  readonly confidence: number | null
}

const number = z.union([z.number(), z.string().regex(/\S/).transform(Number)]).pipe(z.number())
const line = z.looseObject({
  id: z.union([z.string(), z.number()]).transform(String),
  repeat: z.union([z.string(), z.number()]).transform(String).nullish(),
  label: z.union([z.string(), z.number(), z.boolean()]).transform(String).nullish(),
  scores: z.record(z.string(), number).nullish(),
  confidence: number.pipe(z.number().min(0).max(1)).nullish().catch(null),
})

/**
 * Reads another system's predictions: JSON Lines or a table with `id`, and `label`, `scores` by aspect or columns of the aspects'
 * names; `confidence` where it has one; `repeat`, such as a seed, where it was asked several times. Lines that can't be read are
 * reported to `bad`. Throws an `OperatorError` at an id that stands twice in a repeat, where the protocol lacks labels, all named together,
 * and where no line has a label or a score.
 */
export async function readPredictions(
  file: string,
  protocol: GoldProtocol,
  labelAs: Readonly<Record<string, string>>,
  bad: (why: string) => void,
): Promise<Predictions> {
  const { labels, scales = {} } = protocol
  const repeats = new Map<string, Map<string, Prediction>>()
  const foreign = new Map<string, number>()
  const report = (at: BadLine) => bad(faultIn(file, at))
  const columns = {
    needed: ['id'],
    known: ['repeat', 'label', 'confidence', ...Object.keys(scales)],
    hint: 'See docs/evaluation.md.',
  }
  for await (const { line: at, json } of recordsOf(file, {}, columns, report)) {
    const read = line.safeParse(json)
    if (!read.success) {
      report({ line: at, why: `has no readable ${String(read.error.issues[0]?.path[0] ?? 'id')}` })
      continue
    }
    const { id, repeat, label, scores, confidence, ...others } = read.data
    const said = (label == null ? undefined : readLabel(label, protocol.labels, labelAs)) ?? null
    if (said !== null && !protocol.labels.includes(said) && !foreign.has(said)) foreign.set(said, at)
    const predictions = repeats.get(repeat ?? '') ?? new Map<string, Prediction>()
    repeats.set(repeat ?? '', predictions)
    if (predictions.has(id))
      throw new OperatorError(
        `${file}:${at} predicts ${printable(id, 80)} a second time.${repeat == null ? ' Several answers to an item have a column "repeat".' : ''}`,
      )
    const columns = Object.keys(scales).flatMap((aspect) => {
      const given = number.safeParse(entryOf(scores ?? others, aspect))
      return given.success ? [[aspect, given.data] as const] : []
    })
    predictions.set(id, { label: said, scores: Object.fromEntries(columns), confidence: confidence ?? null })
  }
  const fault = labelsFault(foreign, protocol)
  if (fault !== undefined) throw new OperatorError(`${file}:${fault}`)
  const isSaid = ({ label, scores: given }: Prediction) => label !== null || Object.keys(given).length > 0
  if (![...repeats.values()].some((of) => [...of.values()].some(isSaid)))
    throw new OperatorError(
      `${file} predicts nothing: no line has ${labels.length > 0 ? 'a label' : `a score of ${Object.keys(scales).join(', ')}`}.`,
    )
  return repeats
}

/** Throws an `OperatorError` where items were given and none of them is predicted: their ids are others. */
export function checkPredicted(
  row: string,
  predictions: Predictions,
  sets: readonly { readonly file: string; readonly items: readonly GoldItem[] }[],
): void {
  const [first] = sets
  const ids = [...predictions.values()].map((of) => [...of.keys()])
  if (first === undefined || sets.some((set) => byPredictions(set.items, predictions) !== null)) return
  const [theirs, ours] = [ids[0]?.[0], first.items[0]?.id].map((id) => `"${printable(id ?? '', 80)}"`)
  throw new OperatorError(
    `${row} predicts none of the items: it has ids like ${theirs}, ${first.file} ones like ${ours}. --id-field names the data's column of ids.`,
  )
}

/** Each item as the other system judged it, each time that it did; null where it has none of them. */
export function byPredictions(items: readonly GoldItem[], predictions: Predictions): ItemOutcome[] | null {
  const repeats = [...predictions.values()].filter((of) => items.some(({ id }) => of.has(id)))
  if (repeats.length === 0) return null
  return repeats.flatMap((of, at) =>
    items.map((item) => {
      const { degraded: _, ...rest } = unjudged(item)
      const predicted = of.get(item.id)
      const repeat = at === 0 ? {} : { repeat: at + 1 }
      if (predicted === undefined) return { ...rest, ...repeat, degraded: ['no prediction'] }
      return { ...rest, ...repeat, ...predicted, rationale: 'predicted by another system', degraded: [] }
    }),
  )
}
