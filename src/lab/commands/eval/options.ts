import { InvalidArgumentError, Option } from 'commander'
import { contradictionsOption, labelFieldOption, repliesReadingOptions } from '../../../cli/file-options.ts'
import { notNegative, positive, positiveWhole, protocolName } from '../../../cli/options.ts'
import { tierOption } from '../../../cli/tier.ts'
import type { Tier } from '../../../contracts/ports/model.ts'
import type { Contradictions } from '../../../data-files/contradictions.ts'
import { FORMATS, type Format } from '../../../data-files/formats.ts'
import type { OwnReading } from '../../../data-files/own-rows.ts'
import { type Preset, preset } from '../../../protocols/preset.ts'
import { UNVERIFIED_READINGS, type UnverifiedReading } from '../../evaluation/decided.ts'
import { UNLABELLED_READINGS, type UnlabelledReading } from '../../evaluation/evaluation.ts'
import { BESIDE, type ExtraRows } from './rows.ts'

export interface EvalOptions extends OwnReading {
  readonly protocol?: string
  readonly preset?: string
  readonly model?: readonly StandIn[]
  readonly models?: readonly string[]
  readonly tier?: Tier
  readonly only?: readonly string[]
  readonly predictions?: readonly StandIn[]
  readonly repeat?: number
  readonly with?: readonly AddedRow[]
  readonly data?: readonly string[]
  readonly format?: readonly Format[]
  readonly rows?: ExtraRows
  readonly size?: number
  readonly balanced?: boolean
  readonly split?: string
  readonly seed: string
  readonly labelAs?: readonly StandIn[]
  readonly contradictions: Contradictions
  readonly unverified: UnverifiedReading
  readonly unlabelled?: UnlabelledReading
  readonly profanity: 'hate' | 'non-hate'
  readonly out?: string
  readonly report?: string
  readonly replay?: string
  readonly whatIf?: string
  readonly yes?: boolean
  readonly maxCost?: number
  readonly against?: string
  readonly margin: number
  readonly keepNearDuplicates?: boolean
  readonly texts?: boolean
  readonly debates?: number
  readonly steer?: boolean
}

/** One name in the place of another: the model of a paper's, the label of a file's; or a row and its file. */
export interface StandIn {
  readonly theirs: string
  readonly ours: string
}

/** A label with nothing behind the = is left out. */
function labelStandIn(text: string): StandIn {
  return /^[^=]+=\s*$/.test(text) ? { theirs: text.replace(/=\s*$/, '').trim(), ours: '' } : standIn(text)
}

function standIn(text: string): StandIn {
  const [, theirs, ours] = /^([^=]+)=(.+)$/.exec(text.trim()) ?? []
  if (theirs === undefined || ours === undefined)
    throw new InvalidArgumentError('must be two names with = between them')
  return { theirs: theirs.trim(), ours: ours.trim() }
}

/** The protocol under a preset or a settings file, as a row of its own. */
export type AddedRow = { readonly preset: Preset } | { readonly row: string; readonly file: string }

function addedRow(text: string): AddedRow {
  const [, row, file] = /^([^=]+)=(.+)$/.exec(text.trim()) ?? []
  if (row !== undefined && file !== undefined) return { row: row.trim(), file: file.trim() }
  const known = preset.safeParse(text.trim())
  if (known.success) return { preset: known.data }
  throw new InvalidArgumentError(`must be ROW=SETTINGS, or a preset: ${preset.options.join(', ')}`)
}

// Two parameters, without a default: by their number an option that gathers its values is known (src/main.ts).
const several = <Value>(value: Value, before: readonly Value[] | undefined) => [...(before ?? []), value]

/** What labels of a file are in a protocol's words. */
export const labelAsOption = () =>
  new Option(
    '--label-as <theirs=ours>',
    'map a label, such as 1=hate, or numbers from one on, such as 0.5+=hate, or leave it out, such as skip=; repeatable',
  ).argParser((text: string, before: readonly StandIn[] | undefined) => several(labelStandIn(text), before))

