import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import { decoding } from '../../src/models/images/decoder.ts'
import { openHashList } from '../../src/models/vetoes/hash-list.ts'
import { ownFolder } from '../support/own-folder.ts'
import { tell } from '../support/pipeline.ts'

/** A clone of https://github.com/facebook/ThreatExchange, whose pictures are not ours to copy. */
const REFERENCE = process.env.THREATEXCHANGE ?? ''
const DATA = join(REFERENCE, 'pdq', 'data')

const hasherOf = () => {
  const decode = decoding(['pdq-process', 'pdq'])
  return async (path: string) => {
    const bytes = readFileSync(join(DATA, path))
    return (await decode(bytes, { name: '', part: '' }, new AbortController().signal)).toString().slice(0, 64)
  }
}
const withReference = test.skipIf(REFERENCE === '' || !existsSync(DATA))

withReference('the published pictures have the published hashes', async () => {
  const hashOf = hasherOf()
  const [bridge, rotated, pen] = await Promise.all(
    ['dih/bridge-1-original.jpg', 'dih/bridge-2-rotate-90.jpg', 'pen-and-coaster.png'].map((name) =>
      hashOf(`reg-test-input/${name}`),
    ),
  )
  // From pdq/java/src/test/java/hasher/pdqhashing/PDQHasherTest.java.
  expect(bridge).toBe('f8f8f0cee0f4a84f06370a22038f63f0b36e2ed596621e1d33e6b39c4e9c9b22')
  expect(rotated).toBe('30a10efd71cc3d429013d48d0ffffc52e34e0e17ada952a9d29685211ea9e5af')
  expect([apart(bridge, rotated), apart(bridge, pen)]).toEqual([120, 138])
})

/** How far its own hashers may be apart for the reference's tests, in bits: decoders of JPEG differ. */
const REFERENCE_APART = 16
/** Where the reference publishes hashes of pictures in pdq/data, and how a line names both. */
const VECTORS = [
  ['pdq/python/pdqhashing/tests/pdq_test.py', /SAMPLE_MEDIA \+ "([^"]+)",\s+"([0-9a-f]{64})"/g],
  ['pdq/wasm/test/TestData/PDQMD5TestData.csv', /\/data\/([^,]+),([0-9a-f]{64})/g],
] as const

withReference('every published hash is as near as the reference’s own hashers are to each other', async () => {
  const hashOf = hasherOf()
  const published = VECTORS.flatMap(([file, pattern]) =>
    [...readFileSync(join(REFERENCE, file), 'utf8').matchAll(pattern)].map(([, path = '', hash = '']) => ({
      path,
      hash,
    })),
  ).filter(({ path }) => existsSync(join(DATA, path)))
  expect(published.length).toBeGreaterThan(28)
  const distances = await Promise.all(published.map(async ({ path, hash }) => apart(await hashOf(path), hash)))
  const far = published.filter((_, at) => (distances[at] ?? 256) > REFERENCE_APART)
  tell(`${published.length} published hashes, by bits apart: ${[...distances].sort((a, b) => a - b).join(' ')}`)
  expect(far).toEqual([])
})

function apart(one = '', other = ''): number {
  const bits = (BigInt(`0x${one}`) ^ BigInt(`0x${other}`)).toString(2)
  return bits.replaceAll('0', '').length
}

const MANY = 10_000_000

test('ten million hashes are looked up in a file, of which nothing is held in memory', async () => {
  const folder = ownFolder('ten-million')
  const [text, packed] = [join(folder, 'known.txt'), join(folder, 'known.bin')]
  const hashOf = (nth: number) => createHash('sha256').update(String(nth)).digest('hex')
  const file = createWriteStream(text)
  for (let from = 0; from < MANY; from += 100_000) {
    const some = Array.from({ length: 100_000 }, (_, nth) => hashOf(from + nth))
    if (!file.write(`${some.join('\n')}\n`)) await once(file, 'drain')
  }
  file.end()
  await once(file, 'finish')
  await expect(openHashList(text)).rejects.toThrow('gavel veto pack')
  const began = performance.now()
  const main = join(PROJECT, 'src', 'main.ts')
  const said = execFileSync(process.execPath, [main, 'veto', 'pack', text, '--out', packed, '--json'], {
    encoding: 'utf8',
  })
  expect(JSON.parse(said)).toMatchObject({ hashes: MANY, bytes: 32 * (MANY + 1) })
  const packing = performance.now() - began
  // A process of its own: what it holds is its lists.
  const looking = join(folder, 'look.ts')
  writeFileSync(looking, LOOKING)
  const printed = execFileSync(
    process.execPath,
    [
      looking,
      join(PROJECT, 'src/models/vetoes/hash-list.ts'),
      packed,
      hashOf(7_654_321),
      randomBytes(32).toString('hex'),
    ],
    { encoding: 'utf8' },
  )
  const seen = JSON.parse(printed)
  tell(`ten million: packed in ${Math.round(packing / 1000)} s; ${printed.trim()}`)
  expect(seen).toMatchObject({ entries: MANY, same: [true, false], alike: [true, false] })
  expect(seen.grownMiB).toBeLessThan(128)
})

const LOOKING = `
const { openHashList } = await import(process.argv[2])
const [, , , file, known, other] = process.argv
const turned = (hex) => (hex[0] === '0' ? '1' : '0') + hex.slice(1)
const timed = async (work) => { const began = performance.now(); const found = await work(); return [found, performance.now() - began] }
const before = process.memoryUsage().rss
const [list, openMs] = await timed(() => openHashList(file))
const exact = [await timed(() => list.find(known, 0)), await timed(() => list.find(other, 0))]
const near = [await timed(() => list.find(turned(known), 31)), await timed(() => list.find(other, 31))]
const ms = (ones) => ones.map(([, took]) => Math.round(took * 10) / 10)
console.log(JSON.stringify({ entries: list.entries, openMs: Math.round(openMs), exactMs: ms(exact), nearMs: ms(near), same: exact.map(([found]) => found === known), alike: near.map(([found]) => found === known), grownMiB: Math.round((process.memoryUsage().rss - before) / 2 ** 20) }))
`
