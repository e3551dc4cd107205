import { setTimeout as sleep } from 'node:timers/promises'
import { scopeOf } from '../../contracts/facts/verdict-id.ts'
import type { CaseStore, Outbox } from '../../contracts/ports/cases.ts'
import type { Clock } from '../../contracts/ports/clock.ts'
import type { PartitionLag, UsedShare } from '../../contracts/ports/report.ts'
import type { StageBacklog } from '../../contracts/ports/stage-queues.ts'
import type { StreamMark, StreamMarks, ThreadStore } from '../../contracts/ports/threads.ts'
import { type FiringAlert, firingAt, replicaAt, type ShownReplica } from './pages.ts'

/** A server that does not answer. */
export interface ServerOutage {
  readonly server: 'Redis' | 'Kafka'
  /** ms since 1970 */
  readonly since: number
  readonly why: string
}

/** How the service stands at one moment; what Redis holds is null while that does not answer. */
export type ServiceState = {
  /** ms since 1970 */
  readonly at: number
  readonly away: readonly ServerOutage[]
  /** By topic: messages not yet read, and for how long the partition that is furthest behind has been. Null if Kafka does not answer. */
  readonly lag: readonly { readonly topic: string; readonly messages: number; readonly seconds: number | null }[] | null
  readonly replicas: readonly ShownReplica[]
  /** What fires; null if no Prometheus is named, or it does not answer. */
  readonly firing: readonly FiringAlert[] | null
} & (StoredState | { readonly [Name in keyof StoredState]: null })

interface StoredState {
  readonly stages: readonly StageBacklog[]
  readonly openCases: number
  /** Threads that are due and not yet opened, and records that wait for Kafka. */
  readonly due: number
  readonly outbox: { readonly size: number; readonly oldestSeconds: number }
  /** How far the stream's clock is behind the wall's, in s; null while some partition has not been read. */
  readonly streamBehindSeconds: number | null
  readonly paused: readonly string[]
  /** The ten with most open cases. */
  readonly tenants: readonly { readonly tenant: string; readonly openCases: number }[]
  readonly limits: readonly UsedShare[]
  readonly budgets: readonly UsedShare[]
}

const NOT_KNOWN = {
  stages: null,
  openCases: null,
  due: null,
  outbox: null,
  streamBehindSeconds: null,
  paused: null,
  tenants: null,
  limits: null,
  budgets: null,
} as const

const MOST_TENANTS = 10
/** Longest wait for what Redis and Kafka say, in ms: afterwards they count as away. */
const SERVER_MS = 4_000

/** Where to look, besides Redis and Kafka. */
export interface Places {
  /** Base URLs of processes that serve `/metrics`. */
  readonly replicas: readonly string[]
  readonly prometheus: string | undefined
}

/** What is asked in Redis. */
export interface StateStores {
  readonly time: { sync(): Promise<unknown>; now: Clock }
  readonly threads: Pick<ThreadStore, 'countDue' | 'paused'>
  readonly cases: Pick<CaseStore, 'openIds'>
  readonly outbox: Pick<Outbox, 'size' | 'oldest'>
  readonly marks: Pick<StreamMarks, 'read'>
  readonly backlog: () => Promise<readonly StageBacklog[]>
  /** How much of the limits and budgets is used, those of these tenants too. */
  readonly used: (tenants: readonly string[]) => Promise<{ limits: UsedShare[]; budgets: UsedShare[] }>
}

