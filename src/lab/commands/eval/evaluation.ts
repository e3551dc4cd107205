import { createHash } from 'node:crypto'
import type { Settings } from '../../../../config/schema.ts'
import { metered } from '../../../app/commands/judging/metered.ts'
import { entryOf } from '../../../contracts/facts/entry-of.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import type { Model } from '../../../contracts/ports/model.ts'
import { digestOfRequest, type Recording } from '../../../data-files/recordings.ts'
import type { ProtocolKind } from '../../../protocols/kind.ts'
import { stopsAtMissing } from '../../baselines/first-missing.ts'
import {
  type CellInput,
  cellOf,
  type DataSet,
  type EvaluationCell,
  emptyCell,
  type UnlabelledReading,
} from '../../evaluation/evaluation.ts'
import { byGoldStances } from '../../evaluation/gold-stances.ts'
import type { ItemOutcome } from '../../evaluation/outcomes.ts'
import { byPredictions } from '../../evaluation/predictions.ts'
import { byOverlap } from '../../evaluation/reference-overlap.ts'
import type { RowPlan } from '../../evaluation/rows.ts'
import type { DebateSpool } from './debate-pages.ts'
import { type JudgedCase, learningRows } from './learning-row.ts'
import { type JudgedRow, judgeRow } from './row-judging.ts'

/** What is judged, by what, and within which bounds. */
export interface EvaluationPlan {
  readonly kind: ProtocolKind
  readonly labels: readonly string[]
  /** Where it looks up what it has learnt; empty for a protocol that does not learn. */
  readonly shelf: string
  /** The data sets, and the rows that are judged on each. */
  readonly parts: readonly { readonly data: DataSet; readonly rows: readonly RowPlan[] }[]
  /** What the paper prints for a row on a data set. */
  readonly paper: (row: string, data: string) => EvaluationCell['paper']
  readonly recording: Recording
  /** What answers that are not recorded are asked of; null for a replay. */
  readonly model: Model | null
  /** Whether a replay goes on where an answer is missing, to find out what else is. */
  readonly countMissing?: boolean
  /** US dollars that this run may pay for answers that are not recorded; may be infinite. */
  readonly maxCost: number
  /** The option that sets it. */
  readonly costOption?: string | undefined
  readonly seed: string
  readonly keepNearDuplicates: boolean
  readonly unlabelled?: UnlabelledReading | undefined
  /** Whether cells say how long their calls took: without it two runs with the same answers are the same to the last digit. */
  readonly timed?: boolean
  /** Gets each verdict and its transcript, as they would be on their topics. */
  readonly keep?: DebateSpool['keep']
}

/** How far an evaluation has come. */
export interface EvaluationProgress {
  readonly row: string
  readonly data: string
  /** Verdicts in all rows on all data sets, and how many there will be. */
  readonly done: number
  readonly of: number
  /** What this run has asked and paid itself; recorded answers cost nothing. */
  readonly spent: { readonly calls: number; readonly tokens: number; readonly usd: number }
}

export interface EvaluationIo {
  readonly signal: AbortSignal
  progress(so: EvaluationProgress): void
  /** A line that could not be judged, or an error that did not end the run, in words. */
  say(why: string): void
}

/** Fewest and most chains of thought that self-consistency draws, whatever the debate's tokens would pay for. */
const DRAWS = { least: 3, most: 40 }

/**
 * Judges every row on every data set, one after the other; within a row as much at once as the limits allow. Throws an
 * `OperatorError` if it is stopped, if the money runs out, and where a replay lacks an answer; what was answered is kept.
 */
