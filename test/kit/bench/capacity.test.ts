import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadSettings, PROJECT } from '../../../config/load.ts'
import { COSTS, judgeRate, type Load, MEASURED, OF_A_CORE, sizesFor, WAYS } from '../../../src/kit/capacity/model.ts'
import { performWords } from '../../support/commands.ts'
import { DOCUMENTED } from '../../support/documented-protocols.ts'

const load: Load = {
  postsPerSecond: 1,
  commentsPerPost: 0,
  repliesPerSecond: 0,
  latency: 1,
  protocols: [{ name: 'hate', subject: 'post', ofComments: 0, share: 1, way: 'default' }],
  repeats: 0,
  checkpoints: { counts: [10, 30], ages: 3 },
  slots: 64,
  partitions: 4,
  memoKeep: 86_400,
  retention: 604_800,
  replication: 3,
}

test('numbers of protocols are those of the page of costs, and every protocol of docs/protocols.md has some', () => {
  expect(Object.keys(COSTS).sort()).toEqual(DOCUMENTED.map(({ name }) => name).sort())
  const page = readFileSync(join(PROJECT, 'docs', 'cost.md'), 'utf8')
  const ways = Object.entries(COSTS).flatMap(([name, own]) =>
    WAYS.flatMap((way) => (own[way] === undefined ? [] : [{ name, way, ...own[way] }])),
  )
  expect(ways).toHaveLength(15)
  for (const { name, way, calls, depth, tokens, usdPerThousand } of ways) {
    const row = page.split('\n').find((line) => line.startsWith(`| \`${name}\` | ${way} |`)) ?? ''
    const [, , , onPage, inSequence, prompt, answers, dollars] = row.split('|').map((cell) => Number(cell.trim()))
    expect([calls, depth, tokens, usdPerThousand], `${name} ${way} in COSTS of src/kit/capacity/model.ts`).toEqual([
      onPage,
      inSequence,
      (prompt ?? 0) + (answers ?? 0),
      dollars,
    ])
  }
})

test('judges are as many as calls times latency need slots, or verdicts need processors', () => {
  // 630 posts of one call of a second are 630 slots at work.
  expect(sizesFor({ ...load, postsPerSecond: 630 })).toMatchObject({ replicas: { judge: 11 }, judgeBound: 'slots' })
  const fast = { ...load, postsPerSecond: 1000, latency: 0.001 }
  expect(sizesFor(fast)).toMatchObject({
    replicas: { judge: Math.ceil(MEASURED.nodeMsPerVerdict / 0.8) },
    judgeBound: 'processor',
  })
  expect(sizesFor(load)).toMatchObject({
    replicas: { intake: 2, judge: 2, publish: 2 },
    judgeBound: 'two, so that one can fail',
  })
  expect(judgeRate({ calls: 8, latency: 4, slots: 64 })).toMatchObject({ bound: 'slots' })
})

test('a thread is judged again at each count that it reaches and at each age, for fewer calls', () => {
  const rumor: Load = {
    ...load,
    protocols: [{ name: 'rumor', subject: 'thread', ofComments: 0, share: 1, way: 'default' }],
  }
  const [quiet, busy] = [sizesFor(rumor), sizesFor({ ...rumor, commentsPerPost: 30 })]
  expect([quiet.verdictsPerSecond, busy.verdictsPerSecond]).toEqual([4, 6])
  expect(busy.callsPerSecond).toBeCloseTo(3.7 + 5 * MEASURED.laterRevisionCalls)
})

test('comments that are judged by themselves are told apart, with what they make of the bill', async () => {
  const hate = (ofComments: number): Load => ({
    ...load,
    commentsPerPost: 20,
    protocols: [{ name: 'hate', subject: 'post', ofComments, share: 1, way: 'default' }],
  })
  expect([0, 0.1, 1].map((share) => sizesFor(hate(share)).verdictsPerSecond)).toEqual([1, 3, 21])
  const told = async (routes: string) => {
    const words = 'capacity --posts-per-second 5 --comments-per-post 20 --latency 2s'.split(' ')
    const { out } = await performWords(words, loadSettings({ GAVEL_ROUTES: routes }))
    return out.filter((line) => line.startsWith('comments by themselves'))
  }
  expect(await told('{}')).toEqual([])
  expect(await told('hate: [{subjects: [post, comment]}]')).toEqual([
    'comments by themselves: 100.0 of these verdicts a second, by hate; they make the day 1.5 times as dear',
  ])
})

