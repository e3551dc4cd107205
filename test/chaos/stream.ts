import { verdictScope } from '../../src/contracts/facts/verdict-id.ts'
import { TEXTS } from '../bystander/registry.ts'
import { markOf } from './asked.ts'
import { type Dice, dice } from './dice.ts'

/** One message of the stream, in the order in which it is produced. */
export interface Sent {
  readonly topic: 'posts' | 'comments' | 'counterspeech' | 'decisions' | 'appeals' | 'actions'
  readonly key: string
  readonly value: Buffer | null
  /** The reason under which it must come back as a dead letter. */
  readonly dead?: string
  /** What its producer says its time is, ms since 1970; when it is sent if left out. */
  readonly timestamp?: number
}

export interface StreamSettings {
  readonly posts: number
  /** Comments in the flood on one post. */
  readonly flood: number
  /** Share of the posts that are the other tenant's. */
  readonly ofOtherTenant: number
}

/** Rules that the service is given and the ledger recounts by. */
export const RULES = {
  /** Comments later than this after their post don't count, ms. */
  finalAge: 30 * 60_000,
  maxComments: 60,
  maxMessageBytes: 24_000,
  /** Posts in this language are judged by nobody. */
  unrouted: 'xx',
  /** Posts in this language are judged by hate as well. */
  hateful: 'en',
  /** Posts in this language have images, and are judged by safety alone. */
  pictured: 'pl',
  /** Where comments are judged by themselves, its are, by hate. */
  otherTenant: 'harbour',
  /** A thread is forgotten so long after its last word, ms. */
  keepAfterFinal: 8_000,
  /** And so are its revisions, and that it was deleted. */
  keepTombstone: 900_000,
} as const

const START = Date.parse('2025-03-01T00:00:00Z')
const MINUTE = 60_000
const PLACES = ['dam', 'bridge', 'harbour', 'station', 'market', 'tunnel', 'power plant', 'school', 'ferry', 'airport']
const EVENTS = ['has burst', 'is closed', 'is on fire', 'was evacuated', 'collapsed', 'is under water', 'lost power']
const SAID = [
  'It is true, I saw it',
  'Fake, this is an old picture',
  'Really? Any source?',
  'Police confirmed it just now',
  'Nothing is happening here, all normal',
  'The official account denies it',
  'lol, local man panics again',
  'My sister works there and says the same',
]
const HARSH = [
  'They are vermin and should go back',
  'Lovely people live there',
  'Throw them all out',
  'I like this city',
]

/** The same seed gives the same messages in the same order. */
export function streamOf(seed: number, { posts, flood, ofOtherTenant }: StreamSettings): Sent[] {
  const lots = dice(seed, 'stream')
  const timed: { at: number; sent: Sent }[] = []
  // A tenth of the messages comes out of turn: before what they refer to, or long after.
  const say = (at: number, sent: Sent) => {
    const jitter = lots.chance(0.1) ? lots.between(-6, 6) * MINUTE : 0
    timed.push({ at: at + jitter, sent })
    if (lots.chance(0.04)) timed.push({ at: at + lots.between(1, 12) * MINUTE, sent })
  }
  const flooded = Math.floor(posts * 0.4)
  for (let number = 0; number < posts; number++) {
    const createdAt = START + number * MINUTE
    const tenant = lots.chance(ofOtherTenant) ? RULES.otherTenant : undefined
    for (const { at, sent } of threadOf(lots, number, tenant, createdAt)) say(at, sent)
    if (number === flooded)
      for (let n = 0; n < flood; n++)
        timed.push({
          at: createdAt + 4 * MINUTE + n,
          sent: comment(lots, `post-${number}`, `post-${number}-flood-${n}`, createdAt + 4 * MINUTE + n, tenant),
        })
    if (lots.chance(0.1)) for (const one of repliesTo(lots, number, createdAt)) say(one.at, one.sent)
    if (lots.chance(0.04)) timed.push({ at: createdAt + MINUTE, sent: malformed(lots, number) })
    if (lots.chance(0.02)) say(createdAt, comment(lots, `ghost-${number}`, `ghost-${number}-c0`, createdAt, undefined))
  }
  return timed
    .map((one, index) => ({ ...one, index }))
    .sort((a, b) => a.at - b.at || a.index - b.index)
    .map(({ sent }) => sent)
}

