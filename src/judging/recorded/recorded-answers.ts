import type { Transcript, Turn } from '../../contracts/facts/verdict.ts'
import type { ScriptStart } from '../engine/replay.ts'

/** A recorded answer: a turn, and which of its questions. */
interface KnownAnswer {
  readonly turn: Turn
  readonly nth: number
  /** It is of the case itself, and not of an earlier revision. */
  readonly own: boolean
}

/** What the transcripts of a case have, to replay it. */
export interface RecordedAnswers {
  readonly start: ScriptStart
  /** The case's own turns by their keys, `ROUND.INDEX`. */
  readonly turns: ReadonlyMap<string, Turn>
  /** Answers by the digests of their questions, of this and of earlier revisions. */
  readonly known: ReadonlyMap<string, KnownAnswer>
}

/**
 * What a case's transcript has, and those of its earlier revisions, in their order. `key`: the one of this process. Of a transcript under
 * another, or of one that does not say what a replay needs, no answer is known.
 */
export function recordedAnswers(
  own: Transcript,
  {
    key,
    earlier = [],
    ...of
  }: Pick<ScriptStart, 'tenant' | 'final'> & { readonly key: string; readonly earlier?: readonly Transcript[] },
): RecordedAnswers {
  const isOurs = ({ replay }: Transcript) => replay?.key === key
  const known = new Map<string, KnownAnswer>()
  for (const one of earlier) if (isOurs(one)) note(known, one, false)
  if (isOurs(own)) note(known, own, true)
  const { carry = null, overloaded = false, step, closedLane } = (isOurs(own) ? own.replay : undefined) ?? {}
  return {
    start: { subject: own.subject, carry, overloaded, step, closedLane, ...of },
    turns: isOurs(own) ? byKey(own.turns) : new Map(),
    known,
  }
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