test('intake has at most as many replicas as there are partitions, and says if it would need more', () => {
  const flood = sizesFor({ ...load, postsPerSecond: 2_000, commentsPerPost: 99, protocols: [] })
  expect(flood).toMatchObject({ replicas: { intake: 4 }, partitionsWanted: 10 })
  expect(sizesFor(load).partitionsWanted).toBeNull()
})

const capacity = async (words: string, settings: Record<string, string> = {}) =>
  performWords(`capacity --json --latency 2s ${words}`.split(' '), loadSettings(settings)).then(
    ({ out }) =>
      JSON.parse(out.join('')) as ReturnType<typeof sizesFor> & { affordable?: { share: number; routes: object } },
  )

test('routes, samples, presets, held debates and what the memo knows change the plan', async () => {
  const plain = await capacity('--posts-per-second 1')
  const sampled = await capacity('--posts-per-second 1', {
    GAVEL_ROUTES: 'safety: [{ sample: 0.1 }]\nhate: [{ media: with, sample: 0.5 }]',
  })
  expect(plain.usdPerDay - sampled.usdPerDay).toBeCloseTo(86.4 * (0.9 * 3.15 + 0.5 * 0.14), 3)
  const some = await capacity('--posts-per-second 1 --share safety=0.25')
  expect(plain.usdPerDay - some.usdPerDay).toBeCloseTo(86.4 * 0.75 * 3.15, 3)
  const few = await capacity('--posts-per-second 1 --comments-per-post 2', {
    GAVEL_ROUTES: 'rumor: [{ minComments: 3 }]',
  })
  expect(plain.verdictsPerSecond - few.verdictsPerSecond).toBeCloseTo(4)
  const thrifty = await capacity('--posts-per-second 1', { GAVEL_PROTOCOLS_SAFETY_PRESET: 'thrifty' })
  expect(plain.usdPerDay - thrifty.usdPerDay).toBeCloseTo(86.4 * (3.15 - 0.5), 3)
  const debated = await capacity('--posts-per-second 1', { GAVEL_PROTOCOLS_HATE_DEBATE_WHEN: 'always' })
  expect(debated.callsPerSecond - plain.callsPerSecond).toBeCloseTo(5.1, 3)
  const known = await capacity('--posts-per-second 1 --repeats 0.5')
  expect(plain.callsPerSecond - known.callsPerSecond).toBeCloseTo(0.5 * (1 + 1), 3)
  expect(
    (await capacity('--posts-per-second 1 --repeats 0.5', { GAVEL_MEMO_ENABLED: 'false' })).callsPerSecond,
  ).toBeCloseTo(plain.callsPerSecond)
})

test('what Redis takes is what was measured, of a core of which a fifth stays free', () => {
  const most = OF_A_CORE / (MEASURED.redisMsPerVerdict / 1000)
  const at = (postsPerSecond: number) => sizesFor({ ...load, postsPerSecond })
  expect(at(100).redis.cores).toBeCloseTo((100 * MEASURED.redisMsPerVerdict) / 1000)
  expect([at(most * 0.99).gavels, at(most * 1.01).gavels]).toEqual([1, 2])
  const [, row] = readFileSync(join(PROJECT, 'docs', 'scale.md'), 'utf8').match(/one Redis \| (\d+) verdicts/) ?? []
  expect(Number(row)).toBe(Math.floor(most))
})

