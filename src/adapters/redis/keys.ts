import type { ThreadRef } from '../../domain/thread.ts'

/**
 * Every key of one Gavel in Redis. All share one hash tag, so that a Lua script may touch any of them on a cluster, and
 * BullMQ's keys are beside them.
 */
export interface Keys {
  /** Prefix of BullMQ's keys. */
  readonly queues: string
  /**
   * Sorted sets: thread members by due time (stream time, ms; below zero is at once), one a tenant under `due:TENANT`; under
   * `due/tenants` the tenants by the earliest of theirs; `due` itself is what earlier versions wrote.
   */
  readonly due: string
  /**
   * Sorted set: ids of open cases by the wall time at which they were last taken, ms. Beside it, under `open/tenants`, a
   * hash: how many are each tenant's.
   */
  readonly open: string
  /** Sorted set like `open`: cases of protocols that nobody works on; they take no places. */
  readonly unworked: string
  /** Stream: what waits for Kafka. */
  readonly outbox: string
  /**
   * Hash: entries of the outbox that were erased while a publisher had them in hand, as JSON: [when it was last heard of, ms;
   * case id; protocol; thread member].
   */
  readonly erased: string
  /** Hash: stream marks by partition. */
  readonly marks: string
  /** Hash: which data these are, and whether some were lost. */
  readonly lineage: string
  /** String: the key under which untrusted text is fenced. */
  readonly fence: string
  /** String: the name of the draw by which the process that started last samples. */
  readonly draw: string
  /** Set: protocols that are paused. */
  readonly paused: string
  /** Set: thread members that wait for a paused protocol. */
  held(protocol: string): string
  /** Keys of the gateway's parts: memo, limits, budgets. */
  under(name: string): string
  case(id: string): string
  journal(id: string): string
  lost(id: string): string
  thread(member: string): string
  comments(member: string): string
  sample(member: string): string
  /** Sorted set: a thread's comments by author. */
  authors(member: string): string
  orphans(member: string): string
  /** Hash: the number of each protocol's last published revision; it outlives the thread. */
  revisions(member: string): string
  /** Set: thread members of the replies to a post. */
  replies(member: string): string
}

export function keysUnder(prefix: string): Keys {
  const root = `{${prefix}}`
  return {
    queues: `${root}:bull`,
    due: `${root}:due`,
    open: `${root}:open`,
    unworked: `${root}:unworked`,
    outbox: `${root}:outbox`,
    erased: `${root}:outbox/erased`,
    marks: `${root}:marks`,
    lineage: `${root}:lineage`,
    fence: `${root}:fence-key`,
    draw: `${root}:draw`,
    paused: `${root}:paused`,
    held: (protocol) => `${root}:held:${protocol}`,
    under: (name) => `${root}:${name}`,
    case: (id) => `${root}:case:${id}`,
    journal: (id) => `${root}:journal:${id}`,
    lost: (id) => `${root}:lost:${id}`,
    thread: (member) => `${root}:thread:${member}`,
    comments: (member) => `${root}:comments:${member}`,
    sample: (member) => `${root}:sample:${member}`,
    authors: (member) => `${root}:authors:${member}`,
    orphans: (member) => `${root}:orphans:${member}`,
    revisions: (member) => `${root}:revisions:${member}`,
    replies: (member) => `${root}:replies:${member}`,
  }
}

/** The outbox's consumer group. */
export const PUBLISHERS = 'publishers'

/** A thread's name in sorted sets and keys; tenants hold neither colon nor slash. */
export function memberOf({ tenant, postId, kind }: ThreadRef): string {
  return `${tenant}${kind === 'post' ? '' : `/${kind}`}:${postId}`
}

export function refOf(member: string): ThreadRef {
  const colon = member.indexOf(':')
  const [tenant = '', kind] = member.slice(0, colon).split('/')
  return { tenant, postId: member.slice(colon + 1), kind: kind === 'reply' ? 'reply' : 'post' }
}
