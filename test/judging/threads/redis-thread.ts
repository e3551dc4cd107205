import { createHash } from 'node:crypto'
import type { Redis } from 'ioredis'
import { authorOf } from '../../../src/contracts/facts/author.ts'
import type { Comment, ThreadRef } from '../../../src/contracts/facts/thread.ts'
import type { MessagePlace, ThreadRules, ThreadStatus } from '../../../src/contracts/ports/threads.ts'
import type { Thread } from '../../../src/judging/threads/thread.ts'
import { type Keys, memberOf } from '../../../src/store/redis/keys.ts'

type Plain = Record<string, unknown>

const UNPUBLISHED = { published: undefined, ruling: null }

/** A thread as the rules state it, with the index of comments by author that Redis keeps beside it; in plain objects. */
export function plain(
  thread: Thread | null,
  { maxPerAuthor, maxUnnamed }: Pick<ThreadRules, 'maxPerAuthor' | 'maxUnnamed'>,
): Plain | null {
  if (thread === null) return null
  const { ref: _, comments, ranks, orphans, revisions, decided, absent, told, ...rest } = thread
  const byAuthor = [...comments].flatMap(([id, comment]) =>
    comment === null || (authorOf(comment) === undefined ? maxUnnamed : maxPerAuthor) === null
      ? []
      : [indexed(authorOf(comment), ranks.get(id) ?? 0, id)],
  )
  const all: Plain = {
    ...rest,
    comments: Object.fromEntries(comments),
    ranks: Object.fromEntries(ranks),
    orphans: Object.fromEntries(orphans),
    revisions: Object.fromEntries([...revisions].map(([protocol, one]) => [protocol, { ...UNPUBLISHED, ...one }])),
    decided: Object.fromEntries(decided),
    absent: Object.fromEntries(absent),
    told: Object.fromEntries(told),
    byAuthor: byAuthor.sort(),
  }
  return thread.status === 'deleted' ? tombstone(all) : all
}

/** The same, read from Redis. */
export async function inRedis(client: Redis, keys: Keys, ref: ThreadRef): Promise<Plain | null> {
  const member = memberOf(ref)
  const [hash, comments, orphans, decided] = await Promise.all(
    [keys.thread(member), keys.comments(member), keys.orphans(member), keys.decided(member)].map((key) =>
      client.hgetall(key),
    ),
  )
  const [sample, authors, score] = await Promise.all([
    client.zrange(keys.sample(member), '0', '-1', 'WITHSCORES'),
    client.zrange(keys.authors(member), '0', '-1'),
    client.zscore(`${keys.due}:${ref.tenant}`, member),
  ])
  if (
    Object.keys({ ...hash, ...comments, ...orphans, ...decided }).length === 0 &&
    sample.length === 0 &&
    score === null
  )
    return null
  const all: Plain = {
    ...fields(hash ?? {}),
    decided: decidedOf(decided ?? {}),
    due: score === null ? null : Number(score),
    comments: Object.fromEntries(Object.entries(comments ?? {}).map(([id, json]) => [id, commentOf(id, json)])),
    ranks: ranksOf(sample),
    orphans: Object.fromEntries(Object.entries(orphans ?? {}).map(([id, json]) => [id, JSON.parse(json) as unknown])),
    byAuthor: authors.sort(),
  }
  return all.status === 'deleted' ? tombstone(all) : all
}

/** Of a deleted thread the numbers of its revisions count, and what a publisher has in hand. */
function tombstone({ status, due, comments, ranks, orphans, revisions }: Plain): Plain {
  const numbers = Object.entries(revisions as Record<string, Plain>).map(([protocol, { revision, openId }]) => [
    protocol,
    { revision, openId },
  ])
  return { status, due, comments, ranks, orphans, revisions: Object.fromEntries(numbers) }
}

