import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { InvalidArgumentError, Option } from 'commander'
import type { Settings } from '../../../../config/schema.ts'
import { pausedIn } from '../../../app/commands/doctor-lanes.ts'
import { withLibrary } from '../../../app/commands/library/with-library.ts'
import type { Command, Invocation } from '../../../cli/command.ts'
import { formatOption, labelFieldOption, readingOf, readingOptions } from '../../../cli/file-options.ts'
import { positive, protocolName, share } from '../../../cli/options.ts'
import { counted, printable, table } from '../../../cli/terminal.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import { closedTenants, isLaneClosed, laneMark, UNKNOWN_LANGUAGE } from '../../../contracts/facts/lane-mark.ts'
import { type BadLine, faultIn } from '../../../data-files/file-message.ts'
import { type Format, sourceIdOf } from '../../../data-files/formats.ts'
import type { OwnReading } from '../../../data-files/own-rows.ts'
import { openRecording } from '../../../data-files/recordings.ts'
import { chainOf } from '../../../models/fallback.ts'
import type { ProtocolKind } from '../../../protocols/kind.ts'
import { basisOf, MOST_PROMISED } from '../../../protocols/lane-file.ts'
import { nameOf } from '../../../protocols/policy.ts'
import { DEFAULT_TENANT } from '../../../shelves/names.ts'
import { goldOf } from '../../evaluation/gold.ts'
import type { GoldItem } from '../../evaluation/gold-item.ts'
import { fitLane, type LaneFit } from '../../lane/fit-lane.ts'
import {
  answersHash,
  dataHash,
  decidedItems,
  equallyDrawn,
  mustHaveBoth,
  mustHaveUnsettled,
  onShelves,
} from '../../lane/lane-items.ts'
import { type DeciderAnswers, readAnswers } from '../../lane/read-answers.ts'
import { labelAsOption, type StandIn } from '../eval/options.ts'
import { kindNamed, protocolOf } from '../eval/tables.ts'
import { paidRun } from '../paid-run.ts'
import { livePolicies } from '../policy/live-policies.ts'
import { askedDecider, questionIn } from './asked-decider.ts'

interface FitOptions extends OwnReading {
  readonly protocol: string
  readonly data: string
  readonly format: Format
  readonly labelAs?: readonly StandIn[]
  readonly answers?: string
  readonly model?: string
  readonly keep?: string
  readonly maxCost?: number
  readonly risk: number
  readonly delta: number
  readonly coverage: number
  readonly seed: string
  readonly tenant?: string
  readonly out?: string
}

/** What the thresholds hold for: they are void where one of these is another. */
interface LaneGrounds {
  readonly protocol: string
  /** Whose posts alone it is for; absent: those of all tenants that are judged by its policy. */
  readonly tenant?: string
  /** Its name, that in settings, the hash of what it said, and how Gavel asked it: over which wire, and the hash of the prompts. */
  readonly decider: Pick<DeciderAnswers, 'model' | 'wire'> & {
    readonly asked?: string
    readonly answers: string
    readonly prompts: string | null
  }
  readonly policy: ReturnType<typeof nameOf> | null
  readonly data: { readonly sha256: string; readonly items: number }
}

interface FitResult extends LaneGrounds {
  /** Items whose text stands on a shelf; they are left out. */
  readonly onShelves: number
  /** Items with images or clips, or without words; they are left out: in use the decider is asked about none. */
  readonly notTextAlone: number
  /** Items without a label of the protocol, or on which people were divided; they are left out. */
  readonly unlabelled: number
  /** Items that were likelier to be there than others, or chosen by people, where the file says by which chance items were drawn; they are left out. */
  readonly likelier: number
  /** Whether people have closed a lane of this decider on these labels, and with it this one; null where no Redis says it. */
  readonly closed: boolean | null
  readonly fit: LaneFit
}

/** A part of a promise: of most that is wrong nothing is promised. */
function promised(text: string): number {
  const number = between(text)
  if (number > MOST_PROMISED) throw new InvalidArgumentError(`must be a number above 0, up to ${MOST_PROMISED}`)
  return number
}

/** A share of which 0 and 1 mean nothing. */
function between(text: string): number {
  const number = share(text)
  if (number === 0 || number === 1) throw new InvalidArgumentError('must be a number between 0 and 1')
  return number
}

