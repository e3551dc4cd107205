import { expect } from 'vitest'
import { onServers } from '../support/on-servers.ts'
import { environmentOn, eventually, protocolsOn, recordsOf, type Service, verdictsOf } from '../support/pipeline.ts'
import { sendPosts } from '../support/sent-posts.ts'

let environment: Record<string, string>
let service: Service
const it = onServers({ latencyMs: 700 })
it.beforeAll(async ({ stack, startForFile }) => {
  environment = environmentOn(stack, {
    ...protocolsOn('hate'),
    // Ten of one tenant, of whose cases one is open at a time.
    GAVEL_INTAKE_PAUSE_AT_DUE: '20',
    GAVEL_CASES_MAX_OPEN: '1',
  })
  service = await startForFile(environment)
})

/** Every post has the same key, so that they lie in one partition, in this order. */
function send(tenant: string, ...ids: string[]): Promise<void> {
  const post = { tenant, text: 'They took our bridge.', createdAt: '2024-05-01T12:00:00Z' }
  return sendPosts(
    environment,
    ids.map((id) => ({ key: 'one', value: JSON.stringify({ ...post, id }) })),
  )
}

const said = () => service.log.slice(-8).join('\n')
const logged = (event: string) => service.log.filter((line) => line.includes(`"${event}"`)).length
const happened = (event: string, times: number) => eventually(async () => logged(event) === times, 30_000, said)

it('reads on for others while too many threads of one tenant are due, and pauses where nobody else waits', {
  timeout: 120_000,
}, async () => {
  await send('loud', ...Array.from({ length: 200 }, (_, nth) => `l${nth}`))
  await happened('intake:paused', 1)
  expect(logged('shares:kept')).toBe(0)

  await send('loud', 'l200')
  await send('quiet', 'q')
  const isJudged = async () => (await verdictsOf(environment)).some(({ subjectId }) => subjectId === 'q')
  await eventually(isJudged, 60_000, said)
  expect(logged('shares:kept')).toBe(1)
  await happened('shares:ended', 1)
  await happened('intake:paused', 2)
  expect(await recordsOf(environment, 'deadLetters')).toEqual([])
})
