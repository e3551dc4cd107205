import type { Settings } from '../../../config/schema.ts'
import { topicsOf } from '../../../config/topics.ts'
import { authorNotes } from '../../../consumers/authors.ts'
import { authorHashes } from '../../contracts/facts/author-hash.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import { closable } from '../../operations/closable.ts'
import { keepTimes } from '../../operations/keep-times.ts'
import type { AgainParts, StagedThreads } from '../../recovery/judge-again.ts'
import { memoryStores } from '../../store/memory-stores.ts'
import { redisJudgeAgain } from '../../store/recovery/redis-judge-again.ts'
import { knownSecretOf } from '../../store/redis/shared-key.ts'
import { threadTable } from '../../store/thread/memory-table.ts'
import { memoryLookedAt } from '../../store/veto/memory.ts'
import { type ReadingControl, topicHistory } from '../../stream/bounded-reader.ts'
import type { KafkaClient } from '../../stream/client.ts'
import { type IntakeParts, inputOf } from '../composition/intake.ts'
import { protocolsOf } from '../composition/protocols.ts'
import { commandRedis } from '../composition/redis.ts'
import { vetoPart } from '../composition/vetoes.ts'

/** The parts of `gavel judge-again`. Throws an `OperatorError` if Redis or Kafka is not reachable. */
export function judgeAgainParts(
  settings: Settings,
  connectKafka: () => Promise<KafkaClient>,
  { listed = false, ...waiting }: ReadingControl & { readonly listed?: boolean | undefined },
) {
  return closable(async (keep): Promise<AgainParts> => {
    const topics = topicsOf(settings)
    const { client, keys, time, threads, cases, authors } = keep(await commandRedis(settings))
    const clock = time.now
    const kafka = await connectKafka()
    const secret = await knownSecretOf(client, keys, settings.fences.key, (_, event) => {
      if ('advice' in event) waiting.say?.(event.advice)
    })
    const { protocols, routes, samplingRank } = protocolsOf(settings, secret)
    const compared = listed
      ? await vetoPart(settings, {
          looked: memoryLookedAt(clock),
          keptImage: threads.keptImage,
          labelsOf: () => undefined,
          clock,
          report: () => {},
        })
      : undefined
    if (listed && compared === undefined) throw new OperatorError('vetoes: no list is set, so nothing is on one')
    const vetoes = compared === undefined ? undefined : keep(compared)
    const noteAuthors = authorNotes(authors, authorHashes(secret))
    return {
      topics,
      threads,
      cases,
      protocols,
      vetoes,
      clock,
      history: topicHistory(kafka, waiting),
      store: redisJudgeAgain(client, keys, keepTimes(settings)),
      staging: () => stagingOf(settings, topics, { protocols, routes, samplingRank, noteAuthors, clock }),
    }
  })
}

function stagingOf(
  settings: Settings,
  topics: Parameters<typeof inputOf>[1],
  parts: Pick<IntakeParts, 'protocols' | 'routes' | 'samplingRank' | 'noteAuthors' | 'clock'>,
): StagedThreads {
  const table = threadTable()
  const { threads, cases, outbox } = memoryStores(parts.clock, table)
  const input = inputOf(settings, topics, {
    ...parts,
    cases,
    outbox,
    queues: null,
    report: () => {},
    threads,
    memo: { forget: async () => 0 },
  })
  return {
    input,
    remembered(ref) {
      const thread = table.find(ref)
      const isJudged = thread?.status === 'threaded' || thread?.status === 'post-only'
      if (!isJudged || thread.post === null) return null
      return { ...thread, post: thread.post, postOnly: thread.status === 'post-only' }
    },
  }
}