function* threadOf(
  lots: Dice,
  number: number,
  tenant: string | undefined,
  createdAt: number,
): Generator<{ at: number; sent: Sent }> {
  const id = `post-${number}`
  const lang = lots.chance(0.03) ? RULES.unrouted : lots.chance(0.15) ? RULES.hateful : undefined
  const post = (change: object): Sent => ({
    topic: 'posts',
    key: id,
    value: json({ id, tenant, lang, createdAt: iso(createdAt), ...change }),
  })
  // Some say the same: whom a post mentions makes no difference to its story.
  const repeats = lots.chance(0.3)
  const claim = repeats
    ? `The ${lots.pick(PLACES.slice(0, 3))} is under water now, they say. @${markOf(id)}`
    : `The ${lots.pick(PLACES)} ${lots.pick(EVENTS)}, they say. ${markOf(id)}`
  yield { at: createdAt, sent: post({ text: claim }) }
  const count = lots.chance(0.55) ? lots.between(0, 2) : lots.chance(0.75) ? lots.between(3, 5) : lots.between(6, 12)
  for (let n = 0; n < count; n++) {
    const late = lots.chance(0.05)
    const said = createdAt + (late ? lots.between(31, 50) : lots.between(1, 28)) * MINUTE + n
    const commentId = `${id}-c${n}`
    const at = lots.chance(0.04) ? said + 40 * MINUTE : said
    yield { at, sent: comment(lots, id, commentId, said, tenant) }
    if (lots.chance(0.03)) yield { at: at + 8 * MINUTE, sent: comment(lots, id, commentId, said, tenant) }
    if (lots.chance(0.03))
      yield {
        at: at + lots.between(2, 45) * MINUTE,
        sent: {
          topic: 'comments',
          key: id,
          value: json({ id: commentId, postId: id, tenant, text: '', createdAt: iso(said), deleted: true }),
        },
      }
  }
  if (lots.chance(0.06))
    yield { at: createdAt + lots.between(3, 60) * MINUTE, sent: post({ text: `${claim} Edited.` }) }
  if (lots.chance(0.04)) yield { at: createdAt + lots.between(3, 60) * MINUTE, sent: post({ deleted: true }) }
}

function comment(lots: Dice, postId: string, id: string, createdAt: number, tenant: string | undefined): Sent {
  const parentId = lots.chance(0.2) ? `${postId}-c0` : undefined
  const text = `${lots.pick(SAID)}. ${lots.between(100, 999)} ${markOf(postId)} ${ownWords(id)}`
  return {
    topic: 'comments',
    key: postId,
    value: json({ id, postId, tenant, parentId, text, author: `a${lots.between(0, 400)}`, createdAt: iso(createdAt) }),
  }
}

/** What no other comment says: where it is deleted, it must be nowhere. */
export const ownWords = (id: string) => `said by ${id}.`

function* repliesTo(lots: Dice, number: number, createdAt: number): Generator<{ at: number; sent: Sent }> {
  const id = `reply-${number}`
  const reply = (text: string): Sent => ({
    topic: 'counterspeech',
    key: id,
    value: json({
      id,
      ...(lots.chance(0.5) ? { postId: `post-${number}` } : {}),
      hateSpeech: `${lots.pick(HARSH)}. ${markOf(id)}`,
      text,
      createdAt: iso(createdAt + MINUTE),
    }),
  })
  const text = `Nobody is less than others; what do you know of them? ${markOf(id)}`
  yield { at: createdAt + 2 * MINUTE, sent: reply(text) }
}

