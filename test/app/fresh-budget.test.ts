import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { loadSettings } from '../../config/load.ts'
import { topicsOf } from '../../config/topics.ts'
import { boundedIfFresh, dayFinding, freshBudget } from '../../src/app/composition/fresh-budget.ts'
import { statusPart } from '../../src/app/composition/status.ts'
import { onServers } from '../support/on-servers.ts'
import { clientOf, environmentOn, eventually, protocolsOn, settingsOf, verdictsOf } from '../support/pipeline.ts'
import { sendPosts } from '../support/sent-posts.ts'

const it = onServers({})
/** One call may cost more than a fresh deployment's day. */
const DEAR = { prompt: 10_000, cached: 10_000, completion: 10_000 }

test('a day’s dollars bind a fresh deployment that sets no total budget, and nobody else', () => {
  const usdOf = (environment: Record<string, string>, isFresh = true) =>
    boundedIfFresh(loadSettings(environment), isFresh).budgets.total
  expect(usdOf({})).toEqual({ tokens: null, usd: 25, per: 86_400_000 })
  expect(usdOf({}, false).usd).toBeNull()
  expect(usdOf({ GAVEL_BUDGETS_FRESH: 'null' }).usd).toBeNull()
  expect(usdOf({ GAVEL_BUDGETS_FRESH: '100' }).usd).toBe(100)
  expect(usdOf({ GAVEL_BUDGETS_TOTAL_USD: '500' }).usd).toBe(500)
  expect(usdOf({ GAVEL_BUDGETS_TOTAL_TOKENS: '5' })).toMatchObject({ tokens: 5, usd: null })
})

test('models without a price are named as free, and the doctor says what bounds a day', () => {
  const settings = boundedIfFresh(loadSettings({ GAVEL_MODELS_ROLES: '{"default": ["own-model"]}' }), true)
  expect(freshBudget(settings)).toMatchObject({ usd: 25, free: ['own-model'] })
  const said = (state: string | null, environment: Record<string, string> = {}) =>
    dayFinding(loadSettings(environment), state).detail
  expect(said(null)).toMatch(/at most \$25 .*has been/)
  expect(said('fresh')).toMatch(/at most \$25 .*had been/)
  expect(said('known')).toBe('is bounded by nothing')
  expect(said('fresh', { GAVEL_BUDGETS_TOTAL_USD: '5' })).toMatch(/budgets\.total/)
})

it('a fresh service stops at its day’s dollars; one that has published goes on, as does one that lifts them', {
  timeout: 120_000,
}, async ({ stack, start }) => {
  const on = environmentOn(stack, { ...protocolsOn('hate'), GAVEL_PROTOCOLS_HATE_DEBATE_WHEN: 'never' })
  const models = [...new Set(Object.values(loadSettings(on).models.roles).flat())]
  const environment = {
    ...on,
    GAVEL_MODELS_PRICES: JSON.stringify(Object.fromEntries(models.map((model) => [model, DEAR]))),
  }
  const fresh: Record<string, string> = { ...environment }
  delete fresh.GAVEL_BUDGETS_FRESH
  const judged = async (id: string, env: Record<string, string>) => {
    const service = await start(env, 'intake,judge,publish')
    await sendPosts(env, [
      { key: id, value: JSON.stringify({ id, text: `A calm day, ${id}.`, createdAt: new Date().toISOString() }) },
    ])
    let label: string | null | undefined
    await eventually(async () => {
      const found = (await verdictsOf(env)).find(({ subjectId }) => subjectId === id)
      label = found?.label
      return found !== undefined
    }, 30_000)
    await service.kill('SIGKILL')
    return { label, log: service.log.filter((line) => line.includes('budget:fresh')) }
  }
  // Intake alone reads before anybody judges.
  const intake = await start(fresh, 'intake')
  await sendPosts(fresh, [
    { key: 'z', value: JSON.stringify({ id: 'z', text: 'Early.', createdAt: new Date().toISOString() }) },
  ])
  const { groupProgress } = await import('../../src/stream/offsets.ts')
  const read = async () =>
    (await groupProgress(clientOf(fresh), settingsOf(fresh).kafka.group, [topicsOf(settingsOf(fresh)).posts])).committed
  await eventually(
    async () => [...(await read()).values()].some((all) => [...all.values()].some((at) => BigInt(at) > 0n)),
    30_000,
  )
  await intake.kill('SIGKILL')
  const first = await judged('a', fresh)
  expect(first).toMatchObject({ label: null, log: [expect.stringContaining('"usd":25')] })
  const looking = await statusPart(settingsOf(fresh), async () => clientOf(fresh), {
    replicas: [],
    prometheus: undefined,
  })
  const { budgets } = await looking.readStatus()
  await looking.close()
  expect(budgets, 'gavel top').toMatchObject([{ scope: 'total', unit: 'usd' }])
  expect(await judged('b', environment), 'lifted').toMatchObject({ label: 'non-hate', log: [] })
  expect(await judged('c', fresh), 'fresh for good').toMatchObject({ label: null })
  // As a version before left it: published, and nothing noted.
  const redis = new Redis(fresh.REDIS_URL ?? '')
  await redis.del(`{${fresh.GAVEL_REDIS_PREFIX}}:fresh`)
  await redis.quit()
  expect(await judged('d', fresh), 'an older one').toMatchObject({ label: 'non-hate', log: [] })
})
