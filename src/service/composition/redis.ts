import type { Settings } from '../../../config/schema.ts'
import { redisAnswers } from '../adapters/redis/answers.ts'
import { redisBudgets } from '../adapters/redis/budgets.ts'
import { redisCases } from '../adapters/redis/cases.ts'
import { redisFindings, refusalFor } from '../adapters/redis/checks.ts'
import { redisClock } from '../adapters/redis/clock.ts'
import { checkRedis, connect } from '../adapters/redis/connect.ts'
import { redisDecisions } from '../adapters/redis/decisions.ts'
import { redisErasures } from '../adapters/redis/erasures.ts'
import { redisExporter } from '../adapters/redis/exporter.ts'
import { checkSchema, type FencingToken, NO_FENCING, redisIncarnation } from '../adapters/redis/incarnation.ts'
import { type Keys, keysUnder } from '../adapters/redis/keys.ts'
import { redisLimits } from '../adapters/redis/limits.ts'
import { redisMarks } from '../adapters/redis/marks.ts'
import { redisMemo } from '../adapters/redis/memo.ts'
import { redisOutbox } from '../adapters/redis/outbox.ts'
import { sentinelWatch } from '../adapters/redis/sentinel-watch.ts'
import { secretOf } from '../adapters/redis/shared-key.ts'
import { keptImages, redisThreads } from '../adapters/redis/threads.ts'
import { redisTraceLinks } from '../adapters/redis/trace-links.ts'
import { redisWebhooks } from '../adapters/redis/webhooks.ts'
import { OperatorError, RetryLaterError } from '../domain/errors.ts'
import { MOST_DEADLINES } from '../engine/erase.ts'
import { type Closable, closable } from '../operations/closable.ts'
import type { Clock } from '../ports/clock.ts'
import type { DeletedOwners } from '../ports/erasures.ts'
import type { Report } from '../ports/report.ts'
import { budgetSettings, type GatewayStores, limitLeaseMs } from './gateway.ts'

type Client = ReturnType<typeof connect>

/** How long the store keeps things, in ms. */
export function keepTimes({ threads, cases, door }: Settings) {
  return {
    keepTombstoneMs: threads.keepTombstone,
    keepThreadMs: threads.keepAfterFinal,
    keepRequestsMs: door.keepAnswers + MOST_DEADLINES * cases.deadline + cases.mostHeld,
  }
}

/** For as long as the store may hold what was made of something that a case was shown: its journal, and answers in the memo. */
function keepShown({ cases, memo }: Settings): number {
  return MOST_DEADLINES * cases.deadline + cases.mostHeld + Math.max(cases.keepJournal, memo.keep)
}

/**
 * Redis for the service, and the stores in it: one fail-fast connection for intake, and retrying ones for the parts that
 * process accepted messages. Throws an `OperatorError` if Redis is not reachable, or would lose data.
 */
export function redisPart(settings: Settings, report: Report) {
  return closable(async (keep) => {
    const open = (kind: 'retrying' | 'fail-fast') => {
      const client = connect(settings.redis, report, kind)
      keep({ close: async () => client.disconnect() })
      return client
    }
    const [failFast, working, blocking] = [open('fail-fast'), open('retrying'), open('retrying')]
    await checkRedis(failFast, settings.redis)
    const findings = await redisFindings(failFast, settings.redis)
    const refusal = refusalFor(findings)
    if (refusal !== null) throw new OperatorError(refusal)
    const time = redisClock(failFast)
    await time.sync()
    const keys = keysUnder(settings.redis.prefix)
    await checkSchema(failFast, keys)
    const incarnation = redisIncarnation(failFast, keys)
    const sentinels = keep(sentinelWatch(settings.redis))
    const secret = () => secretOf(failFast, keys, settings.fences.key, report)
    const clients = { failFast, working, blocking }
    const stores = storesOn(clients, keys, settings, time.now, {
      ...{ token: incarnation.token, report },
      subscribe: () => connect(settings.redis, report, 'retrying'),
    })
    keep(stores.answers)
    return {
      ...clients,
      keys,
      time,
      incarnation,
      sentinels,
      secret,
      findings,
      find: () => redisFindings(failFast, settings.redis),
      exporter: redisExporter(failFast, keys),
      ...stores,
    }
  })
}
export type RedisPart = Awaited<ReturnType<typeof redisPart>>

