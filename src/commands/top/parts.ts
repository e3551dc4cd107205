import type { Settings } from '../../../config/schema.ts'
import { inputsOf, topicsOf } from '../../../config/topics.ts'
import { partitionLag } from '../../../consumers/partition-lag.ts'
import { bullJobDesk } from '../../service/adapters/bullmq/job-desk.ts'
import { samplesOf, sumOf } from '../../service/adapters/prometheus/samples.ts'
import { budgetSettings } from '../../service/composition/gateway.ts'
import { stagesOf } from '../../service/composition/judging.ts'
import type { KafkaClient } from '../../service/composition/kafka.ts'
import { protocolsOf } from '../../service/composition/protocols.ts'
import { commandRedis, redisGatewayStores } from '../../service/composition/redis.ts'
import { scopeOf } from '../../service/domain/verdict.ts'
import { usedCapacity } from '../../service/operations/capacity.ts'
import { closable } from '../../service/operations/closable.ts'
import type { StageBacklog } from '../../service/ports/queues.ts'
import type { UsedShare } from '../../service/ports/report.ts'
import { streamTime } from '../../service/threads/stream-clock.ts'

/** What one process says of itself on its `/metrics`; null if it does not answer. */
export interface ShownReplica {
  readonly url: string
  readonly says: {
    /** Model slots: in use, asks that wait for one, and all. */
    readonly slots: { readonly busy: number; readonly waiting: number; readonly all: number }
    /** US dollars since it started. */
    readonly costUsd: number
    /** By model: calls that it may have in flight, and its breaker (0 closed, 1 half-open, 2 open). */
    readonly models: readonly { readonly model: string; readonly limit: number; readonly breaker: number }[]
  } | null
}

/** How the service stands at one moment. */
export interface ServiceState {
  /** ms since 1970 */
  readonly at: number
  readonly stages: readonly StageBacklog[]
  readonly openCases: number
  /** Threads that are due and not yet opened, and records that wait for Kafka. */
  readonly due: number
  readonly outbox: { readonly size: number; readonly oldestSeconds: number }
  /** By topic: messages not yet read, and for how long the partition that is furthest behind has been. Null if Kafka does not answer. */
  readonly lag: readonly { readonly topic: string; readonly messages: number; readonly seconds: number | null }[] | null
  /** How far the stream's clock is behind the wall's, in s; null while some partition has not been read. */
  readonly streamBehindSeconds: number | null
  readonly paused: readonly string[]
  /** The ten with most open cases. */
  readonly tenants: readonly { readonly tenant: string; readonly openCases: number }[]
  readonly limits: readonly UsedShare[]
  readonly budgets: readonly UsedShare[]
  readonly replicas: readonly ShownReplica[]
}

const MOST_TENANTS = 10
/** Longest wait for a replica's metrics, in ms. */
const REPLICA_MS = 1_500

/** Looks at the service again and again; throws an `OperatorError` if Redis or Kafka is not reachable at first. */
export function topParts(settings: Settings, connectKafka: () => Promise<KafkaClient>, replicas: readonly string[]) {
  return closable(async (keep) => {
    const redis = keep(await commandRedis(settings))
    const { client, keys, time, threads, cases, outbox, marks } = redis
    const clock = time.now
    const kafka = await connectKafka()
    const { protocols } = protocolsOf(settings, '')
    const desk = keep(bullJobDesk({ connection: client, prefix: keys.queues, stages: stagesOf(protocols), clock }))
    const topics = inputsOf(topicsOf(settings))
    const lag = keep(partitionLag({ kafka, group: settings.kafka.group, topics, clock }))
    const used = usedCapacity({
      ...redisGatewayStores(settings, { working: client, keys }),
      models: [...new Set(Object.values(settings.models.roles).flat())],
      settings: { limits: settings.limits, budgets: budgetSettings(settings) },
    })

    async function lagByTopic(): Promise<ServiceState['lag']> {
      const all = await lag.look().catch(() => null)
      if (all === null) return null
      return [...Map.groupBy(all, ({ topic }) => topic)].map(([topic, partitions]) => ({
        topic,
        messages: partitions.reduce((sum, { messages }) => sum + messages, 0),
        seconds: partitions.some(({ seconds }) => seconds === null)
          ? null
          : Math.max(...partitions.map(({ seconds }) => seconds ?? 0)),
      }))
    }

    async function look(): Promise<ServiceState> {
      await time.sync()
      const at = clock()
      const now = streamTime([...(await marks.read()).values()], at, settings.clock)
      const [stages, open, size, oldest, due, paused, byTopic, shown] = await Promise.all([
        desk.backlog(),
        cases.openIds(),
        outbox.size(),
        outbox.oldest(),
        threads.countDue(Math.max(now, 0)),
        threads.paused(),
        lagByTopic(),
        Promise.all(replicas.map((url) => replicaAt(url, settings.http.token))),
      ])
      const counts = new Map<string, number>()
      for (const id of open) counts.set(scopeOf(id).tenant, (counts.get(scopeOf(id).tenant) ?? 0) + 1)
      const tenants = [...counts].sort(([, a], [, b]) => b - a).slice(0, MOST_TENANTS)
      return {
        ...{ at, stages, due, lag: byTopic, replicas: shown, paused: [...paused], openCases: open.length },
        outbox: { size, oldestSeconds: oldest === null ? 0 : (at - oldest) / 1000 },
        streamBehindSeconds: now === Number.NEGATIVE_INFINITY ? null : Math.max(0, at - now) / 1000,
        tenants: tenants.map(([tenant, openCases]) => ({ tenant, openCases })),
        ...(await used(tenants.map(([tenant]) => tenant))),
      }
    }
    return { look }
  })
}

async function replicaAt(url: string, token: string): Promise<ShownReplica> {
  try {
    const headers: Record<string, string> = token === '' ? {} : { authorization: `Bearer ${token}` }
    const response = await fetch(new URL('/metrics', url), { headers, signal: AbortSignal.timeout(REPLICA_MS) })
    if (!response.ok) return { url, says: null }
    const page = await response.text()
    const slots = (state: string) => sumOf(page, 'gavel_model_slots', { state }) ?? 0
    const breakers = new Map(
      samplesOf(page, 'gavel_breaker_state').map(({ labels, value }) => [labels.model ?? '', value]),
    )
    const models = samplesOf(page, 'gavel_model_adaptive_limit').map(({ labels: { model = '' }, value }) => ({
      ...{ model, limit: value, breaker: breakers.get(model) ?? 0 },
    }))
    return {
      url,
      says: {
        slots: { busy: slots('busy'), waiting: slots('waiting'), all: slots('all') },
        costUsd: sumOf(page, 'gavel_llm_cost_usd_total') ?? 0,
        models,
      },
    }
  } catch {
    return { url, says: null }
  }
}
