import { z } from 'zod'
import { OUTCOMES } from '../../contracts/facts/messages.ts'
import { redactWords } from '../../contracts/facts/redact-words.ts'
import type { ThreadRef } from '../../contracts/facts/thread.ts'
import { otherRevision } from '../../contracts/facts/verdict-id.ts'
import type { ThreadStore } from '../../contracts/ports/threads.ts'
import { firstLinkBytes, linkBytes } from '../../judging/threads/thread-bytes.ts'
import { erasureKeys, queueKeys } from '../erasure/redis.ts'
import { askedAbout } from '../memo/redis.ts'
import { caseKeys, memberOf, PUBLISHERS, refOf, threadKeys } from '../redis/keys.ts'
import { pairs, script } from '../redis/script.ts'
import { hookContent } from '../webhook/redis.ts'
import type { ThreadContext } from './redis-context.ts'
import { type Fields, lastRevisions, revisionsOf, supersededBy } from './redis-state.ts'

const deletePost = script('thread/delete-post', {
  keys: [
    'thread',
    'comments',
    'sample',
    'authors',
    'images',
    'orphans',
    'revisions',
    'decided',
    'due',
    'open',
    'unworked',
    'outbox',
    'erased',
    'owners',
    'shelfErasures',
    'caseErasures',
    'shown',
    'hookContent',
    'casePrefix',
    'caseKeys[]',
  ],
  args: [
    'member',
    'owner',
    'keep',
    'now',
    'group',
    'retractions[].protocol',
    'retractions[].revision',
    'retractions[].caseId',
    'retractions[].verdict',
    'retractions[].transcript',
  ],
})
const deleteUnknown = script('thread/delete-unknown', {
  keys: [
    'owners',
    'shelfErasures',
    'caseErasures',
    'subjects[].thread',
    'subjects[].comments',
    'subjects[].sample',
    'subjects[].authors',
    'subjects[].orphans',
    'subjects[].revisions',
    'subjects[].replies',
    'subjects[].requests',
    'subjects[].asked',
    'subjects[].shown',
    'subjects[].decided',
  ],
  args: ['subjects[].owner', 'subjects[].member', 'keep', 'now', 'most'],
})
const eraseCarries = script('thread/erase-carries', {
  keys: ['thread', 'decided', 'due', 'outbox', 'casePrefix', 'hookContent', 'hookRoot', 'caseKeys[]'],
  args: [
    'member',
    'group',
    'now',
    'openIds[]',
    'changes[].protocol',
    'changes[].before',
    'changes[].after',
    'restored[].protocol',
    'restored[].id',
    'restored[].entry',
    'restored[].verdict',
  ],
})
const linkReply = script('thread/link-reply', {
  keys: ['thread', 'replies'],
  args: ['member', 'reply', 'keep', 'most', 'linkBytes', 'keyBytes', 'now'],
})
const unlinkReplies = script('thread/unlink-replies', {
  keys: ['replies'],
  args: ['member', 'gone[].reply', 'gone[].bytes', 'keyBytes', 'now'],
})

const outcome = z.enum(OUTCOMES)
/** A deletion is retried if a revision was opened meanwhile; after this many tries something else is wrong. */
const DELETE_TRIES = 100
/**
 * For this many of a deleted thread's latest revisions, cases and journals are erased; earlier ones have expired long
 * ago.
 */
const ERASED_REVISIONS = 1_000
/** The cases of this many of a thread's latest revisions may not have expired since they were published. */
const PUBLISHED_KEPT = 100

/** Erases a deleted post with its replies, and what is left of deleted comments. */
export function threadErasure({
  client,
  keys,
  settings,
}: ThreadContext): Pick<
  ThreadStore,
  'deletePost' | 'deleteUnknown' | 'eraseLeft' | 'linkReply' | 'repliesTo' | 'unlinkReplies'
