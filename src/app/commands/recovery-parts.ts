import type { Settings } from '../../../config/schema.ts'
import { inputsOf, topicsOf } from '../../../config/topics.ts'
import { authorNotes } from '../../../consumers/authors.ts'
import { authorHashes } from '../../contracts/facts/author-hash.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import { decisionHandler } from '../../judging/engine/decision-handler.ts'
import { retractionOf } from '../../judging/engine/retraction.ts'
import { closable } from '../../operations/closable.ts'
import { keepTimes } from '../../operations/keep-times.ts'
import { makeTopics } from '../../operations/make-topics.ts'
import type { RecoveryParts } from '../../recovery/run.ts'
import { redisMemo } from '../../store/memo/redis.ts'
import { redisRecovery } from '../../store/recovery/redis.ts'
import { isUnanswered } from '../../store/redis/connect.ts'
import { redisIncarnation } from '../../store/redis/incarnation.ts'
import { refusalOf } from '../../store/redis/refusals.ts'
import { knownSecretOf, secretOf } from '../../store/redis/shared-key.ts'
import { type ReadingControl, topicHistory } from '../../stream/bounded-reader.ts'
import type { KafkaClient } from '../../stream/client.ts'
import { groupProgress, positionsOf, setOffsets } from '../../stream/offsets.ts'
import { inputOf } from '../composition/intake.ts'
import { protocolsOf } from '../composition/protocols.ts'
import { commandRedis } from '../composition/redis.ts'

/**
 * What to tell of an error of Redis that is waited for; null for one of another kind. Throws an `OperatorError` where waiting does
 * not help: a password is read at the start.
 */
export function outageOf(error: unknown): string | null {
  if (isUnanswered(error)) return 'Redis does not answer'
  const refusal = refusalOf(error)
  if (refusal?.fault === 'access') throw new OperatorError(`${refusal.says}.`, { cause: error })
  return refusal?.says ?? null
}

/**
 * The parts of a recovery. Throws an `OperatorError` if Redis or Kafka is not reachable. `allAgain`: it reads every
 * message in the topics again. `dryRun`: the key of fences and sampling is only read.
 */
export function recoveryParts(
  settings: Settings,
  connectKafka: () => Promise<KafkaClient>,
  { allAgain, dryRun, ...waiting }: ReadingControl & { readonly allAgain: boolean; readonly dryRun: boolean },
) {
  return closable(async (keep): Promise<RecoveryParts> => {
    const topics = topicsOf(settings)
    const times = keepTimes(settings)
    const { client, keys, time, threads, cases, outbox, decisions, erasures, authors, marks, writes } = keep(
      await commandRedis(settings),
    )
    const clock = time.now
    const kafka = await connectKafka()
    // A version that knew of fewer topics may have run before.
    await makeTopics(kafka, settings, { beside: topics.posts })
    const incarnation = redisIncarnation(client, keys, writes.schema)
    const store = redisRecovery(client, keys, { ...times, clock, allAgain })
    const secret = await (dryRun ? knownSecretOf : secretOf)(client, keys, settings.fences.key, (_, event) => {
      if ('advice' in event) waiting.say?.(event.advice)
    })
    const { protocols, routes, samplingRank } = protocolsOf(settings, secret)
    const memo = redisMemo(client, keys.under)
    const changed = { threads, cases, outbox, memo, queues: null }
    return {
      topics,
      threads,
      cases,
      outbox,
      marks,
      protocols,
      routes,
      clock,
      history: topicHistory(kafka, waiting),
      group: settings.kafka.group,
      progress: () => groupProgress(kafka, settings.kafka.group, inputsOf(topics)),
      setProgress: (progress) => setOffsets(kafka, settings.kafka.group, progress),
      store: { ...store, end: store.forget, noteDeleted: erasures.note },
      decide: decisionHandler({ decisions, threads, protocols, routes, clock, report: () => {}, writes }),
      hold: {
        hold: incarnation.suspend,
        setRevisionsComplete: incarnation.setComplete,
        release: (progress) => incarnation.createIncarnation(positionsOf(progress)),
      },
      input: inputOf(settings, topics, {
        ...changed,
        protocols,
        routes,
        samplingRank,
        writes,
        noteAuthors: authorNotes(authors, authorHashes(secret)),
        clock,
        report: () => {},
      }),
      retraction: retractionOf(protocols, clock, writes),
      outage: outageOf,
      settings: { keep: times, checkpoints: settings.checkpoints },
    }
  })
}
