import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { type RatingsReading, readRatings } from '../../../src/lab/calibration/read-ratings.ts'

const folder = mkdtempSync(join(tmpdir(), 'gavel-read-ratings-'))
afterAll(() => rmSync(folder, { recursive: true }))
let files = 0
const aspect = { name: 'relevance', lowest: 1, highest: 5 }

async function read(lines: readonly object[], only: RatingsReading['only'] = {}) {
  const file = join(folder, `${++files}.jsonl`)
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  const bad: string[] = []
  return { ...(await readRatings(file, aspect, ({ line, why }) => bad.push(`${line} ${why}`), { only })), bad }
}
const line = (id: string, over: object = {}) => ({
  id,
  hateSpeech: `They of ${id} lie.`,
  text: `Reply ${id}.`,
  ratings: { relevance: [1, 4] },
  ...over,
})

describe('ratings', () => {
  it('are the mean of the raters, of items in the order of the file', async () => {
    const { items } = await read([line('a'), line('b', { ratings: { relevance: 3 } })])
    expect(items.map(({ id, ratings, rating }) => ({ id, ratings, rating }))).toEqual([
      { id: 'a', ratings: [1, 4], rating: 2.5 },
      { id: 'b', ratings: [3], rating: 3 },
    ])
  })

  it('have a digest that goes by what was rated and how, and not by the order', async () => {
    const [one, other] = [line('a'), line('b')]
    const { digest } = await read([one, other])
    expect(digest).toMatch(/^\w{16}$/)
    expect((await read([other, one])).digest).toBe(digest)
    expect((await read([one, { ...other, ratings: { relevance: [4, 2] } }])).digest).not.toBe(digest)
  })

  it('of one statement or of one unit belong together, whatever else they are called', async () => {
    const { items } = await read([
      line('a', { hateSpeech: 'They lie.', unit: 'ann' }),
      line('b', { hateSpeech: ' they  LIE.', unit: 'bob' }),
      line('c', { unit: 'bob' }),
      line('d', { unit: 'dan' }),
      line('e'),
      line('f', { hateSpeech: 'They of e lie.' }),
    ])
    const units = items.map(({ unit }) => unit)
    expect(units.map((unit) => units.indexOf(unit))).toEqual([0, 0, 0, 3, 4, 4])
  })

  it('that are missing or outside the scale are left out and counted', async () => {
    const { items, leftOut } = await read([
      line('a', { ratings: { relevance: [1, 0.5, null] } }),
      line('b', { ratings: { relevance: 5.5 } }),
      line('c', { ratings: { relevance: 4 } }),
    ])
    expect(items.map(({ id, ratings }) => [id, ratings])).toEqual([
      ['a', [1]],
      ['c', [4]],
    ])
    expect(leftOut).toBe(3)
  })

  it('of one id in two lines end it', async () => {
    await expect(read([line('a'), line('a', { text: 'Another.' })])).rejects.toThrow(/:2 rates a a second time/)
  })

  it('that cannot be read are told; of another aspect they do not matter', async () => {
    const { items, bad } = await read([
      line('a', { ratings: { relevance: 3, coherence: 'x' } }),
      line('b', { ratings: { relevance: 'x' } }),
      line('c', { text: ' \n' }),
    ])
    expect(items.map(({ id }) => id)).toEqual(['a'])
    expect(bad).toEqual(['2 has no readable rating of relevance', '3 has no readable text'])
  })

  it('are those of one split, and of them so many at random by the seed, whatever the order', async () => {
    const all = Array.from({ length: 40 }, (_, at) => line(`i${at}`, { split: at < 30 ? 'dev' : 'test' }))
    const ids = async (only: RatingsReading['only'], lines = all) =>
      (await read(lines, only)).items.map(({ id }) => id).sort()
    expect(await ids({ split: 'test' })).toEqual(all.slice(30).map(({ id }) => id))
    const ten = await ids({ split: 'dev', size: 10, seed: '1' })
    expect(ten).toHaveLength(10)
    expect(await ids({ split: 'dev', size: 10, seed: '1' }, all.toReversed())).toEqual(ten)
    expect(await ids({ split: 'dev', size: 10, seed: '2' })).not.toEqual(ten)
    await expect(read(all, { size: 41 })).rejects.toThrow('--size 41 is more than the 40 ratings.')
    await expect(read(all, { split: 'val' })).rejects.toThrow(/no rating in the split val; its splits are dev, test\./)
    const folds = [line('a', { split: 1 }), line('b', { split: 2, ratings: { tone: 3 } })]
    expect(await ids({}, folds)).toEqual(['a'])
    expect(await ids({ split: '1' }, folds)).toEqual(['a'])
    await expect(read(folds, { split: '2' })).rejects.toThrow(/no rating of relevance; it rates tone\./)
  })

  it('of very many values have no alpha: a slider’s would take hours', async () => {
    const fine = Array.from({ length: 300 }, (_, at) => line(`i${at}`, { ratings: { relevance: [1 + at / 100, 1] } }))
    expect((await read(fine)).alpha).toBeNull()
    expect((await read(fine.slice(0, 100))).alpha).toEqual(expect.any(Number))
  })
})