> {
  const readRevisions = (member: string): Promise<[Fields, Fields, Fields]> =>
    Promise.all([
      client.hgetall(keys.thread(member)),
      client.hgetall(keys.revisions(member)),
      client.hgetall(keys.decided(member)),
    ])
  const keysOfCases = (ids: readonly string[]) => ids.flatMap((id) => Object.values(caseKeys(keys, id)))

  /** Null if the thread has changed since it was read, or has revisions and was not read. */
  async function tryDelete(
    ref: ThreadRef,
    [fields, numbers, decided]: readonly [Fields, Fields, Fields],
    retractionOf: Parameters<ThreadStore['deletePost']>[1],
  ) {
    const member = memberOf(ref)
    const retractions = [...lastRevisions(fields, numbers, decided)].map(([protocol, revision]) => ({
      protocol,
      revision,
      ...retractionOf(protocol, revision + 1, supersededBy(protocol, revision, { fields, numbers, decided })),
    }))
    const ids = retractions.flatMap(({ revision, caseId }) =>
      latest(revision, ERASED_REVISIONS).map((number) => otherRevision(caseId, number)),
    )
    const ended = await deletePost(client, {
      ...threadKeys(keys, member),
      ...erasureKeys(keys, ref),
      due: keys.due,
      open: keys.open,
      unworked: keys.unworked,
      outbox: keys.outbox,
      erased: keys.erased,
      casePrefix: keys.case(''),
      hookContent: hookContent(keys, member),
      caseKeys: keysOfCases(ids),
      member,
      keep: settings.keepTombstoneMs,
      now: settings.clock?.() ?? Date.now(),
      group: PUBLISHERS,
      retractions,
    })
    return ended === 'changed' ? null : outcome.parse(ended)
  }

  /** Null if the thread has changed since it was read. */
  async function tryErase(ref: ThreadRef, { openIds, without, caseId, now }: Parameters<ThreadStore['eraseLeft']>[1]) {
    const [fields, numbers, decided] = await readRevisions(memberOf(ref))
    const revisions = revisionsOf(fields)
    const changes = [...revisions].flatMap(([protocol, { carry }]) => {
      const left = carry === null ? null : (without(protocol, carry) ?? null)
      if (JSON.stringify(left) === JSON.stringify(carry)) return []
      const before = fields[`carry:${protocol}`] ?? ''
      return [{ protocol, before, after: left === null ? '' : JSON.stringify(left) }]
    })
    const published = [...lastRevisions(fields, numbers, decided)].flatMap(([protocol, revision]) =>
      latest(revision, PUBLISHED_KEPT)
        .map((number) => caseId(protocol, number))
        // A verdict that a person brought about is not out yet: a deletion finds it by its case.
        .filter((id) => id !== revisions.get(protocol)?.openId && id !== decided[`deciding:${protocol}`]),
    )
    const member = memberOf(ref)
    const { thread, decided: above } = threadKeys(keys, member)
    const content = hookContent(keys, member)
    const hooks = { hookContent: content, hookRoot: keys.under('hooks:') }
    const restored = await restoredOnTheWay({ client, keys }, decided)
    const places = { due: keys.due, outbox: keys.outbox, casePrefix: keys.case('') }
    const touched = { thread, decided: above, ...places, ...hooks, caseKeys: keysOfCases(published) }
    const given = { ...touched, member, group: PUBLISHERS, now, openIds, changes, restored }
    const done = z.enum(['erased', 'opened', 'changed']).parse(await eraseCarries(client, given))
    return done === 'changed' ? null : done === 'erased'
  }

  async function untilUnchanged<Result>(ref: ThreadRef, attempt: () => Promise<Result | null>): Promise<Result> {
    for (let tries = 0; tries < DELETE_TRIES; tries++) {
      const result = await attempt()
      if (result !== null) return result
    }
    throw new Error(`the thread ${memberOf(ref)} kept changing during erasure; gave up`)
  }

  return {
    async deletePost(ref, retractionOf) {
      // Most that were known were never judged.
      const unjudged = await tryDelete(ref, [{}, {}, {}], retractionOf)
      if (unjudged !== null) return unjudged
      return untilUnchanged(ref, async () => tryDelete(ref, await readRevisions(memberOf(ref)), retractionOf))
    },
    async deleteUnknown(refs, now, most = null) {
      if (refs.length === 0) return []
      const subjects = refs.map((ref) => {
        const member = memberOf(ref)
        const { shown, owner } = erasureKeys(keys, ref)
        const [replies, requests] = [keys.replies(member), keys.requests(member)]
        const asked = askedAbout(keys.under, member)
        return { ...threadKeys(keys, member), replies, requests, asked, shown, owner, member }
      })
      const done = await deleteUnknown(client, {
        ...queueKeys(keys),
        subjects,
        keep: settings.keepTombstoneMs,
        now,
        most,
      })
      return z
        .array(z.number())
        .parse(done)
        .map((deleted) => deleted === 1)
    },
    eraseLeft: (ref, left) => untilUnchanged(ref, () => tryErase(ref, left)),
    async linkReply(post, reply, { most, now, askedFor = null }) {
      const member = memberOf(post)
      const linked = z.union([z.literal(1), z.literal(2), z.literal(0), z.literal(-1)]).parse(
        await linkReply(client, {
          thread: keys.thread(member),
          replies: keys.replies(member),
          member,
          reply: memberOf(reply),
          keep: askedFor ?? settings.keepTombstoneMs,
          most,
          linkBytes: askedFor === null ? linkBytes(reply) : 0,
          keyBytes: firstLinkBytes(post),
          now,
        }),
      )
      return linked > 0 ? (linked === 1 ? 'linked' : 'known') : linked === 0 ? 'deleted' : 'full'
    },
    repliesTo: async (post, limit) => (await client.srandmember(keys.replies(memberOf(post)), limit)).map(refOf),
    async unlinkReplies(post, replies, now) {
      if (replies.length === 0) return
      const member = memberOf(post)
      const gone = replies.map((reply) => ({ reply: memberOf(reply), bytes: linkBytes(reply) }))
      await unlinkReplies(client, { replies: keys.replies(member), member, gone, keyBytes: firstLinkBytes(post), now })
    },
  }
}

/** Rulings that are published again in place of human verdicts and are not out yet, each without its words. */
async function restoredOnTheWay({ client, keys }: Pick<ThreadContext, 'client' | 'keys'>, decided: Fields) {
  const all = Object.entries(decided).flatMap(([field, id]) => {
    const [, protocol] = /^deciding:(.+)$/.exec(field) ?? []
    return protocol === undefined || decided[`id:${protocol}`] !== undefined ? [] : [{ protocol, id }]
  })
  return Promise.all(
    all.map(async ({ protocol, id }) => {
      const entry = (await client.hget(keys.case(id), 'entry')) ?? ''
      const [found] = entry === '' ? [] : await client.xrange(keys.outbox, entry, entry)
      const verdict = found === undefined ? undefined : pairs(found[1]).find(([name]) => name === 'verdict')?.[1]
      return { protocol, id, entry, verdict: verdict === undefined ? '' : redactWords(verdict) }
    }),
  )
}

/** The numbers of the latest revisions, at most this many. */
function latest(revision: number, most: number): number[] {
  return Array.from({ length: Math.min(revision, most) }, (_, index) => revision - index)
}