/** Looks at the service again and again, also while Redis or Kafka is away, and before they were there at all. */
export function serviceStatus(of: {
  readonly redis: () => Promise<StateStores>
  readonly lag: () => Promise<{ poll(): Promise<readonly PartitionLag[]> }>
  readonly streamNow: (marks: readonly StreamMark[], at: number) => number
  /** The service's time, once Redis has given it. */
  readonly clock: Clock
  readonly places: Places
  /** What opens `/metrics` of a process. */
  readonly token: string
}): () => Promise<ServiceState> {
  const { redis, lag, streamNow, clock, places } = of

  async function lagByTopic(): Promise<NonNullable<ServiceState['lag']>> {
    const all = await (await lag()).poll()
    return [...Map.groupBy(all, ({ topic }) => topic)].map(([topic, partitions]) => ({
      topic,
      messages: partitions.reduce((sum, { messages }) => sum + messages, 0),
      seconds: partitions.some(({ seconds }) => seconds === null)
        ? null
        : Math.max(...partitions.map(({ seconds }) => seconds ?? 0)),
    }))
  }

  async function stored(): Promise<StoredState> {
    const { time, threads, cases, outbox, marks, backlog, used } = await redis()
    await time.sync()
    const at = clock()
    const now = streamNow([...(await marks.read()).values()], at)
    const [stages, open, size, oldest, due, paused] = await Promise.all([
      backlog(),
      cases.openIds(),
      outbox.size(),
      outbox.oldest(),
      threads.countDue(Math.max(now, 0)),
      threads.paused(),
    ])
    const counts = new Map<string, number>()
    for (const id of open) counts.set(scopeOf(id).tenant, (counts.get(scopeOf(id).tenant) ?? 0) + 1)
    const tenants = [...counts].sort(([, a], [, b]) => b - a).slice(0, MOST_TENANTS)
    return {
      stages,
      due,
      paused: [...paused],
      openCases: open.length,
      outbox: { size, oldestSeconds: oldest === null ? 0 : (at - oldest) / 1000 },
      streamBehindSeconds: now === Number.NEGATIVE_INFINITY ? null : Math.max(0, at - now) / 1000,
      tenants: tenants.map(([tenant, openCases]) => ({ tenant, openCases })),
      ...(await used(tenants.map(([tenant]) => tenant))),
    }
  }

  const redisStatus = serverStatus('Redis', stored, clock)
  const kafkaStatus = serverStatus('Kafka', lagByTopic, clock)
  return async () => {
    const [store, byTopic, shown, firing] = await Promise.all([
      redisStatus.now(),
      kafkaStatus.now(),
      Promise.all(places.replicas.map((url) => replicaAt(url, of.token))),
      places.prometheus === undefined ? null : firingAt(places.prometheus),
    ])
    const away = [redisStatus.away(), kafkaStatus.away()].filter((one) => one !== null)
    return { at: clock(), away, lag: byTopic, replicas: shown, firing, ...(store ?? NOT_KNOWN) }
  }
}

/** What is opened when it is first needed, and tried again as long as that fails. */
export function openedOnce<Part>(open: () => Promise<Part>): () => Promise<Part> {
  let opened: Promise<Part> | null = null
  return () => {
    opened ??= open().catch((error: unknown) => {
      opened = null
      throw error
    })
    return opened
  }
}

/** Reads from a server that may be away, or may not answer: then `now` resolves to null, and a read that still waits is not begun again. */
function serverStatus<Seen>(server: ServerOutage['server'], read: () => Promise<Seen>, clock: () => number) {
  let pending: Promise<Seen> | null = null
  let away: ServerOutage | null = null
  return {
    away: () => away,
    async now(): Promise<Seen | null> {
      pending ??= read().finally(() => {
        pending = null
      })
      // Nobody may be there to hear that it failed after all.
      pending.catch(() => undefined)
      try {
        const seen = await Promise.race([pending, timeLimit()])
        away = null
        return seen
      } catch (error) {
        const [why = ''] = (error instanceof Error ? error.message : String(error)).split('\n', 1)
        away = { server, since: away?.since ?? clock(), why }
        return null
      }
    },
  }
}

async function timeLimit(): Promise<never> {
  await sleep(SERVER_MS, undefined, { ref: false })
  throw new Error(`no answer within ${SERVER_MS / 1000} s`)
}
