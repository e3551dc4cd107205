import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Settings } from '../../../../config/schema.ts'
import { missingModels } from '../../../app/commands/judging/asked-models.ts'
import { withModel } from '../../../app/commands/with-model.ts'
import { sayRecorded } from '../../../app/commands/with-recording.ts'
import type { Invocation } from '../../../cli/command.ts'
import { counted, printable, type Terminal } from '../../../cli/terminal.ts'
import { timeInWords } from '../../../cli/time-in-words.ts'
import { entryOf } from '../../../contracts/facts/entry-of.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import type { Model } from '../../../contracts/ports/model.ts'
import { openRecording, type Recording } from '../../../data-files/recordings.ts'
import { type Price, usdFor } from '../../../models/cost.ts'
import { chainOf } from '../../../models/fallback.ts'
import { modelsOfEndpoints } from '../../../models/openai/models-of-endpoints.ts'
import type { ProtocolKind } from '../../../protocols/kind.ts'
import { bestRows, partRows } from '../../evaluation/best-row.ts'
import { costCurve, curveSays } from '../../evaluation/cost-curve.ts'
import { equalCoverage } from '../../evaluation/equal-coverage.ts'
import { type DataSet, type Evaluation, type EvaluationCell, metricsOf } from '../../evaluation/evaluation.ts'
import { itemsWithoutExamples } from '../../evaluation/missing.ts'
import { namedByAnswers, paperModelsOf, whoStoodIn } from '../../evaluation/presets/stand-ins.ts'
import { summaryOf } from '../../evaluation/summary.ts'
import { choiceSays, wayChoice } from '../../evaluation/way-choice.ts'
import type { DebateSpool } from './debate-pages.ts'
import { ASKS_NOBODY, type EvaluationProgress, evaluate, rowBy } from './evaluation.ts'
import type { EvalOptions } from './options.ts'
import { THRIFTY } from './rows.ts'
import { type PlannedTable, protocolOf } from './tables.ts'

