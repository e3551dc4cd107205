import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import { vetoes } from '../../../config/vetoes.ts'
import { vetoFindings } from '../../../src/app/commands/doctor-vetoes.ts'
import { openHashList } from '../../../src/models/vetoes/hash-list.ts'
import { performWords } from '../../support/commands.ts'
import { drawnPng } from '../../support/drawn.ts'
import { ownFolder } from '../../support/own-folder.ts'

const folder = ownFolder('veto')
const file = (name: string, content: string | Buffer) => {
  writeFileSync(join(folder, name), content)
  return join(folder, name)
}
const PNG = drawnPng(64, 64, (x, y) => [(x * y) % 256, (x * 7) % 256, (y * 11) % 256, 255])
const SHA256 = createHash('sha256').update(PNG).digest('hex')
const shipped = loadSettings({})
const withVetoes = (given: object) => ({ ...shipped, vetoes: vetoes.parse(given) })
const check = async (given: object, ...files: string[]) =>
  (await performWords(['veto', 'check', '--json', ...files], withVetoes(given))).out.map((line) => JSON.parse(line))

describe('gavel veto check', () => {
  test('compares pictures and texts with the lists, and prints what pictures are', async () => {
    const known = { kind: 'sha256', list: file('known.txt', `${SHA256}\n`) }
    const spam = { kind: 'pattern', list: file('spam.txt', 'free money\n') }
    const paths = [file('a.png', PNG), file('a.txt', 'get free money'), file('b.txt', 'soup')]
    const [picture, text, other] = await check({ known, spam }, ...paths)
    expect(picture).toMatchObject({ kind: 'picture', hashes: { sha256: SHA256 }, match: { list: 'known' } })
    expect(picture.hashes.pdq).toMatch(/^[0-9a-f]{64}$/)
    expect(text).toMatchObject({ kind: 'text', match: { list: 'spam', entry: 'free money' } })
    expect(other).toMatchObject({ kind: 'text', match: null })
    // What it prints can be put on a list of pictures that look alike.
    const alike = { kind: 'pdq', list: file('alike.txt', `${picture.hashes.pdq}\n`) }
    expect(await check({ alike }, paths[0] ?? '')).toMatchObject([{ match: { list: 'alike' } }])
  })

  test('takes no picture that is cut off for a text', async () => {
    const known = { kind: 'sha256', list: file('known.txt', `${SHA256}\n`) }
    await expect(check({ known }, file('cut.png', PNG.subarray(0, 90)))).rejects.toThrow('cut.png: a truncated image')
  })

  test('says of a file that is not there which one may be meant', async () => {
    file('here.png', PNG)
    await expect(check({}, join(folder, 'hre.png'))).rejects.toThrow('there is no such file. Did you mean "here.png"?')
  })

  test('ends badly where a service does not answer', async () => {
    const gone = { kind: 'sha256', service: 'http://127.0.0.1:9/', timeout: '300ms' }
    await expect(check({ gone }, file('a.png', PNG))).rejects.toThrow('gone: ')
  })
})

test('gavel veto pack makes a list that has the same hashes', async () => {
  const [list, out] = [
    file('long.txt', `${SHA256.toUpperCase()}\n${SHA256}\n${'0'.repeat(64)}\n`),
    join(folder, 'long.bin'),
  ]
  const packed = await performWords(['veto', 'pack', list, '--out', out, '--json'], shipped)
  expect(JSON.parse(packed.out.join(''))).toEqual({ file: out, hashes: 2, bytes: 96 })
  expect(await check({ known: { kind: 'sha256', list: out } }, file('a.png', PNG))).toMatchObject([
    { match: { list: 'known', entry: SHA256 } },
  ])
  // A service has it open while another takes its place.
  const open = await openHashList(out)
  await performWords(['veto', 'pack', file('other.txt', `${'1'.repeat(64)}\n`), '--out', out], shipped)
  expect(await open.find(SHA256, 0)).toBe(SHA256)
  await open.close()
})

describe('gavel doctor', () => {
  test('reads every list, and asks every service', async () => {
    const known = { kind: 'pdq', list: file('known.txt', `${SHA256}\n`) }
    const gone = { kind: 'sha256', service: 'http://127.0.0.1:9/', timeout: '300ms', unavailable: 'fail-open' }
    expect(await vetoFindings(withVetoes({}))).toEqual([])
    expect(await vetoFindings(withVetoes({ known, gone }))).toMatchObject([
      { state: 'ok', detail: 'known (pdq, 1), gone (sha256, a service)' },
      { state: 'warning', detail: expect.stringContaining('gone did not answer') },
    ])
  })

  test.for<[string, object, string]>([
    ['a list that is not there', { list: join(folder, 'none.txt') }, "none.txt can't be read"],
    [
      'a label that the protocol has not',
      { list: file('known.txt', ''), labels: { hate: 'unsafe' } },
      'hate has no label unsafe',
    ],
  ])('names %s', async ([, given, why]) => {
    expect(await vetoFindings(withVetoes({ known: { kind: 'sha256', ...given } }))).toMatchObject([
      { state: 'broken', detail: expect.stringContaining(why) },
    ])
  })
})
