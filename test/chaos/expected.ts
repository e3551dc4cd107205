import type { Evidence } from './audit.ts'
import type { TopicRecord } from './reader.ts'
import { RULES } from './stream.ts'

/** What a subject must end as, by what stands on the input topics. */
export interface ExpectedSubject {
  readonly protocols: readonly string[]
  /** It was deleted, or what it replies to was. */
  readonly gone: boolean
  /** A comment of it was deleted: a case that was open on it, or waited for Kafka, restarted. */
  readonly shrunk: boolean
  readonly text: string
  /** Texts of the comments that count, by id. */
  readonly comments: ReadonlyMap<string, string>
  /** More comments came than a thread keeps: any of them may be left out. */
  readonly capped: boolean
  /** Comments that were given up while their post was missing, or came to a thread that was forgotten, or went with it. */
  readonly unsure: ReadonlySet<string>
  /** What the post said when its thread may have been forgotten: whoever reads comments may have judged that at last. */
  readonly said: ReadonlySet<string>
  /** When its first message was sent, ms since 1970. */
  readonly at: number
}

export interface Expected {
  /** By TENANT:ID. */
  readonly subjects: ReadonlyMap<string, ExpectedSubject>
  /** Messages by `TOPIC OUTCOME`. */
  readonly outcomes: Readonly<Record<string, number>>
  /** Places of malformed messages that no dead letter names. */
  readonly undelivered: readonly string[]
  /** Places of dead letters whose messages are as they should be. */
  readonly unjust: readonly string[]
}

interface Message {
  readonly id: string
  readonly postId?: string
  readonly parentId?: string
  readonly tenant?: string
  readonly lang?: string
  readonly text?: string
  readonly author?: string
  readonly createdAt: string
  readonly deleted?: true
}

interface Thread {
  lang: string | undefined
  createdAt: number
  text: string | null
  gone: boolean
  readonly comments: Map<string, string | null>
  readonly unsure: Set<string>
  /** Who said each comment. */
  readonly authors: Map<string, string>
  readonly at: number
  /** When it may last have begun anew, without the comments from before, and what it had said until then. */
  begunAnew: number
  readonly said: Set<string>
}

/** When a message was sent, and by when it had been taken, ms since 1970. */
interface Sending {
  readonly at: number
  readonly takenBy: number
}

/** Clocks of one machine, and the time between a message and its effect, ms. */
const SLACK_MS = 3_000
/** Under this header a malformed message carries the reason of its dead letter. */
export const DEAD_HEADER = 'chaos-dead'

/**
 * Folds the input topics in the order in which they stand. `letters` are the dead letters' reasons by place; `endsOf` a
 * subject are the times of its final verdicts, after which its thread is forgotten.
 */