/** Judges the table. Null where `--what-if` only estimated the cost. */
export async function judgeTable(
  settings: Settings,
  table: PlannedTable,
  sets: readonly DataSet[],
  invocation: Invocation<EvalOptions>,
  spool: DebateSpool | null = null,
): Promise<Evaluation | null> {
  const { options, terminal, signal } = invocation
  const { seed, keepNearDuplicates = false, maxCost = Number.POSITIVE_INFINITY } = options
  const { labels, learns = '' } = protocolOf(settings, table.kind, table.preset)
  const parts = table.parts.flatMap(({ rows }, at) => (sets[at] === undefined ? [] : [{ data: sets[at], rows }]))
  const line = progressLine(terminal)
  const judge = async (recording: Recording, model: Model | null, reachable: Settings, { countMissing = false } = {}) =>
    evaluate(
      reachable,
      {
        kind: table.kind,
        labels,
        shelf: learns,
        parts,
        paper: table.paper,
        recording,
        model,
        maxCost,
        costOption: table.costOption,
        seed,
        keepNearDuplicates,
        unlabelled: options.unlabelled,
        countMissing,
        ...(spool === null ? {} : { keep: spool.keep }),
        timed: table.timed ?? table.preset?.measures.some((measure) => measure.startsWith('seconds')) ?? false,
      },
      { signal, progress: line, say: (why) => terminal.say(printable(why, 400)) },
    )
  const asking = (folder: string) =>
    withModel(settings, invocation, (reachable) =>
      withRecordingIn(folder, { readOnly: false }, terminal, async (recording) => {
        const model = modelsOfEndpoints(reachable)
        await checkModels(model, table, options, signal)
        return judge(recording, model, reachable)
      }),
    )
  const cells = await (async () => {
    const { replay, whatIf, yes = false, out } = options
    if (replay === undefined) return out === undefined ? inScratch(asking) : asking(out)
    if (whatIf === undefined)
      return withRecordingIn(replay, { readOnly: true }, terminal, (recording) => judge(recording, null, settings))
    const asked = await withRecordingIn(replay, { readOnly: true }, terminal, async (recording) => {
      const cells = await judge(recording, null, settings, { countMissing: true })
      terminal.say(whatWouldBeAsked(recording, settings.models.prices, yes))
      return recording.missing.size === 0 ? cells : null
    })
    if (asked !== null || !yes) return asked
    return asking(replay)
  })()
  if (cells === null) return null
  const { preset, standIns } = table
  const stoodIn = preset === null ? null : whoStoodIn(cells, preset, standIns)
  const named = preset === null ? cells : shownByAnswers(cells, preset, standIns, spool)
  const without = itemsWithoutExamples(cells)
  const [first] = [...named, ...table.absent]
  if (first === undefined) throw new OperatorError('There is nothing to judge: give --data.')
  const coverage = equalCoverage(named, seed)
  // The ways to decide have a rule of their own.
  const best = options.rows === 'gates' ? [] : bestRows(named, seed)
  const wholeOrPart = [table.kind.name, ...Object.keys(table.kind.ablations ?? {})]
  const isOf = (name: string) => (cell: Pick<EvaluationCell, 'row' | 'variant'>) =>
    cell.row === rowBy(name, cell.variant?.model)
  const ofParts = named.filter((cell) => wholeOrPart.some((name) => isOf(name)(cell)))
  const partsBeside = options.rows === 'all' ? partRows(ofParts, isOf(table.kind.name), seed) : []
  const summary = summaryOf(named, sets, seed, { paper: preset === null ? null : { stoodIn }, best })
  const guards = keepNearDuplicates ? ' (guards off: cases may be shown near-duplicates of their own text)' : ''
  return {
    schema: 1,
    title: `${table.title}${without === null ? '' : `: ${without}`}${guards}`,
    protocol: table.kind.name,
    seed,
    preset: preset?.name ?? null,
    data: sets.map(({ items, file: _, reading: __, ...set }) => ({ ...set, items: items.length })),
    metrics: metricsOf(first),
    counts: first.counts,
    table: [...named, ...table.absent],
    ...(coverage.length === 0 ? {} : { equalCoverage: coverage }),
    ...(best.length === 0 ? {} : { best }),
    ...(partsBeside.length === 0 ? {} : { parts: partsBeside }),
    ...withCurves(named, summary, seed, {
      ways: options.rows === 'gates' ? Object.keys(table.kind.gates?.ways ?? {}) : [],
    }),
  }
}

/** The cells by who answered, as all that names their rows names them. */
function shownByAnswers(
  cells: readonly EvaluationCell[],
  preset: NonNullable<PlannedTable['preset']>,
  standIns: PlannedTable['standIns'],
  spool: DebateSpool | null,
): EvaluationCell[] {
  const named = namedByAnswers(cells, preset, standIns)
  const shown = new Map(cells.map(({ row }, at) => [row, named[at]?.row ?? row]))
  spool?.rename(new Map([...shown].map(([row, name]) => [name, row])))
  return named.map((cell) =>
    cell.sameAs === undefined ? cell : { ...cell, sameAs: shown.get(cell.sameAs) ?? cell.sameAs },
  )
}

/**
 * The cost curves of an evaluation with the rows of `thrifty`, and what they say after the first sentence; of one with the rows of
 * `gates` the choice among its ways, and what that says.
 */
function withCurves(
  cells: readonly EvaluationCell[],
  [lead, ...others]: readonly string[],
  seed: string,
  { ways }: { readonly ways: readonly string[] },
): Pick<Evaluation, 'costCurves' | 'choices' | 'summary'> {
  const first = lead === undefined ? [] : [lead]
  const sets = [...Map.groupBy(cells, ({ data }) => data).values()]
  const choices = ways.length === 0 ? [] : sets.flatMap((of) => wayChoice(of, ways, seed) ?? [])
  if (choices.length > 0) {
    const said = choices.map((choice) => choiceSays(choice, sets.length > 1))
    return { choices, summary: [...said, ...first, ...others] }
  }
  if (!cells.some(({ row }) => row === THRIFTY)) return { summary: [...first, ...others] }
  const costCurves = sets.flatMap((of) => costCurve(of, seed) ?? [])
  const curveTexts = costCurves.map((curve) => curveSays(curve, sets.length > 1))
  return { costCurves, summary: [...first, ...curveTexts, ...others] }
}

