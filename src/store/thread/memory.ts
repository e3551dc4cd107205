import { charactersIn } from '../../contracts/facts/characters-in.ts'
import { setAside } from '../../contracts/facts/kept-image.ts'
import type { Outcome } from '../../contracts/facts/messages.ts'
import { classOf } from '../../contracts/facts/service-class.ts'
import { shareOf } from '../../contracts/facts/share.ts'
import { COMMENT_CHARACTERS, type ThreadRef } from '../../contracts/facts/thread.ts'
import { namedIn } from '../../contracts/facts/verdict-id.ts'
import type { ThreadOutline, ThreadState, ThreadStore } from '../../contracts/ports/threads.ts'
import {
  answerBytes,
  KEEP_REQUESTS_MS,
  putAsked,
  requestBytes,
  trailBytes,
  wholeBytes,
} from '../../judging/threads/asked.ts'
import { takeComments } from '../../judging/threads/comments.ts'
import { askReview, restoredOnTheWay } from '../../judging/threads/decision-rules.ts'
import { deletePost, expireOrphans } from '../../judging/threads/ending.ts'
import { openCases } from '../../judging/threads/opening-rules.ts'
import { takePost } from '../../judging/threads/post.ts'
import { eraseCarries } from '../../judging/threads/revisions.ts'
import { newThread, orderDue, raiseReach, stateOf, wake } from '../../judging/threads/thread.ts'
import {
  deletedBytes,
  firstLinkBytes,
  linkBytes,
  passedBytes,
  threadBytes,
} from '../../judging/threads/thread-bytes.ts'
import { takeTurns } from '../../judging/threads/turns.ts'
import type { AnswerTable } from '../answer/memory.ts'
import type { KeptBytes } from '../answer/memory-kept.ts'
import { type CaseTable, openedCase } from '../case/memory-table.ts'
import { outcomeOf, reviewOf } from '../decision/memory.ts'
import type { MemoryErasures } from '../erasure/memory.ts'
import type { OutboxEntries } from '../outbox/memory.ts'
import { memoryTwins, nameOf, type ThreadTable } from './memory-table.ts'

// The twin of redis.ts and the Lua beside it: test/contracts/thread-store.ts holds both to the same promises.

/**
 * Threads in memory: each method applies its rule from `src/judging/threads/` to one thread. A thread whose post has arrived is
 * never forgotten.
 */