function fields(hash: Record<string, string>): Plain {
  const number = (name: string) => Number(hash[name] ?? 0)
  const orNull = (name: string) => (hash[name] === undefined ? null : Number(hash[name]))
  return {
    status: statusOf(hash),
    post: hash.post === undefined ? null : (JSON.parse(hash.post) as unknown),
    sampledUnder: hash.sampledUnder ?? null,
    rekeyed: hash.rekeyed !== undefined,
    accepted: number('accepted'),
    overAuthor: number('overAuthor'),
    late: number('late'),
    missing: number('missing'),
    version: number('version'),
    postVersion: number('postVersion'),
    deletions: number('deletions'),
    dueSince: orNull('dueSince'),
    reachAhead: number('reachAhead'),
    protocolAhead: number('protocolAhead'),
    story: hash.story ?? null,
    told: Object.fromEntries(named(hash, 'told:')),
    judges: Number((hash.held ?? '').split(' ')[3] ?? 0),
    generation: number('generation'),
    observedGeneration: number('observedGeneration'),
    nextAge: orNull('nextAge'),
    countStage: number('countStage'),
    final: hash.final !== undefined,
    revisions: revisionsOf(hash),
    absent: Object.fromEntries(named(hash, 'absent:').map(([protocol, version]) => [protocol, Number(version)])),
    dormantFor: named(hash, 'dormant:')
      .map(([protocol]) => protocol)
      .sort(),
    postPlaces: placesOf(hash.postPlace),
    commentPlaces: placesOf(hash.commentPlace),
  }
}

function statusOf(hash: Record<string, string>): ThreadStatus {
  if (hash.deleted !== undefined) return 'deleted'
  if (hash.unrouted !== undefined) return 'unrouted'
  return hash.postOnly === undefined ? 'threaded' : 'post-only'
}

function revisionsOf(hash: Record<string, string>): Plain {
  return Object.fromEntries(
    named(hash, 'rev:').map(([protocol, revision]) => {
      const carry = hash[`carry:${protocol}`]
      return [
        protocol,
        {
          revision: Number(revision),
          seen: Number(hash[`seen:${protocol}`] ?? 0),
          final: hash[`final:${protocol}`] === '1',
          openId: hash[`open:${protocol}`] ?? null,
          again: hash[`again:${protocol}`] !== undefined,
          carry: carry === undefined ? null : (JSON.parse(carry) as unknown),
          published: hash[`last:${protocol}`] === undefined ? undefined : Number(hash[`last:${protocol}`]),
          ruling: hash[`ruling:${protocol}`] ?? null,
        },
      ]
    }),
  )
}

function decidedOf(hash: Record<string, string>): Plain {
  return Object.fromEntries(
    named(hash, 'last:').map(([protocol, last]) => {
      const of = (name: string) => hash[`${name}:${protocol}`]
      return [
        protocol,
        {
          stands: of('id') ?? null,
          top: of('top') ?? null,
          label: of('label') || null,

          revision: Number(of('rev') ?? 0),
          of: of('of') ?? '',
          by: of('by') ?? '',
          deciding: of('deciding') ?? null,
          last: placesOf(last)[0],
          machine: of('machine') ?? null,
          became: becameOf(of('became')),
          asked: (of('asked') ?? '').split('\n').filter((one) => one !== ''),
        },
      ]
    }),
  )
}

function becameOf(json: string | undefined): Plain | undefined {
  if (json === undefined) return
  const { same, reply } = JSON.parse(json) as { same: string; reply: string[] }
  const [outcome, detail] = reply
  if (outcome === 'late') return { same, decided: { outcome, last: Number(detail) } }
  return { same, decided: outcome === 'noted' ? { outcome } : { outcome, verdict: detail || null } }
}

function named(hash: Record<string, string>, prefix: string): [string, string][] {
  return Object.entries(hash).flatMap(([field, value]) =>
    field.startsWith(prefix) ? [[field.slice(prefix.length), value]] : [],
  )
}

function commentOf(id: string, json: string): Comment | null {
  if (json === '{}') return null
  const { by: _, ...comment } = JSON.parse(json) as Omit<Comment, 'id'> & { by?: string }
  return { id, ...comment }
}

/** ioredis gives pairs or one flat list, by the protocol that it speaks. */
function ranksOf(sample: readonly unknown[]): Plain {
  const flat = sample.flat()
  return Object.fromEntries(
    Array.from({ length: flat.length / 2 }, (_, at) => [String(flat[at * 2]), Number(flat[at * 2 + 1])]),
  )
}

function placesOf(text = ''): MessagePlace[] {
  return text.split(',').flatMap((one) => {
    const [, topic, partition, offset = '', timestamp] = /^(?:(.+)\/)?(\d+) (\d+) (-?\d+)$/.exec(one) ?? []
    if (partition === undefined) return []
    const place = { partition: Number(partition), offset, timestamp: Number(timestamp) }
    return [topic === undefined ? place : { topic, ...place }]
  })
}

function indexed(author: string | undefined, rank: number, id: string): string {
  const hash = author === undefined ? '' : createHash('sha256').update(author).digest('base64url').slice(0, 16)
  return `${hash}:${String(rank).padStart(15, '0')}:${id}`
}