function malformed(lots: Dice, number: number): Sent {
  const id = `bad-${number}`
  const topic = lots.pick(['posts', 'comments', 'counterspeech'] as const)
  const whole = { id, postId: id, text: 'words', hateSpeech: 'words', createdAt: iso(START) }
  const [dead, value] = lots.pick<readonly [string, Buffer | null]>([
    ['not-json', Buffer.from(`{"id":"${id}", "text"`)],
    ['not-json', Buffer.from([0xff, 0xfe, number % 256])],
    ['invalid', json({ ...whole, createdAt: 'yesterday' })],
    ['invalid', json({ ...whole, id: [7] })],
    ['invalid', null],
    ['too-large', json({ ...whole, text: 'long '.repeat(RULES.maxMessageBytes / 4) })],
    ['future', json({ ...whole, createdAt: '2100-01-01T00:00:00Z' })],
  ])
  return { topic, key: id, value, dead }
}

/** What comes to a thread that has been forgotten, each to another: a comment, an edit, the deletion. */
export function afterwards(lots: Dice, subjects: readonly Known[]): Sent[] {
  return subjects.map(({ id, tenant, lang, text, createdAt }, index): Sent => {
    const post = { id, tenant, lang, createdAt: iso(createdAt) }
    if (index % 3 === 0) return comment(lots, id, `${id}-afterwards`, createdAt + 5 * MINUTE, tenant)
    const change = index % 3 === 1 ? { text: `${text} Edited afterwards.` } : { deleted: true }
    return { topic: 'posts', key: id, value: json({ ...post, ...change }) }
  })
}

/** A post of the stream as it was last produced, and the comments that were. */
export interface Known {
  readonly id: string
  readonly tenant: string | undefined
  readonly lang: string | undefined
  readonly text: string
  readonly createdAt: number
  readonly comments: readonly string[]
}

/**
 * Half characters, in comments of posts and of one that comes behind them; a flood of comments on a post that never comes, more
 * than a thread keeps; and the deletion of whole threads at once.
 */
export function hostile(lots: Dice, number: number, posts: readonly Known[], doomed: readonly Known[]): Sent[] {
  const half = (sent: Sent): Sent => {
    const { text, ...rest } = JSON.parse(String(sent.value)) as { text: string; id: string }
    return { ...sent, value: json({ ...rest, text: `${text} \ud800`, author: `\udfff${rest.id}` }) }
  }
  const at = posts.at(-1)?.createdAt ?? START
  const id = `post-${number}`
  const early = Array.from({ length: 4 }, (_, n) =>
    half(comment(lots, id, `${id}-half-${n}`, at + MINUTE + n, undefined)),
  )
  const text = `The ${lots.pick(PLACES)} ${lots.pick(EVENTS)}, they say. ${markOf(id)} \udc00`
  const late: Sent = { topic: 'posts', key: id, value: json({ id, text, createdAt: iso(at) }) }
  const ghost = `ghost-${number}`
  const flood = Array.from({ length: RULES.maxComments * 2 }, (_, n) =>
    comment(lots, ghost, `${ghost}-flood-${n}`, at + n, undefined),
  )
  const said = posts.map((post) =>
    half(comment(lots, post.id, `${post.id}-half`, post.createdAt + 2 * MINUTE, post.tenant)),
  )
  const deleted = doomed.flatMap(({ id: own, tenant, lang, createdAt, comments }): Sent[] => [
    ...comments.map(
      (one): Sent => ({
        topic: 'comments',
        key: own,
        value: json({ id: one, postId: own, tenant, text: '', createdAt: iso(createdAt + MINUTE), deleted: true }),
      }),
    ),
    { topic: 'posts', key: own, value: json({ id: own, tenant, lang, createdAt: iso(createdAt), deleted: true }) },
  ])
  return [...early, ...flood, late, ...said, ...deleted]
}

/** Posts and comments of the registry's worst texts, as long as a message may be; authors have worst names. */
export function worstTexts(lots: Dice, number: number, count: number, createdAt: number): Sent[] {
  return Array.from({ length: count }, (_, nth): Sent[] => {
    const id = `worst-${number + nth}`
    const text = () => `They say so. ${markOf(id)} ${lots.pick(TEXTS).make(WORST_CHARS)}`
    const said = Array.from({ length: 6 }, (_, at): Sent => {
      const author = `${at} ${lots.pick(TEXTS).make(60)}`
      const times = { createdAt: iso(createdAt + MINUTE + at) }
      return {
        topic: 'comments',
        key: id,
        value: json({ id: `${id}-c${at}`, postId: id, text: text(), author, ...times }),
      }
    })
    return [{ topic: 'posts', key: id, value: json({ id, text: text(), createdAt: iso(createdAt) }) }, ...said]
  }).flat()
}

