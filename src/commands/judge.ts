import { Option } from 'commander'
import type { Settings } from '../../config/schema.ts'
import type { BadLine } from '../lab/evaluation/file-message.ts'
import { type Format, fileMessages } from '../lab/evaluation/formats.ts'
import type { OwnReading } from '../lab/evaluation/own-rows.ts'
import { entryOf } from '../service/domain/entry-of.ts'
import { OperatorError } from '../service/domain/errors.ts'
import { transcript as transcriptSchema, type Verdict } from '../service/domain/verdict.ts'
import type { Tier } from '../service/ports/model.ts'
import { PROTOCOLS } from '../service/protocols/registry.ts'
import type { Command, Invocation } from './command.ts'
import { formatOption, readingOf, repliesReadingOptions } from './file-options.ts'
import { preparedLibrary } from './judging/prepared-library.ts'
import { durationMs } from './options.ts'
import { otherModels } from './paper-models.ts'
import { meaningsOf } from './show/meanings.ts'
import { type Minutes, printTranscript } from './show/transcript.ts'
import { counted, printable, printableJson } from './terminal.ts'
import { onTier, tierOption } from './tier.ts'
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
  /** Whether searches for a labelled text may find near-duplicates of it; they never find its own item. */
  readonly keepNearDuplicates?: boolean
  /** A folder that keeps every answer; an answer in it is used when the same is asked again. */
  readonly out?: string
}

interface Options extends OwnReading, Pick<JudgeOptions, 'protocol' | 'format' | 'keepNearDuplicates' | 'out'> {
  readonly transcript?: boolean
  readonly finalAge?: number
  readonly tier?: Tier
}

/** `gavel judge`: a file's subjects, judged in this process. */
export const command: Command<Options, JudgedCounts> = {
  options: [
    new Option('--protocol <name>', 'protocol to use; default: every one that the settings have on'),
    formatOption(),
    ...repliesReadingOptions(),
    new Option(
      '--final-age <duration>',
      'leave out comments posted later than this after their post, as a stream does (24h, 90m); default: whole threads',
    ).argParser(durationMs),
    tierOption(),
    new Option('--transcript', 'print the whole argument of each verdict'),
    new Option(
      '--keep-near-duplicates',
      'for labelled data: allow near-duplicates of the text as examples, as in production',
    ),
    new Option(
      '--out <folder>',
      'keep every answer there: after a stop or a kill, run it again, and nothing that was answered is asked again',
    ),
  ],
  json: true,
  help: [
    'A case is never shown its own item from a shelf. In a labelled format it is not shown near-duplicates of its',
    'text either (edit similarity over words above 0.8): copying the label of the same words is not judging.',
    '\nExamples:\n  $ gavel judge posts.jsonl\n  $ gavel judge event.jsonl --protocol rumor --json',
  ].join('\n'),
  run({ args: [file = ''], options, json, settings, ...io }) {
    const { finalAge = Number.POSITIVE_INFINITY, transcript = false } = options
    return judgeFile(onTier(settings(), options.tier), file, { ...options, finalAge, transcript, json }, io)
  },
  print({ verdicts, undecided, failed, refused, unrouted }, { options: { protocol }, terminal }) {
    terminal.say(`${counted(verdicts, 'verdict')}, ${undecided} undecided, ${counted(refused, 'input')} refused.`)
    if (unrouted > 0 && protocol !== undefined)
      terminal.say(`${counted(unrouted, 'subject')} skipped: nothing for ${protocol} to judge.`)
    if (unrouted > 0 && verdicts === 0)
      terminal.say('If they are replies, --hate-speech-field names the field of what they answer.')
    if (verdicts === 0 && refused > 0) throw new OperatorError('Nothing was judged: every line was refused.')
    if (verdicts > 0 && failed === verdicts)
      throw new OperatorError('Nothing could be decided: each verdict says in "degraded" what failed.')
  },
}

type JudgeIo = Pick<Invocation, 'terminal' | 'signal'>

/**
 * Runs the whole pipeline over a file in this process: judges every subject's final snapshot, and prints its verdict.
 * If the settings name no model, the understudy answers, and a line says so. With `out`, every answer is kept in that
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
  const kinds = PROTOCOLS.filter(({ name }) => protocols.includes(name))
  const meanings = meaningsOf(settings)
  for (const line of otherModels(settings, kinds)) terminal.say(line)
  await withModel(settings, terminal, (reachable) =>
    withRecording(options.out, terminal, async (recording) => {
      for (const protocol of protocols) {
        if (signal.aborted) break
        // Each reads the whole file; what is wrong with its lines is told once.
        const isFirst = protocol === protocols[0]
        // What searches the shelves loads beside the rest of the program, which is most of it.
        const library = await preparedLibrary(reachable, protocol)
        const { judgeFileSubjects } = await import('./judging/file-judging.ts')
        const { modelOf } = await import('../service/composition/gateway.ts')
        const model = recording?.model(modelOf(reachable))
        const judging = {
          ...options,
          ...{ file, protocol },
          library,
          messages: (bad: (line: BadLine) => void) => fileMessages(file, options.format, bad, readingOf(options)),
          ...(model === undefined ? {} : { model }),
        }
        await judgeFileSubjects(reachable, judging, {
          signal,
          judged(verdict, json) {
            counts.verdicts++
            if (verdict.decidedBy === 'none') {
              counts.undecided++
              if (verdict.faults.some((fault) => fault !== 'evidence')) counts.failed++
            }
            printVerdict(verdict, json, { ...options, meanings }, terminal)
            terminal.progress(`${counts.verdicts} judged`)
          },
          refused: (why) => {
            if (!isFirst) return
            counts.refused++
            terminal.say(printable(why, 400))
          },
          corrected: (why) => {
            if (isFirst) terminal.say(printable(why, 400))
          },
          unrouted(count) {
            counts.unrouted += count
          },
          failed: (why) => terminal.say(printable(why, 300)),
        })
      }
    }),
  )
  return counts
}

/** The protocols that the settings have on, in their order. */
function enabledIn({ protocols }: Settings): string[] {
  return PROTOCOLS.map(({ name }) => name).filter((name) => entryOf(protocols, name)?.enabled === true)
}

function printVerdict(
  verdict: Verdict,
  json: { readonly verdict: string; readonly transcript: string },
  options: Pick<JudgeOptions, 'transcript' | 'json'> & Pick<Minutes, 'meanings'>,
  terminal: JudgeIo['terminal'],
): void {
  const argument = () => JSON.parse(json.transcript) as unknown
  if (options.json)
    terminal.out(printableJson(options.transcript ? JSON.stringify({ verdict, transcript: argument() }) : json.verdict))
  else {
    terminal.out(verdictLine(verdict))
    if (options.transcript)
      printTranscript(transcriptSchema.parse(argument()), { prompts: false, meanings: options.meanings }, terminal)
  }
}
