import type { Redis } from 'ioredis'
import { expect } from 'vitest'
import { deadLetter } from '../../src/contracts/facts/messages.ts'
import type { Verdict } from '../../src/contracts/facts/verdict.ts'
import { connect } from '../../src/store/redis/connect.ts'
import { commandHere } from '../support/commands.ts'
import { onServers } from '../support/on-servers.ts'
import {
  environmentOn,
  eventually,
  protocolsOn,
  recordsOf,
  type Service,
  settingsOf,
  verdictsOf,
} from '../support/pipeline.ts'
import { sendPosts } from '../support/sent-posts.ts'

const MOST_BYTES = 100_000_000
/** What fills Redis: none of it is any tenant's. */
const FILLER = 'filler'

let environment: Record<string, string>
let service: Service
let redis: Redis
const it = onServers({ latencyMs: 10 })
it.beforeAll(async ({ stack, startForFile }) => {
  environment = environmentOn(stack, {
    ...protocolsOn('hate'),
    GAVEL_INTAKE_PAUSE_AT_MEMORY: '0.5',
    // 2,880 bytes: two of these posts, and not three. Of so small a Redis intake leaves 64 MB free, and pauses for everybody at 68.
    GAVEL_SHARES_TENANT: '0.00008',
  })
  redis = connect(settingsOf(environment).redis.url, () => {}, 'retrying')
  await redis.config('SET', 'maxmemory', MOST_BYTES)
  service = await startForFile(environment)
})
it.afterAll(() => redis.disconnect())

const createdAt = '2024-05-01T12:00:00Z'
const post = (tenant: string, id: string, change = {}) => ({
  tenant,
  id,
  text: 'They took our bridge.',
  createdAt,
  ...change,
})

/** Every message has the same key, so that they lie in one partition of their topic, in this order. */
const keyed = (messages: readonly object[]) => messages.map((value) => ({ key: 'one', value: JSON.stringify(value) }))
const send = (...posts: readonly object[]) => sendPosts(environment, keyed(posts))
const sayTo = (...comments: readonly object[]) => sendPosts(environment, keyed(comments), 'comments')

const said = () => service.log.slice(-8).join('\n')
const verdictOn = (id: string) => async () => (await verdictsOf(environment)).find(({ subjectId }) => subjectId === id)
const judged = (id: string) => eventually(async () => (await verdictOn(id)()) !== undefined, 30_000, said)
const letters = async () =>
  (await recordsOf(environment, 'deadLetters')).map((record) => deadLetter.parse(JSON.parse(record)))
const logged = (event: string) => service.log.filter((line) => line.includes(`"${event}"`)).length

async function replay(): Promise<{ readonly place?: string; readonly state?: string }[]> {
  const { code, out, said } = await commandHere(
    ['dead-letters', 'replay', '--reason', 'over-share', '--json'],
    environment,
  )
  expect(code, said).toBe(0)
  return out
    .split('\n')
    .slice(0, -2)
    .map((line) => JSON.parse(line))
}

/** A verdict without what no two have in common. */
function ruling({ protocol, label, confidence, rationale, scores }: Verdict) {
  return { protocol, label, confidence, rationale, scores }
}

it('reads on for others while a tenant holds more than its share, whose letters replay to the same verdicts', {
  timeout: 240_000,
}, async () => {
  const first = Array.from({ length: 4 }, (_, nth) => post('big', `b${nth}`, { text: `They took our bridge, ${nth}.` }))
  await send(...first, post('small', 's0'))
  for (const id of ['b0', 'b3', 's0']) await judged(id)

  await redis.setrange(FILLER, 45_000_000, 'x')
  await eventually(async () => logged('intake:paused') === 1, 20_000, said)
  // With one tenant there is no share: what it sends more waits, as ever.
  await send(post('big', 'b4'))
  await new Promise((resolve) => setTimeout(resolve, 3_000))
  expect([await letters(), logged('shares:kept')]).toEqual([[], 0])

  const gone = { deleted: true, text: undefined }
  const comment = (tenant: string, id: string, change = {}) => post(tenant, id, { postId: 'b4', ...change })
  await sayTo(
    comment('big', 'c1'),
    comment('big', 'c2'),
    comment('big', 'c1', gone),
    comment('small', 'c3', { postId: 's0' }),
  )
  await send(post('small', 's1'), post('big', 'b1', gone))
  await judged('s1')
  await eventually(async () => (await letters()).length === 3, 20_000, said)
  expect(await letters()).toMatchObject(Array(3).fill({ reason: 'over-share', key: 'one' }))
  expect(logged('shares:kept')).toBe(1)
  // Deletions are never refused.
  await eventually(
    async () => (await verdictsOf(environment)).some(({ subjectId, revision }) => subjectId === 'b1' && revision > 1),
    20_000,
    said,
  )

  await redis.del(FILLER)
  await eventually(async () => logged('shares:ended') === 1, 20_000, said)
  // What was deleted meanwhile does not come back.
  expect((await replay()).map(({ place = '', state }) => `${/comments|posts/.exec(place)} ${state}`).sort()).toEqual([
    'comments deleted',
    'comments sent',
    'posts sent',
  ])
  await judged('b4')
  const [again, other] = [await verdictOn('b4')(), await verdictOn('s1')()]
  if (again === undefined || other === undefined) throw new Error('there is no verdict')
  expect(ruling(again)).toEqual(ruling(other))
  expect(again.tenant).toBe('big')
})