/** Half characters take six bytes of a message each. */
const WORST_CHARS = Math.floor(RULES.maxMessageBytes / 6) - 600

/** Posts with images at hosts whose names nobody tells, and of the same tenant one with an image of its own. */
export function silentImages(number: number, count: number, createdAt: number): Sent[] {
  return Array.from({ length: count }, (_, nth): Sent => {
    const id = `pictured-${number + nth}`
    const at = (image: number) => `https://silent-${number}-${nth}-${image}.example/a.png`
    const media =
      nth === 0 ? [{ kind: 'image', url: PIXEL }] : [0, 1, 2].map((one) => ({ kind: 'image', url: at(one) }))
    const said = { id, lang: RULES.pictured, text: `Look at this. ${markOf(id)}`, createdAt: iso(createdAt), media }
    return { topic: 'posts', key: id, value: json(said) }
  })
}

/** …and others, of words alone. */
export function wordsAlone(number: number, count: number, createdAt: number): Sent[] {
  return Array.from({ length: count }, (_, nth): Sent => {
    const id = `worded-${number + nth}`
    const said = { id, lang: RULES.pictured, text: `Listen to this. ${markOf(id)}`, createdAt: iso(createdAt) }
    return { topic: 'posts', key: id, value: json(said) }
  })
}

const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** A post on which a few accounts comment… */
export function backedPost(lots: Dice, number: number, createdAt: number, comments: number): Sent[] {
  const id = `backed-${number}`
  const text = `The ${lots.pick(PLACES)} ${lots.pick(EVENTS)}, they say. ${markOf(id)}`
  return [
    { topic: 'posts', key: id, value: json({ id, text, createdAt: iso(createdAt) }) },
    ...Array.from({ length: comments }, (_, nth): Sent => {
      const own = `${id}-c${nth}`
      const said = { id: own, postId: id, text: `${lots.pick(SAID)}. ${nth} ${markOf(id)} ${ownWords(own)}` }
      const by = { author: `backer-${number}-${nth % 4}`, createdAt: iso(createdAt + MINUTE + nth) }
      return { topic: 'comments', key: id, value: json({ ...said, ...by }) }
    }),
  ]
}

/** …and take it back. */
export function takenBack(number: number, nth: number, createdAt: number): Sent {
  const id = `backed-${number}`
  const gone = { id: `${id}-c${nth}`, postId: id, text: '', createdAt: iso(createdAt + MINUTE + nth), deleted: true }
  return { topic: 'comments', key: id, value: json(gone) }
}

/** What nobody can read, under times at which no clock ever was. */
export function outOfTime(number: number): Sent[] {
  return [9e15, -1, 0, 1].map((timestamp, at) => ({
    topic: at % 2 === 0 ? 'comments' : 'posts',
    key: `untimely-${number}-${at}`,
    value: Buffer.from(`{"untimely":${at}`),
    dead: 'not-json',
    timestamp,
  }))
}

/** A person's decision, by default on what was seen last. */
export function decisionOn(
  { id, tenant }: Known,
  seen: number,
  change: {
    readonly label?: string
    readonly withdraw?: true
    readonly force?: true
    readonly opinion?: true
    readonly appeals?: readonly string[]
  },
  by: string,
): Sent {
  const said = { protocol: 'rumor', against: seen, by, why: 'The city says so.', at: new Date().toISOString() }
  return { topic: 'decisions', key: id, value: json({ subjectId: id, tenant, ...said, ...change }) }
}

/** An edit and a comment, which are judged beneath what people decided. */
export function beneath(lots: Dice, { id, tenant, lang, text, createdAt }: Known): Sent[] {
  const edited = { id, tenant, lang, text: `${text} Edited beneath.`, createdAt: iso(createdAt) }
  return [
    comment(lots, id, `${id}-beneath`, createdAt + 5 * MINUTE, tenant),
    { topic: 'posts', key: id, value: json(edited) },
  ]
}

