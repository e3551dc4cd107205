import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Redis } from 'ioredis'
import { libraryOf } from '../../src/shelves/lancedb/library.ts'
import { startEchoingModel } from '../support/echoing-model.ts'
import { environmentOn, protocolsOn, type Service, send, settingsOf, startService } from '../support/pipeline.ts'
import type { Servers } from '../support/servers.ts'
import { everythingIn } from '../support/stored.ts'

export const wordsOf = (nth: number) => `ZEBRA-${nth}-WORDS`
export const WORDS = /ZEBRA-\d+-WORDS/g
const createdAt = '2026-01-01T00:00:00Z'

export type Role = 'intake' | 'judge' | 'publish'

/** A Gavel of split roles: only those who judge have the library, with a precedent learnt from each of p0, p1, … */
export async function splitRoles(
  servers: { stack: Servers; redis: Redis; folder: string },
  name: string,
  precedents: number,
  asked: (body: string) => Promise<unknown> = async () => {},
) {
  const { stack, redis, folder } = servers
  const running: Service[] = []
  const echo = await startEchoingModel(stack.settings.OPENAI_BASE_URL ?? '', WORDS, asked)
  const library = join(folder, name)
  const environment = environmentOn(stack, {
    ...protocolsOn('safety'),
    GAVEL_LIBRARY_PATH: library,
    GAVEL_CASES_KEEP_JOURNAL: '1h',
    GAVEL_CLOCK_IDLE_AFTER: '200ms',
    OPENAI_BASE_URL: echo.url,
  })
  const shelves = libraryOf(settingsOf(environment), Date.now)
  const learnt = Array.from({ length: precedents }, (_, nth) => ({
    text: `A zebra stood in the fountain, and people threw things at it: ${wordsOf(nth)}`,
    label: 'unsafe',
    metadata: { keyCues: `threats, ${wordsOf(nth)}` },
    subject: { tenant: 'default', id: `p${nth}`, kind: 'post' as const },
  }))
  await shelves.add('precedents', learnt, 'ana', new AbortController().signal)
  await shelves.close()
  const stored = async () =>
    (await everythingIn(redis)).filter((one) => one.startsWith(`{${environment.GAVEL_REDIS_PREFIX}}`))
  let files = 0
  return {
    library,
    environment,
    echo,
    async start(role: Role): Promise<Service> {
      const elsewhere = { ...environment, GAVEL_LIBRARY_PATH: join(folder, `${name}-${role}-has-none`) }
      const service = await startService(role === 'judge' ? environment : elsewhere, role)
      running.push(service)
      return service
    },
    async sendAll(...lines: object[]) {
      const file = join(folder, `${name}-${files++}.jsonl`)
      writeFileSync(file, lines.map((line) => `${JSON.stringify({ createdAt, ...line })}\n`).join(''))
      await send(environment, file, 'gavel', { kind: 'flat-out' })
    },
    /** What all its processes have said. */
    logs: () => running.flatMap(({ log }) => log),
    /** All that it has in Redis, which others have used before it. */
    stored,
    async close() {
      await Promise.all(running.map((service) => service.kill('SIGKILL')))
      await echo.close()
    },
    isDeleted: async (nth: number) => (await stored()).some((one) => one.includes(`:thread:default:p${nth} `)),
  }
}

export const caseText = (nth: number) => `The ${nth}th zebra stood in the fountain, and people threw things at it.`
