import { createHash, randomBytes } from 'node:crypto'
import { truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { type HashList, openHashList, packed } from '../../../src/models/vetoes/hash-list.ts'
import { ownFolder } from '../../support/own-folder.ts'

const folder = ownFolder('hash-lists')
const open: HashList[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((list) => list.close()))
})

const hashOf = (words: string | number) => createHash('sha256').update(String(words)).digest('hex')
async function listOf(text: string, name = 'list.txt') {
  const path = join(folder, name)
  writeFileSync(path, text)
  const list = await openHashList(path)
  open.push(list)
  return { list, path }
}
/** The same list, as text and packed. */
async function bothOf(text: string): Promise<HashList[]> {
  const { list, path } = await listOf(text)
  const { bytes } = await packed(path)
  writeFileSync(join(folder, 'packed.bin'), bytes)
  const other = await openHashList(join(folder, 'packed.bin'))
  open.push(other)
  return [list, other]
}
/** The hash with so many of its bits turned. */
function turned(hex: string, bits: number): string {
  const bytes = Buffer.from(hex, 'hex')
  for (let bit = 0; bit < bits; bit++) bytes[bit % 32] = (bytes[bit % 32] ?? 0) ^ (1 << Math.floor(bit / 32))
  return bytes.toString('hex')
}

describe('a list of hashes', () => {
  test('has each once, in any case and order, whatever stands behind it', async () => {
    const [a, b] = [hashOf('a'), hashOf('b')]
    const text = `# ours\n\n${b.toUpperCase()}\n${a}, the file of case 7\r\n${b}\tagain\n`
    for (const list of await bothOf(text)) {
      expect(list.entries).toBe(2)
      expect(await list.find(a, 0)).toBe(a)
      expect(await list.find(b, 0)).toBe(b)
      expect(await list.find(turned(a, 1), 0)).toBeNull()
    }
  })

  test('remembers what it found within a distance, and nothing that it could not read', async () => {
    const own = Array.from({ length: 100 }, (_, nth) => hashOf(nth))
    const [, list] = await bothOf(own.join('\n'))
    const near = turned(own[3] ?? '', 2)
    expect(await list?.find(near, 31)).toBe(own[3])
    truncateSync(join(folder, 'packed.bin'), 32)
    expect(await list?.find(near, 31)).toBe(own[3])
    await expect(list?.find(turned(own[4] ?? '', 2), 31)).rejects.toThrow('cut off')
    await expect(list?.find(turned(own[4] ?? '', 2), 31)).rejects.toThrow('cut off')
  })

  test('finds every one of many, and no other', async () => {
    const own = Array.from({ length: 3_000 }, (_, nth) => hashOf(nth))
    for (const list of await bothOf(own.join('\n'))) {
      for (const hash of own) expect(await list.find(hash, 0)).toBe(hash)
      for (let nth = 0; nth < 300; nth++) expect(await list.find(hashOf(`other ${nth}`), 0)).toBeNull()
    }
  })

  test('finds the nearest within a distance, as a comparison with each one does', async () => {
    const own = Array.from({ length: 70_000 }, () => randomBytes(32).toString('hex'))
    for (const list of await bothOf(own.join('\n')))
      for (const distance of [3, 31, 40, 47, 60])
        for (const [nth, bits] of [0, 1, 5, 30, 31, 32, 40, 41, 47, 48, 60, 61].entries()) {
          const listed = own[nth * 5_555] ?? ''
          const found = await list.find(turned(listed, bits), distance)
          expect(found, `${bits} bits within ${distance}`).toBe(bits > distance ? null : listed)
        }
  })

  test('finds the first of several that are equally near, among few as among very many', async () => {
    const others = Array.from({ length: 70_000 }, () => randomBytes(32).toString('hex'))
    const wanted = hashOf('wanted')
    const near = [...Array(8).keys()].map((bit) => turned(wanted, bit + 1).slice(0, 60) + wanted.slice(60))
    const alike = [wanted.replace(/^./, '0'), wanted.replace(/^./, 'f')]
    for (const lines of [alike, near]) {
      const [few] = await bothOf(lines.join('\n'))
      const answer = await few?.find(wanted, 31)
      const [many, packedMany] = await bothOf([...lines, ...others].join('\n'))
      expect([await many?.find(wanted, 31), await packedMany?.find(wanted, 31)]).toEqual([answer, answer])
    }
  })

  test('finds the nearer of two', async () => {
    const far = hashOf('a')
    const near = turned(far, 8)
    for (const list of await bothOf(`${far}\n${near}\n`)) expect(await list.find(turned(far, 7), 31)).toBe(near)
  })

  test.for<[string, string, string]>([
    ['a line without a hash', `${hashOf('a')}\nno hash\n`, 'list.txt:2 begins with no hash of 64 hexadecimal digits'],
    ['a hash of another kind', `${hashOf('a')}0\n`, 'list.txt:1 begins with no hash'],
  ])('names %s', async ([, text, why]) => {
    await expect(listOf(text)).rejects.toThrow(why)
  })

  test('that is not there, and a packed one that was cut off, are named', async () => {
    await expect(openHashList(join(folder, 'none.txt'))).rejects.toThrow(`none.txt can't be read`)
    const { path } = await listOf(`${hashOf('a')}\n${hashOf('b')}\n`)
    const { bytes } = await packed(path)
    writeFileSync(join(folder, 'cut.bin'), bytes.subarray(0, 70))
    await expect(openHashList(join(folder, 'cut.bin'))).rejects.toThrow('cut off')
  })

  test('that is cut off while it is open says so', async () => {
    const [, list] = await bothOf(`${hashOf('a')}\n${hashOf('b')}\n`)
    writeFileSync(join(folder, 'packed.bin'), '')
    for (const distance of [0, 31]) await expect(list?.find(hashOf('a'), distance)).rejects.toThrow('cut off')
  })

  test('may be empty', async () => {
    for (const list of await bothOf('# nothing yet\n')) {
      expect(list.entries).toBe(0)
      expect(await list.find(hashOf('a'), 0)).toBeNull()
      expect(await list.find(hashOf('a'), 31)).toBeNull()
    }
  })

  test('is closed once nobody looks any more', async () => {
    const [, list] = await bothOf(Array.from({ length: 5_000 }, (_, nth) => hashOf(nth)).join('\n'))
    const finding = list?.find(hashOf(7), 31)
    await list?.close()
    expect(await finding).toBe(hashOf(7))
  })
})