/**
 * Redis for a command, on one fail-fast connection, and the service's time: the clock of the machine that the command runs on may be
 * wrong. Throws an `OperatorError` if Redis is not reachable. */
export function commandRedis(settings: Settings) {
  return closable(async (keep) => {
    const client = connect(settings.redis, () => {}, 'fail-fast')
    keep({ close: async () => client.disconnect() })
    await checkRedis(client, settings.redis)
    const time = redisClock(client)
    await time.sync()
    const keys = keysUnder(settings.redis.prefix)
    await checkSchema(client, keys)
    const clients = { failFast: client, working: client, blocking: client }
    return { client, keys, time, ...storesOn(clients, keys, settings, time.now) }
  })
}

/**
 * What Redis knows of deletions, for commands on the library; connects when it is first asked. Where no Redis is set nothing is
 * known. Throws a `RetryLaterError` if one is set and does not answer: deleted words must be neither shown nor written again.
 */
export function knownDeletions({ redis }: Pick<Settings, 'redis'>): DeletedOwners & Closable {
  const isSet = redis.url !== '' || redis.cluster.length > 0 || redis.sentinels.length > 0
  let client: Client | null = null
  return {
    async deletedAmong(owners) {
      if (!isSet || owners.length === 0) return new Set()
      client ??= connect(redis, () => {}, 'fail-fast')
      try {
        return await redisErasures(client, keysUnder(redis.prefix)).deletedAmong(owners)
      } catch (cause) {
        throw new RetryLaterError('library', 'Redis does not answer, which knows what was deleted', { cause })
      }
    },
    close: async () => client?.disconnect(),
  }
}

function storesOn(
  { failFast, working, blocking }: Record<'failFast' | 'working' | 'blocking', Client>,
  keys: Keys,
  settings: Settings,
  clock: Clock,
  {
    token,
    report = () => {},
    subscribe,
  }: { token?: () => FencingToken; report?: Report; subscribe?: () => Client } = {},
) {
  const times = keepTimes(settings)
  return {
    threads: redisThreads(failFast, keys, times, token),
    decisions: redisDecisions({ client: failFast, keys, settings: times, token: token ?? NO_FENCING }),
    marks: redisMarks(failFast, keys, token),
    cases: redisCases(working, keys, clock, token, { keepShownMs: keepShown(settings) }),
    erasures: redisErasures(working, keys),
    outbox: redisOutbox(working, blocking, keys, {
      keepJournalMs: settings.cases.keepJournal,
      keepThreadMs: times.keepThreadMs,
      keepRevisionsMs: times.keepTombstoneMs,
      keepAskedMs: settings.door.keepAnswers,
      clock,
    }),
    webhooks: redisWebhooks(working, keys),
    /** Where traces are sent. */
    links:
      settings.traces.endpoint === ''
        ? undefined
        : redisTraceLinks(failFast, keys, settings.checkpoints.finalAge + times.keepThreadMs),
    answers: redisAnswers(working, keys, { report, ...(subscribe === undefined ? {} : { subscribe }) }),
  }
}

/** The gateway's stores in Redis, shared by all processes. */
export function redisGatewayStores(
  settings: Settings,
  { working, keys }: Pick<RedisPart, 'working' | 'keys'>,
  now = () => settings,
): GatewayStores {
  return {
    memo: redisMemo(working, keys.under),
    limits: redisLimits(working, (name) => keys.under(`limits:${name}`), { leaseMs: limitLeaseMs(settings) }),
    budgets: redisBudgets(working, keys.under, budgetSettings(settings, now)),
    keptImage: keptImages(working, keys),
  }
}