export function memoryThreads(
  threads: ThreadTable,
  cases: CaseTable,
  entries: OutboxEntries,
  erasures: Pick<MemoryErasures, 'noteNow'>,
  answers: AnswerTable,
  webhooks: { forget(ref: ThreadRef): void; strip(ref: ThreadRef): void },
  kept: KeptBytes,
): ThreadStore {
  const requests = new Map<string, Map<string, ThreadRef>>()
  const replies = new Map<string, Map<string, ThreadRef>>()
  const paused = new Set<string>()
  const early = earlyReach(kept)
  /** By protocol (paused, or off in some process): the threads that wait for it. */
  const dormant = new Map<string, Map<string, ThreadRef>>()

  /** Withdraws what is unpublished of a protocol's last revision; returns whether a publisher has its verdict. */
  function withdrawCase(openId: string | null): boolean {
    const kept = openId === null ? undefined : cases.get(openId)
    if (openId === null || kept === undefined) return false
    cases.delete(openId)
    return kept.entry !== null && entries.withdraw(kept.entry, openId) === 'in-flight'
  }

  const store: ThreadStore = {
    ...memoryRequests({ threads, requests, answers, webhooks, kept, withdrawCase }),
    ...memoryReplies({ threads, replies, kept }),
    ...memoryTwins(threads),
    async putPost(ref, post, arrival, rules, most = null) {
      const said = Math.max(arrival.reachAhead ?? 0, early.of(ref))
      const put = {
        post,
        arrival: { ...arrival, reachAhead: said },
        most: mostOf({ threads, kept }, ref, most, arrival.now),
      }
      const before = threads.find(ref)?.status
      const outcome = threads.step(ref, (thread) => takePost(thread, put, rules))
      if (before !== 'unrouted' && threads.find(ref)?.status === 'unrouted')
        kept.addTrail(ref.tenant, { part: 'passed', bytes: passedBytes(ref), now: arrival.now, keep: KEEP_REQUESTS_MS })
      if (outcome === 'judged') early.forget(ref)
      if (outcome === 'updated') askAboutEdit(threads, entries, ref, arrival.now)
      return outcome
    },
    async raiseReach(ref, reachAhead, within) {
      const outcome = threads.step(ref, (thread) => raiseReach(thread, reachAhead))
      return outcome === 'early' ? early.raise(ref, reachAhead, within) : outcome
    },
    async putComments(ref, changes, now, rules, most = null) {
      const change = { changes, now, most: mostOf({ threads, kept }, ref, most, now) }
      return threads.step(ref, (thread) => takeComments(thread, change, rules))
    },

    async deletePost(ref, retraction) {
      erasures.noteNow(ref)
      webhooks.forget(ref)
      return deleteWith({ threads, entries, withdrawCase }, ref, retraction)
    },
    async deleteUnknown(refs, now, most = null) {
      return refs.map((ref) => {
        const linked = [replies, requests].some((some) => (some.get(nameOf(ref))?.size ?? 0) > 0)
        if (threads.find(ref) !== null || linked) return false
        erasures.noteNow(ref)
        if (most !== null && kept.sum(ref.tenant, now) + deletedBytes(ref) > most) return true
        threads.step(ref, (thread) => deletePost(thread, { inFlight: new Map() }))
        return true
      })
    },
    async eraseLeft(ref, left) {
      webhooks.strip(ref)
      const thread = threads.find(ref)
      for (const id of thread === null ? [] : restoredOnTheWay(thread).values()) entries.stripDecided(id)
      return threads.step(ref, (one) => eraseCarries(one, left)) === 'erased'
    },

    async due(until, limit, maxOpen = Number.MAX_SAFE_INTEGER, maxWaiting = Number.MAX_SAFE_INTEGER) {
      const open = [...cases.values()].filter(({ status, unworked }) => status === 'open' && !unworked)
      const ofClass = Map.groupBy(open, ({ record }) => classOf(record.id))
      const countOf = (some: typeof open = []) =>
        new Map([...Map.groupBy(some, ({ record }) => record.tenant)].map(([tenant, own]) => [tenant, own.length]))
      const counts = { waiting: countOf(ofClass.get('waiting')), rest: countOf(ofClass.get('rest')) }
      const due = threads.due().filter(({ at }) => at <= until)
      return takeTurns(due, counts, { limit, maxOpen, maxWaiting })
    },
    async orderDue(until, now, _, putBackMs) {
      for (const { ref, at } of threads.due())
        if (at >= 0 && at <= until)
          threads.step(ref, (thread) => ({ thread: orderDue(thread, until, { now, putBackMs }), outcome: null }))
    },
    async dueSince(tenant) {
      const times = threads.due().flatMap(({ ref, since }) => (ref.tenant === tenant && since < 0 ? since + 1e15 : []))
      return times.length === 0 ? null : Math.min(...times)
    },
    countDue: async (until, most = Number.POSITIVE_INFINITY) => countDue(threads, until, most),
    tenantsOverDue: async (until, most) => tenantsOverDue(threads, until, most),

    read: async (ref) => readFrom(threads, ref),
    head: async (ref) => readFrom(threads, ref),
    outline: async (ref) => outlineOf(threads.find(ref)),
    // Its posts are never written out.
    keptImage: async () => null,
    async weigh(ref) {
      const { comments, post = null } = threads.find(ref) ?? { comments: new Map() }
      const share = post === null ? nameOf(ref) : shareOf(ref, post)
      return {
        weight: comments.size + charactersIn(post === null ? null : setAside(post).post) / COMMENT_CHARACTERS,
        share,
      }
    },
    statusOf: async (ref) => threads.find(ref)?.status ?? null,
    async open(state, opening) {
      const change = { read: state, opening, paused }
      const { opened, waitsFor } = threads.step(state.ref, (thread) => openCases(thread, change))
      for (const { record } of opening.cases) if (opened.includes(record.id)) cases.set(record.id, openedCase(record))
      for (const protocol of waitsFor)
        dormant.set(protocol, new Map(dormant.get(protocol)).set(nameOf(state.ref), state.ref))
      return [...opened]
    },

    paused: async () => new Set(paused),
    async pause(protocol) {
      paused.add(protocol)
    },
    async resume(protocol, now) {
      paused.delete(protocol)
      return store.wake(protocol, now)
    },
    async wake(protocol, now) {
      const waiting = [...(dormant.get(protocol)?.values() ?? [])]
      dormant.delete(protocol)
      return waiting.filter((ref) => threads.step(ref, (thread) => wake(thread, protocol, now)) === 'woken').length
    },

    async expireOrphans(ref, letterOf, mostLetters = Number.POSITIVE_INFINITY) {
      if (entries.countLetters() >= mostLetters) return null
      const letters = threads.step(ref, (thread) => {
        const { thread: after, outcome } = expireOrphans(thread)
        // If a letter can't be made, the thread stays unchanged.
        return { thread: after, outcome: outcome.expired.map(letterOf) }
      })
      for (const letter of letters) entries.put({ kind: 'dead-letter', ...letter })
      return letters.length
    },
  }
  return store
}

