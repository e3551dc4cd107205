import { loadSettings } from '../../config/load.ts'
import { topicsOf } from '../../config/topics.ts'
import { intake } from '../../consumers/intake.ts'
import { publisher } from '../../producers/publisher/publisher.ts'
import { gatewayOf, memoryGatewayStores } from '../../src/app/composition/gateway.ts'
import { inputOf, openerOf } from '../../src/app/composition/intake.ts'
import { judgeOf } from '../../src/app/composition/judging.ts'
import { samplingRanks } from '../../src/contracts/facts/sampling-rank.ts'
import { router } from '../../src/judging/engine/routes.ts'
import { stagesOf } from '../../src/judging/engine/script.ts'
import { memoryQueues } from '../../src/store/case/memory-stage-queues.ts'
import { memoryStores } from '../../src/store/memory-stores.ts'
import { memoryTopics } from '../../src/store/memory-topics.ts'
import { startModelServer } from '../support/model-server.ts'
import { noLibrary, protocolNamed } from '../support/parts.ts'
import { whatRuns } from './ask.ts'
import { oneWord } from './one-ask.ts'

/** Adapters stand at both ends: the memory twins run in place of Kafka, Redis and BullMQ, and are not counted. */
const COUNTED = /^(?!src\/(?:store|stream|record|shelves)\/)(?:src|consumers|producers)\//

/** Counts one post from the topic to its verdict: one question of one protocol, over the memory twins. */
export async function countPost() {
  const { ran } = await whatRuns(judgeOnePost, COUNTED)
  return ran
}

/** Judges one post over the memory twins, and resolves to its verdict's label. `begin` is called before it arrives. */
export async function judgeOnePost(begin: () => Promise<void>): Promise<string | null> {
  const server = await startModelServer(() => ({ word: 'yes' }))
  const settings = loadSettings({ OPENAI_BASE_URL: server.settings.OPENAI_BASE_URL, OPENAI_API_KEY: 'none' })
  const [clock, report] = [Date.now, () => {}]
  const { threads, cases, outbox, marks, answers } = memoryStores(clock)
  const protocols = [protocolNamed('talk', { subject: 'post', script: oneWord })]
  const samplingRank = samplingRanks('secret')
  const routes = router(protocols, {}, samplingRank)
  const stores = memoryGatewayStores(settings, clock)
  const models = { ...settings.models, roles: { ...settings.models.roles, speaker: ['m'] } }
  const gateway = gatewayOf({ ...settings, models }, { stores, secret: 'secret', clock, report })
  const topics = topicsOf(settings)
  const { reader, send } = memoryTopics(clock)
  const queues = memoryQueues({ stages: stagesOf(protocols), attempts: 1, backoffMs: 1, clock, report })
  queues.work(judgeOf(settings, { protocols, cases, gateway, library: noLibrary, clock, report }))
  const opener = openerOf(settings, { routes, threads, marks, cases, queues, clock, report, partitions: null })
  const subjects = { threads, cases, outbox, queues, protocols, routes, memo: stores.memo, samplingRank, clock, report }
  const taking = intake({ reader, ...inputOf(settings, topics, subjects), marks })
  await taking.start()
  const verdict = Promise.withResolvers<string | null>()
  const writer = {
    async send(records: readonly { readonly topic: string; readonly value: string | Buffer }[]) {
      for (const { topic, value } of records)
        if (topic === topics.verdicts) verdict.resolve(JSON.parse(String(value)).label)
    },
    close: async () => {},
  }
  const publishing = publisher({ outbox, writer, answers, topics, name: 'one', clock, report })
  publishing.start()
  try {
    await begin()
    const value = JSON.stringify({
      schema: 1,
      id: 'p',
      text: 'The bridge is closed.',
      createdAt: new Date(clock()).toISOString(),
    })
    await send(topics.posts, [{ key: 'p', value: Buffer.from(value) }])
    await opener.openDue()
    return await verdict.promise
  } finally {
    await taking.close()
    await queues.close(100)
    await publishing.close()
    await server.close()
  }
}