test('what one Redis cannot carry is refused, with how many Gavels it takes; one of these is no longer refused', async () => {
  await expect(capacity('--posts-per-second 400')).rejects.toThrow(/One Redis can't carry this.* among (\d+) Gavels/)
  const refusal = await capacity('--posts-per-second 400').catch(String)
  const gavels = Number(/among (\d+) Gavels/.exec(String(refusal))?.[1])
  const one = await capacity(`--posts-per-second 400 --gavels ${gavels}`)
  expect(one).toMatchObject({ gavels: 1 })
  expect(one.redis.cores).toBeGreaterThan(0.5)
})

test('a budget is turned into the share that it pays for, and routes by which the same plan comes out', async () => {
  const stream = '--posts-per-second 20 --comments-per-post 20'
  const whole = await capacity(stream)
  const { affordable, ...part } = await capacity(`${stream} --usd 2000`)
  expect(affordable?.share).toBeCloseTo(2_000 / whole.usdPerDay, 2)
  expect(part.usdPerDay).toBeLessThanOrEqual(2_000)
  expect(part.usdPerDay).toBeGreaterThan(1_950)
  const again = await capacity(stream, { GAVEL_ROUTES: JSON.stringify(affordable?.routes) })
  expect(again.usdPerDay).toBeCloseTo(part.usdPerDay, 0)
  const slow = await capacity(`${stream} --usd 2000 --within 3s`)
  expect(slow.affordable).toMatchObject({ tooSlow: ['rumor'], routes: { rumor: [{ sample: 0 }] } })
  expect((await capacity(`${stream} --usd 1000000`)).affordable?.share).toBe(1)
})

test('a day that the total budget does not pay for is refused, and one beyond a tenant’s own is told', async () => {
  const stream = '--posts-per-second 1'
  const { usdPerDay } = await capacity(stream)
  const hourly = (usd: number) => ({ GAVEL_BUDGETS_TOTAL_USD: String(usd), GAVEL_BUDGETS_TOTAL_PER: '1h' })
  await expect(capacity(stream, hourly(usdPerDay / 25))).rejects.toThrow(/^budgets.total.usd allows .* waits/)
  expect((await capacity(stream, hourly(usdPerDay / 23))).usdPerDay).toBe(usdPerDay)
  const tokens = { GAVEL_BUDGETS_TOTAL_TOKENS: '9', GAVEL_BUDGETS_WHEN_SPENT: 'degrade' }
  await expect(capacity(stream, tokens)).rejects.toThrow(/^budgets.total.tokens allows 9.0 tokens .* without a model/)
  await expect(capacity('--posts-per-second 400', hourly(1))).rejects.toThrow(/One Redis.*\nbudgets.total.usd/)
  const words = `capacity --latency 2s ${stream}`.split(' ')
  const { out } = await performWords(words, loadSettings({ GAVEL_BUDGETS_TENANT_USD: String(usdPerDay / 24 / 2.5) }))
  expect(out.find((line) => line.startsWith('A tenant may spend'))).toContain('fewer than 3 tenants')
})

test('the load grows in proportion to the stream', () => {
  const [one, ten] = [sizesFor({ ...load, postsPerSecond: 10 }), sizesFor({ ...load, postsPerSecond: 100 })]
  for (const of of [
    (sizes: typeof one) => sizes.callsPerSecond,
    (sizes: typeof one) => sizes.usdPerDay,
    (sizes: typeof one) => sizes.kafkaGiB,
    (sizes: typeof one) => sizes.redis.memoGiB,
    (sizes: typeof one) => sizes.redis.cores,
  ])
    expect(of(ten)).toBeCloseTo(10 * of(one), 6)
})

test('the page says what the model says of the points that were measured, and how far off it is', () => {
  const page = readFileSync(join(PROJECT, 'docs', 'capacity.md'), 'utf8')
  const rows = [...page.matchAll(/^\| (?:slots|processor), .*? \| ([\d.]+) .*? \| ([\d.]+) .*? \| ([+-]\d+) % \|$/gm)]
  const said = rows.map(([, says, measured, off]) => [says, measured, off].map(Number))
  const slots = { slots: 64 }
  const model = [
    20_000 / 10 / judgeRate({ calls: 10, latency: 0.5, ...slots }).perSecond,
    judgeRate({ calls: 5.7, latency: 4, ...slots }).perSecond,
    judgeRate({ calls: 5.7, latency: 0, ...slots }).perSecond,
  ]
  expect(said).toHaveLength(model.length)
  for (const [nth, [says = 0, measured = 0, off]] of said.entries()) {
    expect(Math.abs(says / (model[nth] ?? 0) - 1)).toBeLessThan(0.01)
    expect(Math.round((100 * (model[nth] ?? 0)) / measured - 100)).toBe(off)
  }
})