/** What stands under posts and comments. */
function memoryReplies({
  threads,
  replies,
  kept,
}: {
  readonly threads: ThreadTable
  readonly replies: Map<string, Map<string, ThreadRef>>
  readonly kept: KeptBytes
}): Pick<ThreadStore, 'linkReply' | 'repliesTo' | 'unlinkReplies'> {
  return {
    async linkReply(post, reply, { most, now, askedFor }) {
      if (threads.find(post)?.status === 'deleted') return 'deleted'
      const linked = new Map(replies.get(nameOf(post)))
      const isKnown = linked.has(nameOf(reply))
      if (linked.size >= most && !isKnown) return 'full'
      replies.set(nameOf(post), linked.set(nameOf(reply), reply))
      const bytes = linkBytes(reply) + (linked.size === 1 ? firstLinkBytes(post) : 0)
      if (!isKnown && askedFor === undefined)
        kept.addTrail(post.tenant, { part: 'links', bytes, now, keep: KEEP_REQUESTS_MS })
      return isKnown ? 'known' : 'linked'
    },
    repliesTo: async (post, limit) => [...(replies.get(nameOf(post))?.values() ?? [])].slice(0, limit),
    async unlinkReplies(post, some, now) {
      const linked = replies.get(nameOf(post))
      const gone = some.filter((reply) => linked?.delete(nameOf(reply)) === true)
      const bytes = gone.reduce((sum, reply) => sum + linkBytes(reply), linked?.size === 0 ? firstLinkBytes(post) : 0)
      if (gone.length > 0) kept.takeTrail(post.tenant, { part: 'links', bytes, now })
    },
  }
}

function readFrom(threads: ThreadTable, ref: ThreadRef): ThreadState | null {
  const thread = threads.find(ref)
  return thread === null ? null : stateOf(thread)
}

/** How far posts reach that have not come yet. */
function earlyReach(kept: KeptBytes) {
  const known = new Map<string, number>()
  const partOf = (ref: ThreadRef) => `reach ${nameOf(ref)}`
  return {
    of: (ref: ThreadRef) => known.get(nameOf(ref)) ?? 0,
    raise(ref: ThreadRef, to: number, { keepMs, now, most = null }: Parameters<ThreadStore['raiseReach']>[2]): Outcome {
      const before = known.get(nameOf(ref))
      if (to <= (before ?? 0)) return 'duplicate'
      const bytes = 500 + 3 * Buffer.byteLength(ref.postId)
      if (before === undefined && most !== null && kept.sum(ref.tenant, now) + bytes > most) return 'late'
      known.set(nameOf(ref), to)
      kept.set(ref.tenant, partOf(ref), bytes, now + keepMs)
      return 'updated'
    },
    forget(ref: ThreadRef): void {
      if (known.delete(nameOf(ref))) kept.forget(ref.tenant, partOf(ref))
    },
  }
}

/** How many threads of each tenant are due. */
function dueByTenant(threads: ThreadTable, until: number): [tenant: string, threads: number][] {
  const due = threads.due().filter(({ at }) => at <= until)
  return [...Map.groupBy(due, ({ ref }) => ref.tenant)].map(([tenant, its]) => [tenant, its.length])
}

function countDue(threads: ThreadTable, until: number, most: number): number {
  return dueByTenant(threads, until).reduce((sum, [, its]) => (its > most ? sum : sum + its), 0)
}

function tenantsOverDue(threads: ThreadTable, until: number, most: number): string[] {
  return dueByTenant(threads, until).flatMap(([tenant, its]) => (its > most ? [tenant] : []))
}

function outlineOf(thread: Parameters<typeof stateOf>[0] | null): ThreadOutline | null {
  const state = thread === null ? null : stateOf(thread)
  return state === null ? null : { ...state, kept: state.comments.length }
}

/** Most bytes that a thread may hold, where its tenant may hold so many. */
function mostOf(
  { threads, kept }: { threads: ThreadTable; kept: KeptBytes },
  ref: ThreadRef,
  most: number | null,
  now: number,
): number | null {
  if (most === null) return null
  return most - kept.sum(ref.tenant, now) + threadBytes(threads.find(ref) ?? newThread(ref))
}

