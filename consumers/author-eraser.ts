import type { AuditEntry } from '../src/contracts/facts/audit.ts'
import type { AuthorErasure } from '../src/contracts/facts/author-erasure.ts'
import { keyOf, type MessageType } from '../src/contracts/facts/messages.ts'
import type { ThreadRef } from '../src/contracts/facts/thread.ts'
import { namedIn } from '../src/contracts/facts/verdict-id.ts'
import type { Audit } from '../src/contracts/ports/audit.ts'
import type { AuthorErasures, AuthorIndex, NotedSubject } from '../src/contracts/ports/authors.ts'
import type { Clock } from '../src/contracts/ports/clock.ts'
import type { WaitingErasures } from '../src/contracts/ports/erasures.ts'
import type { Report } from '../src/contracts/ports/report.ts'
import type { OutgoingMessage, TopicWriter } from '../src/contracts/ports/topic.ts'
import type { PartitionEnd } from './partition-ends.ts'

/** Deletions that are on their way to intake at a time: few enough that what comes behind them does not wait for long. */
const SENT_AT_ONCE = 50
/** Erasures of a tenant whose deletions are on their way at a time; its others wait for these. */
const SENDING_AT_ONCE = 5
/** How long one that found nothing is remembered, in ms. */
const NOTHING_FOUND_MS = 3_600_000

/** What the erasure of authors works with. */
interface EraserParts {
  readonly index: Pick<AuthorIndex, 'by' | 'forget' | 'tidy'>
  readonly erasures: AuthorErasures
  /** Whether this process is the one that erases now. */
  readonly lead: () => Promise<boolean>
  readonly writer: Pick<TopicWriter, 'send'>
  readonly topicOf: (type: MessageType) => string
  /** How far intake has read each partition of its topics, and where these end. */
  readonly progress: () => Promise<readonly PartitionEnd[]>
  /** What of deleted subjects shelves and cases still hold. */
  readonly waiting: () => Promise<Readonly<Record<'shelves' | 'cases', WaitingErasures>>>
  readonly streamNow: () => Promise<number>
  readonly audit: Audit
  /** How long one that is done is remembered, in ms. */
  readonly keepMs: number
  readonly clock: Clock
  readonly report: Report
}

/**
 * Erases what somebody wrote by the deletions that a platform would send, on the topics: whoever obeys these, obeys them. It begins once
 * intake has read what had come before it was asked for, and sends some at a time, each time once intake has read those before. Meanwhile
 * intake and the record note what they find of the author; so it is through when nothing is noted: what they write from then on is theirs again.
 */
export function authorEraser(parts: EraserParts) {
  const { index, erasures, lead, progress } = parts
  return {
    /** One step of all that are under way. Returns whether another may follow at once. */
    async step(): Promise<boolean> {
      if (!(await lead())) return false
      const all = await erasures.all()
      if (all.length === 0) return false
      // After the look at what is asked: it begins behind what had come before.
      const partitions = await progress()
      const sending = new Map<string, number>()
      const count = ({ tenant }: AuthorErasure) => sending.set(tenant, (sending.get(tenant) ?? 0) + 1)
      for (const one of all) if (!isRead(one.upTo, partitions)) count(one)
      let again = false
      for (const one of all) {
        // A step may take longer than the lead lasts.
        if (!(await lead())) return false
        const maySend = (sending.get(one.tenant) ?? 0) < SENDING_AT_ONCE
        const moved = await advance(parts, one, { partitions, maySend, sends: () => count(one) })
        again = moved || again
      }
      return again
    },
    /** Beside it, not everywhere at once: forgets notes on what is held no more. */
    async tidy(): Promise<void> {
      if (await lead()) await index.tidy()
    },
  }
}

/** What the erasures of a step share. */
interface StepContext {
  readonly partitions: readonly PartitionEnd[]
  readonly maySend: boolean
  /** Called when this one sends deletions. */
  readonly sends: () => void
}

