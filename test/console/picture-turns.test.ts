import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { caseFile } from '../../src/console/case-file.ts'
import { SubjectPictures } from '../../src/console/pictures.ts'
import type { LoadImage } from '../../src/contracts/ports/images.ts'
import { feed } from '../contracts/record.ts'
import { recordInMemory } from '../support/record-in-memory.ts'
import { aVerdict } from '../support/verdicts.ts'

const T0 = Date.parse('2026-03-01T12:00:00Z')

/** Posts with images, and what shows these. */
async function posts(load: LoadImage) {
  const record = await recordInMemory()
  const topics = feed(record)
  const pictures = new SubjectPictures({
    store: record.pictures,
    load,
    redraw: async () => ({ picture: new Uint8Array([1]), cover: new Uint8Array([2]) }),
    keptImage: null,
    clock: () => T0,
    keep: { keep: 60_000, most: 99 },
  })
  const written = async (id: string, author: string, urls: readonly string[]) => {
    const verdict = aVerdict(new Date(T0).toISOString(), { subjectId: id })
    const media = urls.map((url) => ({ kind: 'image', url }))
    const subject = { post: { id, author, text: 'a claim', createdAt: T0, media }, comments: [], leftOut: 0 }
    await topics.send('verdicts', id, verdict)
    await topics.send('transcripts', id, { schema: 1, verdictId: verdict.id, subject, turns: [], cut: [] })
    const file = await caseFile(verdict.id, { record, kinds: new Map(), session: {} })
    if (file === null) throw new Error('not recorded')
    return file
  }
  return { pictures, written }
}

it('an author whose images are slow keeps no other author’s waiting for more than one of them', async () => {
  const begun: string[] = []
  const slow = new Map<string, () => void>()
  const { pictures, written } = await posts(async (url) => {
    begun.push(url)
    if (url.includes('slow')) await new Promise<void>((resolve) => slow.set(url, resolve))
    return 'data:image/png;base64,AAAA'
  })
  const urls = Array.from({ length: 16 }, (_, n) => `https://slow.example/${n}`)
  const one = await written('one', 'mallory', urls.slice(0, 8))
  const two = await written('two', 'mallory', urls.slice(8))
  const other = await written('other', 'anna', ['https://fast.example/0'])
  const all = [one, two].flatMap((file) => Array.from({ length: 8 }, (_, n) => pictures.picture(file, n)))
  await sleep(20)
  const fast = pictures.picture(other, 0)
  await sleep(20)
  expect(begun).toEqual(urls.slice(0, 2))
  slow.get(begun[0] ?? '')?.()
  expect(await fast).toMatchObject({ at: T0 })
  for (let n = 1; n < 16; n++) {
    await expect.poll(() => slow.size).toBeGreaterThan(n)
    slow.get(urls[n] ?? '')?.()
  }
  expect(await Promise.all(all)).toHaveLength(16)
})

it('an image whose turn did not come is said to wait, and its server not to be away', async () => {
  const { pictures, written } = await posts(async () => {
    throw new DOMException('too late', 'TimeoutError')
  })
  const file = await written('p', 'anna', ['https://images.example/a'])
  expect(await pictures.picture(file, 0)).toMatch(/^many images are being fetched now/)
})