export async function evaluate(settings: Settings, plan: EvaluationPlan, io: EvaluationIo): Promise<EvaluationCell[]> {
  const { kind, parts, recording, model, maxCost, costOption = '--max-cost', countMissing: counting = false } = plan
  const stop = new AbortController()
  const meter = model === null ? null : metered(model, settings.models, maxCost, () => stop.abort())
  const signal = AbortSignal.any([io.signal, stop.signal])
  const spent = meter?.spent ?? { calls: 0, tokens: 0, usd: 0 }
  const of = verdictsIn(parts)
  const isResumed = recording.answers() > 0
  /** Every row reads the file; what is wrong with it is said once. */
  const refusals = new Set<string>()
  let done = 0

  /** By data set and row, a fingerprint of all that was asked the first time. */
  const fingerprints = new Map<string, string>()
  const learning = learningRows(settings, { kind, shelf: plan.shelf, model: recording.model(meter?.model ?? null) })

  function throwIfStopped(): void {
    if (recording.missing.size > 0 && !counting) throw new OperatorError(missingAnswers(recording))
    if (meter?.unpriced() != null)
      throw new OperatorError(
        `${costOption} needs a price of ${meter.unpriced()}, and models.prices has none (0 if it is free).`,
      )
    if (stop.signal.aborted)
      throw new OperatorError(
        `Stopped at ${costOption}: ${done} of ${of} verdicts, $${spent.usd.toFixed(4)} paid${done === 0 || isResumed ? '' : `, about $${((spent.usd / done) * of).toFixed(4)} for all`}. With --out the answers are kept: run it again with a higher ${costOption} to continue.`,
      )
    if (io.signal.aborted)
      throw new OperatorError(
        `Stopped: ${done} of ${of} verdicts. With --out the answers are kept: run it again to continue.`,
      )
  }

  async function once(row: RowPlan, set: DataSet, draws: number, repeat: number) {
    const noting = noted(recording.model(meter?.model ?? null, repeat === 1 ? '' : `repeat ${repeat}`))
    const judging = {
      kind: counting ? stopsAtMissing(kind) : kind,
      row,
      model: noting.model,
      draws,
      data: set,
      keepNearDuplicates: plan.keepNearDuplicates,
      ...(row.learns === true ? { library: learning.of(row).library } : {}),
      shown: (library: Parameters<Recording['library']>[0]) => recording.library(library, model === null),
    }
    const judged = await judgeRow(settingsOf(row, settings), judging, {
      signal,
      judged(id, json) {
        plan.keep?.({ row: row.name, data: set.name, id, repeat }, json)
        done++
        io.progress({ row: row.name, data: set.name, done, of, spent })
        if (recording.missing.size > 0 && !counting) stop.abort()
      },
      failed: io.say,
    })
    throwIfStopped()
    return {
      ...judged,
      asked: noting.asked,
      stages: noting.stages,
      fingerprint: noting.fingerprint(),
      tookMs: noting.tookMs(),
      unpriced: [...noting.asked.keys()].filter((name) => entryOf(settings.models.prices, name) === undefined),
    }
  }

  async function judgedCell(row: RowPlan, set: DataSet, before: readonly EvaluationCell[]): Promise<EvaluationCell> {
    const paper = plan.paper(row.name, set.name)
    const { how } = row
    if (how.by === 'nothing') return emptyCell(row.name, set.name, how.why, paper)
    if (set.items.length === 0) return emptyCell(row.name, set.name, 'no items', paper)
    const draws = drawsOf(row, set, before)
    const input = { row, data: set, draws: how.by === 'self-consistency' ? draws : null, paper }
    if (how.by === 'gold-stances')
      return cellWithoutModel(input, plan, byGoldStances(set.items), 'the data set has no stances of comments')
    if (how.by === 'predictions')
      return cellWithoutModel(input, plan, byPredictions(set.items, how.of), 'it predicts none of these items')
    if (how.by === 'overlap')
      return cellWithoutModel(input, plan, byOverlap(set.items, how.metric), 'the data set has no reference replies')
    const gathered = gathering()
    for (let repeat = 1; repeat <= (row.repeats ?? 1); repeat++) {
      const judged = await once(row, set, draws, repeat)
      if (repeat === 1) fingerprints.set(keyOf(row.name, set.name), judged.fingerprint)
      gathered.add(judged, repeat)
      await learnFrom(row, set, judged.cases)
    }
    for (const why of gathered.refused) if (!refusals.has(why)) io.say(why)
    for (const why of gathered.refused) refusals.add(why)
    const { tookMs, ...all } = gathered.all()
    return cellOf(
      {
        ...input,
        ...all,
        tookMs: plan.timed === true ? tookMs : null,
        unlabelled: plan.unlabelled ?? 'wrong',
      },
      plan.labels,
      plan.seed,
    )
  }

  /** What was judged is learnt from before the next batch; after the last nobody would be shown it. */
  async function learnFrom(row: RowPlan, { name }: DataSet, cases: readonly JudgedCase[]): Promise<void> {
    const later = parts.slice(parts.findIndex(({ data }) => data.name === name) + 1)
    if (row.learns !== true || !later.some(({ rows }) => rows.some((one) => one.name === row.name))) return
    const failed = await learning
      .of(row)
      .learn(cases, { signal, progress: () => {} })
      .catch((error: unknown) => {
        // A question that was cut off fails with an error of its own.
        throwIfStopped()
        throw error
      })
    throwIfStopped()
    if (failed > 0) io.say(`${row.name}: the curator failed on ${failed} of ${cases.length} cases of ${name}.`)
  }

  const cells: EvaluationCell[] = []
  try {
    for (const { data, rows } of parts)
      for (const row of rows) {
        const cell = { ...(await judgedCell(row, data, cells)), ...named(row) }
        cells.push(comparedTo(cells, cell, fingerprints))
      }
  } finally {
    await learning.close()
  }
  return cells
}

