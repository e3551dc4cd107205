import type { Review, VerdictProposal } from '../../contracts/facts/decision-messages.ts'
import { redactWords } from '../../contracts/facts/redact-words.ts'
import type { ThreadRef } from '../../contracts/facts/thread.ts'
import { verdict as verdictSchema } from '../../contracts/facts/verdict.ts'
import type { ThreadState, ThreadStatus, ThreadStore } from '../../contracts/ports/threads.ts'
import { type InspectedCase, inspectCases } from './cases.ts'
import { type ReceivedParts, readReceived, type ShownMessage } from './messages.ts'
import { readBeneath, readPublished, readTranscripts, type ShownTranscript, type ShownVerdict } from './published.ts'
import type { ReadBound, ReadPart } from './read.ts'

/** Everything that is known of one subject. Times are ms since 1970. */
export interface Inspection {
  readonly subject: ThreadRef
  /** When it was looked at. */
  readonly at: number
  /** What the store has; null if it knows nothing of the subject, or has forgotten it. */
  readonly thread: ShownThread | null
  /** Protocols that open no cases now. */
  readonly paused: readonly string[]
  /** Open cases, and decided ones whose verdict waits for Kafka. */
  readonly cases: readonly InspectedCase[]
  readonly verdicts: readonly ShownVerdict[]
  /** What machines said beneath people's verdicts. */
  readonly proposals: readonly VerdictProposal[]
  /** What people were asked to look at it for. */
  readonly reviews: readonly Review[]
  readonly messages: readonly ShownMessage[]
  /** With `transcripts`, what the published verdicts rest on. */
  readonly transcripts: readonly ShownTranscript[]
  /** Its post was deleted: nothing is shown of what it said. */
  readonly deleted: boolean
  /** What was read of the topics. */
  readonly read: readonly ReadPart[]
}

export interface ShownThread {
  readonly status: ThreadStatus
  /** The post has arrived. */
  readonly post: boolean
  /** The post's text; null if it has not arrived, or was deleted. */
  readonly text: string | null
  readonly createdAt: number | null
  readonly comments: {
    readonly accepted: number
    readonly kept: number
    readonly late: number
    readonly overAuthor: number
  }
  readonly version: number
  /** The final snapshot was opened. */
  readonly final: boolean
  /** The next checkpoint by age, in the stream's time; null after the last. */
  readonly nextAge: number | null
  /** Since when it is due, by the wall's clock, whatever the stream's; null if it waits for the stream's clock alone. */
  readonly dueSince: number | null
  /** Protocols that were paused when it was due: each looks at it again when it is resumed. */
  readonly dormantFor: readonly string[]
  /** How far the stream's clock is: `unread` while some partition has not been read, `ended` when everything is due. */
  readonly streamNow: number | 'unread' | 'ended'
  readonly revisions: Readonly<Record<string, { readonly revision: number; readonly final: boolean }>>
}

export type InspectionParts = ReceivedParts &
  Parameters<typeof readPublished>[0] & {
    readonly threads: Pick<ThreadStore, 'read' | 'statusOf' | 'paused'>
    readonly streamNow: () => Promise<number>
    readonly cases: Parameters<typeof inspectCases>[0]
  }

/** What to look for besides the store. */
export interface InspectionScope {
  readonly bound: ReadBound
  readonly transcripts: boolean
}

/** Looks at one subject, and changes nothing. */
export async function inspect(
  parts: InspectionParts,
  subject: ThreadRef,
  wanted: InspectionScope,
): Promise<Inspection> {
  const { threads, clock } = parts
  const at = clock()
  const [state, status, paused] = await Promise.all([
    threads.read(subject),
    threads.statusOf(subject),
    threads.paused(),
  ])
  const openIds = [...(state?.revisions.values() ?? [])].flatMap(({ openId }) => openId ?? [])
  const [cases, received, published, beneath, transcripts, streamNow] = await Promise.all([
    inspectCases(parts.cases, openIds),
    readReceived(parts, subject, wanted.bound),
    readPublished(parts, subject, wanted.bound),
    readBeneath(parts, subject, wanted.bound),
    wanted.transcripts ? readTranscripts(parts, subject, wanted.bound) : { transcripts: [], read: [] },
    parts.streamNow(),
  ])
  const newest = published.verdicts.at(-1)
  const gone = received.messages.filter(({ what }) => what !== 'comment').at(-1)
  const deleted =
    status === 'deleted' || (status === null && (newest?.verdict.decidedBy === 'deleted' || gone?.deletes === true))
  return {
    subject,
    at,
    paused: [...paused],
    deleted,
    messages: received.messages,
    thread: status === null ? null : shownThread(status, state, streamNow),
    cases: deleted ? [] : cases,
    verdicts: deleted ? published.verdicts.map(withoutContent) : published.verdicts,
    proposals: deleted ? [] : beneath.proposals,
    reviews: beneath.reviews,
    transcripts: deleted ? [] : transcripts.transcripts,
    read: [...received.read, ...published.read, ...beneath.read, ...transcripts.read],
  }
}

function shownThread(status: ThreadStatus, state: ThreadState | null, streamNow: number): ShownThread {
  return {
    status,
    post: (state?.post ?? null) !== null,
    text: state?.post?.text ?? null,
    createdAt: state?.post?.createdAt ?? null,
    comments: {
      accepted: state?.accepted ?? 0,
      kept: state?.comments.length ?? 0,
      late: state?.late ?? 0,
      overAuthor: state?.overAuthor ?? 0,
    },
    version: state?.version ?? 0,
    final: state?.final ?? false,
    nextAge: state?.nextAge ?? null,
    dueSince: state?.dueSince ?? null,
    dormantFor: state?.dormantFor ?? [],
    streamNow: Number.isFinite(streamNow) ? streamNow : streamNow > 0 ? 'ended' : 'unread',
    revisions: Object.fromEntries(
      [...(state?.revisions ?? [])].map(([protocol, { revision, final }]) => [protocol, { revision, final }]),
    ),
  }
}

/** A verdict on a deleted subject: neither its words nor the ids of comments are anybody's business any more. */
function withoutContent({ verdict, ...published }: ShownVerdict): ShownVerdict {
  return { ...published, verdict: verdictSchema.parse(JSON.parse(redactWords(JSON.stringify(verdict)))) }
}
