import { basename } from 'node:path'
import { loadSettings } from '../../../../config/load.ts'
import type { Settings } from '../../../../config/schema.ts'
import type { Command, Invocation } from '../../../cli/command.ts'
import { readingOf } from '../../../cli/file-options.ts'
import { printable, type Terminal, table } from '../../../cli/terminal.ts'
import { onTier } from '../../../cli/tier.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import { FORMATS } from '../../../data-files/formats.ts'
import { makeFolder } from '../../../data-files/make-folder.ts'
import type { DataSet, Evaluation } from '../../evaluation/evaluation.ts'
import { checkPredicted, type Predictions, readPredictions } from '../../evaluation/predictions.ts'
import { PRESETS } from '../../evaluation/presets/all.ts'
import type { StandIns } from '../../evaluation/presets/stand-ins.ts'
import {
  BEST_HEADING,
  BEST_NOTE,
  bestTable,
  PARTS_HEADING,
  PARTS_NOTE,
  partsTable,
} from '../../evaluation/report/best-table.ts'
import { mainTable } from '../../evaluation/report/cells.ts'
import { CHOICE_HEADING, CHOICE_NOTE, choiceTable } from '../../evaluation/report/choice-table.ts'
import { DEBATE_HEADING, DEBATE_NOTE, debateTable } from '../../evaluation/report/debate-table.ts'
import { comparisonTable } from '../../evaluation/report/markdown.ts'
import { savingsTables } from '../../evaluation/report/savings-table.ts'
import type { RowPlan } from '../../evaluation/rows.ts'
import type { Obedience } from '../../evaluation/steering/obedience.ts'
import { isUnanswered } from '../../evaluation/unanswered.ts'
import { dataSet } from './data-sets.ts'
import { comparedWith, type DataComparison, readBaseline } from './earlier-evaluation.ts'
import { judgeTable } from './judge-table.ts'
import { EVAL_OPTIONS, type EvalOptions } from './options.ts'
import { textsOf, writeReports } from './reports.ts'
import { printObedience, steered } from './steering.ts'
import {
  changedTable,
  type FilePlan,
  type GivenData,
  kindNamed,
  ownTable,
  type PlannedTable,
  paperTable,
  protocolOf,
} from './tables.ts'
import { addedRows, askedOf, byEachModel } from './variants.ts'

export interface EvaluationResult {
  /** Null where only the cost of a change of settings was asked for. */
  readonly evaluation: Evaluation | null
  readonly compared: readonly DataComparison[]
  /** Of `--steer`, in place of an evaluation. */
  readonly obedience?: Obedience
}

/** `gavel eval`: how good verdicts are, by people's labels, beside what a debate must beat. */
export const command: Command<EvalOptions, EvaluationResult> = {
  options: EVAL_OPTIONS,
  json: true,
  help: [
    "Answers come through the service's engine and gateway, never from its memo.",
    '\nExamples:',
    '  $ gavel eval --protocol hate --data cases.jsonl --format hatecheck --size 200 --balanced --out .gavel/hate',
    '  $ gavel eval --preset s2mad-table-2 --data threads.jsonl --format rumoureval2017 --json',
    '  $ gavel eval --protocol hate --data cases.jsonl --format hatecheck --replay .gavel/hate --against .gavel/hate/report.json',
  ].join('\n'),
  async run(invocation) {
    const { options, terminal, misused } = invocation
    const given = givenData(options, misused)
    checkTogether(options, misused)
    const read = (file: string) => askedAs(loadSettings(invocation.environment, file), options)
    const base = options.whatIf === undefined ? askedAs(invocation.settings(), options) : read(options.whatIf)
    if (options.steer === true) {
      const [data] = given
      if (options.protocol === undefined || data?.format !== 'hatecheck' || given.length !== 1)
        return misused('--steer needs --protocol, and one --data FILE --format hatecheck')
      return { evaluation: null, compared: [], obedience: await steered(base, options.protocol, data, invocation) }
    }
    const { rows: added, settings } =
      options.protocol === undefined || options.with === undefined
        ? { rows: [], settings: base }
        : addedRows(base, kindNamed(options.protocol), options.with, read)
    const planned =
      options.preset === undefined
        ? ownTableOf(settings, options, given, added)
        : paperTable(settings, options.preset, given, { standIns: standInsOf(options), only: options.only })
    const say = (why: string) => terminal.say(printable(why, 400))
    const predicted = await predictionsOf(settings, planned, options, say)
    const table = byEachModel(changedTable(planned, { predicted, repeat: options.repeat }), settings, options.models)
    const sets = await dataSetsOf(settings, table, options, say)
    for (const [row, of] of predicted) checkPredicted(row, of, sets)
    const folder = options.report ?? options.out
    // Nothing is paid for what could not be compared or written in the end.
    const before = options.against === undefined ? null : await readBaseline(options.against, table.kind.name, sets)
    if (folder !== undefined) await makeFolder(folder)
    // Loaded only where it is wanted: it draws with the console's parts.
    const pages = options.debates === undefined ? null : await import('./debate-pages.ts')
    const spool = pages?.debateSpool() ?? null
    try {
      const evaluation = await judgeTable(settings, table, sets, invocation, spool)
      if (evaluation === null) return { evaluation, compared: [] }
      const compared = before === null ? [] : comparedWith(before, evaluation, options.margin / 100)
      if (folder !== undefined) {
        const of = { most: options.debates ?? 0, settings }
        const debates =
          pages === null || spool === null ? () => null : await pages.writeDebates(folder, evaluation, { ...of, spool })
        const texts = options.texts === true ? textsOf(sets) : null
        terminal.say(await writeReports(folder, evaluation, { compared, texts, debates }))
      }
      return { evaluation, compared }
    } finally {
      spool?.close()
    }
  },
  print({ evaluation, compared, obedience }, { options, json, terminal }) {
    if (obedience !== undefined) return printObedience(obedience, { json, terminal })
    if (evaluation === null) return
    printEvaluation(evaluation, compared, { json, terminal })
    if (isUnanswered(evaluation.table.flatMap(({ outcomes }) => outcomes)))
      throw new OperatorError('No call was answered, so nothing is known. "gavel doctor" asks each model.')
    if (compared.some(({ comparison }) => comparison.alarm))
      throw new OperatorError(
        `Changed since ${options.against} beyond chance and the margin of ${options.margin} points; see above.`,
      )
  },
}