/** What `gavel eval` takes, in the order of `--help`. */
export const EVAL_OPTIONS: readonly Option[] = [
  new Option('--protocol <name>', 'protocol to evaluate, as the settings have it').argParser(protocolName),
  new Option('--preset <table>', "a paper's table instead of --protocol, such as s2mad-table-1 (docs/presets.md)"),
  new Option('--model <paper=yours>', "with --preset: your model in place of one of the paper's; repeatable").argParser(
    (text: string, before: readonly StandIn[] | undefined) => several(standIn(text), before),
  ),
  new Option(
    '--models <name>',
    'the model for every role and row; --model overrides it; repeatable: each row by each model',
  ).argParser(several<string>),
  tierOption(),
  new Option('--only <row>', 'judge only this row; repeatable').argParser(several<string>),
  new Option(
    '--predictions <row=file>',
    "another system's answers as a row: id with label or scores; with --preset for a row of the paper's; repeatable",
  ).argParser((text: string, before: readonly StandIn[] | undefined) => several(standIn(text), before)),
  new Option(
    '--with <row>',
    "the protocol once more as a row: a preset's name (none, paper, thrifty), or ROW=SETTINGS under that file; repeatable",
  ).argParser((text: string, before: readonly AddedRow[] | undefined) => several(addedRow(text), before)),
  new Option('--repeat <times>', 'judge each row this often, with draws of its own').argParser(positiveWhole),
  new Option('--data <file>', 'a labelled file; repeatable').argParser(several<string>),
  new Option('--format <format>', `the format of each file, in the same order: ${FORMATS.join(', ')}`).argParser(
    (text: string, before: readonly string[] | undefined) => several(text, before),
  ),
  ...repliesReadingOptions(),
  labelFieldOption(),
  labelAsOption(),
  contradictionsOption('keep'),
  new Option(
    '--rows <which>',
    'rows beside the protocol: none, baselines (default), all (also without each part), thrifty (also with each saving), or gates (in its place: each way to decide when to debate)',
  ).choices(BESIDE),
  new Option('--size <items>', 'judge this many items, drawn by the seed').argParser(positiveWhole),
  new Option('--balanced', 'the same number of items for each label'),
  new Option('--split <name>', "the data set's own split, or dev or test, drawn by the seed"),
  new Option('--seed <seed>', 'seed of samples and intervals').default('1'),
  new Option('--unverified <as>', 'what unverified claims count as').choices(UNVERIFIED_READINGS).default('leave-out'),
  new Option('--unlabelled <as>', 'what an item counts as that got no label; some papers leave it out')
    .choices(UNLABELLED_READINGS)
    .default('wrong'),
  new Option('--profanity <as>', 'what profanity without a target counts as in UnSmile')
    .choices(['hate', 'non-hate'])
    .default('hate'),
  new Option('--out <folder>', 'record answers and write reports there; an interrupted run resumes'),
  new Option('--report <folder>', 'write reports there (default: the folder of --out)'),
  new Option('--texts', 'include the judged texts in the reports'),
  new Option(
    '--debates <items>',
    'write the whole debates of so many items as pages in the report, first those that it names; with their words and prompts',
  ).argParser(positiveWhole),
  new Option('--replay <folder>', 'evaluate the answers recorded there, without a model'),
  new Option('--what-if <settings>', 'with --replay: estimate the missing calls and the cost under these settings'),
  new Option('--yes', 'with --what-if: make the missing calls, and record the answers in the folder of --replay'),
  new Option('--max-cost <usd>', 'stop when this run has cost this much; recorded answers are free').argParser(
    positive,
  ),
  new Option(
    '--against <file>',
    'an earlier result as JSON; exit code 1 if something changed beyond chance and margin',
  ),
  new Option('--margin <points>', 'with --against: tolerate changes of up to this many points of accuracy')
    .default(3)
    .argParser(notNegative),
  new Option(
    '--steer',
    'how often verdicts follow contradictory policies about the texts of a HateCheck file',
  ).conflicts([
    'preset',
    'only',
    'predictions',
    'with',
    'repeat',
    'rows',
    'balanced',
    'split',
    'report',
    'whatIf',
    'against',
    'texts',
    'debates',
  ]),
  new Option('--keep-near-duplicates', 'allow near-duplicates of a text among its examples from the shelves'),
]
