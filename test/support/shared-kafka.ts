import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestProject } from 'vitest/node'
import { type LocalKafka, startKafka } from '../../src/kit/stack/servers/kafka.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Where a file asks for the Kafka that all share. */
    readonly sharedKafka: string | undefined
  }
}

/** What a file needs to know of it: it is nobody's to stop. */
export type SharedKafka = Pick<LocalKafka, 'kind' | 'pid' | 'settings'>

/** One Apache Kafka for all files whose tests neither stop it nor count what others have on it. It starts when the first asks. */
export default async function shareKafka(project: TestProject): Promise<() => Promise<void>> {
  let starting: Promise<LocalKafka> | undefined
  const server = createServer(async (_, response) => {
    starting ??= startKafka({ prefer: 'apache', say: (line) => process.stderr.write(`${line}\n`) })
    try {
      const { kind, pid, settings } = await starting
      response.end(JSON.stringify({ kind, pid, settings } satisfies SharedKafka))
    } catch (error) {
      response.destroy(error as Error)
    }
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  project.provide('sharedKafka', `http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  return async () => {
    server.close()
    await (await starting)?.close()
  }
}
