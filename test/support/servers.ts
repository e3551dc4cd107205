import { inject } from 'vitest'
import { type LocalKafka, startKafka } from '../../src/kit/stack/servers/kafka.ts'
import { type Stack, startStack } from '../../src/kit/stack/stack.ts'
import type { UnderstudyOptions } from '../../src/kit/understudy/server.ts'
import { clientOf, ENVIRONMENT_NAMES, tell } from './pipeline.ts'
import type { SharedKafka } from './shared-kafka.ts'

/** Servers for the tests of a file. */
export interface Servers extends Pick<Stack, 'settings' | 'understudy' | 'close'> {
  readonly kafka: Pick<LocalKafka, 'kind' | 'pid'> | undefined
}

/** The Apache Kafka that all files of `npm test` share, which nobody may stop (or what stands in for it, said); in a proof, one of its own. */
export async function startedKafka(): Promise<Pick<LocalKafka, 'kind' | 'pid' | 'settings' | 'close'>> {
  const shared = inject('sharedKafka')
  if (shared === undefined) return startKafka({ prefer: 'apache', say: tell })
  const kafka = (await (await fetch(shared)).json()) as SharedKafka
  return { ...kafka, close: async () => void (kafka.kind === 'apache' && (await removeTopics(kafka.settings))) }
}

/** Removes what this file's services made: whoever connects later is told of each topic that there is, of all files'. */
async function removeTopics(settings: Readonly<Record<string, string>>): Promise<void> {
  const names = ENVIRONMENT_NAMES.splice(0)
  const admin = clientOf(settings).admin({ retry: { retries: 3 } })
  await admin.connect()
  try {
    const topics = (await admin.listTopics()).filter((topic) => names.some((name) => topic.includes(name)))
    if (topics.length > 0) await admin.deleteTopics({ topics })
  } finally {
    await admin.disconnect()
  }
}

/** Such a Kafka, and real Redis and an understudy for this file alone. */
export async function startServers(understudy: UnderstudyOptions): Promise<Servers> {
  const kafka = await startedKafka()
  const stack = await startStack(kafka.settings, { kafka: 'apache', say: tell, understudy })
  const close = async () => {
    await stack.close()
    await kafka.close()
  }
  return { understudy: stack.understudy, kafka, settings: { ...stack.settings, ...kafka.settings }, close }
}