/**
 * Throws an `OperatorError` where the endpoint lacks a model that the table's rows ask: it would be found out only by the rows
 * that ask it, after the others are paid.
 */
async function checkModels(
  model: Model,
  { preset, parts, kind }: PlannedTable,
  { models = [] }: EvalOptions,
  signal: AbortSignal,
): Promise<void> {
  const ofRows = parts.flatMap(({ rows }) =>
    rows.flatMap(({ how, settings, models: asked = {} }) =>
      ASKS_NOBODY.has(how.by)
        ? []
        : [...Object.values(asked), ...(settings === undefined ? [] : firstModels(settings, kind))],
    ),
  )
  const names = [...new Set([...ofRows, ...models])]
  const missing = await missingModels(model, names, signal)
  const [first] = missing
  if (first === undefined) return
  const what = `Nothing was asked: the endpoint has no model ${missing.join(', ')}.`
  throw new OperatorError(
    preset === null
      ? `${what} Check --models, and OPENAI_BASE_URL.`
      : `${what} Name your models: --model PAPER'S=YOURS for one of ${paperModelsOf(preset).join(', ')}, or --models YOURS for all; or judge other rows: --only ROW.`,
  )
}

/** The models that a protocol asks first under these settings. */
function firstModels({ models: { roles } }: Settings, { name, roles: own = [] }: ProtocolKind): string[] {
  return [...own, 'default'].flatMap((role) => chainOf(roles, name, role)[0] ?? [])
}

async function withRecordingIn<Result>(
  folder: string,
  { readOnly }: { readonly readOnly: boolean },
  terminal: Invocation['terminal'],
  work: (recording: Recording) => Promise<Result>,
): Promise<Result> {
  const recording = await openRecording(folder, { readOnly })
  try {
    if (readOnly && recording.answers() === 0)
      throw new OperatorError(`${folder} holds no answers of a "gavel eval --out".`)
    sayRecorded(recording, folder, terminal)
    return await work(recording)
  } finally {
    await recording.close()
  }
}

/** Rows of a table share their answers also where nobody wants to keep them. */
async function inScratch<Result>(work: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'gavel-eval-'))
  try {
    return await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Shows how far an evaluation is: verdicts, money, and the time and money left at the pace so far. */
function progressLine(terminal: Terminal, clock: () => number = Date.now): (so: EvaluationProgress) => void {
  const start = clock()
  return ({ row, data, done, of, spent }) => {
    const share = done / of
    const left = share === 0 ? null : ((clock() - start) / share) * (1 - share)
    const money = spent.usd === 0 ? '' : `, $${spent.usd.toFixed(4)} of about $${(spent.usd / share).toFixed(2)}`
    const time = left === null ? '' : `, about ${timeInWords(left)} left`
    terminal.progress(`${data}, ${row}: ${done} of ${of} verdicts, ${spent.calls} calls${money}${time}`)
  }
}

/** What other settings would have asked that is not recorded, and about what it costs. */
function whatWouldBeAsked(
  { missing, meanCompletionTokens }: Pick<Recording, 'missing' | 'meanCompletionTokens'>,
  prices: Readonly<Record<string, Price>>,
  yes: boolean,
): string {
  if (missing.size === 0) return 'Every question is answered already: nothing would be asked.'
  const questions = [...missing.values()]
  const usd = questions.reduce((sum, { model, promptTokens }) => {
    const tokens = { prompt: promptTokens, completion: meanCompletionTokens() }
    return sum + usdFor(tokens, entryOf(prices, model))
  }, 0)
  const kinds = [...Map.groupBy(questions, ({ what }) => what)].map(([what, of]) => `  ${of.length} times ${what}`)
  return [
    `${counted(missing.size, 'question')} would be asked, for about $${usd.toFixed(4)}; their answers may lead to more:`,
    ...kinds,
    ...(yes ? [] : ['Run it again with --yes to ask them.']),
  ].join('\n')
}
