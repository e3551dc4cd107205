import type { CaseRecord, JournalEntry } from '../../domain/case.ts'
import type { Outcome } from '../../domain/messages.ts'
import { RANK_LIMIT } from '../../domain/sampling-rank.ts'
import { byTimeThenId, type Comment, type Post, type ThreadRef } from '../../domain/thread.ts'
import type { CaseStore, LostCall, Outbox, OutboxEntry, TakenCase } from '../../ports/cases.ts'
import type { Clock } from '../../ports/clock.ts'
import {
  type CommentChange,
  type Origin,
  type Place,
  type StreamMark,
  type StreamMarks,
  TENANT_SHARE,
  type ThreadRules,
  type ThreadState,
  type ThreadStore,
  TOMBSTONES,
} from '../../ports/threads.ts'

interface HeldThread {
  readonly ref: ThreadRef
  post: Post | null
  readonly comments: Map<string, Comment | null>
  readonly orphans: Map<string, Origin>
  /** Of comments and deletions, each as it was drawn. */
  readonly ranks: Map<string, number>
  draw: string | null
  redrawn: boolean
  accepted: number
  overAuthor: number
  late: number
  version: number
  postVersion: number
  deletions: number
  nextAge: number | null
  countStage: number
  final: boolean
  gone: boolean
  dueSince: number | null
  asks: number
  answered: number
  /** By protocol that was off: the version of which it was told for when it is on again. */
  readonly absent: Map<string, number>
  /** Nobody judges the post. */
  unrouted: boolean
  /** Nobody reads its comments. */
  solo: boolean
  postPlace: Place | undefined
  commentPlace: Place | undefined
  readonly revisions: Map<
    string,
    { revision: number; seen: number; final: boolean; openId: string | null; again: boolean; carry: unknown }
  >
}

interface HeldCase {
  record: CaseRecord
  epoch: number
  run: number
  open: boolean
  /** The number of its verdict's entry, once it is concluded. */
  entry: string | null
  unworked: boolean
  touched: number
  journal: Map<string, JournalEntry>
  lost: LostCall[]
}

/** So many times longer than for an entry that another can send is waited for one that was erased. */
const ERASED_WAIT = 6

/** What is kept of where a comment came from that the thread had no room for. */
const unseen = (origin: Origin): Origin => ({ ...origin, raw: '' })

function leaveOut(thread: HeldThread, id: string): void {
  thread.comments.delete(id)
  thread.ranks.delete(id)
  const origin = thread.orphans.get(id)
  if (origin !== undefined) thread.orphans.set(id, unseen(origin))
}

function byRank({ ranks }: HeldThread, ids: Iterable<string>): string[] {
  return [...ids].sort((a, b) => (ranks.get(a) ?? 0) - (ranks.get(b) ?? 0))
}

/** Whether a message at this place was taken before the one at `last` was. */
function takenAlready(last: Place | undefined, place: Place | undefined): boolean {
  if (last === undefined || place === undefined || last.partition !== place.partition) return false
  return Number(place.offset) <= Number(last.offset) && place.timestamp <= last.timestamp
}

/**
 * The stores' twins in memory: the same promises within one process, and nothing after it. For judging a file without
 * servers, and for quick tests.
 */
