import { Option } from 'commander'
import type { Settings } from '../../../config/schema.ts'
import type { Command, Invocation } from '../../cli/command.ts'
import { formatOption, plainTextOption, readingOf, repliesReadingOptions } from '../../cli/file-options.ts'
import { durationMs, protocolName } from '../../cli/options.ts'
import { counted, printable, printableJson } from '../../cli/terminal.ts'
import { onTier, tierOption } from '../../cli/tier.ts'
import { entryOf } from '../../contracts/facts/entry-of.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import { transcript as transcriptSchema, type Verdict } from '../../contracts/facts/verdict.ts'
import type { Tier } from '../../contracts/ports/model.ts'
import type { BadLine } from '../../data-files/file-message.ts'
import { type Format, fileMessages } from '../../data-files/formats.ts'
import { LaterImages } from '../../data-files/own-images.ts'
import type { OwnReading } from '../../data-files/own-rows.ts'
import { PROTOCOLS } from '../../protocols/registry.ts'
import { judgedTable, wordsIn } from './judging/judged-table.ts'
import { judgingProgress } from './judging/judging-progress.ts'
import { RUNS, type RunIdentity, runFolder } from './judging/kept-runs.ts'
import { preparedLibrary } from './judging/prepared-library.ts'
import { withInput } from './judging/standard-input.ts'
import { otherModels } from './paper-models.ts'
import { meaningsOf } from './show/meanings.ts'
import { type Minutes, printTranscript } from './show/transcript.ts'
import { verdictLine } from './verdict-line.ts'
import { withModel } from './with-model.ts'
import { withRecording } from './with-recording.ts'

export interface JudgedCounts {
  readonly verdicts: number
  readonly undecided: number
  /** Undecided ones for which a model, or Gavel, is to blame. */
  readonly failed: number
  readonly refused: number
  /** Subjects that contain nothing for the protocol to judge. */
  readonly unrouted: number
}

export interface JudgeOptions extends OwnReading {
  /** Undefined: every protocol that the settings have on, one after the other. */
  readonly protocol?: string
  readonly format: Format
  readonly transcript: boolean
  /** Whether verdicts are printed as JSON. */
  readonly json: boolean
  /** Comments posted longer than this after their post are left out, in ms; infinite: threads are taken whole. */
  readonly finalAge: number
  /** Whether each comment is judged by itself, too. */
  readonly comments?: boolean
  /** Whether searches for a labelled text may find near-duplicates of it; they never find its own item. */
  readonly keepNearDuplicates?: boolean
  /** A folder that keeps every answer; an answer in it is used when the same is asked again. */
  readonly out?: string
  /** What messages call the file, if not by its path. */
  readonly called?: string
}

interface Options extends OwnReading, Pick<JudgeOptions, 'protocol' | 'format' | 'keepNearDuplicates' | 'out'> {
  readonly transcript?: boolean
  readonly finalAge?: number
  readonly tier?: Tier
  readonly record: boolean
}

/** `gavel judge`: a file's subjects, judged in this process. */
export const command: Command<Options, JudgedCounts> = {
  options: [
    new Option('--protocol <name>', 'protocol to use (default: all that are on in the settings)').argParser(
      protocolName,
    ),
    formatOption(),
    plainTextOption(),
    ...repliesReadingOptions(),
    new Option(
      '--final-age <duration>',
      'leave out comments posted later than this after their post, as a stream does: 24h, 90m (default: whole threads)',
    ).argParser(durationMs),
    new Option(
      '--comments',
      'also judge each comment by itself (hate, safety), shown with its post and what it answers',
    ),
    tierOption(),
    new Option('--transcript', 'print the whole argument of each verdict'),
    new Option(
      '--keep-near-duplicates',
      'for labelled data: allow near-duplicates of the text as examples, as in production',
    ),
    new Option(
      '--out <folder>',
      `keep answers there, not in ${RUNS}; no answered question is asked again, even after a kill`,
    ),
    new Option('--no-record', 'record no answers; an interrupted run is lost').conflicts('out'),
  ],
  json: true,
  help: [
    'FILE may be - for standard input. Answers are stored on disk, readable by this user only. After a stop or a kill,',
    'the same command resumes, and asks only unanswered questions.',
    '\nA case is never shown its own item from a shelf. In labelled formats, it is not shown near-duplicates of its',
    'text either (edit similarity over words above 0.8): copying the label of the same words is not judging.',
    '\nExamples:\n  $ gavel judge posts.jsonl\n  $ gavel judge notes.txt --text --protocol hate\n  $ gavel judge event.jsonl --protocol rumor --json',
  ].join('\n'),
  run({ args: [file = ''], options, json, settings: read, ...io }) {
    const { finalAge = Number.POSITIVE_INFINITY, transcript = false, format, plainText } = options
    if (plainText === true && format !== 'gavel') io.misused(`--text is plain text, and --format ${format} is none.`)
    const settings = onTier(read(), options.tier)
    return withInput(file, process.stdin, io.signal, async ({ path, called, source }) => {
      const out = options.out ?? (options.record ? await keptIn(settings, { ...options, called, source }, io) : null)
      const judged = await judgeFile(
        settings,
        path,
        { ...options, finalAge, transcript, json, called, ...(out === null ? {} : { out }) },
        io,
      )
      if (out !== null) io.terminal.say(`Every answer is kept in ${out}: the same command asks only what has none.`)
      return judged
    })
  },
  print({ verdicts, undecided, failed, refused, unrouted }, { options: { protocol, record }, terminal, signal }) {
    terminal.say(`${counted(verdicts, 'verdict')}, ${undecided} undecided, ${counted(refused, 'input')} refused.`)
    if (unrouted > 0 && protocol !== undefined)
      terminal.say(`${counted(unrouted, 'subject')} skipped: nothing for ${protocol} to judge.`)
    if (unrouted > 0 && verdicts === 0)
      terminal.say('If they are replies, --hate-speech-field names the field of what they answer.')
    if (signal.aborted)
      throw new OperatorError(`Stopped before the end.${record ? ' The same command goes on from here.' : ''}`)
    if (verdicts === 0 && refused > 0) throw new OperatorError('Nothing was judged: every line was refused.')
    if (verdicts > 0 && failed === verdicts)
      throw new OperatorError('Nothing could be decided: "degraded" in each verdict names what failed.')
  },
}

