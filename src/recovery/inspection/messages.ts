import type { IntakeInput, TopicHandler } from '../../../consumers/intake.ts'
import { parseMessages } from '../../../consumers/read-message.ts'
import { jsonOf } from '../../contracts/facts/json-of.ts'
import { type DeadLetter, deadLetter, type Outcome } from '../../contracts/facts/messages.ts'
import type { ThreadRef } from '../../contracts/facts/thread.ts'
import { namedIn, recordKeyOf } from '../../contracts/facts/verdict-id.ts'
import type { Clock } from '../../contracts/ports/clock.ts'
import type { GroupProgress, IncomingMessage } from '../../contracts/ports/topic.ts'
import { type ReadBound, type ReadDeps, type ReadPart, readOwn } from './read.ts'

/** A message of a subject as it lies in its topic, and what became of it. None of its text. */
export interface ShownMessage {
  readonly topic: string
  readonly partition: number
  readonly offset: string
  /** The broker's time, ms since 1970. */
  readonly receivedAt: number
  readonly what: 'post' | 'comment' | 'reply'
  /** Its own id; null if it can't be read. */
  readonly id: string | null
  readonly deletes: boolean
  /** `unread`: the service has not come so far. Null: it depends on messages that were not read again. */
  readonly outcome: Outcome | 'unread' | null
  /** Of a dead letter, why. */
  readonly detail: string | null
}

export type ReceivedParts = ReadDeps & {
  readonly topics: {
    readonly posts: string
    readonly comments: string
    readonly counterspeech: string
    readonly deadLetters: string
  }
  /**
   * The input's handlers over an empty store, whose clock is set to each message's time: working the messages off again tells their
   * outcomes. Nothing is stored for that beforehand.
   */
  readonly again: (now: Clock) => IntakeInput
  /** How far the service has read. */
  readonly groupProgress: () => Promise<GroupProgress>
  readonly clock: Clock
}

/** A message that may be the subject's: its id stands in it somewhere. */
interface Candidate {
  readonly from: IncomingMessage
  readonly handler: TopicHandler
}

/** Which topics hold the messages of a subject. */
const INPUTS_OF = {
  post: ['posts', 'comments'],
  reply: ['counterspeech'],
  comment: ['comments'],
  asked: ['posts', 'comments'],
} as const

/** The messages of a subject, in the order in which the brokers got them, with their outcomes. */
export async function readReceived(
  parts: ReceivedParts,
  subject: ThreadRef,
  bound: ReadBound,
): Promise<{ messages: ShownMessage[]; read: ReadPart[] }> {
  const { topics, again, groupProgress } = parts
  let now = 0
  const { handlers, context } = again(() => now)
  const found: Candidate[] = []
  const letters = new Map<string, DeadLetter>()
  const { tenant, kind } = subject
  const key = recordKeyOf(subject)
  const isCandidate = mentions(key)
  // A comment belongs to its post's thread.
  const about: ThreadRef = kind === 'comment' ? { tenant, postId: key, kind: 'post' } : subject
  const isOwn = (id: string) => kind !== 'comment' || id === namedIn(subject).subjectId
  const inputs = INPUTS_OF[kind].map((name) => topics[name])
  const [progress, ...ranges] = await Promise.all([
    groupProgress(),
    ...inputs.map(async (topic) => {
      const handler = handlers.get(topic)
      if (handler === undefined) return []
      return readOwn(parts, topic, key, bound, (records) => {
        for (const from of records) if (isCandidate(from)) found.push({ from, handler })
      })
    }),
    readOwn(parts, topics.deadLetters, key, bound, (records) => {
      for (const record of records) {
        const letter = deadLetter.safeParse(jsonOf(record))
        if (letter.success) letters.set(placeOf(letter.data), letter.data)
      }
    }),
  ])
  const inOrder = found.sort(
    ({ from: a }, { from: b }) =>
      a.timestamp - b.timestamp ||
      inputs.indexOf(a.topic) - inputs.indexOf(b.topic) ||
      Number(BigInt(a.offset) - BigInt(b.offset)),
  )
  const read = ranges.flat()
  // Where the oldest messages were not read, a comment's post may be among them.
  let complete = read.every(({ topic, fromBeginning }) => !inputs.includes(topic) || fromBeginning)
  const messages: ShownMessage[] = []
  for (const { from, handler } of inOrder) {
    now = from.timestamp
    const { valid, invalid } = parseMessages(handler, context, [from])
    const [one] = valid
    if (one !== undefined && !(isSame(handler.subjectOf(one.message), about) && isOwn(one.message.id))) continue
    // A message that can't be read belongs to whom its key names.
    if (one === undefined && from.key !== key) continue
    const isUnread = BigInt(from.offset) >= (progress.committed.get(from.topic)?.get(from.partition) ?? 0n)
    const letter = letters.get(placeOf(from))
    if (what(from, topics) !== 'comment') complete = true
    const worked = isUnread || one === undefined ? undefined : (await handler.handle(context, valid, async () => {}))[0]
    const [why] = invalid
    const { id, deletes } = idIn(from)
    messages.push({
      topic: from.topic,
      partition: from.partition,
      offset: from.offset,
      receivedAt: from.timestamp,
      what: what(from, topics),
      id: one === undefined ? null : id,
      deletes,
      outcome: isUnread
        ? 'unread'
        : letter !== undefined || why !== undefined
          ? 'dead-letter'
          : complete
            ? (worked ?? null)
            : null,
      detail:
        letter !== undefined
          ? `${letter.reason}: ${letter.detail}`
          : why !== undefined
            ? `${why.reason}: ${why.detail}`
            : null,
    })
  }
  return { messages, read }
}

/** Whether these bytes stand in a message's value, or are its key; escaped ids are found by the key alone. */
function mentions(id: string): (from: IncomingMessage) => boolean {
  const bytes = Buffer.from(id)
  return ({ key, value }) => key === id || (value?.includes(bytes) ?? false)
}

function isSame(a: ThreadRef, b: ThreadRef): boolean {
  return a.tenant === b.tenant && a.postId === b.postId && a.kind === b.kind
}

function what({ topic }: IncomingMessage, topics: ReceivedParts['topics']): ShownMessage['what'] {
  return topic === topics.posts ? 'post' : topic === topics.comments ? 'comment' : 'reply'
}

function idIn(from: IncomingMessage): { id: string | null; deletes: boolean } {
  const json = jsonOf(from)
  if (typeof json !== 'object' || json === null) return { id: null, deletes: false }
  const { id, deleted } = json as Record<string, unknown>
  return { id: typeof id === 'string' ? id : null, deletes: deleted === true }
}

function placeOf({ topic, partition, offset }: Pick<IncomingMessage, 'topic' | 'partition' | 'offset'>): string {
  return `${topic}/${partition}@${offset}`
}
