import { isBlank } from '../../contracts/facts/blank.ts'
import type { Curation } from '../../contracts/facts/curation.ts'
import { RetryLaterError } from '../../contracts/facts/errors.ts'
import type { FeedbackMessage } from '../../contracts/facts/messages.ts'
import type { SubjectKind } from '../../contracts/facts/thread.ts'
import type { Library, NewProposal, Proposal } from '../../contracts/ports/library.ts'
import { type askingCurator, CaseFailed, type DistilledLesson, type LearnIo } from './ask-curator.ts'
import type { FeedbackOutcome, FeedbackVerdict, VerdictArgument } from './feedback.ts'

/** Feedback that the curator has to be asked about. */
export interface CaseToCurate {
  readonly feedback: FeedbackMessage
  /** The shelf for what is learnt. */
  readonly shelf: string
  readonly verdict: FeedbackVerdict
  readonly kind: SubjectKind
}

/**
 * Asks the curator for the lesson of a case and proposes it to the library. `earlier` are the proposals made before: another reviewer who
 * gives the same label to the same verdict costs no second question, neither across runs nor within one.
 */
export function proposingLessons(
  {
    library,
    curations,
    curator,
  }: {
    readonly library: Pick<Library, 'propose' | 'wasDeleted'>
    /** By protocol. */
    readonly curations: ReadonlyMap<string, Curation>
    readonly curator: Pick<ReturnType<typeof askingCurator>, 'lessonOf'>
  },
  earlier: readonly Proposal[],
) {
  const lessons = new Map(earlier.flatMap(lessonIn))

  /**
   * `argument`: null where the transcript holds no post, undefined where there is no transcript. Resolves to null if it was
   * stopped meanwhile.
   */
  return async (
    { feedback, shelf, verdict, kind }: CaseToCurate,
    argument: VerdictArgument | null | undefined,
    io: LearnIo,
  ): Promise<FeedbackOutcome | null> => {
    if (argument === undefined) return { outcome: 'unjudgeable', why: "the verdict's transcript is not there" }
    if (argument === null) return { outcome: 'unjudgeable', why: "the verdict's transcript holds no post" }
    const curation = curations.get(feedback.protocol)
    const words = curation?.words(argument.subject, argument.turns) ?? ''
    if (curation !== undefined && isBlank(words))
      return { outcome: 'unjudgeable', why: 'nothing is known of the post in words' }
    if (!curation?.labels.includes(feedback.label))
      return { outcome: 'refused', why: `the curator has no question for the label ${feedback.label}` }
    const { tenant, subjectId } = feedback
    const subject = { tenant, id: subjectId, kind }
    const mayAsk = async () => {
      if (await library.wasDeleted(subject)) throw new CaseFailed(DELETED)
    }
    try {
      const key = lessonKey(verdict.id, feedback.label)
      const decided = curation.labels.find((label) => label === verdict.label) ?? null
      const closed = { subject: words, turns: argument.turns, verdict: decided, truth: feedback.label }
      const lesson = lessons.get(key) ?? curator.lessonOf(curation, closed, io, mayAsk)
      lessons.set(key, lesson)
      const { proposed, refused } = await library.propose([
        proposalOf(feedback, shelf, verdict, kind, words, await lesson),
      ])
      const [made] = proposed
      if (made !== undefined) return { outcome: 'proposed', proposal: made, was: verdict.label }
      return refused[0] === undefined ? { outcome: 'already-proposed' } : { outcome: 'refused', why: refused[0].why }
    } catch (error) {
      if (io.signal.aborted && error instanceof RetryLaterError) return null
      if (!(error instanceof CaseFailed)) throw error
      if (error.message === DELETED) return { outcome: 'refused', why: DELETED }
      return { outcome: 'curator-failed', why: `the curator failed: ${error.message}` }
    }
  }
}

const DELETED = 'its subject was deleted meanwhile'

function lessonKey(verdictId: string, label: string): string {
  return JSON.stringify([verdictId, label])
}

/** The lesson that a proposal holds. None of a rejected one: a person has turned it down, so the curator is asked anew. */
function lessonIn({ label, metadata, provenance, state }: Proposal): [string, Promise<DistilledLesson>][] {
  const { keyCues, summary } = metadata
  if (state === 'rejected' || keyCues === undefined || summary === undefined) return []
  return [[lessonKey(provenance.verdictId, label), Promise.resolve({ keyCues, summary })]]
}

function proposalOf(
  { tenant, subjectId, protocol, label, by, at, note }: FeedbackMessage,
  shelf: string,
  verdict: FeedbackVerdict,
  kind: SubjectKind,
  text: string,
  lesson: DistilledLesson,
): NewProposal {
  return {
    shelf,
    text,
    label,
    metadata: { ...lesson, ...(note === undefined ? {} : { note }) },
    provenance: { tenant, subjectId, kind, protocol, verdictId: verdict.id, by, at: new Date(at).toISOString() },
  }
}
