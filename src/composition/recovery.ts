import type { Settings } from '../../config/schema.ts'
import { topicHistory, type Waiting } from '../adapters/kafka/bounded-reader.ts'
import type { kafkaClient } from '../adapters/kafka/client.ts'
import { groupProgress, positionsOf } from '../adapters/kafka/offsets.ts'
import { redisCases, redisOutbox } from '../adapters/redis/cases.ts'
import { checkRedis, connect } from '../adapters/redis/connect.ts'
import { keysUnder } from '../adapters/redis/keys.ts'
import { redisLineage } from '../adapters/redis/lineage.ts'
import { redisMemo } from '../adapters/redis/memo.ts'
import { redisRecovery } from '../adapters/redis/recovery.ts'
import { secretOf } from '../adapters/redis/shared-key.ts'
import { redisMarks, redisThreads } from '../adapters/redis/threads.ts'
import { farewellOf, intakesOf, libraryOf, topicsOf } from '../assembly.ts'
import { fences } from '../domain/fence.ts'
import { lots } from '../domain/lot.ts'
import { router } from '../engine/routes.ts'
import { makeProtocols } from '../protocols/make.ts'
import type { RecoveryParts } from '../recovery/run.ts'
import { closable } from './closable.ts'

export function recoveryParts(
  settings: Settings,
  connectKafka: () => Promise<ReturnType<typeof kafkaClient>>,
  { allAgain, ...waiting }: Waiting & { readonly allAgain: boolean },
) {
  return closable(async (keep): Promise<RecoveryParts> => {
    const clock = Date.now
    const topics = topicsOf(settings)
    const keys = keysUnder(settings.redis.prefix)
    const times = { keepTombstoneMs: settings.threads.keepTombstone, keepThreadMs: settings.threads.keepAfterFinal }
    const client = connect(settings.redis, () => {}, 'impatient')
    keep({ close: async () => client.disconnect() })
    await checkRedis(client, settings.redis)
    const kafka = await connectKafka()
    const threads = redisThreads(client, keys, times)
    const cases = redisCases(client, keys, clock)
    const lineage = redisLineage(client, keys)
    const store = redisRecovery(client, keys, { ...times, clock, allAgain })
    const secret = await secretOf(client, keys, settings.fences.key, (_, event) => {
      if ('advice' in event) waiting.say?.(event.advice)
    })
    const lot = lots(secret)
    const protocols = makeProtocols(settings.protocols, fences(secret, settings.fences), lot)
    const routes = router(protocols, settings.routes, lot)
    const library = keep(libraryOf(settings, clock))
    const memo = redisMemo(client, keys.under)
    return {
      topics,
      history: topicHistory(kafka, waiting),
      progress: () => groupProgress(kafka, settings.kafka.group, [topics.posts, topics.comments, topics.counterspeech]),
      threads,
      cases,
      outbox: redisOutbox(client, client, keys, {
        keepJournalMs: settings.cases.keepJournal,
        keepThreadMs: times.keepThreadMs,
        keepRevisionsMs: times.keepTombstoneMs,
        clock,
      }),
      marks: redisMarks(client, keys),
      store: { restore: store.restore, end: store.bury, settle: store.settle },
      hold: { hold: lineage.hold, vouch: lineage.vouch, release: (progress) => lineage.release(positionsOf(progress)) },
      protocols,
      routes,
      intakes: intakesOf(topics, {
        ...{ settings, threads, cases, protocols, routes, library, memo, lot, clock },
        queues: null,
      }),
      retraction: farewellOf(protocols, clock),
      clock,
      settings: {
        limits: { maxBytes: settings.intake.maxMessageBytes, maxAheadMs: settings.intake.maxAhead },
        keep: times,
        checkpoints: settings.checkpoints,
      },
    }
  })
}
