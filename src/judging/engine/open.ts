import { type OverloadSteps, spares, stepAt } from '../../contracts/facts/overload.ts'
import { shareOf } from '../../contracts/facts/share.ts'
import { weightedSlots } from '../../contracts/facts/slots.ts'
import type { ThreadRef } from '../../contracts/facts/thread.ts'
import type { CaseStore } from '../../contracts/ports/cases.ts'
import type { Clock } from '../../contracts/ports/clock.ts'
import type { PublicationGate } from '../../contracts/ports/publication.ts'
import type { Report } from '../../contracts/ports/report.ts'
import type { StageQueues } from '../../contracts/ports/stage-queues.ts'
import type {
  Origin,
  StreamMarks,
  StreamPartitions,
  ThreadState,
  ThreadStore,
  ThreadWeight,
} from '../../contracts/ports/threads.ts'
import type { TraceLinks } from '../../contracts/ports/traces.ts'
import { type CheckpointSettings, dueAt } from '../threads/checkpoints.ts'
import { type StreamClockSettings, streamTime } from '../threads/stream-clock.ts'
import { sharesTakeTurns } from '../threads/turns.ts'
import { aroundOf, type ElsewhereDrawing } from './elsewhere.ts'
import { newCase, versionSeenBy } from './new-case.ts'
import { reopenings } from './reopenings.ts'
import type { Router } from './routes.ts'
import type { Protocol } from './script.ts'
import { surroundingsOf } from './surroundings.ts'
import { nameOf, threadBackoff } from './thread-backoff.ts'

export interface OpenerSettings {
  readonly checkpoints: CheckpointSettings
  readonly clock: StreamClockSettings
  readonly cases: {
    /**
     * Most cases that one tenant may have open at once; all tenants together may have an eighth more. Other due threads
     * wait in the store.
     */
    readonly maxOpen: number
    /** From how many due threads on less is asked, step by step. */
    readonly overload: OverloadSteps
    /** Most open cases for which somebody waits, of all tenants; they count among no others. Absent: no limit. */
    readonly maxWaiting?: number
    /** How long a case may take, in ms. */
    readonly deadline: number
  }
  /** Most dead letters that wait while comments without their post become some. */
  readonly mostLetters?: number
  /** Most threads of one tenant that are due: its share. */
  readonly mostDue: number
  /** The partitions that drive the stream's clock; null: all that have been seen. */
  readonly partitions: (() => StreamPartitions) | null
  /** Opens what was asked apart from the stream, and leaves the rest to other openers. */
  readonly onlyAsked?: boolean
  /** While it is closed, nothing is opened but what was asked apart from the stream: nobody pays for what can't be published. */
  readonly gate?: Pick<PublicationGate, 'closed'> | undefined
}

/** Threads opened in one pass. */
const BATCH = 64
/** Threads that weigh as much as so many comments are large: reading and writing one takes up to a third of a second… */
const LARGE = 100
/** …so many of them are opened in a pass, after the others, which have their jobs by then; the next pass sees what is due since. */
const LARGE_IN_A_PASS = 2
/** Most large ones that are put off to later passes: the opener reads this many more due threads, so that it gets past them. */
const MOST_PUT_OFF = 1_000
/** Threads of one share opened in a pass: a thread that becomes due meanwhile waits for no more. */
const OF_SHARE_IN_A_PASS = 16
/** Threads that are due by the stream's time and get their places among the others in a pass: few enough not to block Redis. */
const ORDERED_IN_A_PASS = 500
/** Due threads among which shares take turns: who has so many due at once holds up others who have few. */
const LOOKED_AT = 512
/** Comments of threads that are opened, or erased from, at a time, as many as one may keep: each is read and written whole. */
export const COMMENTS_AT_ONCE = 500

