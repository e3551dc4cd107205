import { Option } from 'commander'
import type { Settings } from '../../config/schema.ts'
import { memoryTopics } from '../adapters/memory/topics.ts'
import { type MemoryService, memoryService } from '../composition/memory-service.ts'
import { OperatorError } from '../domain/errors.ts'
import { deadLetter } from '../domain/messages.ts'
import { verdict } from '../domain/verdict.ts'
import { type BadLine, faultIn } from '../evaluation/file-message.ts'
import { FILE_TOPICS, feeding, subjectsOf } from '../evaluation/file-topics.ts'
import { type Format, fileMessages, sourceIdOf } from '../evaluation/formats.ts'
import { heldOut } from '../evaluation/held-out.ts'
import { LABELLED_FORMATS } from '../evaluation/labelled-sets.ts'
import type { OutboxEntry } from '../ports/cases.ts'
import type { Report } from '../ports/report.ts'
import { PROTOCOLS } from '../protocols/registry.ts'
import type { Command, Invocation } from './command.ts'
import { durationMs, formatOption } from './options.ts'
import { otherModels } from './paper-models.ts'
import { counted, printable, printableJson } from './terminal.ts'
import { verdictLine } from './verdict-line.ts'
import { withModel } from './with-model.ts'

export interface Judged {
  readonly verdicts: number
  readonly undecided: number
  readonly refused: number
  /** Subjects in which the protocol finds nothing to judge. */
  readonly unrouted: number
}

export interface JudgeOptions {
  readonly protocol: string
  readonly format: Format
  readonly transcript: boolean
  /** Whether verdicts are printed as JSON. */
  readonly json: boolean
  /** Comments that came longer after their post than this are left out, in ms; infinite takes threads whole. */
  readonly finalAge: number
  /** Whether a labelled text may be shown near-duplicates of itself; it is shown its own item in no case. */
  readonly keepNearDuplicates?: boolean
}

interface Options extends Pick<JudgeOptions, 'protocol' | 'format' | 'keepNearDuplicates'> {
  readonly transcript?: boolean
  readonly finalAge?: number
}

/** `gavel judge`: a file's subjects, judged in this process. */
export const command: Command<Options, Judged> = {
  options: [
    new Option('--protocol <name>', 'protocol to use').makeOptionMandatory(),
    formatOption(),
    new Option(
      '--final-age <duration>',
      'leave out comments that came later after their post than this, as a stream does (24h, 90m); without it threads are judged whole',
    ).argParser(durationMs),
    new Option('--transcript', 'the whole argument of each verdict'),
    new Option(
      '--keep-near-duplicates',
      'for labelled data: allow near-duplicates of the text as examples, as in production',
    ),
  ],
  json: true,
  help: [
    'A case is never shown its own item from a shelf. In a labelled format it is shown no near-duplicate of its text either',
    '(edit similarity over words above 0.8): to copy the label of the same words is not to judge.',
    '\nExample:\n  $ gavel judge event.jsonl --protocol rumor --json',
  ].join('\n'),
  run({ args: [file = ''], options, json, settings, ...io }) {
    const { finalAge = Number.POSITIVE_INFINITY, transcript = false } = options
    return judgeFile(settings(), file, { ...options, finalAge, transcript, json }, io)
  },
  print({ verdicts, undecided, refused, unrouted }, { options: { protocol }, terminal }) {
    terminal.say(`${counted(verdicts, 'verdict')}, ${undecided} undecided, ${counted(refused, 'input')} refused.`)
    if (unrouted > 0) terminal.say(`${counted(unrouted, 'subject')} skipped: nothing for ${protocol} to judge.`)
  },
}

type JudgeIo = Pick<Invocation, 'terminal' | 'signal'>

/**
 * The whole pipeline over a file, in this process, on the memory twins of Kafka and Redis: every subject's final snapshot is
 * judged. Without a model in the settings the understudy answers, and it is said.
 */
export async function judgeFile(settings: Settings, file: string, options: JudgeOptions, io: JudgeIo): Promise<Judged> {
  const { terminal } = io
  const counts = { verdicts: 0, undecided: 0, refused: 0, unrouted: 0 }
  const complain: Report = (name, event) => {
    if (name === 'error' && 'error' in event) terminal.say(printable(`${event.where}: ${String(event.error)}`, 300))
    // A comment that the protocol does not read is no subject of it, and so not unrouted.
    if (name === 'messages:settled' && 'outcome' in event && 'topic' in event && event.topic !== FILE_TOPICS.comments)
      if (event.outcome === 'unrouted') counts.unrouted += event.count
  }
  await withModel(settings, terminal, (reachable) =>
    judgeWith(reachable, file, options, io, { report: complain, counts }),
  )
  return counts
}

