import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadSettings, PROJECT } from '../../../config/load.ts'
import { COSTS, judgeRate, type Load, MEASURED, sizesFor } from '../../../src/kit/capacity/model.ts'
import { performWords } from '../../support/commands.ts'
import { DOCUMENTED } from '../../support/documented-protocols.ts'

const load: Load = {
  postsPerSecond: 1,
  commentsPerPost: 0,
  repliesPerSecond: 0,
  latency: 1,
  protocols: [{ name: 'hate', subject: 'post', ofComments: 0 }],
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
  for (const [name, { calls, depth, tokens, usdPerThousand }] of Object.entries(COSTS)) {
    const row = page.split('\n').find((line) => line.startsWith(`| \`${name}\` | default |`)) ?? ''
    const [, , , onPage, inSequence, prompt, answers, dollars] = row.split('|').map((cell) => Number(cell.trim()))
    expect([calls, depth, tokens, usdPerThousand], `${name} in COSTS of src/kit/capacity/model.ts`).toEqual([
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
  const rumor = { ...load, protocols: [{ name: 'rumor', subject: 'thread' as const, ofComments: 0 }] }
  const [quiet, busy] = [sizesFor(rumor), sizesFor({ ...rumor, commentsPerPost: 30 })]
  expect([quiet.verdictsPerSecond, busy.verdictsPerSecond]).toEqual([4, 6])
  expect(busy.callsPerSecond).toBeCloseTo(3.9 + 5 * MEASURED.laterRevisionCalls)
})

test('comments that are judged by themselves are told apart, with what they make of the bill', async () => {
  const hate = (ofComments: number) => ({
    ...load,
    commentsPerPost: 20,
    protocols: [{ name: 'hate', subject: 'post' as const, ofComments }],
  })
  expect([0, 0.1, 1].map((share) => sizesFor(hate(share)).verdictsPerSecond)).toEqual([1, 3, 21])
  const told = async (routes: string) => {
    const words = 'capacity --posts-per-second 5 --comments-per-post 20 --latency 2s'.split(' ')
    const { out } = await performWords(words, loadSettings({ GAVEL_ROUTES: routes }))
    return out.filter((line) => line.startsWith('comments by themselves'))
  }
  expect(await told('{}')).toEqual([])
  expect(await told('hate: [{subjects: [post, comment]}]')).toEqual([
    'comments by themselves: 100.0 of these verdicts a second, by hate; they make the day 1.4 times as dear',
  ])
})

test('intake has at most as many replicas as there are partitions, and says if it would need more', () => {
  const flood = sizesFor({ ...load, postsPerSecond: 2_000, commentsPerPost: 99, protocols: [] })
  expect(flood).toMatchObject({ replicas: { intake: 4 }, partitionsWanted: 10 })
  expect(sizesFor(load).partitionsWanted).toBeNull()
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