async function advance(parts: EraserParts, one: AuthorErasure, step: StepContext): Promise<boolean> {
  const { index, erasures, writer, progress, clock } = parts
  const { partitions } = step
  const save = (change: Partial<AuthorErasure>) => erasures.save({ ...one, ...change })
  const wait = async (waitsFor: AuthorErasure['waitsFor']) => {
    if (waitsFor !== one.waitsFor) await save({ waitsFor })
    return false
  }
  if (one.state === 'asked') {
    await audit(parts, one, 'begun')
    await save({ state: 'sending', upTo: endsOf(partitions), waitsFor: 'intake' })
    return true
  }
  if (!isRead(one.upTo, partitions)) return wait('intake')
  // Before the look at what is noted: what the record has found is noted by then.
  const record = (await erasures.hasRecord()) ? await erasures.recordOf(one.id) : 'clean'
  const noted = one.state === 'sent' ? [] : await index.by({ tenant: one.tenant, author: one.id }, SENT_AT_ONCE)
  if (noted.length > 0) {
    if (!step.maySend) return wait('intake')
    step.sends()
    await writer.send(await deletionsOf(parts, noted))
    const upTo = endsOf(await progress())
    await save({ state: 'sending', sent: one.sent + noted.length, upTo, waitsFor: 'intake' })
    // Not before: a process that dies in between sends them once more.
    await index.forget({ tenant: one.tenant, author: one.id }, noted)
    return true
  }
  if (record === null) return wait('record')
  if (one.state === 'sending') {
    await save({ state: 'sent', sentAt: clock(), waitsFor: 'record' })
    return true
  }
  if (record !== 'clean') return wait('record')
  const { shelves, cases } = await parts.waiting()
  const since = one.sentAt ?? clock()
  if ([shelves, cases].some(({ oldest }) => oldest !== null && oldest <= since)) return wait('shelves')
  await audit(parts, one, 'done')
  // Whoever names people that there are not would fill the store with what came of it.
  const keepMs = one.sent === 0 ? Math.min(parts.keepMs, NOTHING_FOUND_MS) : parts.keepMs
  await erasures.finish({ ...one, state: 'done', waitsFor: null, author: undefined, upTo: {}, doneAt: clock() }, keepMs)
  parts.report('author:erased', { erasure: one.id, sent: one.sent })
  return false
}

function endsOf(partitions: readonly PartitionEnd[]): Record<string, string> {
  return Object.fromEntries(partitions.map(({ topic, partition, end }) => [`${topic}/${partition}`, String(end)]))
}

/** Whether all of these partitions were read up to there; one that is there no more holds nothing. */
function isRead(upTo: AuthorErasure['upTo'], partitions: readonly PartitionEnd[]): boolean {
  const next = new Map(partitions.map((one) => [`${one.topic}/${one.partition}`, one]))
  return Object.entries(upTo).every(([key, offset]) => {
    const now = next.get(key)
    // A topic that was made anew ends before that.
    return now === undefined || now.next >= Math.min(Number(offset), now.end)
  })
}

async function deletionsOf(
  { topicOf, streamNow, clock }: EraserParts,
  noted: readonly NotedSubject[],
): Promise<OutgoingMessage[]> {
  // The stream's clock goes by it: a deletion moves it no further than it has come.
  const reached = await streamNow()
  const createdAt = new Date(Number.isFinite(reached) ? Math.min(reached, clock()) : 0).toISOString()
  return noted.map(({ subject }) => {
    const type = typeOf(subject)
    const { subjectId: id, postId } = namedIn(subject)
    const message = {
      id,
      ...(postId === undefined ? {} : { postId }),
      tenant: subject.tenant,
      createdAt,
      deleted: true,
    }
    return { topic: topicOf(type), key: keyOf(type, message), value: JSON.stringify(message) }
  })
}

function typeOf({ kind }: ThreadRef): MessageType {
  if (kind === 'reply') return 'counterspeech'
  return kind === 'comment' ? 'comment' : 'post'
}

/** Keeps who asked for it, and what came of it: no name of the author. */
async function audit({ audit, clock }: EraserParts, one: AuthorErasure, state: string): Promise<void> {
  const entry: AuditEntry = {
    schema: 1,
    at: new Date(clock()).toISOString(),
    by: one.by,
    session: '',
    what: 'did',
    page: '/v1/authors',
    verdicts: [],
    more: 0,
    asked: { erasure: one.id, tenant: one.tenant, state, sent: String(one.sent) },
  }
  await audit.note(entry)
}