function givenData({ data = [], format = [] }: EvalOptions, misused: Invocation['misused']): GivenData[] {
  if (data.length === 0 && format.length === 0) return []
  return data.map((file, at) => {
    const named = format[at] ?? (format.length === 0 ? 'gavel' : undefined)
    const known = FORMATS.find((one) => one === named)
    if (known !== undefined && format.length <= data.length) return { file, format: known }
    return misused(`each --data needs its --format, one of: ${FORMATS.join(', ')}`)
  })
}

function checkTogether(options: EvalOptions, misused: Invocation['misused']): void {
  const { protocol, preset, data = [], out, replay, whatIf, yes = false, maxCost } = options
  if ((protocol === undefined) === (preset === undefined)) misused('give --protocol or --preset, and not both')
  if (preset === undefined && data.length === 0) misused('--protocol needs --data FILE and --format FORMAT')
  if (preset === undefined && options.model !== undefined)
    misused("--model replaces a paper's model, and needs --preset; with --protocol, models.roles names the models")
  const many = (options.models ?? []).length > 1
  if (many && (preset !== undefined || ['thrifty', 'gates'].includes(options.rows ?? '')))
    misused(
      'several --models need rows of --protocol that are no comparison of their own (--rows none, baselines, all)',
    )
  if (preset !== undefined && options.with !== undefined) misused("a paper's table has its own rows: leave out --with")
  if (preset !== undefined && options.rows !== undefined) misused("a paper's table has its own rows: leave out --rows")
  if (out !== undefined && replay !== undefined)
    misused('--out asks missing questions, and --replay asks none: give one of them')
  if (whatIf !== undefined && replay === undefined)
    misused('--what-if needs --replay FOLDER, whose answers it starts from')
  if (options.debates !== undefined && out === undefined && options.report === undefined)
    misused('--debates needs --out FOLDER or --report FOLDER, where its pages go')
  if (yes && whatIf === undefined)
    misused('--yes needs --what-if SETTINGS, and asks the questions that it finds missing')
  if (maxCost !== undefined && replay !== undefined && !yes)
    misused('--replay asks nothing, so --max-cost limits nothing')
}

/** The settings, with the first of `--models` in every role, on the tier of `--tier`. */
function askedAs(given: Settings, { models: [first] = [], tier }: EvalOptions): Settings {
  const settings = onTier(given, tier)
  return first === undefined ? settings : askedOf(settings, first)
}

function standInsOf({ model = [], models: [first] = [] }: EvalOptions): StandIns {
  const of = new Map(model.map(({ theirs, ours }) => [theirs, ours]))
  return first === undefined ? { of } : { of, all: first }
}

function ownTableOf(
  settings: Settings,
  { protocol = '', rows = 'baselines', only }: EvalOptions,
  given: readonly GivenData[],
  added: readonly RowPlan[],
): PlannedTable {
  const kind = kindNamed(protocol)
  return ownTable(settings, protocol, protocolOf(settings, kind), given, { beside: rows, added, only })
}