/** `gavel lane fit`: thresholds above which a decider's labels are wrong at most as often as promised. */
export const command: Command<FitOptions, FitResult> = {
  options: [
    new Option('--protocol <name>', 'the protocol whose labels it gives').argParser(protocolName).makeOptionMandatory(),
    new Option('--data <file>', 'a labelled file').makeOptionMandatory(),
    formatOption(),
    ...readingOptions(),
    labelFieldOption(),
    labelAsOption(),
    new Option(
      '--answers <file>',
      "the decider's answers: id and probabilities by label, or a table with a column for each label (default: a model is asked)",
    ),
    new Option('--model <name>', 'the model to ask (default: that of the role decider)').conflicts('answers'),
    new Option(
      '--keep <folder>',
      "record a model's answers to these labels there; an interrupted run resumes for a week",
    ).conflicts('answers'),
    new Option('--max-cost <usd>', 'stop when asking has cost this much').argParser(positive).conflicts('answers'),
    new Option('--risk <share>', 'the most that may be wrong of what is settled').argParser(promised).default(0.05),
    new Option('--delta <share>', 'the chance that this promise is broken').argParser(promised).default(0.05),
    new Option('--coverage <share>', 'refuse a lane that settles less than this').argParser(between).default(0.1),
    new Option('--seed <seed>', 'seed of the draw of what calibrates and what tests').default('1'),
    new Option('--tenant <name>', 'for the posts of this tenant alone, by their policy'),
    new Option('--out <file>', 'write the thresholds there'),
  ],
  json: true,
  help: 'Example:\n  $ gavel lane fit --protocol hate --data labelled.jsonl --answers decider.jsonl --out lane.json',
  async run(invocation) {
    const { options, settings: read } = invocation
    const result = await fitted(read(), invocation)
    if (options.out !== undefined && result.fit.accepted) {
      const file = `${options.out}.new`
      await writeFile(file, `${JSON.stringify(fileOf(result), null, 1)}\n`)
      await rename(file, options.out)
    }
    return result
  },
  print(result, { json, terminal, options }) {
    if (json) terminal.out(JSON.stringify(result))
    else show(result, terminal)
    const { fit } = result
    if (!fit.accepted) throw new OperatorError(refusalOf(result))
    if (options.out !== undefined) terminal.say(`${options.out} was written.`)
    if (result.closed === true)
      terminal.say(
        'It stays closed: people found this decider wrong more often than was promised on the same labels. Only other labels open a lane of it.',
      )
  },
}

async function fitted(settings: Settings, invocation: Invocation<FitOptions>): Promise<FitResult> {
  const { protocol: name, data, format, risk, delta, coverage, seed, tenant } = invocation.options
  const kind = kindNamed(name)
  const { labels: known, subject } = protocolOf(settings, kind)
  if (subject === 'thread' || known.length < 2)
    throw new OperatorError(`${name} has no label that could be told from a text alone: no lane is for it.`)
  const labelAs = Object.fromEntries((invocation.options.labelAs ?? []).map(({ theirs, ours }) => [theirs, ours]))
  const bad = (line: BadLine) => invocation.terminal.say(printable(faultIn(data, line), 400))
  const gold = await goldOf(data, format, { name, labels: known }, bad, { ...readingOf(invocation.options), labelAs })
  const labelled = gold.filter(({ label, why }) => label !== null && why === undefined)
  const alone = labelled.filter(({ text = '', hasMedia }) => hasMedia === undefined && text.trim() !== '')
  const drawn = equallyDrawn(alone, seed)
  mustHaveUnsettled(data, drawn)
  mustHaveBoth(data, drawn)
  const { signal } = invocation
  const sourceOf = (id: string) => sourceIdOf(data, format, id)
  const shelved = await withLibrary(settings, (library) =>
    onShelves(library, drawn, { tenant: tenant ?? DEFAULT_TENANT, sourceIdOf: sourceOf, signal }),
  )
  const kept = drawn.filter(({ id }) => !shelved.has(id))
  const { prompts, asked, ...answers } = await answersOf(settings, invocation, kind, {
    labels: known,
    labelAs,
    items: kept,
  })
  const items = decidedItems(data, kept, answers)
  const policy = livePolicies(settings, name).for(tenant)
  const decider = {
    model: answers.model,
    ...(asked === undefined ? {} : { asked }),
    wire: answers.wire,
    answers: answersHash(answers),
    prompts,
  }
  // Of all that people said, so that no draw by the seed makes other labels of it.
  const labels = { sha256: dataHash(alone), items: kept.length }
  const paused = await pausedIn(settings)
  return {
    protocol: name,
    ...(tenant === undefined ? {} : { tenant }),
    decider,
    policy: policy === null ? null : nameOf(policy),
    data: labels,
    closed: paused === null ? null : isClosedFor(paused, basisOf({ protocol: name, decider, data: labels }), tenant),
    onShelves: shelved.size,
    notTextAlone: labelled.length - alone.length,
    unlabelled: gold.length - labelled.length,
    likelier: alone.length - drawn.length,
    fit: fitLane(items, { risk, delta, coverage }, seed),
  }
}

function isClosedFor(paused: ReadonlySet<string>, basis: string, tenant: string | undefined): boolean {
  if (tenant !== undefined) return isLaneClosed(paused, basis, tenant)
  return paused.has(laneMark(basis)) || closedTenants(paused, basis).length > 0
}