async function judgeWith(
  given: Settings,
  file: string,
  options: JudgeOptions,
  io: JudgeIo,
  { report, counts }: { report: Report; counts: Counts },
): Promise<void> {
  const { terminal } = io
  // In a stream a thread ends at a set age; a file holds the whole thread.
  const settings = { ...given, checkpoints: { ...given.checkpoints, finalAge: options.finalAge } }
  const { attempts, backoff } = settings.stages.default ?? { attempts: 1, backoff: 0 }
  const topics = memoryTopics()
  const feed = feeding(topics.send)
  const descriptions = new Map<string, readonly string[]>()
  // The file goes in as the topics would, and every due time has come when it has been read.
  const service = await memoryService(settings, {
    protocol: options.protocol,
    secret: settings.fences.key || 'one run',
    topics: FILE_TOPICS,
    reader: topics.reader,
    report,
    retry: { attempts, backoffMs: backoff },
    shown: (library) =>
      heldOut(library, {
        sourceIdOf: (subjectId) => sourceIdOf(file, options.format, subjectId),
        keepNearDuplicates: options.keepNearDuplicates === true || !isLabelled(options.format),
      }),
    descriptions: ({ postId }) => descriptions.get(postId) ?? [],
    streamClock: { idleAfter: 0, atEnd: 'finish' },
  })
  if (service === null)
    throw new OperatorError(
      `No protocol is called ${options.protocol}, or the settings switch it off. See "protocols" in config/gavel.yaml.`,
    )
  const kinds = PROTOCOLS.filter(({ name }) => name === options.protocol)
  for (const line of otherModels(settings, kinds)) terminal.say(line)
  try {
    const skipped: BadLine[] = []
    const messages = fileMessages(file, options.format, (bad) => skipped.push(bad))
    await feed.all(subjectsOf(messages, skipped, descriptions))
    for (const bad of skipped) terminal.say(faultIn(file, bad))
    counts.refused += skipped.filter(({ read }) => read !== true).length
    await collect(service, counts, { ...options, file, lineOf: feed.lineOf }, io)
  } finally {
    await service.close()
  }
}

type Counts = { -readonly [Name in keyof Judged]: Judged[Name] }

function isLabelled(format: Format): boolean {
  return LABELLED_FORMATS.some((known) => known === format)
}

/** Prints verdicts until no case is open or due any more. */
async function collect(
  { taking, opener, threads, cases, outbox }: MemoryService,
  counts: Counts,
  options: Pick<JudgeOptions, 'transcript' | 'json'> & {
    readonly file: string
    readonly lineOf: ReturnType<typeof feeding>['lineOf']
  },
  { terminal, signal }: JudgeIo,
): Promise<void> {
  const tell = (entry: OutboxEntry) => {
    if (entry.kind === 'dead-letter') {
      const { topic, offset, reason, detail } = deadLetter.parse(JSON.parse(entry.letter))
      counts.refused++
      terminal.say(`${options.file}:${options.lineOf(topic, offset)} ${reason}: ${printable(detail, 200)}; left out`)
      return
    }
    if (entry.kind !== 'verdict') throw new Error(`unexpected outbox entry kind ${entry.kind}`)
    const decided = verdict.parse(JSON.parse(entry.verdict))
    counts.verdicts++
    if (decided.decidedBy === 'none') counts.undecided++
    if (options.json)
      terminal.out(
        options.transcript
          ? printableJson(JSON.stringify({ verdict: decided, transcript: JSON.parse(entry.transcript) as unknown }))
          : printableJson(entry.verdict),
      )
    else {
      terminal.out(verdictLine(decided))
      if (options.transcript) terminal.out(printableJson(JSON.stringify(JSON.parse(entry.transcript), null, 2)))
    }
  }
  const left = async () => (await cases.countOpen()) + (await threads.countDue(Number.POSITIVE_INFINITY))
  while (!signal.aborted) {
    await taking.watch()
    await opener.openDue()
    const entries = await outbox.next('judge', 100, 20)
    for (const entry of entries) tell(entry)
    await outbox.done(entries)
    terminal.progress(`${counts.verdicts} judged`)
    if (entries.length === 0 && (await left()) + (await outbox.size()) === 0) break
  }
}