export function expectedOf(
  {
    posts,
    comments,
    counterspeech,
    decisions,
    holdUps,
    progress,
    judgesComments = false,
  }: Pick<Evidence, 'posts' | 'comments' | 'counterspeech' | 'decisions' | 'holdUps' | 'progress' | 'judgesComments'>,
  letters: ReadonlyMap<string, string>,
  endsOf: (name: string) => readonly number[],
): Expected {
  const outcomes: Record<string, number> = {}
  const undelivered: string[] = []
  const justified = new Set<string>()

  function fold(
    topic: string,
    records: readonly TopicRecord[],
    take: (message: Message, given: string | undefined, sent: Sending) => string,
  ) {
    for (const record of records) {
      const place = `${topic}/${record.partition}@${record.offset}`
      const dead = record.headers[DEAD_HEADER]
      const given = letters.get(place)
      let outcome: string
      if (dead !== undefined) {
        outcome = `dead-letter ${dead}`
        justified.add(place)
        if (given !== dead) undelivered.push(`${place} (${dead}${given === undefined ? '' : `, told as ${given}`})`)
      } else {
        outcome = take(JSON.parse(record.value) as Message, given, sendingOf(topic, record))
        if (given === 'orphan-expired' && topic === 'comments') justified.add(place)
      }
      outcomes[`${topic} ${outcome}`] = (outcomes[`${topic} ${outcome}`] ?? 0) + 1
    }
  }

  // Under a fault, and under load, what was sent waits in Kafka.
  const sendingOf = (topic: string, { partition, offset, timestamp: at }: TopicRecord): Sending => {
    const held = holdUps.flatMap(({ from, to }) => (at > from - SLACK_MS && at < to ? [to + SLACK_MS] : []))
    return { at, takenBy: Math.max(at, ...held, progress?.takenBefore(topic, partition, offset) ?? 0) }
  }
  const mayBeForgotten = (name: string, { takenBy }: Sending) =>
    endsOf(name).some((end) => end + RULES.keepAfterFinal - SLACK_MS < takenBy)
  const threads = new Map<string, Thread>()
  fold('posts', posts, (message, _, sent) => {
    const name = nameOf(message.tenant, message.id)
    const thread = threads.get(name)
    // Then its comments are as well, and it begins anew.
    if (thread !== undefined && mayBeForgotten(name, sent)) {
      thread.begunAnew = sent.takenBy
      if (thread.text !== null) thread.said.add(thread.text)
    }
    return takePost(threads, message, sent.at)
  })
  const lonely = new Map<string, boolean>()
  const judged = new Map<string, JudgedComment>()
  fold('comments', comments, (message, given, sent) => {
    if (judgesComments && message.tenant === RULES.otherTenant) takeJudged(judged, message, sent.at)
    const thread = threads.get(nameOf(message.tenant, message.postId ?? ''))
    if (thread !== undefined) {
      // What a forgotten thread has of it, nobody takes back; and what comes to it is late.
      if (sent.at < thread.begunAnew || mayBeForgotten(nameOf(message.tenant, message.postId ?? ''), sent))
        thread.unsure.add(message.id)
      return takeComment(thread, message, given)
    }
    // Its post never came. Who said it again while it waited said nothing new.
    const told = lonely.get(message.id) === true || given !== undefined
    const again = lonely.has(message.id) && given === undefined
    lonely.set(message.id, told)
    return again ? 'duplicate' : 'dead-letter orphan-expired'
  })
  const replies = new Map<string, { text: string; gone: boolean }>()
  fold('counterspeech', counterspeech, ({ id, tenant, postId, text = '' }) => {
    const name = nameOf(tenant, id)
    const known = replies.get(name)
    const gone = postId !== undefined && threads.get(nameOf(tenant, postId))?.gone === true
    replies.set(name, { text, gone })
    return gone ? 'deleted' : known === undefined ? 'judged' : known.text === text ? 'duplicate' : 'updated'
  })

  // A subject may be forgotten by then, or not be known yet; what else came of them is asked in decisions-found.ts.
  for (const [place, reason] of letters)
    if (place.startsWith('decisions/') && reason === 'unjudgeable') justified.add(place)
  fold('decisions', decisions, () => 'read')

  const subjects = new Map<string, ExpectedSubject>()
  for (const [name, { lang, text, gone, comments: all, authors, unsure, said, at }] of threads) {
    if (lang === RULES.unrouted) continue
    for (const id of leftOutWith(all, authors)) unsure.add(id)
    const kept = new Map([...all].flatMap(([id, words]): [string, string][] => (words === null ? [] : [[id, words]])))
    const protocols = lang === RULES.pictured ? ['safety'] : lang === RULES.hateful ? ['rumor', 'hate'] : ['rumor']
    const capped = all.size > RULES.maxComments
    const shrunk = [...all.values()].includes(null)
    subjects.set(name, { protocols, gone, shrunk, text: text ?? '', comments: kept, capped, unsure, said, at })
  }
  for (const [name, { text, gone, thread, parentId, at }] of judged) {
    const above = threads.get(thread)
    const answered = parentId !== undefined && judged.get(nameOf(RULES.otherTenant, parentId))?.gone === true
    const nothing = { comments: new Map(), capped: false, unsure: new Set<string>(), said: new Set<string>() }
    const isGone = gone || above?.gone === true
    subjects.set(name, { protocols: ['hate'], gone: isGone, shrunk: answered, text, ...nothing, at })
  }
  for (const [name, { text, gone }] of replies)
    subjects.set(name, {
      protocols: ['counterspeech'],
      gone,
      shrunk: false,
      text,
      comments: new Map(),
      capped: false,
      unsure: new Set(),
      said: new Set(),
      at: 0,
    })
  return {
    subjects,
    outcomes,
    undelivered: [...undelivered, ...[...lonely].flatMap(([id, told]) => (told ? [] : [`${id} (orphan-expired)`]))],
    unjust: [...letters].flatMap(([place, reason]) => (justified.has(place) ? [] : [`${place} (${reason})`])),
  }
}