/** None has this name. */
export const NO_PROTOCOL = 'nobody'

/** What can't be a decision. */
export function noDecisions({ id, tenant }: Known): Sent[] {
  const said = { subjectId: id, tenant, against: 1, by: 'ann', why: 'So it is.', at: new Date().toISOString() }
  const dead = 'invalid'
  return [
    { topic: 'decisions', key: id, value: json({ ...said, protocol: 'rumor', label: 'hoax' }), dead },
    { topic: 'decisions', key: `not ${id}`, value: json({ ...said, protocol: 'rumor', label: 'rumor' }), dead },
    { topic: 'decisions', key: id, value: json({ ...said, protocol: NO_PROTOCOL, label: 'rumor' }), dead },
    {
      topic: 'decisions',
      key: id,
      value: json({ ...said, protocol: 'rumor', label: 'rumor', why: 'x'.repeat(2_001) }),
      dead,
    },
  ]
}

/** An objection to what rumor said of a post, by somebody whom the platform reaches by this contact; `null`: it is taken back. */
export function appealOn(
  { id: subjectId, tenant }: Known,
  id: string,
  by: 'author' | 'notifier' | null,
  contact = `case ${id}`,
): Sent {
  const at = new Date().toISOString()
  const said = { subjectId, protocol: 'rumor', by, text: 'That is not so.', contact }
  return { topic: 'appeals', key: id, value: json({ id, tenant, at, ...(by === null ? { withdraw: true } : said) }) }
}

/** What a platform did about a post by this verdict of rumor; `null`: it is over. */
export function actionOn({ id: subjectId, tenant }: Known, id: string, by: string | null, revision = 1): Sent {
  const at = new Date().toISOString()
  const done = { what: 'remove', source: 'own-initiative', automated: by === 'rules', since: at }
  const verdictId = `${verdictScope({ protocol: 'rumor', tenant: tenant ?? 'default', subjectId })}${revision}`
  const said = by === null ? { withdraw: true, by: 'ann' } : { verdictId, ...done, by }
  return { topic: 'actions', key: subjectId, value: json({ id, tenant, subjectId, at, ...said }) }
}

/** The post is deleted. */
export function deletionOf({ id, tenant, lang, createdAt }: Known): Sent {
  return { topic: 'posts', key: id, value: json({ id, tenant, lang, createdAt: iso(createdAt), deleted: true }) }
}

/** A comment that is never committed. */
export const unsaid = (post: Known, n: number): Sent => ({
  topic: 'comments',
  key: post.id,
  value: json({
    id: `${post.id}-unsaid-${n}`,
    postId: post.id,
    tenant: post.tenant,
    text: `Nobody ever said this. ${markOf(post.id)}`,
    createdAt: iso(post.createdAt + MINUTE),
  }),
})

const NO_POSTS: ReadonlySet<Sent['topic']> = new Set(['counterspeech', 'decisions', 'appeals', 'actions'])

/** The posts among these messages that still stand, as they were last said. */
export function knownIn(messages: readonly Sent[]): Known[] {
  const posts = new Map<string, Known & { comments: string[] }>()
  for (const { topic, value, dead } of messages) {
    if (dead !== undefined || NO_POSTS.has(topic)) continue
    const read = JSON.parse(String(value)) as {
      id: string
      postId?: string
      tenant?: string
      lang?: string
      text?: string
      createdAt: string
      deleted?: true
    }
    if (topic === 'comments') posts.get(read.postId ?? '')?.comments.push(read.id)
    else if (read.deleted === true) posts.delete(read.id)
    else {
      const { id, tenant, lang, text = '', createdAt } = read
      const comments = posts.get(id)?.comments ?? []
      if (lang !== RULES.unrouted) posts.set(id, { id, tenant, lang, text, createdAt: Date.parse(createdAt), comments })
    }
  }
  return [...posts.values()]
}

const iso = (ms: number) => new Date(ms).toISOString()
const json = (value: object) => Buffer.from(JSON.stringify(value))
