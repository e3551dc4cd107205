import { z } from 'zod'
import { jsonOf } from '../contracts/facts/json-of.ts'
import { type Snapshot, snapshot } from '../contracts/facts/thread.ts'
import { type Transcript, transcript, type Verdict } from '../contracts/facts/verdict.ts'
import { readVerdictId } from '../contracts/facts/verdict-id.ts'
import type { RecordedRow, RecordReader, SubjectRecord } from '../contracts/ports/record.ts'
import { type DebateView, debateOf } from './debate.ts'
import { withoutGolden } from './golden-answers.ts'
import type { ProtocolGuide, ProtocolGuides } from './kinds.ts'
import type { Session } from './sessions.ts'

/** All that a page shows of a verdict. */
export interface CaseFile {
  readonly row: RecordedRow
  readonly subjectRecord: SubjectRecord
  /** What machines ruled: the verdict itself, or, of what a person decided or withdrew, the ruling beneath. */
  readonly ruled: Verdict
  /** The revision whose argument it rests on. */
  readonly argued: Verdict
  readonly before: Verdict | null
  /** Null where the record has none, or one of another version. */
  readonly transcript: Transcript | null
  readonly isUnreadable: boolean
  /** The transcripts as the record has them: its own, and that of the argument where it is another's. */
  readonly sent: { readonly transcript: string | null; readonly argued: ReadTranscript | null }
  /** The post with its comments; null where they are not there. */
  readonly thread: Snapshot | null
  readonly debate: DebateView
  /** Comments whose scores stand from revisions whose transcripts are not among those above. */
  readonly scoredEarlier: number
  readonly kind: ProtocolGuide | undefined
  /** The id of what a person decided on another post of its story, if that is in force; null if there is none. */
  readonly decidedElsewhere: string | null
}

type Reader = Pick<RecordReader, 'verdict' | 'subject' | 'transcript'>

/** Reads what the record has of a verdict; null if this session may see none of this id. */
export async function caseFile(
  id: string,
  {
    record,
    kinds,
    session,
  }: { record: Reader; kinds: ProtocolGuides; session: Pick<Session, 'tenants'> & { readonly by?: string } },
): Promise<CaseFile | null> {
  const row = await record.verdict(id, session.tenants)
  if (row === null) return null
  const { verdict, subject } = row
  const whole = await record.subject({ tenant: subject.tenant, id: subject.postId, kind: subject.kind })
  if (whole === null) return null
  const subjectRecord = withoutGolden(whole, session.by)
  const revision = (of: string | null | undefined) =>
    subjectRecord.verdicts.find((one) => one.verdict.id === of)?.verdict
  const beneath = verdict.decision?.against ?? verdict.restored?.from
  const ruled = revision(beneath) ?? verdict
  const kind = kinds.get(verdict.protocol)
  const earlier = subjectRecord.verdicts
    .map((one) => one.verdict)
    .filter(({ protocol, revision: number }) => protocol === ruled.protocol && number < ruled.revision)
    .sort((one, other) => other.revision - one.revision)
  const own = subjectRecord.deletedAt === null ? await readTranscript(record, beneath ?? verdict.id) : NONE
  const { sent, ...argument } = await argumentOf(record, own.transcript, { ruled, earlier, kind })
  return {
    row,
    subjectRecord,
    ruled,
    kind,
    before: revision(verdict.supersedes) ?? null,
    transcript: own.transcript,
    isUnreadable: own.isUnreadable,
    sent: { transcript: own.json, argued: sent },
    decidedElsewhere: await decidedElsewhere(verdict, record),
    ...argument,
  }
}

/** The verdict names what was in force as it came: that may have been withdrawn since, or decided anew. */
async function decidedElsewhere(
  { story, tenant, subjectId, protocol }: Verdict,
  record: Reader,
): Promise<string | null> {
  const named = story?.current?.verdictId
  const id = named === undefined ? undefined : readVerdictId(named)?.subjectId
  // What was decided on this post stands on its page already.
  if (named === undefined || id === undefined || id === subjectId) return null
  const other = await record.subject({ tenant, id, kind: 'post' })
  const now = other?.verdicts.find((one) => one.standing && one.verdict.protocol === protocol)?.verdict
  if (now === undefined) return named
  return now.decidedBy === 'human' ? now.id : null
}

interface ReadTranscript {
  readonly transcript: Transcript | null
  readonly isUnreadable: boolean
  readonly json: string | null
}
const NONE: ReadTranscript = { transcript: null, isUnreadable: false, json: null }

async function readTranscript(record: Reader, id: string): Promise<ReadTranscript> {
  const json = await record.transcript(id)
  if (json === null) return NONE
  const read = transcript.safeParse(jsonOf({ value: json }))
  return { transcript: read.data ?? null, isUnreadable: !read.success, json }
}

function threadIn(of: Transcript | null): Snapshot | null {
  return snapshot.safeParse(of?.subject).data ?? null
}

/** Most earlier revisions that are looked at for the scores that still count. */
const MOST_BACK = 8

/**
 * The argument that a ruling rests on: its own, or, where a revision asked nothing anew, that of the one before that did; and the
 * scores of comments, each from the last revision that asked about it.
 */
async function argumentOf(
  record: Reader,
  own: Transcript | null,
  { ruled, earlier, kind }: { ruled: Verdict; earlier: readonly Verdict[]; kind: ProtocolGuide | undefined },
): Promise<{
  argued: Verdict
  debate: DebateView
  thread: Snapshot | null
  sent: ReadTranscript | null
  scoredEarlier: number
}> {
  const read = (one: Transcript | null, verdict: Verdict) =>
    debateOf(one ?? { turns: [] }, kind?.reading, {
      evidence: verdict.evidence,
      comments: threadIn(one)?.comments ?? [],
    })
  let [argued, debate] = [ruled, read(own, ruled)]
  const ownMarks = debate.marks
  const marks = new Map(ownMarks)
  let thread = threadIn(own)
  let sent: ReadTranscript | null = null
  const isWhole = () => [...ruled.evidence.support, ...ruled.evidence.oppose].every((id) => marks.has(id))
  // What a list decided rests on its entry alone, whatever was argued before.
  for (const one of ruled.decidedBy === 'veto' ? [] : earlier.slice(0, MOST_BACK)) {
    if (isArgument(debate) && isWhole() && thread !== null) break
    const found = await readTranscript(record, one.id)
    const earlierOne = found.transcript
    const before = read(earlierOne, one)
    thread ??= threadIn(earlierOne)
    for (const [id, mark] of before.marks) if (!marks.has(id)) marks.set(id, mark)
    if (!isArgument(debate) && isArgument(before)) [argued, debate, sent] = [one, before, found]
  }
  const scoredEarlier = marks.size - new Set([...ownMarks.keys(), ...debate.marks.keys()]).size
  return { argued, thread, sent, scoredEarlier, debate: { ...debate, marks } }
}

function isArgument({ rounds, voices, judge }: DebateView): boolean {
  return rounds.length + voices.length > 0 || judge !== null
}

const place = z.coerce.number().int().min(0).max(1_000_000).catch(0)

/** A place in a thread, as an address names it. */
export function placeIn(query: URLSearchParams, name: string): number {
  return place.parse(query.get(name) ?? 0)
}
