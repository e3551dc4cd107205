import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { loadSettings } from '../config/load.ts'
import { duration } from '../config/schema.ts'
import type { Pace } from '../producers/replay.ts'
import { unexpected } from './adapters/log.ts'
import { type BenchOptions, runBench } from './bench/run.ts'
import { type Chosen, INPUTS, type Input, listDeadLetters, replayDeadLetters } from './commands/dead-letters.ts'
import { demo } from './commands/demo.ts'
import { doctor } from './commands/doctor.ts'
import { judgeFile } from './commands/judge.ts'
import {
  approveProposals,
  learnFile,
  learnTopic,
  listProposals,
  PROPOSAL_STATES,
  rejectProposals,
  showProposal,
  tellLearning,
} from './commands/learn.ts'
import {
  dropShelf,
  importShelf,
  libraryHistory,
  listShelves,
  rollbackChange,
  SHELF_FORMATS,
  type ShelfFormat,
  searchShelf,
  tellImport,
} from './commands/library.ts'
import { produce } from './commands/produce.ts'
import { listProtocols, pauseProtocol, resumeProtocol } from './commands/protocols.ts'
import { recover, tellRecovered } from './commands/recover.ts'
import { run } from './commands/run.ts'
import { stack } from './commands/stack.ts'
import { counted, terminal } from './commands/terminal.ts'
import { takeBackItem, touchedBy } from './commands/touched.ts'
import { verdicts } from './commands/verdicts.ts'
import { ROLES, type Role } from './composition/service.ts'
import { OperatorError } from './domain/errors.ts'
import { DEAD_LETTER_REASONS, type DeadLetterReason } from './domain/messages.ts'
import { FORMATS, type Format, faultIn } from './evaluation/formats.ts'
import { FAULTS, type Fault } from './stack/understudy/faults.ts'
import { stopRequests } from './stop-requests.ts'

const io = terminal(process.stdout, process.stderr)
const environment = process.env
// Whoever read the results has had enough (`gavel verdicts | head`): that is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})

/** The first request to stop lets the command end what it has in hand; the second one ends the process at once. */
const { signal, stopped } = stopRequests(process, performance.now.bind(performance), () => process.exit(130))
const commandIo = { terminal: io, signal }

/** Ends the process once its reader has everything: what waits for a slow one would be lost. */
async function leave(code: number): Promise<never> {
  const outputs = [process.stdout, process.stderr]
  await Promise.all(outputs.map((output) => new Promise((resolve) => output.write('', resolve))))
  process.exit(code)
}

/** Node itself would print an error with all that it holds: what was asked of a model, what was sent to Redis. */
function fail(error: unknown): Promise<never> {
  const stack = environment.GAVEL_LOG_LEVEL === 'debug'
  const how = stack ? '' : '; GAVEL_LOG_LEVEL=debug shows the stack'
  io.say(`${running}: unexpected: ${unexpected(error, { stack })}${how}`)
  // A reader that hangs keeps no broken process alive.
  setTimeout(() => process.exit(1), BROKEN_ENDS_MS)
  return leave(1)
}
const BROKEN_ENDS_MS = 2_000
/** The command that runs, with those that it belongs to. */
let running = 'gavel'
process.on('uncaughtException', fail)

const program = new Command('gavel')
  .description('Judges live social content by structured debate: posts and comments in on Kafka, verdicts out.')
  .option('--config <file>', 'settings to lay over config/gavel.yaml')
  .exitOverride()
  .configureOutput({ writeErr: (text) => process.stderr.write(text) })
  .hook('preAction', (_, command) => {
    const names: string[] = []
    for (let each: Command | null = command; each !== null; each = each.parent) names.unshift(each.name())
    running = names.join(' ')
  })
  .showHelpAfterError('Run with --help to see what it takes.')

/** Settings where the command that runs wants them; `--config` stands before or after the command's name. */
function settingsOf(command: Command) {
  const { config } = command.optsWithGlobals<{ config?: string }>()
  return loadSettings(environment, config)
}

function subcommand(under: Command, name: string, description: string): Command {
  return under
    .command(name)
    .description(description)
    .option('--config <file>', 'settings to lay over config/gavel.yaml')
    .exitOverride()
}