/** What one time to judge a row has brought. */
interface JudgedOnce extends Pick<JudgedRow, 'outcomes' | 'refused' | 'models' | 'comments'> {
  readonly asked: ReadonlyMap<string, ReadonlySet<string>>
  readonly stages: ReadonlyMap<string, number>
  readonly tookMs: number | null
  readonly unpriced: readonly string[]
}

/** Gathers what all times to judge a row bring. */
function gathering() {
  const outcomes: ItemOutcome[] = []
  const refused = new Set<string>()
  const models = new Set<string>()
  const answered = new Map<string, ReadonlySet<string>>()
  const unpriced = new Set<string>()
  const stages = new Map<string, number>()
  let [comments, tookMs]: [number, number | null] = [0, 0]
  return {
    refused,
    add(judged: JudgedOnce, repeat: number): void {
      outcomes.push(...judged.outcomes.map((outcome) => (repeat === 1 ? outcome : { ...outcome, repeat })))
      for (const why of judged.refused) refused.add(why)
      for (const named of judged.models) models.add(named)
      for (const [asked, by] of judged.asked) answered.set(asked, new Set([...by, ...(answered.get(asked) ?? [])]))
      for (const named of judged.unpriced) unpriced.add(named)
      for (const [stage, calls] of judged.stages) stages.set(stage, calls + (stages.get(stage) ?? 0))
      comments += judged.comments
      tookMs = tookMs === null || judged.tookMs === null ? null : tookMs + judged.tookMs
    },
    all: () => ({
      outcomes,
      tookMs,
      callsByStage: Object.fromEntries([...stages].sort()),
      models: [...models].sort(),
      answered: [...answered].flatMap(([asked, by]) => (by.size === 0 ? [] : [{ asked, by: [...by].sort() }])),
      unpriced: [...unpriced].sort(),
      refused: refused.size,
      comments,
    }),
  }
}

function keyOf(row: string, data: string): string {
  return JSON.stringify([data, row])
}

/** The cell, with the name of the first one on the same data that asked just the same. */
function comparedTo(
  cells: readonly EvaluationCell[],
  cell: EvaluationCell,
  fingerprints: ReadonlyMap<string, string>,
): EvaluationCell {
  const own = fingerprints.get(keyOf(cell.row, cell.data)) ?? ''
  const twin = cells.find(({ row, data }) => data === cell.data && fingerprints.get(keyOf(row, data)) === own)
  return own === '' || twin === undefined ? cell : { ...cell, sameAs: twin.row }
}