/** Opens a case for every thread that has come due. Any number of openers may run: each opening is one atomic step. */
export function opener(deps: {
  routes: Router
  threads: ThreadStore
  marks: StreamMarks
  cases: CaseStore
  queues: StageQueues
  clock: Clock
  report: Report
  /** Where traces are sent: what messages said of theirs. */
  links?: Pick<TraceLinks, 'read'> | undefined
  /** Draws comments of other posts in the same words; absent: none are shown. */
  drawing?: ElsewhereDrawing | undefined
  settings: OpenerSettings
  orphanLetter: (origin: Origin) => { key: string; letter: string }
}) {
  const { routes, threads, marks, queues, clock, report, settings, orphanLetter, drawing } = deps
  const backoff = threadBackoff(clock)
  const again = reopenings(clock)
  const [slots, turns] = [weightedSlots(COMMENTS_AT_ONCE), weightedSlots(1)]
  /** Threads that the last pass has weighed and left to the next. */
  let left = new Map<string, Weighed>()
  /** How many of these are large. */
  let putOff = 0

  /** The step of load in the last pass. */
  let step = 0

  function setStep(to: number): number {
    if (to !== step) report('overload:step', { step: to })
    step = to
    return step
  }

  async function now(): Promise<number> {
    const known = await marks.read()
    const { there, awaited } = settings.partitions?.() ?? { there: new Set(known.keys()), awaited: new Set<string>() }
    if ([...awaited].some((partition) => !known.has(partition))) return Number.NEGATIVE_INFINITY
    const counting = [...known].filter(([partition]) => there.has(partition)).map(([, mark]) => mark)
    return streamTime(counting, clock(), settings.clock)
  }

  /** A thread that can't be opened is reported and skipped for a while, so that it blocks no other. */
  async function openOrBackOff(ref: ThreadRef, streamNow: number, moment: Moment): Promise<Opened[]> {
    try {
      const opened = await openThread(ref, streamNow, moment)
      if (opened === null) backoff.failed(ref)
      else backoff.opened(ref)
      return opened ?? []
    } catch (error) {
      backoff.failed(ref)
      report('error', { where: 'opening', error, thread: ref })
      return []
    }
  }

  /** Null where it has to wait. */
  async function openThread(ref: ThreadRef, streamNow: number, { paused, step }: Moment): Promise<Opened[] | null> {
    const state = await threads.read(ref)
    if (state === null || state.post === null)
      return (await threads.expireOrphans(ref, orphanLetter, settings.mostLetters)) === null ? null : []
    const { post } = state
    const readsThread = routes.of(ref, post, state.revisions).some(({ subject }) => subject === 'thread')
    const isAsked = ref.kind === 'asked'
    // Once final, always final: the clock goes back when an idle partition is written to again.
    const isFinal = isAsked || !readsThread || state.final
    const checkpoint = isFinal ? { final: true, nextDue: null } : dueAt(post.createdAt, streamNow, settings.checkpoints)
    const judgedAgain = (protocol: Protocol) =>
      protocol.subject === 'thread' && state.revisions.get(protocol.name)?.final === true
    // Where everything is due at once there is no time to wait.
    const waitMs = Number.isFinite(streamNow) ? again.waitMs(ref) : 0
    const wanted = routes
      // Comments beyond an author's share don't count: a flood from one account makes no thread too long for a route.
      .at(ref, post, state.accepted - state.overAuthor, state.revisions)
      .filter((protocol) => wants(protocol, state, streamNow, checkpoint.final))
    const {
      dormant = [],
      waiting = [],
      early = [],
      ready = [],
    } = Object.groupBy(wanted, (protocol) => {
      if (paused.has(protocol.name)) return 'dormant'
      if ((state.revisions.get(protocol.name)?.openId ?? null) !== null) return 'waiting'
      return waitMs > 0 && judgedAgain(protocol) ? 'early' : 'ready'
    })
    const links = ready.length === 0 ? [] : ((await deps.links?.read(ref)) ?? [])
    const linked = links.length === 0 ? {} : { links: [...links] }
    const around = ready.length === 0 ? undefined : await surroundingsOf(threads, ref, post)
    const moment = { openedAt: clock(), atFinalAge: checkpoint.final, step, paused, settings, surroundings: around }
    const twins = { ...moment, surroundings: await aroundOf(threads, state, { drawing, ready, turns, now: clock() }) }
    const opening = ready.map((protocol) => ({
      record: { ...newCase(protocol, state, post, protocol.elsewhere ? twins : moment), ...linked },
      seen: versionSeenBy(protocol, state),
    }))
    const opened = await threads.open(state, {
      cases: opening,
      waiting: waiting.map(({ name }) => name),
      dormant: dormant.map(({ name }) => name),
      // A protocol that is off here judges the changes when it is on again, so that no edit goes unjudged.
      absent: [...state.revisions.keys()].filter((name) => !routes.names.has(name)),
      nextDue: early.length > 0 ? Math.max(1, streamNow + waitMs) : checkpoint.nextDue,
      final:
        isAsked ||
        (checkpoint.final &&
          early.length === 0 &&
          [...waiting, ...dormant].every(({ subject }) => readsThread && subject !== 'thread')),
    })
    if (opening.some(({ record }) => opened.includes(record.id)) && ready.some(judgedAgain)) again.reopened(ref)
    for (const { record } of opening) {
      if (opened.includes(record.id))
        report('case:opened', { caseId: record.id, protocol: record.protocol, final: record.final })
    }
    return opened.map((caseId) => [caseId, shareOf(ref, post)])
  }

  return {
    now,
    /** How many due threads wait to be opened; tenants with more than `most` are left out. */
    countDue: async (most?: number) => threads.countDue(Math.max(await now(), 0), most),
    /** Tenants that have more of them than their share. */
    tenantsOverDue: async () => threads.tenantsOverDue(Math.max(await now(), 0), settings.mostDue),
    /** Opens what is due now; returns the number of opened cases. */
    async openDue(): Promise<number> {
      const streamNow = await now()
      const [wall, skipped] = [clock(), backoff.count()]
      const { putBack } = settings.cases.overload.hold
      await threads.orderDue(streamNow, wall, ORDERED_IN_A_PASS, spares(step, 'hold') ? putBack : 0)
      // A due time of 0 or less means "at once", whatever the stream's time is.
      const { maxOpen, maxWaiting } = settings.cases
      const due = await threads.due(Math.max(streamNow, 0), LOOKED_AT + skipped + putOff, maxOpen, maxWaiting)
      const isOnlyAsked = settings.onlyAsked === true || (settings.gate?.closed ?? null) !== null
      const mine = isOnlyAsked ? due.filter(({ kind }) => kind === 'asked') : due
      const weighed = await weighAll(mine.filter((ref) => !backoff.has(ref, wall)))
      const { large = [], small = [] } = Object.groupBy(weighed, ({ weight }) => (weight < LARGE ? 'small' : 'large'))
      const [first, last] = [
        lightOfEach(sharesTakeTurns(small, OF_SHARE_IN_A_PASS)).slice(0, BATCH),
        large.slice(0, LARGE_IN_A_PASS),
      ]
      const opening = new Set([...first, ...last])
      left = new Map(weighed.filter((one) => !opening.has(one)).map((one) => [nameOf(one.ref), one]))
      putOff = Math.min(MOST_PUT_OFF, large.length)
      if (due.length === 0) setStep(0)
      if (opening.size === 0) return 0
      const [paused, count] = await Promise.all([threads.paused(), threads.countDue(Math.max(streamNow, 0))])
      const moment = { paused, step: setStep(stepAt(count, settings.cases.overload)) }
      return (await openAll(first, streamNow, moment)) + (await openAll(last, streamNow, moment))
    },
  }

  /** What was left to this pass has been weighed already. */
  function weighAll(refs: readonly ThreadRef[]): Promise<Weighed[]> {
    return Promise.all(refs.map(async (ref) => left.get(nameOf(ref)) ?? { ref, ...(await threads.weigh(ref)) }))
  }

  /** Opens cases on these threads, and gives them their jobs, even if other threads failed. */
  async function openAll(some: readonly Weighed[], streamNow: number, moment: Moment): Promise<number> {
    const opening = some.map(({ ref, weight }) => slots.run(1 + weight, () => openOrBackOff(ref, streamNow, moment)))
    const opened = (await Promise.all(opening)).flat()
    await queues.push(
      opened.map(([caseId]) => caseId),
      new Map(opened),
    )
    return opened.length
  }
}