/** What other systems predicted, by the row's name. */
async function predictionsOf(
  settings: Settings,
  { kind, preset }: PlannedTable,
  { predictions = [], labelAs = [] }: EvalOptions,
  bad: (why: string) => void,
): Promise<Map<string, Predictions>> {
  const { labels, scales } = protocolOf(settings, kind, preset)
  const named = Object.fromEntries(labelAs.map(({ theirs, ours }) => [theirs, ours]))
  const predicted = new Map<string, Predictions>()
  for (const { theirs: row, ours: file } of predictions) {
    if (predicted.has(row)) throw new OperatorError(`Two --predictions are called ${row}: give each a name of its own.`)
    predicted.set(row, await readPredictions(file, { name: kind.name, labels, scales }, named, bad))
  }
  return predicted
}

async function dataSetsOf(
  settings: Settings,
  { kind, parts, preset }: PlannedTable,
  options: EvalOptions,
  bad: (why: string) => void,
): Promise<DataSet[]> {
  const { labels, scales } = protocolOf(settings, kind, preset)
  const protocol = { name: kind.name, labels, scales }
  const names = dataNames(parts)
  const sets: DataSet[] = []
  for (const [at, part] of parts.entries())
    sets.push(await dataSet({ ...wantedOf(part, options), name: names[at] ?? part.given.file }, protocol, bad))
  return sets
}

/**
 * A name for each data set: the paper's, else the file's; files of the same name in several folders have their paths. Throws an
 * `OperatorError` where two would have the same all the same.
 */
export function dataNames(parts: readonly Pick<FilePlan, 'given' | 'name'>[]): string[] {
  const short = parts.map(({ given, name }) => name ?? basename(given.file))
  const names = parts.map(({ given, name }, at) =>
    name === undefined && short.filter((one) => one === short[at]).length > 1 ? given.file : (short[at] ?? given.file),
  )
  const twice = names.find((name, at) => names.indexOf(name) !== at)
  if (twice !== undefined)
    throw new OperatorError(
      `Two data sets would have the name ${twice}: give each file once, and one file for each data set of a paper.`,
    )
  return names
}

function wantedOf({ given, sample, batch }: FilePlan, options: EvalOptions) {
  const { size = sample?.size, balanced = sample?.balanced ?? false, split, seed, unverified, profanity } = options
  const labelAs = Object.fromEntries((options.labelAs ?? []).map(({ theirs, ours }) => [theirs, ours]))
  return {
    ...given,
    seed,
    balanced,
    unverified,
    profanity,
    contradictions: options.contradictions,
    labelAs,
    ...readingOf(options),
    ...(size === undefined ? {} : { size }),
    ...(split === undefined ? {} : { split }),
    ...(batch === undefined ? {} : { batch }),
  }
}

/** Prints an evaluation: as JSON whole, else its findings and its tables. */
function printEvaluation(
  evaluation: Evaluation,
  compared: readonly DataComparison[],
  { json, terminal }: { json: boolean; terminal: Terminal },
): void {
  if (json) {
    terminal.out(JSON.stringify(compared.length === 0 ? evaluation : { ...evaluation, compared }))
    return
  }
  const preset = PRESETS.find(({ name }) => name === evaluation.preset) ?? null
  terminal.out(evaluation.title)
  for (const sentence of evaluation.summary) terminal.out(`- ${printable(sentence, 1_000)}`)
  const { head, rows } = mainTable(evaluation, preset)
  terminal.out(
    table(
      head,
      rows.map((cells) => cells.map((cell) => printable(cell, 80))),
    ),
  )
  const noted = [
    { of: bestTable(evaluation), says: `${BEST_HEADING}. ${BEST_NOTE}`, widest: 80 },
    { of: partsTable(evaluation), says: `${PARTS_HEADING}. ${PARTS_NOTE}`, widest: 80 },
    { of: choiceTable(evaluation), says: `${CHOICE_HEADING}. ${CHOICE_NOTE}`, widest: 300 },
    { of: debateTable(evaluation), says: `${DEBATE_HEADING}. ${DEBATE_NOTE}`, widest: 80 },
  ]
  for (const { of, says, widest } of noted) {
    if (of === null) continue
    terminal.out(says)
    terminal.out(
      table(
        of.head,
        of.rows.map((cells) => cells.map((cell) => printable(cell, widest))),
      ),
    )
  }
  for (const { data, table: savings } of savingsTables(evaluation)) {
    terminal.out(`${printable(data, 200)}: quality in points of macro-F1 (or ρ), less the best with a 95 % interval`)
    terminal.out(
      table(
        savings.head,
        savings.rows.map((cells) => cells.map((cell) => printable(cell, 200))),
      ),
    )
  }
  for (const note of preset?.notes ?? []) terminal.out(`- ${note}`)
  for (const { data, comparison } of compared) {
    for (const change of comparison.shown) terminal.out(`${data}: shown differently: ${change}`)
    const changes = comparisonTable(comparison)
    terminal.out(
      table(
        changes.head,
        changes.rows.map((cells) => cells.map((cell) => printable(cell, 80))),
      ),
    )
  }
}