/** A model, what it was asked, by which names each that was asked answered, and how long its calls took when they were made. */
function noted(model: Model) {
  const asked = new Map<string, Set<string>>()
  const questions = new Set<string>()
  const stages = new Map<string, number>()
  let tookMs: number | null = 0
  const noting: Model = {
    async complete(request) {
      const by = asked.get(request.model) ?? new Set()
      asked.set(request.model, by)
      questions.add(digestOfRequest(request))
      const reply = await model.complete(request)
      tookMs = tookMs === null || reply.tookMs === undefined ? null : tookMs + reply.tookMs
      by.add(reply.model)
      stages.set(request.answer.name, (stages.get(request.answer.name) ?? 0) + 1)
      return reply
    },
  }
  const fingerprint = () =>
    questions.size === 0
      ? ''
      : createHash('sha256')
          .update([...questions].sort().join())
          .digest('hex')
  return { model: noting, asked, stages, fingerprint, tookMs: () => tookMs }
}

/** How many verdicts there will be. */
function verdictsIn(parts: EvaluationPlan['parts']): number {
  const repeatsOf = ({ how, repeats = 1 }: RowPlan) => (ASKS_NOBODY.has(how.by) ? 0 : repeats)
  return parts
    .map(({ data, rows }) => data.items.length * rows.reduce((sum, row) => sum + repeatsOf(row), 0))
    .reduce((sum, verdicts) => sum + verdicts, 0)
}

/** A row's own settings, or the table's. The default endpoint may be a stand-in's. */
function settingsOf({ settings: own }: RowPlan, settings: Settings): Settings {
  return own === undefined ? settings : { ...own, openai: settings.openai }
}

function named({ variant }: RowPlan): Pick<EvaluationCell, 'variant'> {
  return variant === undefined ? {} : { variant }
}

/** What judges a row without a question. */
export const ASKS_NOBODY: ReadonlySet<RowPlan['how']['by']> = new Set([
  'nothing',
  'gold-stances',
  'overlap',
  'predictions',
])

function cellWithoutModel(
  input: Pick<CellInput, 'row' | 'data' | 'draws' | 'paper'>,
  { labels, seed, unlabelled = 'wrong' }: EvaluationPlan,
  outcomes: readonly ItemOutcome[] | null,
  absent: string,
): EvaluationCell {
  if (outcomes === null) return emptyCell(input.row.name, input.data.name, absent, input.paper)
  return cellOf({ ...input, outcomes, models: [], refused: 0, comments: 0, unlabelled }, labels, seed)
}

/** As many chains of thought as the same model's first row on these data has tokens for, by what one cost on the same items. */
function drawsOf({ how, variant = {} }: RowPlan, set: DataSet, before: readonly EvaluationCell[]): number {
  if (how.by !== 'self-consistency') return 1
  if (typeof how.draws === 'number') return how.draws
  const cells = before.filter((cell) => cell.data === set.name && cell.variant?.model === variant.model)
  const [debate, thought] = [cells[0], cells.find(({ row }) => row === rowBy(CHAIN_OF_THOUGHT, variant.model))]
  if (debate === undefined || thought === undefined || thought.perItem.tokens === 0) return DRAWS.least
  const paidFor = Math.floor(debate.perItem.tokens / thought.perItem.tokens)
  return Math.min(DRAWS.most, Math.max(DRAWS.least, paidFor))
}

/** The row whose cost tells how many chains of thought a debate's tokens pay for. */
export const CHAIN_OF_THOUGHT = 'chain of thought'

/** What a row is called where several models judge each. */
export function rowBy(row: string, model: string | undefined): string {
  return model === undefined ? row : `${row}, ${model}`
}

function missingAnswers({ missing }: Recording): string {
  const [[digest, question] = ['', { what: '' }]] = [...missing]
  const more = missing.size > 1 ? `, and ${missing.size - 1} more` : ''
  return `The recording has no answer to ${question.what} (${digest})${more}. Its prompts, settings, models or data differ, or it was changed. Run with --out to ask the missing questions.`
}