export function memoryStores(clock: Clock): {
  threads: ThreadStore
  cases: CaseStore
  outbox: Outbox
  marks: StreamMarks
} {
  const threads = new Map<string, HeldThread>()
  const due = new Map<string, number>()
  const cases = new Map<string, HeldCase>()
  const waiting: OutboxEntry[] = []
  /** By case whose verdict a publisher has in hand: what goes out behind it. */
  const retractions = new Map<string, OutboxEntry>()
  const replies = new Map<string, ThreadRef[]>()
  const paused = new Set<string>()
  const held = new Map<string, Set<HeldThread>>()
  /** What publishers have in hand; "erased" are the cases of entries that were erased meanwhile. */
  const taken = new Map<string, { publisher: string; at: number; entry: OutboxEntry; erased?: string }>()
  const arrivals = new Set<() => void>()
  let marks = new Map<string, StreamMark>()
  let entryNumber = 0

  const nameOf = (ref: ThreadRef) => `${ref.kind}:${ref.tenant}:${ref.postId}`
  const threadOf = (ref: ThreadRef): HeldThread => {
    const known = threads.get(nameOf(ref))
    if (known !== undefined) return known
    const fresh: HeldThread = {
      ref,
      post: null,
      comments: new Map(),
      orphans: new Map(),
      ranks: new Map(),
      draw: null,
      redrawn: false,
      accepted: 0,
      overAuthor: 0,
      late: 0,
      version: 0,
      postVersion: 0,
      deletions: 0,
      nextAge: null,
      countStage: 0,
      final: false,
      gone: false,
      dueSince: null,
      asks: 0,
      answered: 0,
      absent: new Map(),
      unrouted: false,
      solo: false,
      postPlace: undefined,
      commentPlace: undefined,
      revisions: new Map(),
    }
    threads.set(nameOf(ref), fresh)
    return fresh
  }
  const dueNow = (thread: HeldThread, now: number) => {
    const name = nameOf(thread.ref)
    due.set(name, Math.min(atOnce(now), due.get(name) ?? 0))
    thread.dueSince ??= now
    thread.asks++
  }
  const passCounts = (thread: HeldThread, now: number, { counts }: ThreadRules) => {
    const passed = counts.filter((count) => thread.accepted - thread.overAuthor >= count).length
    if (passed <= thread.countStage) return
    thread.countStage = passed
    dueNow(thread, now)
  }
  const put = (entry: OutboxEntry) => {
    waiting.push(entry)
    for (const arrive of arrivals) arrive()
  }
  const nextId = () => `${clock()}-${++entryNumber}`
  /** Takes a concluded case's verdict out of the outbox, if no publisher was ever handed it. */
  const withdraw = (caseId: string): 'open' | 'taken-back' | 'in-flight' => {
    const entry = cases.get(caseId)?.entry ?? null
    if (entry === null) return 'open'
    const at = waiting.findIndex(({ id }) => id === entry)
    if (at >= 0) waiting.splice(at, 1)
    const inHand = taken.get(entry)
    if (inHand !== undefined) Object.assign(inHand, { erased: caseId })
    return at >= 0 ? 'taken-back' : 'in-flight'
  }

  function putComment(
    thread: HeldThread,
    change: CommentChange,
    rules: ThreadRules,
  ): { outcome: Outcome; again: boolean; retracted?: boolean } {
    const id = change.kind === 'deleted' ? change.id : change.comment.id
    const old = thread.comments.get(id)
    if (thread.gone) return { outcome: 'deleted', again: false }
    if (thread.unrouted || thread.solo) return { outcome: 'unrouted', again: false }
    if (takenAlready(thread.commentPlace, change.place)) return { outcome: 'duplicate', again: false }
    thread.commentPlace = change.place ?? thread.commentPlace
    if (change.kind === 'deleted') {
      if (old === null) return { outcome: 'duplicate', again: false }
      thread.comments.set(id, null)
      // Behind every comment, and those that nobody saw behind those that were there.
      thread.ranks.set(id, rules.rank(thread.ref, id) + (old === undefined ? 2 : 1) * RANK_LIMIT)
      thread.orphans.delete(id)
      if (old !== undefined) thread.accepted--
      if (thread.post === null && !due.has(nameOf(thread.ref)))
        due.set(nameOf(thread.ref), change.createdAt + rules.orphanWait)
      return { outcome: 'deleted', again: false, retracted: thread.final && old !== undefined }
    }
    const { comment, origin } = change
    if (old !== undefined && JSON.stringify(old) === JSON.stringify(comment))
      return { outcome: 'duplicate', again: false }
    if (old === null) return { outcome: 'deleted', again: false }
    if (thread.post !== null && comment.createdAt > thread.post.createdAt + rules.window) {
      // An edit of a comment that is kept is no further comment.
      if (old === undefined) thread.late++
      return { outcome: 'late', again: false }
    }
    if (old !== undefined) {
      thread.comments.set(id, comment)
      return { outcome: 'updated', again: thread.final }
    }
    if (thread.draw !== rules.samplingKeyVersion) {
      thread.redrawn ||= thread.accepted > 0
      thread.draw = rules.samplingKeyVersion
    }
    thread.accepted++
    const rank = rules.rank(thread.ref, id)
    const kept = hasRoom(thread, comment, rank, rules)
    if (kept) {
      thread.comments.set(id, comment)
      thread.ranks.set(id, rank)
    }
    if (thread.post === null) {
      thread.orphans.set(id, kept ? origin : unseen(origin))
      if (!due.has(nameOf(thread.ref))) due.set(nameOf(thread.ref), comment.createdAt + rules.orphanWait)
      return { outcome: 'orphan', again: false }
    }
    return thread.final ? { outcome: 'late', again: true } : { outcome: 'judged', again: false }
  }

  /** Whether its author's share has room for a comment, where one of larger rank may have made it. */
  function hasRoom(thread: HeldThread, { author }: Comment, rank: number, { perAuthor }: ThreadRules): boolean {
    if (author === undefined || perAuthor === null) return true
    const own = [...thread.comments].flatMap(([key, comment]) => (comment?.author === author ? [key] : []))
    if (own.length < perAuthor) return true
    thread.overAuthor++
    const [last] = byRank(thread, own).slice(-1)
    if (last === undefined || rank >= (thread.ranks.get(last) ?? 0)) return false
    leaveOut(thread, last)
    return true
  }

  const threadStore: ThreadStore = {
    async putPost(ref, post, { firstDue, now, threaded, atOnce: judgedAtOnce, place }, rules) {
      const thread = threadOf(ref)
      if (thread.gone) return 'deleted'
      if (thread.post !== null && JSON.stringify(thread.post) === JSON.stringify(post)) return 'duplicate'
      if (takenAlready(thread.postPlace, place)) return 'duplicate'
      thread.postPlace = place
      const known = thread.post !== null
      if (!threaded) {
        thread.comments.clear()
        thread.ranks.clear()
        thread.orphans.clear()
      }
      thread.unrouted = !threaded && !judgedAtOnce && !known
      if (!threaded)
        Object.assign(thread, { accepted: 0, overAuthor: 0, late: 0, countStage: 0, draw: null, redrawn: false })
      else if (thread.solo) {
        thread.final = false
        thread.nextAge = firstDue
      }
      thread.solo = !threaded
      if (thread.unrouted) {
        due.delete(nameOf(ref))
        return 'unrouted'
      }
      thread.post = post
      thread.version++
      thread.postVersion++
      if (known) {
        dueNow(thread, now)
        return 'updated'
      }
      if (threaded) thread.nextAge = firstDue
      due.set(nameOf(ref), judgedAtOnce ? atOnce(now) : firstDue)
      if (judgedAtOnce) thread.dueSince ??= now
      thread.orphans.clear()
      for (const [id, comment] of thread.comments)
        if (comment !== null && comment.createdAt > post.createdAt + rules.window) {
          thread.comments.delete(id)
          thread.ranks.delete(id)
          thread.accepted--
          thread.late++
        }
      if (threaded) passCounts(thread, now, rules)
      return 'judged'
    },

    async putComments(ref, changes, now, rules) {
      const thread = threadOf(ref)
      const ended = changes.map((change) => putComment(thread, change, rules))
      const ids = byRank(thread, thread.comments.keys())
      const [said, deleted] = [true, false].map((alive) =>
        ids.filter((id) => (thread.comments.get(id) !== null) === alive),
      )
      for (const id of [...(said ?? []).slice(rules.cap), ...(deleted ?? []).slice(TOMBSTONES * rules.cap)]) {
        leaveOut(thread, id)
      }
      const changed = ended.some(
        ({ outcome, again }) => again || ['judged', 'orphan', 'updated', 'deleted'].includes(outcome),
      )
      if (changed && !thread.gone) {
        thread.version++
        if (ended.some(({ outcome }) => outcome === 'deleted')) thread.deletions++
        if (ended.some(({ again, retracted }) => retracted === true || (rules.reopen && again))) dueNow(thread, now)
        else if (thread.post !== null && !thread.final) passCounts(thread, now, rules)
      }
      return ended.map(({ outcome }) => outcome)
    },

    async deletePost(ref, retraction) {
      const thread = threadOf(ref)
      if (thread.gone) return 'duplicate'
      for (const [protocol, held] of thread.revisions) {
        const inFlight = held.openId !== null && withdraw(held.openId) === 'in-flight'
        if (held.openId !== null) cases.delete(held.openId)
        held.revision++
        held.carry = null
        const entry = { id: nextId(), kind: 'verdict', ...retraction(protocol, held.revision) } as const
        if (inFlight && held.openId !== null) retractions.set(held.openId, entry)
        else put(entry)
      }
      thread.gone = true
      thread.post = null
      thread.comments.clear()
      thread.orphans.clear()
      due.delete(nameOf(ref))
      return 'deleted'
    },

    async eraseLeft(ref, { openIds, without }) {
      const revisions = [...(threads.get(nameOf(ref))?.revisions ?? [])]
      if (revisions.some(([, { openId }]) => openId !== null && !openIds.includes(openId))) return false
      for (const [protocol, revision] of revisions)
        if (revision.carry !== null) revision.carry = without(protocol, revision.carry) ?? null
      return true
    },

    async linkReply(post, reply) {
      if (threads.get(nameOf(post))?.gone === true) return false
      replies.set(nameOf(post), [...(replies.get(nameOf(post)) ?? []), reply])
      return true
    },
    repliesTo: async (post) => replies.get(nameOf(post)) ?? [],

    async due(until, limit, maxOpen = Number.MAX_SAFE_INTEGER) {
      const refs = [...due]
        .filter(([, at]) => at <= until)
        .sort(([, a], [, b]) => a - b)
        .flatMap(([name]) => threads.get(name)?.ref ?? [])
      const open = [...cases.values()].filter((held) => held.open && !held.unworked)
      const openOf = Map.groupBy(open, ({ record }) => record.tenant)
      const tenants = [...Map.groupBy(refs, ({ tenant }) => tenant)].map(([tenant, waiting]) => ({
        waiting,
        open: openOf.get(tenant)?.length ?? 0,
        taken: 0,
      }))
      const chosen: ThreadRef[] = []
      for (let left = Math.ceil(maxOpen + maxOpen / TENANT_SHARE) - open.length; chosen.length < limit; left--) {
        const turn = tenants
          .filter(({ waiting, taken }) => taken < waiting.length)
          .reduce<(typeof tenants)[number] | null>((a, b) => (a === null || b.open < a.open ? b : a), null)
        const next = turn?.waiting[turn.taken]
        if (turn === null || next === undefined) break
        if (turn.open > 0 && turn.open >= Math.min(maxOpen, TENANT_SHARE * left)) break
        chosen.push(next)
        turn.taken++
        turn.open++
      }
      return chosen
    },

    async read(ref) {
      const thread = threads.get(nameOf(ref))
      if (thread === undefined || thread.gone || thread.unrouted) return null
      const state: ThreadState = {
        ref,
        post: thread.post,
        comments: [...thread.comments.values()].filter((comment) => comment !== null).sort(byTimeThenId),
        accepted: thread.accepted,
        overAuthor: thread.overAuthor,
        rekeyed: thread.redrawn,
        late: thread.late,
        version: thread.version,
        postVersion: thread.postVersion,
        deletions: thread.deletions,
        base: 0,
        nextAge: thread.nextAge,
        countStage: thread.countStage,
        final: thread.final,
        // A thread in memory is never forgotten.
        expired: false,
        dueSince: thread.dueSince,
        generation: thread.asks,
        observedGeneration: thread.answered,
        revisions: new Map(
          [...thread.revisions].map(([protocol, { revision, seen, final, openId, carry }]) => [
            protocol,
            { revision, seen, final, openId, carry },
          ]),
        ),
      }
      return state
    },

    async open(state, opening) {
      const thread = threads.get(nameOf(state.ref))
      if (thread === undefined || thread.gone || thread.post === null) return []
      if (thread.deletions !== state.deletions) return []
      if (opening.nextDue === null && thread.version !== state.version) return []
      const opened: string[] = []
      let final = opening.final
      let missed = false
      for (const protocol of opening.waiting) {
        const revision = thread.revisions.get(protocol)
        if (revision?.openId != null) revision.again = true
        else missed = true
      }
      for (const protocol of opening.held) {
        if (!paused.has(protocol)) {
          missed = true
          continue
        }
        const those = held.get(protocol) ?? new Set()
        held.set(protocol, those.add(thread))
      }
      for (const protocol of opening.absent ?? []) {
        const revision = thread.revisions.get(protocol)
        if (revision?.openId != null) revision.again = true
        else if (thread.absent.get(protocol) !== state.version) {
          // Once for each change: two kinds of processes would else wake each other for ever.
          thread.absent.set(protocol, state.version)
          held.set(protocol, (held.get(protocol) ?? new Set()).add(thread))
        }
      }
      for (const { record, seen } of opening.cases) {
        const before = thread.revisions.get(record.protocol) ?? {
          revision: 0,
          seen: 0,
          final: false,
          openId: null,
          again: false,
          carry: null,
        }
        if (before.openId !== null) {
          before.again = true
          final = false
        } else if (before.revision === record.revision - 1) {
          const { revision, id } = record
          thread.revisions.set(record.protocol, { ...before, revision, seen, final: record.final, openId: id })
          cases.set(id, {
            record,
            epoch: 0,
            run: 0,
            open: true,
            entry: null,
            unworked: false,
            touched: clock(),
            journal: new Map(),
            lost: [],
          })
          opened.push(id)
        }
      }
      if (!missed && thread.asks === state.generation) {
        thread.dueSince = null
        thread.answered = thread.asks
        thread.nextAge = opening.nextDue
        if (opening.nextDue === null) due.delete(nameOf(state.ref))
        else due.set(nameOf(state.ref), opening.nextDue)
      }
      thread.final ||= final
      return opened
    },

    paused: async () => new Set(paused),
    async pause(protocol) {
      paused.add(protocol)
    },
    async resume(protocol, now) {
      paused.delete(protocol)
      return threadStore.wake(protocol, now)
    },
    async wake(protocol, now) {
      const waiting = [...(held.get(protocol) ?? [])].filter(({ post }) => post !== null)
      held.delete(protocol)
      for (const thread of waiting) dueNow(thread, now)
      return waiting.length
    },

    async expireOrphans(ref, letterOf) {
      const thread = threads.get(nameOf(ref))
      if (thread === undefined || thread.gone || thread.unrouted) due.delete(nameOf(ref))
      if (thread === undefined || thread.post !== null || thread.gone || thread.unrouted) return 0
      const letters = [...thread.orphans.values()].map(letterOf)
      threads.delete(nameOf(ref))
      due.delete(nameOf(ref))
      for (const letter of letters) put({ id: nextId(), kind: 'dead-letter', ...letter })
      return thread.orphans.size
    },

    countDue: async (until) => [...due.values()].filter((at) => at <= until).length,
  }

  const take = (caseId: string, raise: boolean): TakenCase | null => {
    const held = cases.get(caseId)
    if (held === undefined || !held.open) return null
    if (raise) {
      held.epoch++
      held.touched = clock()
    }
    const { record, epoch, run, journal, lost } = held
    return { record, epoch, run, journal: new Map(journal), lostCalls: [...lost] }
  }

  const caseStore: CaseStore = {
    take: async (caseId) => take(caseId, true),
    peek: async (caseId) => take(caseId, false),
    async isCurrent(caseId, run) {
      const held = cases.get(caseId)
      return held?.open === true && held.run === run
    },
    async unpublished(caseId) {
      const held = cases.get(caseId)
      if (held === undefined || held.record.subject === null) return null
      const { record, epoch, run, journal, lost } = held
      return { record, epoch, run, journal: new Map(journal), lostCalls: [...lost], concluded: !held.open }
    },
    async restartUnpublished(read, { record, journal, lostCalls, version, seen }) {
      const held = cases.get(record.id)
      const thread = threads.get(nameOf({ tenant: record.tenant, postId: record.subjectId, kind: record.kind }))
      const revision = thread?.revisions.get(record.protocol)
      if (
        held === undefined ||
        held.epoch !== read.epoch ||
        held.run !== read.run ||
        held.open === read.concluded ||
        held.journal.size !== read.journal.size
      )
        return 'changed'
      if (thread?.version !== version || revision?.openId !== record.id) return 'changed'
      if (withdraw(record.id) === 'in-flight') {
        Object.assign(held, { record: { ...held.record, subject: null, carry: null }, journal: new Map() })
        revision.again = true
        revision.carry = null
        return 'in-flight'
      }
      Object.assign(held, {
        record,
        epoch: held.epoch + 1,
        run: held.run + 1,
        open: true,
        entry: null,
        journal: new Map(journal),
      })
      held.lost.push(...lostCalls.filter(({ id }) => !held.lost.some((known) => known.id === id)))
      revision.seen = seen ?? revision.seen
      return 'restarted'
    },
    async restart(caseId, epoch, record) {
      const held = cases.get(caseId)
      if (held === undefined || !held.open || held.epoch !== epoch) return false
      Object.assign(held, { record, run: held.run + 1, journal: new Map() })
      return true
    },
    async answer(caseId, run, key, entry) {
      const held = cases.get(caseId)
      if (held === undefined || !held.open || held.run !== run) return 'stale'
      const known = held.journal.get(key)
      if (known !== undefined) return JSON.stringify(known) === JSON.stringify(entry) ? 'stored' : 'exists'
      held.journal.set(key, entry)
      return 'stored'
    },
    async loseCalls(caseId, calls) {
      const held = cases.get(caseId)
      held?.lost.push(...calls.filter(({ id }) => !held.lost.some((known) => known.id === id)))
    },
    async conclude({ id: caseId }, epoch, { verdict, transcript, carry }) {
      const held = cases.get(caseId)
      if (held === undefined || !held.open || held.epoch !== epoch) return false
      held.open = false
      const { tenant, subjectId: postId, kind, protocol } = held.record
      const revision = threads.get(nameOf({ tenant, postId, kind }))?.revisions.get(protocol)
      if (revision !== undefined) revision.carry = carry === null ? null : (JSON.parse(carry) as unknown)
      held.entry = nextId()
      put({ id: held.entry, kind: 'verdict', caseId, verdict, transcript })
      return true
    },
    async idle(idleMs, limit, skip = 0) {
      return [...cases]
        .filter(([, held]) => held.open && !held.unworked && clock() - held.touched >= idleMs)
        .sort(([, a], [, b]) => a.touched - b.touched)
        .slice(skip, skip + limit)
        .map(([id]) => id)
    },
    countOpen: async () => [...cases.values()].filter(({ open, unworked }) => open && !unworked).length,
    async part(worked) {
      const back: string[] = []
      for (const [id, held] of cases) {
        if (!held.open) continue
        const unworked = !worked.includes(held.record.protocol)
        if (held.unworked && !unworked) back.push(id)
        held.unworked = unworked
      }
      return { back, unworked: [...cases].flatMap(([id, held]) => (held.open && held.unworked ? [id] : [])) }
    },
  }

  const outbox: Outbox = {
    async putDeadLetters(letters) {
      for (const { key, letter } of letters) put({ id: nextId(), kind: 'dead-letter', key, letter })
    },
    async next(publisher, limit, waitMs) {
      if (waiting.length === 0)
        await new Promise<void>((resolve) => {
          const done = () => {
            clearTimeout(timer)
            arrivals.delete(done)
            resolve()
          }
          const timer = setTimeout(done, waitMs)
          arrivals.add(done)
        })
      const entries = waiting.splice(0, limit)
      for (const entry of entries) taken.set(entry.id, { publisher, at: clock(), entry })
      return entries
    },
    async adopt(publisher, limit, idleMs) {
      const idle = [...taken.values()].filter(({ at }) => clock() - at >= idleMs)
      // A publisher that was handed an entry which was erased, and is gone, says no more that it is done.
      for (const { entry, erased, at } of idle) {
        if (erased === undefined || clock() - at < ERASED_WAIT * idleMs) continue
        taken.delete(entry.id)
        release(erased)
      }
      const left = idle.filter(({ erased }) => erased === undefined).slice(0, limit)
      for (const one of left) Object.assign(one, { publisher, at: clock() })
      return left.map(({ entry }) => entry)
    },
    async keep(publisher, ids) {
      for (const id of ids) {
        const one = taken.get(id)
        if (one !== undefined) Object.assign(one, { publisher, at: clock() })
      }
    },
    async done(entries) {
      for (const entry of entries) {
        taken.delete(entry.id)
        if (entry.kind === 'verdict') release(entry.caseId)
      }
    },
    // Of a publisher nothing is kept but what it has taken.
    async leave() {},
    async forget() {},
    size: async () => waiting.length + [...taken.values()].filter(({ erased }) => erased === undefined).length,
    async oldest() {
      const made = [...taken.keys(), ...waiting.map(({ id }) => id)].map((id) => Number.parseInt(id, 10))
      return made.length === 0 ? null : Math.min(...made)
    },
  }

  function release(caseId: string): void {
    const retraction = retractions.get(caseId)
    if (retraction !== undefined) put(retraction)
    retractions.delete(caseId)
    const held = cases.get(caseId)
    cases.delete(caseId)
    if (held === undefined) return
    const { tenant, subjectId: postId, kind, protocol } = held.record
    const thread = threads.get(nameOf({ tenant, postId, kind }))
    const revision = thread?.revisions.get(protocol)
    if (thread === undefined || revision?.openId !== caseId) return
    revision.openId = null
    if (revision.again) dueNow(thread, clock())
    revision.again = false
  }

  return {
    threads: threadStore,
    cases: caseStore,
    outbox,
    marks: {
      read: async () => marks,
      async write(changed) {
        marks = new Map([...marks, ...changed])
      },
    },
  }
}

/** Below every time of the stream, in the order in which it became due. */
function atOnce(now: number): number {
  return now - 1e15
}
