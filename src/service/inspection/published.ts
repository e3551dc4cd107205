import { jsonOf } from '../domain/json-of.ts'
import type { ThreadRef } from '../domain/thread.ts'
import { type Transcript, transcript, type Verdict, verdict } from '../domain/verdict.ts'
import type { Incoming } from '../ports/topic.ts'
import { type Bound, type ReadDeps, type ReadPart, readOwn } from './read.ts'

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
  readonly topics: { readonly verdicts: string; readonly transcripts: string }
  /** Protocols whose subjects are replies. */
  readonly ofReplies: ReadonlySet<string>
}

/** The verdicts on a subject, oldest first. */
export async function readPublished(
  deps: Deps,
  subject: ThreadRef,
  bound: Bound,
): Promise<{ verdicts: ShownVerdict[]; read: ReadPart[] }> {
  const found = new Map<string, ShownVerdict>()
  const read = await readOwn(deps, deps.topics.verdicts, subject.postId, bound, (records) => {
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

function ownOf(record: Incoming, { tenant, postId, kind }: ThreadRef, ofReplies: ReadonlySet<string>): Verdict | null {
  if (record.key !== postId) return null
  const read = verdict.safeParse(jsonOf(record))
  if (!read.success || read.data.subjectId !== postId || read.data.tenant !== tenant) return null
  const { id, protocol } = read.data
  const isReply = ofReplies.has(protocol) || id.startsWith(`${protocol}/reply`)
  return isReply === (kind === 'reply') ? read.data : null
}

/** The transcripts of these verdicts, oldest first. */
export async function readTranscripts(
  deps: Deps,
  subject: ThreadRef,
  bound: Bound,
): Promise<{ transcripts: ShownTranscript[]; read: ReadPart[] }> {
  const found = new Map<string, ShownTranscript>()
  const read = await readOwn(deps, deps.topics.transcripts, subject.postId, bound, (records) => {
    for (const record of records) {
      if (record.key !== subject.postId) continue
      const one = transcript.safeParse(jsonOf(record))
      if (one.success) found.set(one.data.verdictId, { transcript: one.data, publishedAt: record.timestamp })
    }
  })
  return { transcripts: [...found.values()], read }
}