/** What the decider said: of a file, or asked now. */
async function answersOf(
  settings: Settings,
  invocation: Invocation<FitOptions>,
  kind: ProtocolKind,
  given: Parameters<typeof readAnswers>[1] & { readonly items: readonly GoldItem[] },
): Promise<DeciderAnswers & { readonly prompts: string | null; readonly asked?: string }> {
  const { answers, model, keep, maxCost } = invocation.options
  if (answers !== undefined) return { ...(await readAnswers(answers, given)), prompts: null }
  // Of no other role is anything asked: what these lack is not told.
  const roles = { default: model === undefined ? [...chainOf(settings.models.roles, kind.name, 'decider')] : [model] }
  const own = { ...settings, models: { ...settings.models, roles } }
  const question = questionIn(own, kind)
  // A decider may have changed since it was asked of other labels.
  const folder = keep === undefined ? undefined : join(keep, dataHash(given.items).slice(0, 16))
  if (folder !== undefined) await mustBeRecent(folder, invocation.terminal)
  const of = { texts: given.items.length, did: 'decided', keep: folder, keepOption: '--keep', maxCost }
  const said = await paidRun(own, invocation, of, (run) => askedDecider(kind, question, given.items, run))
  const [asked] = chainOf(roles, kind.name, 'decider')
  return { ...said, prompts: question.promptsHash, ...(asked === undefined ? {} : { asked }) }
}

/** So long a run may be interrupted, in ms: a promise is of the decider as it is. */
const MOST_AGE_MS = 7 * 86_400_000

/** Says how old the kept answers are. Throws an `OperatorError` where some are older than a promise may rest on, or nobody knows. */
async function mustBeRecent(folder: string, { say }: Invocation['terminal']): Promise<void> {
  const recording = await openRecording(folder, { readOnly: true })
  const { oldest } = recording
  const answers = recording.answers()
  await recording.close()
  if (answers === 0) return
  const since = oldest === null ? 'at a time that nobody knows' : `on ${new Date(oldest).toISOString()}`
  const kept = `${folder}: ${counted(answers, 'answer')} of before, the oldest given ${since}`
  if (oldest === null || Date.now() - oldest > MOST_AGE_MS)
    throw new OperatorError(
      `${kept}. A promise rests on the decider as it is, on answers of the last 7 days: name another folder with --keep.`,
    )
  say(`${kept}.`)
}

/** What the file holds: the promise, what it holds for, and the thresholds. */
function fileOf({
  fit,
  onShelves: _,
  notTextAlone: __,
  unlabelled: ___,
  likelier: ____,
  closed: _____,
  ...grounds
}: FitResult) {
  const { promise, among, coverage, groups } = fit
  const thresholds = groups.flatMap(({ threshold }) => threshold ?? [])
  return { schema: 1, ...grounds, promise: { ...promise, among }, settles: coverage, thresholds }
}

const percent = (part: number) => `${(100 * part).toFixed(1)} %`

function show(result: FitResult, terminal: Invocation['terminal']) {
  const { protocol, decider, data, onShelves: shelved, notTextAlone, unlabelled, likelier, fit } = result
  const { promise, independent, calibrating, tested, unanswered, groups } = fit
  const by = decider.model === null ? '' : ` by ${printable(decider.model, 80)}`
  terminal.say(
    `${protocol}${by}: ${counted(data.items, 'labelled item')}, ${independent} of them independent; ${calibrating} calibrate, ${tested} test.`,
  )
  if (shelved > 0) terminal.say(`${counted(shelved, 'item')} left out: the text stands on a shelf.`)
  if (notTextAlone > 0)
    terminal.say(`${counted(notTextAlone, 'item')} left out: a lane settles texts without images or clips alone.`)
  if (unlabelled > 0)
    terminal.say(
      `${counted(unlabelled, 'item')} left out: without a label, or with as many people for one as for another.`,
    )
  if (likelier > 0)
    terminal.say(
      `${counted(likelier, 'item')} left out: chosen by people, or drawn by a greater chance than others, of which they would be too many.`,
    )
  if (groups.length > 0 && groups.every(({ lang }) => lang === UNKNOWN_LANGUAGE))
    terminal.say(
      'No item says its language (lang): one that is settled badly may hide among the others, and posts that say theirs are not settled.',
    )
  if (unanswered > 0) terminal.say(`${unanswered} of the tested have no answer, and count as not settled.`)
  const rows = groups.map(({ label, lang, tested: of, threshold, why }) =>
    threshold === null
      ? [label, lang, String(of), '–', '–', why ?? '']
      : [
          label,
          lang,
          String(of),
          threshold.from.toFixed(3),
          `${threshold.items} (${percent(threshold.items / of)})`,
          `${threshold.errors} wrong, at most ${percent(threshold.atMost)}`,
        ],
  )
  terminal.out(table(['label', 'language', 'tested', 'from', 'settles', 'promise'], rows))
  if (fit.accepted)
    terminal.out(
      `It settles ${percent(fit.coverage)} of items. Of each label in each language at most ${percent(promise.risk)} of that is wrong, with a chance of ${percent(1 - promise.delta)}.`,
    )
}

function refusalOf({ fit: { promise, coverage, needed } }: FitResult): string {
  const settles = `No lane: what can be promised settles ${percent(coverage)} of items, and ${percent(promise.coverage)} is the least`
  return needed === null
    ? `${settles}. More labels like these would not help: another decider, or a higher --risk.`
    : `${settles}. More labels like these may do: ${needed} by what is known, which is no good estimate, as one error more or less changes it several times over. Get them all before the next fit: each further try, with another --seed too, has a chance of its own to promise too much.`
}
