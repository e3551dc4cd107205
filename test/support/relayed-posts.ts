import { type RelayedEvent, tidOf } from './relay.ts'

/** When the events of the tests begin, µs since 1970. */
export const BEGIN = Date.parse('2026-05-01T10:00:00Z') * 1_000
const POSTS = 'app.bsky.feed.post'

export function didOf(name: string): string {
  return `did:plc:${name.padEnd(24, 'x')}`
}

export function addressOf(author: string, rkey: string): string {
  return `at://${didOf(author)}/${POSTS}/${rkey}`
}

interface WrittenPost {
  readonly author?: string
  readonly rkey: string
  /** Milliseconds after the beginning. */
  readonly at: number
  readonly operation?: 'create' | 'update' | 'delete'
  readonly text?: string
  /** The address of the thread's post, and of what is answered, if that is another. */
  readonly under?: string
  readonly parent?: string
  /** More fields of the record. */
  readonly more?: object
}

/** A post, or a reply, as somebody wrote it. */
export function written({
  author = 'ann',
  rkey,
  at,
  operation = 'create',
  text = rkey,
  under,
  parent = under,
  more,
}: WrittenPost): RelayedEvent {
  const time = BEGIN + at * 1_000
  const reply =
    under === undefined
      ? {}
      : { reply: { root: { uri: under, cid: 'bafyroot' }, parent: { uri: parent, cid: 'bafyparent' } } }
  const record = {
    $type: POSTS,
    text,
    langs: ['en'],
    createdAt: new Date(time / 1_000).toISOString(),
    ...reply,
    ...more,
  }
  const change = { rev: tidOf(time), operation, collection: POSTS, rkey }
  return { did: didOf(author), time, commit: operation === 'delete' ? change : { ...change, record, cid: 'bafycid' } }
}

/** An account whose state changed. */
export function accountOf(author: string, at: number, status?: string): RelayedEvent {
  return {
    did: didOf(author),
    time: BEGIN + at * 1_000,
    account: { active: status === undefined, ...(status === undefined ? {} : { status }) },
  }
}