const positive = (text: string): number => {
  const number = Number(text)
  if (!(number > 0)) throw new InvalidArgumentError('must be a number above 0')
  return number
}
const notNegative = (text: string): number => {
  const number = Number(text)
  if (!(number >= 0)) throw new InvalidArgumentError('must be a number, 0 or more')
  return number
}
const shareOf = (text: string): number => {
  const number = Number(text)
  if (!(number >= 0 && number <= 1)) throw new InvalidArgumentError('must be a number from 0 to 1')
  return number
}
const timeOf = (text: string): number => {
  const time = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(time)) throw new InvalidArgumentError('must be a time in ISO 8601, as 2026-01-31T12:00:00Z')
  return time
}
const rolesOf = (text: string): Role[] =>
  text.split(',').map((part) => {
    const role = ROLES.find((known) => known === part.trim())
    if (role === undefined) throw new InvalidArgumentError(`roles are ${ROLES.join(', ')}`)
    return role
  })
const faultsOf = (text: string): Fault[] =>
  text.split(',').map((part) => {
    const fault = FAULTS.find((known) => known === part.trim())
    if (fault === undefined) throw new InvalidArgumentError(`faults are ${FAULTS.join(', ')}`)
    return fault
  })
const reasonsOf = (text: string): DeadLetterReason[] =>
  text.split(',').map((part) => {
    const reason = DEAD_LETTER_REASONS.find((known) => known === part.trim())
    if (reason === undefined) throw new InvalidArgumentError(`reasons are ${DEAD_LETTER_REASONS.join(', ')}`)
    return reason
  })
const inputsOf = (text: string): Input[] =>
  text.split(',').map((part) => {
    const input = INPUTS.find((known) => known === part.trim())
    if (input === undefined) throw new InvalidArgumentError(`topics are ${INPUTS.join(', ')}`)
    return input
  })
function durationOf(text: string): number {
  const read = duration.safeParse(text)
  if (!read.success) throw new InvalidArgumentError(read.error.issues[0]?.message ?? 'must be a duration')
  return read.data
}

const formatOption = () => new Option('--format <format>', "the file's format").choices(FORMATS).default('gavel')
const jsonOption = () => new Option('--json', 'results as JSON')

subcommand(program, 'run', 'the service: intake, stages and publication, until it is stopped')
  .option('--roles <roles>', `comma-separated: ${ROLES.join(', ')}`, rolesOf, [...ROLES])
  .addHelpText(
    'after',
    '\nExample:\n  $ KAFKA_BROKERS=localhost:9092 REDIS_URL=redis://localhost OPENAI_API_KEY=… gavel run',
  )
  .action(async ({ roles }: { roles: Role[] }, command: Command) => run(settingsOf(command), roles, stopped))

subcommand(program, 'produce <file>', "sends a file's posts and comments to Kafka")
  .addOption(formatOption())
  .addOption(new Option('--rate <n>', 'messages a second').argParser(positive).conflicts('speed'))
  .option('--speed <x>', 'keep the recorded pace, this many times faster', positive)
  .option('--max-pause <s>', 'with --speed: no pause longer than this many seconds', notNegative, 1)
  .addOption(jsonOption())
  .addHelpText('after', '\nExample:\n  $ gavel produce threads.jsonl --format rumoureval2017 --speed 20000')
  .action(
    async (
      file: string,
      options: { format: Format; rate?: number; speed?: number; maxPause: number; json?: boolean },
      command: Command,
    ) => {
      const { rate, speed, maxPause } = options
      const pace: Pace =
        rate !== undefined
          ? { kind: 'rate', perSecond: rate }
          : speed !== undefined
            ? { kind: 'recorded', speed, maxPauseMs: maxPause * 1000 }
            : { kind: 'flat-out' }
      const done = await produce(settingsOf(command), file, options.format, pace, commandIo)
      if (options.json) io.out(JSON.stringify(done))
      else {
        const others = [
          ...(done.counterspeech > 0 ? [`${done.counterspeech} counterspeech`] : []),
          ...(done.feedback > 0 ? [`${done.feedback} feedback`] : []),
        ]
        const parts = [`${done.posts} posts`, `${done.comments} comments`, ...others].join(', ')
        io.out(`${done.sent} sent (${parts}) in ${done.seconds.toFixed(1)} s`)
      }
      for (const bad of done.skipped.slice(0, 20)) io.say(faultIn(file, bad))
      const leftOut = done.skipped.filter(({ read }) => read !== true).length
      if (leftOut > 0) throw new OperatorError(`${leftOut} lines of ${file} were left out.`)
    },
  )

