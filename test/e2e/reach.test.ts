import { expect } from 'vitest'
import { topicsOf } from '../../config/topics.ts'
import { onServers } from '../support/on-servers.ts'
import { clientOf, environmentOn, eventually, protocolsOn, settingsOf, tell, verdictsOf } from '../support/pipeline.ts'

const OPEN = 8
const AT_WORK = 4
const BACKLOG = 100
const CREATED = Date.parse('2024-05-01T12:00:00Z')

const SPREADING = 12
const OTHERS = 5

const it = onServers({ latencyMs: 10 })

it('judges what reaches most before the rest of its tenant that came earlier, and no other tenant later', {
  timeout: 120_000,
}, async ({ stack, start }) => {
  const environment = environmentOn(stack, {
    ...protocolsOn('hate'),
    GAVEL_CASES_MAX_OPEN: String(OPEN),
    GAVEL_STAGES_DEFAULT_CONCURRENCY: String(AT_WORK),
    // By its earlier name: the first that open are opened under load.
    GAVEL_CASES_OVERLOADED_AT_DUE: '50',
  })
  const topics = topicsOf(settingsOf(environment))
  // Nothing is judged before all has been read.
  const { httpPort, log } = await start(environment, 'intake,publish')
  const settled = async () => {
    const page = await (await fetch(`http://127.0.0.1:${httpPort}/metrics`)).text()
    return page
      .split('\n')
      .filter((line) => /^gavel_messages_total\{/.test(line))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0)
  }
  const producer = clientOf(environment).producer()
  await producer.connect()
  const write = (topic: string, values: readonly { id?: string; postId?: string; [field: string]: unknown }[]) =>
    producer.send({
      topic,
      messages: values.map((value) => ({ key: value.id ?? value.postId ?? '', value: JSON.stringify(value) })),
    })
  const postOf = (tenant: string, nth: number, more: object = {}) => ({
    id: `${tenant}-${nth}`,
    tenant,
    author: `author ${nth}`,
    text: `Number ${nth} of ${tenant} has something to say about the new neighbours.`,
    createdAt: new Date(CREATED + nth).toISOString(),
    ...more,
  })
  const postsOf = (tenant: string, from: number, count: number, more: object = {}) =>
    Array.from({ length: count }, (_, nth) => postOf(tenant, from + nth, more))
  const [wide, others] = [postsOf('loud', BACKLOG, SPREADING, { reach: 100_000 }), postsOf('quiet', 0, OTHERS)]
  const raised = `loud-${BACKLOG - 1}`
  try {
    await write(topics.posts, postsOf('loud', 0, BACKLOG))
    await eventually(async () => (await settled()) === BACKLOG, 60_000)
    const at = new Date().toISOString()
    await write(topics.reach, [{ postId: raised, tenant: 'loud', reach: 5_000, at }])
    // More than a tenant may have open, so that these are a backlog of their own.
    await write(topics.posts, [...wide, ...others])
    await eventually(async () => (await settled()) === BACKLOG + 1 + SPREADING + OTHERS, 60_000)
    await start(environment, 'judge')
    await eventually(async () => (await verdictsOf(environment)).length === BACKLOG + SPREADING + OTHERS, 90_000)
  } finally {
    await producer.disconnect()
  }

  const order = (await verdictsOf(environment)).toSorted((a, b) => a.timing.decidedAt.localeCompare(b.timing.decidedAt))
  const placeOf = (id: string) => order.findIndex(({ subjectId }) => subjectId === id)
  const lastOf = (posts: readonly { id: string }[]) => Math.max(...posts.map(({ id }) => placeOf(id)))
  const places = { wide: lastOf(wide), raised: placeOf(raised), others: lastOf(others) }
  const ordinary = new Set(postsOf('loud', 0, BACKLOG - 1).map(({ id }) => id))
  /** How many of the backlog came before this place. */
  const before = (place: number) => order.slice(0, place).filter(({ subjectId }) => ordinary.has(subjectId)).length
  tell(
    `of ${BACKLOG - 1} that came first, ${before(places.wide)} were judged before the last of those that reach many, ${before(places.raised)} before the raised one, ${before(places.others)} before the other tenant’s last`,
  )
  expect(log.filter((line) => line.includes('settings:replaced'))).toEqual([
    expect.stringContaining('cases.overload.single.atDue'),
  ])
  const steps = order.map(({ debated }) => debated?.step)
  expect([...new Set(steps)].sort()).toEqual([2, undefined])
  expect(steps.at(-1)).toBeUndefined()
  expect(order.map(({ revision }) => revision)).toEqual(order.map(() => 1))
  // What was open before they came, and what is judged side by side.
  const open = OPEN + 1 + 2 * AT_WORK
  expect(before(places.wide)).toBeLessThanOrEqual(open)
  expect(before(places.raised)).toBeLessThanOrEqual(open)
  // By turns: one of theirs, one of the others.
  expect(places.others).toBeLessThan(open + 2 * OTHERS)
})