/** Opens what is due, and what comes due meanwhile, as long as `mayOpen`. */
export async function openAllDue({ openDue }: Pick<Opener, 'openDue'>, mayOpen = () => true): Promise<void> {
  while (mayOpen() && (await openDue()) > 0);
}

/** Threads that changed while a protocol was off everywhere, or paused, are due for it now. */
export function wakeUnpaused(deps: {
  threads: Pick<ThreadStore, 'paused' | 'wake'>
  protocols: readonly Pick<Protocol, 'name'>[]
  clock: Clock
}) {
  const { threads, protocols, clock } = deps
  return async (): Promise<void> => {
    const paused = await threads.paused()
    for (const { name } of protocols) if (!paused.has(name)) await threads.wake(name, clock())
  }
}

/** Without those by which a share would have more in a pass than a large thread; its first may be as large as it is. */
function lightOfEach(inTurn: readonly Weighed[]): Weighed[] {
  const weights = new Map<string, number>()
  return inTurn.filter(({ share, weight }) => {
    const before = weights.get(share)
    weights.set(share, (before ?? 0) + weight)
    return before === undefined || before + weight <= LARGE
  })
}

/** A case that was opened, by its id, and whose share it uses. */
type Opened = [caseId: string, share: string]

interface Weighed extends ThreadWeight {
  readonly ref: ThreadRef
}
export type Opener = ReturnType<typeof opener>

/** What applies to all threads that are opened together. */
interface Moment {
  readonly paused: ReadonlySet<string>
  /** Of load, 0 for none. */
  readonly step: number
}

/**
 * A protocol that judges threads does so at checkpoints if something has changed since its last revision, and once for
 * the final snapshot; other protocols judge a post whenever it has changed. When a thread has been forgotten, its
 * comments are gone: the verdict of a protocol that judges threads is then kept, because it rests on more than is known
 * now.
 */
function wants(protocol: Protocol, state: ThreadState, streamNow: number, final: boolean): boolean {
  const before = state.revisions.get(protocol.name)
  const changed = before?.seen !== versionSeenBy(protocol, state)
  if (protocol.subject !== 'thread') return changed
  if (state.expired && before !== undefined) return false
  const checkpoint =
    state.generation > state.observedGeneration || (state.nextAge !== null && streamNow >= state.nextAge)
  return checkpoint && (changed || (final && before?.final !== true))
}