subcommand(program, 'verdicts', 'reads the verdicts topic')
  .option('--follow', 'go on with what comes')
  .option('--protocol <name>', 'only this protocol')
  .addOption(jsonOption())
  .addHelpText('after', '\nExample:\n  $ gavel verdicts --follow --json | jq .label')
  .action(async (options: { follow?: boolean; protocol?: string; json?: boolean }, command: Command) => {
    const { follow = false, json = false, protocol } = options
    await verdicts(settingsOf(command), { follow, json, ...(protocol === undefined ? {} : { protocol }) }, commandIo)
  })

subcommand(program, 'judge <file>', 'judges the subjects of a file right here, without Kafka or Redis')
  .requiredOption('--protocol <name>', 'by which protocol')
  .addOption(formatOption())
  .option(
    '--final-age <duration>',
    'leave out comments that came later after their post than this, as a stream does (24h, 90m); without it threads are judged whole',
    durationOf,
  )
  .option('--transcript', 'the whole argument of each verdict')
  .option(
    '--keep-near-duplicates',
    'of labelled texts: may find near-duplicates of themselves on the shelves, as in production',
  )
  .addOption(jsonOption())
  .addHelpText(
    'after',
    [
      '\nNo case finds its own item on a shelf. In a labelled format it finds no near-duplicate of its text either (edit',
      'similarity over words above 0.8): a label that stands beside the same words would be no judgement.',
      '\nExample:\n  $ gavel judge event.jsonl --protocol rumor --json',
    ].join('\n'),
  )
  .action(
    async (
      file: string,
      options: {
        protocol: string
        format: Format
        finalAge?: number
        transcript?: boolean
        keepNearDuplicates?: boolean
        json?: boolean
      },
      command: Command,
    ) => {
      const { protocol, finalAge = Number.POSITIVE_INFINITY, transcript = false, json = false } = options
      const how = { ...options, finalAge, transcript, json }
      const done = await judgeFile(settingsOf(command), file, how, commandIo)
      const { verdicts: judged, undecided, refused, unrouted } = done
      io.say(`${counted(judged, 'verdict')}, ${undecided} undecided, ${counted(refused, 'input')} refused.`)
      if (unrouted > 0) io.say(`${counted(unrouted, 'subject')} without anything that ${protocol} judges.`)
    },
  )

const deadLetters = subcommand(program, 'dead-letters', 'what could not be read or judged, and why')
const choosing = (command: Command) =>
  command
    .option('--reason <reasons>', `only these, comma-separated: ${DEAD_LETTER_REASONS.join(', ')}`, reasonsOf)
    .option('--topic <names>', `only from these, comma-separated: ${INPUTS.join(', ')}`, inputsOf)
    .option('--since <time>', 'only of messages that came then or later (ISO 8601)', timeOf)
    .option('--until <time>', 'only of messages that came before then (ISO 8601)', timeOf)
    .option('--id <ids...>', 'only these: places as "list" prints them (TOPIC/PARTITION@OFFSET), or keys')
choosing(subcommand(deadLetters, 'list', 'every dead letter on the topic, or those that are meant'))
  .addOption(jsonOption())
  .addHelpText('after', '\nExample:\n  $ gavel dead-letters list --reason invalid,future --json')
  .action(async ({ json = false, ...chosen }: Chosen & { json?: boolean }, command: Command) =>
    listDeadLetters(settingsOf(command), { chosen, json }, commandIo),
  )
choosing(subcommand(deadLetters, 'replay', 'sends the originals to their topics once more; each once, unless --again'))
  .option('--again', 'also what was replayed before and did not come back')
  .option('--dry-run', 'only say what would be sent')
  .addOption(jsonOption())
  .addHelpText(
    'after',
    '\nSee docs/dead-letters.md.\n\nExamples:\n  $ gavel dead-letters replay --dry-run\n  $ gavel dead-letters replay --reason future --since 2026-05-01',
  )
  .action(
    async (
      options: Chosen & { again?: boolean; dryRun?: boolean; json?: boolean },
      command: Command,
    ): Promise<void> => {
      const { again = false, dryRun = false, json = false, ...chosen } = options
      await replayDeadLetters(settingsOf(command), { chosen, again, dryRun, json }, commandIo)
    },
  )

