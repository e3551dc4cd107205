import {
  proposal,
  type Review,
  review,
  subjectIn,
  type VerdictProposal,
} from '../../contracts/facts/decision-messages.ts'
import { jsonOf } from '../../contracts/facts/json-of.ts'
import type { ThreadRef } from '../../contracts/facts/thread.ts'
import { type Transcript, transcript, type Verdict, verdict } from '../../contracts/facts/verdict.ts'
import { recordKeyOf, threadIn, threadOf } from '../../contracts/facts/verdict-id.ts'
import type { IncomingMessage } from '../../contracts/ports/topic.ts'
import { type ReadBound, type ReadDeps, type ReadPart, readOwn } from './read.ts'

/** A verdict as it is on its topic. */
export interface ShownVerdict {
  readonly verdict: Verdict
  /** The broker's time of its first record, ms since 1970. */
  readonly publishedAt: number
  readonly partition: number
  readonly offset: string
  /** How often the same verdict is on the topic: more than once after an acknowledgement was lost. */
  readonly records: number
}

export interface ShownTranscript {
  readonly transcript: Transcript
  readonly publishedAt: number
}

type Deps = ReadDeps & {
  readonly topics: Readonly<Record<'verdicts' | 'transcripts' | 'proposals' | 'reviews', string>>
  /** Protocols whose subjects are replies. */
  readonly ofReplies: ReadonlySet<string>
}

/** The verdicts on a subject, oldest first. */
export async function readPublished(
  deps: Deps,
  subject: ThreadRef,
  bound: ReadBound,
): Promise<{ verdicts: ShownVerdict[]; read: ReadPart[] }> {
  const found = new Map<string, ShownVerdict>()
  const read = await readOwn(deps, deps.topics.verdicts, recordKeyOf(subject), bound, (records) => {
    for (const record of records) {
      const one = ownOf(record, subject, deps.ofReplies)
      if (one === null) continue
      const { timestamp, partition, offset } = record
      const before = found.get(one.id)
      if (before === undefined)
        found.set(one.id, { verdict: one, publishedAt: timestamp, partition, offset, records: 1 })
      else found.set(one.id, { ...before, records: before.records + 1 })
    }
  })
  return { verdicts: [...found.values()].sort((a, b) => a.publishedAt - b.publishedAt), read }
}

/** What machines said of it beneath people's verdicts, and what it is to be looked at for; oldest first. */
export async function readBeneath(
  deps: Deps,
  subject: ThreadRef,
  bound: ReadBound,
): Promise<{ proposals: VerdictProposal[]; reviews: Review[]; read: ReadPart[] }> {
  const [proposals, reviews] = [new Map<string, VerdictProposal>(), new Map<string, Review>()]
  const read = await Promise.all([
    readOwn(deps, deps.topics.proposals, recordKeyOf(subject), bound, (records) => {
      for (const record of records) {
        const one = proposal.safeParse(jsonOf(record))
        if (one.success && isOn(record, one.data, subject, deps.ofReplies)) proposals.set(one.data.id, one.data)
      }
    }),
    readOwn(deps, deps.topics.reviews, recordKeyOf(subject), bound, (records) => {
      for (const record of records) {
        const one = review.safeParse(jsonOf(record))
        if (one.success && record.key === recordKeyOf(subject) && isOf(one.data, subject))
          reviews.set(one.data.id, one.data)
      }
    }),
  ])
  return { proposals: [...proposals.values()], reviews: [...reviews.values()], read: read.flat() }
}

const isOf = (asked: Review, subject: ThreadRef) => isSame(subjectIn(asked), subject)

const isSame = (one: ThreadRef | null, { tenant, postId, kind }: ThreadRef) =>
  one?.tenant === tenant && one.postId === postId && one.kind === kind

function ownOf(record: IncomingMessage, subject: ThreadRef, ofReplies: ReadonlySet<string>): Verdict | null {
  const read = verdict.safeParse(jsonOf(record))
  return read.success && isOn(record, read.data, subject, ofReplies) ? read.data : null
}

function isOn(
  { key }: IncomingMessage,
  said: Pick<Verdict, 'id' | 'subjectId' | 'tenant'>,
  subject: ThreadRef,
  ofReplies: ReadonlySet<string>,
): boolean {
  return key === recordKeyOf(subject) && isSame(threadOf(said, ofReplies), subject)
}

/** The transcripts of these verdicts, oldest first. */
export async function readTranscripts(
  deps: Deps,
  subject: ThreadRef,
  bound: ReadBound,
): Promise<{ transcripts: ShownTranscript[]; read: ReadPart[] }> {
  const found = new Map<string, ShownTranscript>()
  const read = await readOwn(deps, deps.topics.transcripts, recordKeyOf(subject), bound, (records) => {
    for (const record of records) {
      if (record.key !== recordKeyOf(subject)) continue
      const one = transcript.safeParse(jsonOf(record))
      if (one.success && isSame(threadIn(one.data.verdictId, deps.ofReplies), subject))
        found.set(one.data.verdictId, { transcript: one.data, publishedAt: record.timestamp })
    }
  })
  return { transcripts: [...found.values()], read }
}
