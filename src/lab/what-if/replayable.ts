import { type Transcript, type Turn, transcript } from '../../contracts/facts/verdict.ts'
import { otherRevision } from '../../contracts/facts/verdict-id.ts'
import type { LeftOutReason } from '../../contracts/facts/what-if-report.ts'
import type { RecordReader } from '../../contracts/ports/record.ts'
import type { ScriptStart } from '../../judging/engine/replay.ts'
import type { RecordedCase } from '../../record/recorded-cases.ts'

/** A recorded answer: a turn, and which of its questions. */
export interface KnownAnswer {
  readonly turn: Turn
  readonly nth: number
  /** It is of the case itself, and not of an earlier revision. */
  readonly own: boolean
}

export interface ReplayableCase {
  readonly id: string
  readonly of: RecordedCase
  readonly start: ScriptStart
  /** The case's own turns by their keys, `ROUND.INDEX`. */
  readonly turns: ReadonlyMap<string, Turn>
  /** Answers by the digests of their questions, of this and of earlier revisions. */
  readonly known: ReadonlyMap<string, KnownAnswer>
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
  if (own === null) return of.erased ? 'erased' : 'gone'
  if (own.replay === undefined) return own.cut.length > 0 ? 'cut' : 'older'
  if (own.replay.key !== key) return 'key'
  const known = new Map<string, KnownAnswer>()
  for (let number = 1; threads && number < revision; number++) {
    const earlier = await readTranscript(reader, otherRevision(id, number))
    if (earlier?.replay?.key === key) note(known, earlier, false)
  }
  note(known, own, true)
  const { carry = null, overloaded, step } = own.replay
  return {
    id,
    of,
    start: { subject: own.subject, carry, overloaded, step, tenant, final },
    turns: byKey(own.turns),
    known,
    sent: wordsSent(own.turns),
  }
}

async function readTranscript(reader: Pick<RecordReader, 'transcript'>, id: string): Promise<Transcript | null> {
  const json = await reader.transcript(id)
  return json === null ? null : transcript.parse(JSON.parse(json))
}

/** A batch that failed has no answer for its items: they were asked about again. Nor does an earlier revision's failure concern this one. */
function note(known: Map<string, KnownAnswer>, { turns }: Transcript, own: boolean): void {
  for (const turn of turns) {
    const { questions = [], failed } = turn
    if (failed !== undefined && (!own || questions.length > 1)) continue
    for (const [nth, digest] of questions.entries()) known.set(digest, { turn, nth, own })
  }
}

function byKey(turns: readonly Turn[]): ReadonlyMap<string, Turn> {
  const inRound = new Map<number, number>()
  return new Map(
    turns.map((turn) => {
      const index = inRound.get(turn.round) ?? 0
      inRound.set(turn.round, index + 1)
      return [`${turn.round}.${index}`, turn]
    }),
  )
}

function wordsSent(turns: readonly Turn[]): ReadonlyMap<Turn, readonly string[]> {
  const textOf = (message: Turn['messages'][number] | undefined): string => {
    if (message === undefined) return ''
    if ('content' in message) return message.content
    return textOf(turns[message.sameAs.turn]?.messages[message.sameAs.message])
  }
  return new Map(turns.map((turn) => [turn, turn.messages.map(textOf)]))
}