subcommand(program, 'recover', 'after Redis was emptied or failed over: revisions and threads, out of the topics')
  .option(
    '--since <time>',
    'take up only what was sent since then (ISO 8601), where Redis still has what is older',
    timeOf,
  )
  .option('--dry-run', 'only say what would be done')
  .addOption(jsonOption())
  .addHelpText(
    'after',
    '\nServices that run wait for it and go on by themselves. See docs/recover.md.\n\nExample:\n  $ gavel recover --dry-run',
  )
  .action(
    async (
      { since, dryRun = false, json = false }: { since?: number; dryRun?: boolean; json?: boolean },
      command: Command,
    ) =>
      tellRecovered(
        await recover(settingsOf(command), { since: since ?? null, dryRun }, commandIo),
        { json },
        commandIo,
      ),
  )

const library = subcommand(program, 'library', 'shelves of labelled examples and precedents')
subcommand(library, 'import <file>', "puts a file's labelled texts onto a shelf, as one change")
  .requiredOption('--shelf <name>', 'onto which shelf; it is made if it is missing')
  .addOption(new Option('--format <format>', "the file's format; by its ending if not given").choices(SHELF_FORMATS))
  .option('--text-field <name>', 'the field or column that holds the text', 'text')
  .option('--label-field <name>', 'the field or column that holds the label', 'label')
  .option('--tenant <name>', 'who alone shall be shown it')
  .addOption(jsonOption())
  .addHelpText(
    'after',
    `
Without --tenant it is shown to every tenant where library.shared names the shelf, else to the tenant "default" alone.

Example:
  $ gavel library import comments.jsonl --shelf kodoli --format kodoli`,
  )
  .action(
    async (
      file: string,
      options: {
        shelf: string
        format?: ShelfFormat
        textField: string
        labelField: string
        tenant?: string
        json?: boolean
      },
      command: Command,
    ) => {
      const { json = false, ...how } = options
      const settings = settingsOf(command)
      tellImport(settings, file, await importShelf(settings, file, how, commandIo), { json }, commandIo)
    },
  )
subcommand(library, 'list', 'the shelves, who is shown them, and who made their vectors')
  .addOption(jsonOption())
  .addHelpText('after', '\nExample:\n  $ gavel library list')
  .action(async ({ json = false }: { json?: boolean }, command: Command) =>
    listShelves(settingsOf(command), { json }, commandIo),
  )
subcommand(
  library,
  'search <text>',
  'the nearest items, as a protocol would be given them; the same text is not among them',
)
  .requiredOption('--shelf <name>', 'on which shelf')
  .option('-k <n>', 'how many', positive, 3)
  .option('--lang <tag>', 'the language of the text (BCP 47)')
  .option('--tenant <name>', 'as this tenant is given them', 'default')
  .addOption(jsonOption())
  .addHelpText('after', '\nExample:\n  $ gavel library search "they all should go home" --shelf unsmile -k 5')
  .action(
    async (
      text: string,
      options: { shelf: string; k: number; lang?: string; tenant: string; json?: boolean },
      command: Command,
    ) => {
      const { json = false, ...how } = options
      await searchShelf(settingsOf(command), text, { ...how, json }, commandIo)
    },
  )
subcommand(library, 'history', 'what changed on the shelves, the newest first')
  .option('--shelf <name>', 'only this shelf')
  .addOption(jsonOption())
  .addHelpText('after', '\nExample:\n  $ gavel library history --shelf precedents')
  .action(async ({ json = false, ...how }: { shelf?: string; json?: boolean }, command: Command) =>
    libraryHistory(settingsOf(command), { ...how, json }, commandIo),
  )
subcommand(library, 'rollback <change>', 'takes back one change: what it added goes, what it replaced returns')
  .addHelpText('after', '\nExample:\n  $ gavel library rollback c-0123abcd')
  .action(async (change: string, _: object, command: Command) => rollbackChange(settingsOf(command), change, commandIo))
subcommand(library, 'drop <shelf>', 'erases a shelf and its history for good')
  .option('--tenant <name>', "only this tenant's part of it")
  .addHelpText('after', '\nExample:\n  $ gavel library drop kodoli')
  .action(async (shelf: string, options: { tenant?: string }, command: Command) =>
    dropShelf(settingsOf(command), shelf, options, commandIo),
  )