/** Where the answers of this run are kept; null where nothing can be, which is said. */
async function keptIn(settings: Settings, of: RunIdentity, { terminal }: JudgeIo): Promise<string | null> {
  try {
    return await runFolder(settings, of, terminal.say)
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
    terminal.say(`No answer is kept, and a stop loses all: ${error.message}. --out names another folder.`)
    return null
  }
}

type JudgeIo = Pick<Invocation, 'terminal' | 'startStandIn' | 'signal'>

/**
 * Runs the whole pipeline over a file in this process: judges every subject's final snapshot, and prints its verdict.
 * If the settings name no model, the understudy answers, and a line reports that. With `out`, every answer is kept in that
 * folder, and no question is asked again whose answer is there.
 */
export async function judgeFile(
  settings: Settings,
  file: string,
  options: JudgeOptions,
  io: JudgeIo,
): Promise<JudgedCounts> {
  const { terminal, signal } = io
  const counts = { verdicts: 0, undecided: 0, failed: 0, refused: 0, unrouted: 0 }
  const protocols = options.protocol === undefined ? enabledIn(settings) : [options.protocol]
  const shortened = (why: string, width: number) => printable(why.replaceAll(file, options.called ?? file), width)
  const kinds = PROTOCOLS.filter(({ name }) => protocols.includes(name))
  const meanings = meaningsOf(settings)
  const shown = judgedTable()
  for (const line of otherModels(settings, kinds)) terminal.say(line)
  await withModel(settings, io, (reachable) =>
    withRecording(options.out, terminal, async (recording) => {
      const [{ judgeFileSubjects }, { modelsOfEndpoints }, { metered }] = await Promise.all([
        import('./judging/file-judging.ts'),
        import('../../models/openai/models-of-endpoints.ts'),
        import('./judging/metered.ts'),
      ])
      const meter = metered(modelsOfEndpoints(reachable), reachable.models, Number.POSITIVE_INFINITY, () => {})
      const progress = judgingProgress(terminal, meter)
      const model = recording?.model(meter.model) ?? meter.model
      try {
        for (const [nth, protocol] of protocols.entries()) {
          if (signal.aborted) break
          progress.begin(protocols.length === 1 ? protocol : `${protocol} (${nth + 1} of ${protocols.length})`)
          // What searches the shelves loads beside the rest of the program, which is most of it.
          const library = await preparedLibrary(reachable, protocol)
          const images = new LaterImages()
          const messages = (bad: (line: BadLine) => void) =>
            fileMessages(file, options.format, bad, readingOf(options), { later: images })
          const judging = { ...options, file, protocol, library, messages, images, model }
          // Each protocol reads the whole file; faults of its lines are reported once.
          const once = (tell: () => void) => {
            if (nth === 0) tell()
          }
          await judgeFileSubjects(reachable, judging, {
            signal,
            judged(verdict, json) {
              counts.verdicts++
              if (verdict.decidedBy === 'none') {
                counts.undecided++
                if (verdict.faults.some((fault) => fault !== 'evidence')) counts.failed++
              }
              printVerdict(verdict, json, { ...options, meanings, shown }, terminal)
              progress.judged()
            },
            refused: (why) =>
              once(() => {
                counts.refused++
                terminal.say(shortened(why, 400))
              }),
            corrected: (why) => once(() => terminal.say(shortened(why, 400))),
            unrouted(count) {
              counts.unrouted += count
            },
            failed: (why) => terminal.say(shortened(why, 300)),
            left: progress.left,
          })
        }
      } finally {
        progress.end()
      }
    }),
  )
  const drawing = options.transcript ? null : shown.drawing()
  if (drawing !== null) terminal.say(drawing)
  return counts
}

/** The protocols that the settings have on, in their order. */
function enabledIn({ protocols }: Settings): string[] {
  return PROTOCOLS.map(({ name }) => name).filter((name) => entryOf(protocols, name)?.enabled === true)
}

function printVerdict(
  verdict: Verdict,
  json: { readonly verdict: string; readonly transcript: string },
  options: Pick<JudgeOptions, 'transcript' | 'json'> &
    Pick<Minutes, 'meanings'> & { readonly shown: ReturnType<typeof judgedTable> },
  terminal: JudgeIo['terminal'],
): void {
  const argument = () => JSON.parse(json.transcript) as unknown
  if (options.json)
    terminal.out(printableJson(options.transcript ? JSON.stringify({ verdict, transcript: argument() }) : json.verdict))
  else {
    const argued = transcriptSchema.parse(argument())
    options.shown.add(verdict, argued.subject)
    terminal.out(verdictLine(verdict, wordsIn(argued.subject)))
    if (options.transcript) printTranscript(argued, { prompts: false, meanings: options.meanings }, terminal)
  }
}