/** A comment that is judged by itself, whatever its thread keeps of it. */
interface JudgedComment {
  readonly thread: string
  readonly parentId: string | undefined
  readonly at: number
  text: string
  gone: boolean
}

function takeJudged(
  judged: Map<string, JudgedComment>,
  { id, postId = '', parentId, tenant, text = '', deleted }: Message,
  at: number,
): void {
  const name = nameOf(tenant, id)
  const known = judged.get(name) ?? { thread: nameOf(tenant, postId), parentId, at, text: '', gone: false }
  judged.set(name, known)
  known.gone ||= deleted === true
  if (deleted !== true) known.text = text.toWellFormed()
}

/** Comments of authors who took back so many others that a case may have left these out. */
function leftOutWith(comments: ReadonlyMap<string, string | null>, authors: ReadonlyMap<string, string>): string[] {
  const back = new Map<string, number>()
  for (const [id, author] of authors) if (comments.get(id) === null) back.set(author, (back.get(author) ?? 0) + 1)
  return [...authors].flatMap(([id, author]) => ((back.get(author) ?? 0) > MOST_TAKEN_BACK ? [id] : []))
}

/** Of an open case. */
const MOST_TAKEN_BACK = 3

const nameOf = (tenant: string | undefined, id: string) => `${tenant ?? 'default'}:${id}`

function takePost(
  threads: Map<string, Thread>,
  { id, tenant, lang, text: said = '', createdAt, deleted }: Message,
  at: number,
): string {
  const text = said.toWellFormed()
  const name = nameOf(tenant, id)
  const known = threads.get(name)
  if (known === undefined) {
    threads.set(name, {
      lang,
      createdAt: Date.parse(createdAt),
      text: deleted === true ? null : text,
      gone: deleted === true,
      comments: new Map(),
      unsure: new Set(),
      authors: new Map(),
      at,
      begunAnew: 0,
      said: new Set(),
    })
    return deleted === true ? 'deleted' : lang === RULES.unrouted ? 'unrouted' : 'judged'
  }
  if (known.gone) return deleted === true ? 'duplicate' : 'deleted'
  if (deleted === true) {
    known.gone = true
    return 'deleted'
  }
  if (lang === RULES.unrouted) return 'unrouted'
  const same = known.text === text
  known.text = text
  return same ? 'duplicate' : 'updated'
}

function takeComment(
  thread: Thread,
  { id, text: said = '', author, createdAt, deleted }: Message,
  given: string | undefined,
): string {
  const text = said.toWellFormed()
  if (given === 'orphan-expired') {
    // Given up before its post came; the same comment may have come again later.
    thread.unsure.add(id)
    if (!thread.comments.has(id)) thread.comments.set(id, text)
    return 'dead-letter orphan-expired'
  }
  if (thread.gone) return 'deleted'
  if (thread.lang === RULES.unrouted) return 'unrouted'
  const known = thread.comments.get(id)
  if (author !== undefined) thread.authors.set(id, author)
  if (deleted === true) {
    thread.comments.set(id, null)
    return known === null ? 'duplicate' : 'deleted'
  }
  if (known === null) return 'deleted'
  if (Date.parse(createdAt) > thread.createdAt + RULES.finalAge) return 'late'
  thread.comments.set(id, text)
  return known === undefined ? 'judged' : known === text ? 'duplicate' : 'updated'
}