const judgedOption = () => new Option('--judged <file>', 'verdicts of "gavel judge --json", in place of the topic')
subcommand(library, 'touched <id>', 'the verdicts that rest on a precedent, by its id, its proposal or its change')
  .option('--tenant <name>', "only this tenant's verdicts")
  .addOption(judgedOption())
  .addOption(jsonOption())
  .addHelpText(
    'after',
    `
Verdicts name precedents under evidence.precedents. They are found for as long as their topic keeps them.

Examples:
  $ gavel library touched 3f1c9a0b2d4e6f80
  $ gavel library touched 0d0fdd3c66e5a2b4aa6d1c1bb7c4f9aa --json | jq -r 'select(.stands).subjectId'`,
  )
  .action(async (id: string, options: { tenant?: string; judged?: string; json?: boolean }, command: Command) => {
    const { json = false, ...how } = options
    await touchedBy(settingsOf(command), id, { ...how, json }, commandIo)
  })
subcommand(library, 'take-back <id>', 'takes one item off its shelf, and names the verdicts that rest on it')
  .option('--shelf <name>', 'from this shelf, where it stands on several')
  .option('--tenant <name>', "from this tenant's part")
  .option('--everywhere', 'from every place where it stands')
  .option('--by <name>', 'who decides, for the history; your account if left out')
  .addOption(judgedOption())
  .addOption(jsonOption())
  .addHelpText(
    'after',
    `
By the id that verdicts name, or its proposal's; "rollback" takes back a whole change. Its proposals are rejected.

Example:
  $ gavel library take-back 3f1c9a0b2d4e6f80 --by ann`,
  )
  .action(
    async (
      id: string,
      options: {
        shelf?: string
        tenant?: string
        everywhere?: boolean
        by?: string
        judged?: string
        json?: boolean
      },
      command: Command,
    ) => {
      const { json = false, ...how } = options
      await takeBackItem(settingsOf(command), id, { ...how, json }, commandIo)
    },
  )

const learn = subcommand(program, 'learn', "from people's feedback on verdicts to proposals for the shelves")
  .argument('[file]', 'feedback, as "gavel produce" takes it')
  .option('--judged <file>', 'verdicts and transcripts of "gavel judge --json --transcript", in place of the topics')
  .option('--topic', 'the feedback topic, from where the last run ended')
  .option('--all', 'also what the verdict got right: for a first library')
  .addOption(jsonOption())
  .addHelpText('after', '\nExample:\n  $ gavel learn feedback.jsonl --judged judged.jsonl')
  .action(
    async (
      file: string | undefined,
      options: { judged?: string; topic?: boolean; all?: boolean; json?: boolean },
      command: Command,
    ) => {
      const { judged, topic = false, all = false, json = false } = options
      if ((file === undefined) !== topic || (topic && judged !== undefined))
        command.error('error: give a file of feedback, with --judged if you like, or --topic')
      const settings = settingsOf(command)
      const done =
        file === undefined
          ? await learnTopic(settings, { all, json }, commandIo)
          : await learnFile(settings, file, { all, json, ...(judged === undefined ? {} : { judged }) }, commandIo)
      tellLearning(done, { json }, commandIo)
    },
  )
/** `--json` and `--all` are options of `learn` too, which takes them wherever they stand. */
const learnOptions = (command: Command) => {
  const { json = false, all = false, by } = command.optsWithGlobals<{ json?: boolean; all?: boolean; by?: string }>()
  return { json, all, ...(by === undefined ? {} : { by }) }
}
const byOption = () => new Option('--by <name>', 'who decides, for the history; your account if left out')

subcommand(learn, 'list', 'proposals, the oldest first, with those that they contradict')
  .addOption(new Option('--state <state>', 'only these').choices(PROPOSAL_STATES))
  .addOption(jsonOption())
  .addHelpText('after', '\nExample:\n  $ gavel learn list --state waiting')
  .action(async ({ state }: { state?: (typeof PROPOSAL_STATES)[number] }, command: Command) => {
    const { json } = learnOptions(command)
    await listProposals(settingsOf(command), { json, ...(state === undefined ? {} : { state }) }, commandIo)
  })