/** Asks for a review of each human verdict that stands, since the post was edited. */
function askAboutEdit(threads: ThreadTable, entries: OutboxEntries, ref: ThreadRef, now: number): void {
  for (const [protocol, { stands }] of threads.find(ref)?.decided ?? []) {
    if (stands === null || !threads.step(ref, (thread) => askReview(thread, protocol, 'edited'))) continue
    entries.put({ kind: 'review', review: reviewOf(ref, { protocol, why: 'edited', verdict: stands }, now) })
  }
}

/** Deletes a post with what is unpublished of it, and has what is left to say of it follow what a publisher has in hand. */
function deleteWith(
  {
    threads,
    entries,
    withdrawCase,
  }: { threads: ThreadTable; entries: OutboxEntries; withdrawCase: (openId: string) => boolean },
  ref: ThreadRef,
  retraction: Parameters<ThreadStore['deletePost']>[1],
): 'duplicate' | 'deleted' {
  const known = threads.find(ref)
  const revisions = known === null || known.status === 'deleted' ? [] : [...known.revisions]
  const inFlight = new Map(
    revisions.flatMap(([protocol, { openId }]): [string, string][] =>
      openId !== null && withdrawCase(openId) ? [[protocol, openId]] : [],
    ),
  )
  for (const [protocol, { deciding }] of known?.decided ?? [])
    if (deciding !== null && entries.withdrawDecided(deciding) === 'in-flight') inFlight.set(protocol, deciding)
  const outcome = threads.step(ref, (thread) => deletePost(thread, { inFlight }))
  if (outcome.kind === 'duplicate') return outcome.kind
  for (const one of outcome.ended)
    entries.put({ kind: 'outcome', outcome: outcomeOf(ref, one.protocol, one, 'deleted', entries.now()) })
  for (const { protocol, revision, superseded, after } of outcome.retractions) {
    const entry = { kind: 'verdict', ...retraction(protocol, revision, superseded) } as const
    if (after === null) entries.put(entry)
    else entries.follow({ ref, protocol, caseId: after }, entry)
  }
  return outcome.kind
}

/** What was asked apart from the stream, in memory, and what tenants hold. */
function memoryRequests({
  threads,
  requests,
  answers,
  webhooks,
  kept,
  withdrawCase,
}: {
  threads: ThreadTable
  /** By subject: what was asked under its id. */
  requests: Map<string, Map<string, ThreadRef>>
  answers: AnswerTable
  webhooks: { forget(ref: ThreadRef): void }
  kept: KeptBytes
  withdrawCase(openId: string | null): boolean
}): Pick<ThreadStore, 'putAsked' | 'dropAsked' | 'askedAbout' | 'unlinkAsked' | 'heldBy' | 'tenantsOver'> {
  return {
    heldBy: async (tenant, now) => kept.sum(tenant, now),
    tenantsOver: async (bytes, now) =>
      kept
        .tenants()
        .filter((tenant) => kept.sum(tenant, now) > bytes)
        .slice(0, 100),
    async putAsked({ thread, subject, protocols, webhook, until, most }, now) {
      if (threads.find(subject)?.status === 'deleted') return 'deleted'
      const { tenant } = thread.ref
      if (most !== null && kept.sum(tenant, now) + wholeBytes(thread, protocols) > most) return 'over-share'
      kept.set(tenant, nameOf(thread.ref), requestBytes(thread, protocols), null)
      kept.addTrail(tenant, { part: 'trails', bytes: trailBytes(thread), now, keep: KEEP_REQUESTS_MS })
      threads.step(thread.ref, () => ({ thread: putAsked(thread, now), outcome: null }))
      answers.begin(thread.ref, {
        subjectId: namedIn(subject).subjectId,
        protocols,
        opened: now,
        until,
        hook: webhook,
        reserved: answerBytes(thread),
      })
      requests.set(nameOf(subject), new Map(requests.get(nameOf(subject))).set(nameOf(thread.ref), thread.ref))
      return 'asked'
    },
    async dropAsked(ref) {
      const known = threads.find(ref)
      kept.forget(ref.tenant, nameOf(ref))
      for (const { openId } of known?.revisions.values() ?? []) withdrawCase(openId)
      threads.step(ref, () => ({ thread: null, outcome: null }))
      for (const [subject, some] of requests) if (some.delete(nameOf(ref)) && some.size === 0) requests.delete(subject)
      webhooks.forget(ref)
      const wasAnswered = answers.erase(ref)
      return known !== null || wasAnswered
    },
    askedAbout: async (subject, limit) => [...(requests.get(nameOf(subject))?.values() ?? [])].slice(0, limit),
    async unlinkAsked(subject, some) {
      for (const request of some) requests.get(nameOf(subject))?.delete(nameOf(request))
    },
  }
}
