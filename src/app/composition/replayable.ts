import { type Transcript, type Turn, transcript } from '../../contracts/facts/verdict.ts'
import { otherRevision } from '../../contracts/facts/verdict-id.ts'
import type { LeftOutReason } from '../../contracts/facts/what-if-report.ts'
import type { RecordReader } from '../../contracts/ports/record.ts'
import { type RecordedAnswers, recordedAnswers } from '../../judging/recorded/recorded-answers.ts'
import type { RecordedCase } from '../../record/recorded-cases.ts'

export interface ReplayableCase extends RecordedAnswers {
  readonly id: string
  readonly of: RecordedCase
  /** The words that each of its turns sent, as they stand in its transcript. */
  readonly sent: ReadonlyMap<Turn, readonly string[]>
}

/**
 * What the record has of a case, to replay it. `key`: the one of this process. `threads`: later revisions rest on what was asked
 * for earlier ones, which are read as well.
 */
export async function replayable(
  reader: Pick<RecordReader, 'transcript'>,
  of: RecordedCase,
  { key, threads }: { readonly key: string; readonly threads: boolean },
): Promise<ReplayableCase | LeftOutReason> {
  const { id, revision, tenant, final } = of.verdict
  const own = await readTranscript(reader, id)
  if (own === 'unreadable') return 'older'
  if (own === null) return of.erased ? 'erased' : 'gone'
  if (own.replay === undefined) return own.cut.length > 0 ? 'cut' : 'older'
  if (own.replay.key !== key) return 'key'
  const earlier: Transcript[] = []
  for (let number = 1; threads && number < revision; number++) {
    const one = await readTranscript(reader, otherRevision(id, number))
    if (one === 'unreadable') return 'older'
    if (one !== null) earlier.push(one)
  }
  return { id, of, ...recordedAnswers(own, { key, earlier, tenant, final }), sent: wordsSent(own.turns) }
}

/** `unreadable`: it is of another form. */
async function readTranscript(
  reader: Pick<RecordReader, 'transcript'>,
  id: string,
): Promise<Transcript | 'unreadable' | null> {
  const json = await reader.transcript(id)
  return json === null ? null : (transcript.safeParse(JSON.parse(json)).data ?? 'unreadable')
}

function wordsSent(turns: readonly Turn[]): ReadonlyMap<Turn, readonly string[]> {
  const textOf = (message: Turn['messages'][number] | undefined): string => {
    if (message === undefined) return ''
    if ('content' in message) return message.content
    return textOf(turns[message.sameAs.turn]?.messages[message.sameAs.message])
  }
  return new Map(turns.map((turn) => [turn, turn.messages.map(textOf)]))
}