subcommand(learn, 'show <id>', 'everything that is known of a proposal')
  .addOption(jsonOption())
  .addHelpText('after', '\nExample:\n  $ gavel learn show 3f1c9a0b2d4e6f80')
  .action(async (id: string, _: object, command: Command) =>
    showProposal(settingsOf(command), id, learnOptions(command), commandIo),
  )
subcommand(learn, 'approve [ids...]', 'puts proposals on their shelves, as one change a shelf')
  .option('--all', 'all that wait, but those that contradict one another')
  .addOption(byOption())
  .addOption(jsonOption())
  .addHelpText('after', '\nExample:\n  $ gavel learn approve 3f1c9a0b2d4e6f80 --by ann')
  .action(async (ids: string[], _: object, command: Command) => {
    const { all, ...options } = learnOptions(command)
    if (ids.length > 0 === all) command.error('error: give ids, or --all')
    await approveProposals(settingsOf(command), all ? 'all' : ids, options, commandIo)
  })
subcommand(learn, 'reject <ids...>', 'proposals that nobody shall find')
  .addOption(byOption())
  .addOption(jsonOption())
  .addHelpText('after', '\nExample:\n  $ gavel learn reject 3f1c9a0b2d4e6f80')
  .action(async (ids: string[], _: object, command: Command) =>
    rejectProposals(settingsOf(command), ids, learnOptions(command), commandIo),
  )
subcommand(learn, 'rollback <change>', 'takes back what one change did; its proposals wait again')
  .addHelpText('after', '\nExample:\n  $ gavel learn rollback 20260101120000000-3fa9c1')
  .action(async (change: string, _: object, command: Command) => rollbackChange(settingsOf(command), change, commandIo))
subcommand(learn, 'history', 'every change to the shelves, the newest first')
  .addOption(jsonOption())
  .addHelpText('after', '\nExample:\n  $ gavel learn history')
  .action(async (_: object, command: Command) => {
    const { json } = learnOptions(command)
    await libraryHistory(settingsOf(command), { json }, commandIo)
  })

const protocols = subcommand(program, 'protocols', 'what judges, and what is paused')
subcommand(protocols, 'list', 'every protocol: on or off by the settings, paused or not')
  .addOption(jsonOption())
  .addHelpText('after', '\nExample:\n  $ gavel protocols list')
  .action(async ({ json = false }: { json?: boolean }, command: Command) =>
    listProtocols(settingsOf(command), { json }, io),
  )
subcommand(protocols, 'pause <name>', 'no new case of this protocol, in any process, until it is resumed')
  .addHelpText('after', '\nExample:\n  $ gavel protocols pause safety')
  .action(async (name: string, _: object, command: Command) => {
    await pauseProtocol(settingsOf(command), name)
    io.say(`${name} is paused: open cases end, what comes due is remembered.`)
  })
subcommand(protocols, 'resume <name>', 'judges what came due meanwhile, and goes on')
  .addHelpText('after', '\nExample:\n  $ gavel protocols resume safety')
  .action(async (name: string, _: object, command: Command) => {
    const woken = await resumeProtocol(settingsOf(command), name)
    io.say(`${name} goes on; ${woken} threads waited for it.`)
  })

subcommand(program, 'stack', 'local Redis, Kafka and understudy, kept up until it is stopped')
  .addOption(
    new Option('--kafka <kind>', 'Apache Kafka itself, or an in-memory broker')
      .choices(['apache', 'memory'])
      .default('apache'),
  )
  .option('--env <file>', 'also write the settings to this file, as NAME=value')
  .option('--latency <ms>', "the understudy's time for an answer", notNegative, 200)
  .option('--fail-rate <share>', 'the share of calls on which the understudy misbehaves, 0 to 1', notNegative, 0)
  .option('--faults <kinds>', `how it misbehaves, comma-separated: ${FAULTS.join(', ')}`, faultsOf)
  .option('--call-log <file>', 'where the understudy logs its calls, as JSON Lines')
  .addOption(jsonOption())
  .addHelpText('after', '\nExample:\n  $ gavel stack --env .env.local &\n  $ set -a; . ./.env.local; gavel run')
  .action(
    async (options: {
      kafka: 'apache' | 'memory'
      env?: string
      latency: number
      failRate: number
      faults?: Fault[]
      callLog?: string
      json?: boolean
    }) => {
      const { kafka, env, latency, failRate, faults, callLog, json = false } = options
      const understudy = {
        latencyMs: latency,
        faults: { rate: failRate, ...(faults === undefined ? {} : { kinds: faults }) },
        ...(callLog === undefined ? {} : { logFile: callLog }),
      }
      await stack(
        environment,
        { kafka, json, understudy, ...(env === undefined ? {} : { env }) },
        { terminal: io, stopped },
      )
    },
  )

subcommand(program, 'doctor', 'checks settings, prompts, Kafka, Redis and the model, and says what to fix')
  .addOption(jsonOption())
  .addHelpText('after', '\nAsks each model one tiny question, which costs a few tokens.\n\nExample:\n  $ gavel doctor')
  .action(async ({ json = false }: { json?: boolean }, command: Command) => {
    if (!(await doctor(settingsOf(command), { json }, io))) throw new OperatorError('Something is broken; see above.')
  })

subcommand(program, 'bench', 'load on the whole pipeline, with a model of set latency; prints one JSON report')
  .option('--protocol <name>', 'by which protocol', 'rumor')
  .option('--comments <n>', 'comments of each post', positive, 40)
  .option('--flood <n>', 'comments of the intake phase', positive, 300_000)
  .option('--verdicts <n>', 'verdicts of the phase without latency', positive, 4_000)
  .option('--slots <n>', 'model slots', positive, 256)
  .option(
    '--latency <ms>',
    'time of a model call; 500, 20 with --gateway or --fail-rate, 200 with --gateway --faults, 2000 with --recovery',
    positive,
  )
  .option('--half-load <s>', 'length of the half-load phase', positive, 30)
  .addOption(
    new Option('--gateway', "instead: the gateway's overhead a call, beside the plain client").conflicts([
      'savings',
      'failRate',
    ]),
  )
  .option('--faults', 'with --gateway: goodput before a model of which a share of calls is refused, fails or hangs')
  .option('--rate <n>', 'with --gateway: calls a second', positive, 200)
  .option('--seconds <n>', 'with --gateway: length of each phase', positive, 20)
  .addOption(
    new Option('--fail-rate <share>', 'instead: every protocol before a model that fails this share of its calls')
      .argParser(shareOf)
      .conflicts('savings'),
  )
  .option('--subjects <n>', 'with --fail-rate: posts, and as many replies', positive, 100)
  .option('--savings', 'instead: what each saving of the rumor protocol is worth')
  .option('--data <file>', 'with --savings: threads; the sample event if left out')
  .addOption(
    new Option('--recovery', 'instead: how long after kill -9 others take over').conflicts([
      'gateway',
      'failRate',
      'savings',
      'soak',
    ]),
  )
  .option('--kills <n>', 'with --recovery: processes killed', positive, 5)
  .addOption(
    new Option('--soak', 'instead: half load for some minutes, a row each').conflicts([
      'gateway',
      'failRate',
      'savings',
    ]),
  )
  .option('--minutes <n>', 'with --soak: how long', positive, 10)
  .addOption(formatOption())
  .addOption(jsonOption())
  .addHelpText(
    'after',
    `
Examples:
  $ gavel bench --json | jq .verdictsPerSecond
  $ gavel bench --gateway --rate 200 | jq .gateway.overheadMs
  $ gavel bench --gateway --faults --seconds 10 | jq '.rows[] | select(.share == 0.05)'
  $ gavel bench --fail-rate 0.3
  $ gavel bench --savings --data threads.jsonl --format rumoureval2017
  $ gavel bench --recovery --kills 5 | jq .askedAgain
  $ gavel bench --soak --minutes 10`,
  )
  .action((options: BenchOptions, command: Command) =>
    runBench(environment, () => settingsOf(command), options, commandIo),
  )

program
  .command('demo')
  .description('a sample event, judged live: brings what this machine lacks, needs no key')
  .exitOverride()
  .action(async () => {
    if (!(await demo(environment, commandIo)))
      throw new OperatorError('The demo lost or repeated verdicts; see the table.')
  })

try {
  await program.parseAsync()
  // Clients of Kafka and of models may hold sockets open for a while; what had to be written has been written.
  await leave(0)
} catch (error) {
  if (error instanceof CommanderError) await leave(error.exitCode === 0 ? 0 : 2)
  if (error instanceof OperatorError) {
    io.say(`gavel: ${error.message}`)
    await leave(1)
  }
  await fail(error)
}
