import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { KeptPicture, ReviewPictures } from '../../src/contracts/ports/pictures.ts'
import type { RecordStore } from '../../src/contracts/ports/record.ts'
import { at, DAY, feed } from './record.ts'

const NOW = Date.parse(at(60))
const MINUTE = 60_000
const POST = { tenant: 'default', postId: 'p', kind: 'post' } as const
const aPicture = (seed: number, when = NOW): KeptPicture => ({
  sha256: String(seed).repeat(8),
  at: when,
  picture: new Uint8Array([seed, 0, 255]),
  cover: new Uint8Array([seed]),
})

/** The promises of `ReviewPictures`, for every adapter. */
export function picturesContract(
  where: string,
  make: () => Promise<{ store: RecordStore; pictures: ReviewPictures }>,
): void {
  describe(`what people look at ${where}`, () => {
    let store: RecordStore
    let pictures: ReviewPictures
    let topics: ReturnType<typeof feed>
    beforeEach(async () => {
      const made = await make()
      store = made.store
      pictures = made.pictures
      topics = feed(store)
      await topics.judged({ seconds: 10 }, 'a claim')
    })
    afterEach(async () => {
      await pictures.close()
      await store.close()
    })
    const keep = (change: Partial<Parameters<ReviewPictures['keepPicture']>[0]> = {}) =>
      pictures.keepPicture({
        verdict: 'rumor~p~r1',
        address: 'a',
        picture: aPicture(1),
        until: NOW + DAY,
        most: 10,
        ...change,
      })
    const delivered = (of = POST, address = 'a', now = NOW) => pictures.picture(of, address, now)

    it('gives a picture of its own subject alone, as it was kept, until its time', async () => {
      expect(await delivered()).toBeNull()
      expect(await keep()).toBe(true)
      expect(await delivered()).toEqual(aPicture(1))
      expect(await delivered(POST, 'b')).toBeNull()
      expect(await delivered({ ...POST, tenant: 'other' } as unknown as typeof POST)).toBeNull() // Its type names one tenant.
      expect(await delivered(POST, 'a', NOW + DAY)).toBeNull()
    })

    it('keeps the last of an address, and of many the newest', async () => {
      await keep()
      await keep({ picture: aPicture(2) })
      expect(await delivered()).toEqual(aPicture(2))
      await keep({ address: 'b', picture: aPicture(3, NOW + 1), most: 2 })
      await keep({ address: 'c', picture: aPicture(4, NOW + 2), most: 2 })
      expect(await Promise.all(['a', 'b', 'c'].map((one) => delivered(POST, one)))).toEqual([
        null,
        aPicture(3, NOW + 1),
        aPicture(4, NOW + 2),
      ])
      // The clock was set back: what was just fetched stays all the same.
      await keep({ address: 'd', picture: aPicture(5, NOW - DAY), most: 1 })
      expect([await delivered(POST, 'c'), await delivered(POST, 'd')]).toEqual([null, aPicture(5, NOW - DAY)])
    })

    it('erases pictures with their subject, and takes none of it afterwards', async () => {
      await keep()
      await topics.send('posts', 'p', { id: 'p', createdAt: at(0), deleted: true }, 60)
      expect(await delivered()).toBeNull()
      expect(await keep()).toBe(false)
      // Another life of the subject has none of the first.
      await topics.judged({ seconds: 120, revision: 2 }, 'another')
      expect(await delivered()).toBeNull()
    })

    it('forgets pictures whose time is over', async () => {
      await keep()
      await keep({ address: 'b', until: NOW + 2 * DAY })
      await store.tidy(NOW + DAY)
      expect([await delivered(), (await delivered(POST, 'b')) === null]).toEqual([null, false])
    })

    it('knows what each person chose, whatever is in their name', async () => {
      const choice = { covered: 'all', cover: 'grey', hover: true } as const
      await pictures.chooseCovers('anna', choice)
      await pictures.chooseCovers('\0" OR 1=1', { ...choice, hover: false })
      await pictures.chooseCovers('anna', { ...choice, covered: 'none' })
      expect(await pictures.coversOf('anna')).toEqual({ ...choice, covered: 'none' })
      expect(await pictures.coversOf('\0" OR 1=1')).toEqual({ ...choice, hover: false })
      expect(await pictures.coversOf('ben')).toBeNull()
    })

    it('counts by person and label what was uncovered, and in how many minutes, on subjects of these tenants', async () => {
      const note = (person: string, label: string, when: number, tenant = 'default') =>
        pictures.noteUncovered(person, { tenant, label, at: when })
      await note('anna', 'unsafe', NOW)
      await note('anna', 'unsafe', NOW + 1)
      await note('anna', 'unsafe', NOW + 2 * MINUTE)
      await note('anna', 'hate', NOW, 'other')
      await note('ben', 'hate', NOW)
      const anna = { person: 'anna', label: 'unsafe', uncovered: 3, minutes: 2 }
      const ben = { person: 'ben', label: 'hate', uncovered: 1, minutes: 1 }
      expect(await pictures.exposures({ since: NOW, tenants: ['default'] })).toEqual([anna, ben])
      expect(await pictures.exposures({ since: NOW, person: 'anna' })).toEqual([{ ...ben, person: 'anna' }, anna])
      expect(await pictures.exposures({ since: NOW + MINUTE })).toEqual([{ ...anna, uncovered: 1, minutes: 1 }])
      expect(await pictures.exposures({ since: NOW, tenants: [] })).toEqual([])
      // In one minute they may uncover what has several labels.
      await note('anna', 'hate', NOW + 2 * MINUTE)
      expect(await pictures.minutesUncovered('anna', NOW)).toBe(2)
      expect(await pictures.minutesUncovered('anna', NOW + MINUTE)).toBe(1)
      await store.tidy(NOW + 300 * DAY)
      expect(await pictures.exposures({ since: 0 })).toEqual([])
    })

    it('keeps notes on a subject, in their order and up to so many, until it is erased or they are old', async () => {
      const note = (text: string, change: { verdict?: string; at?: number } = {}) =>
        pictures.addNote({ verdict: 'rumor~p~r1', by: 'anna', at: NOW, text, most: 2, ...change })
      expect(await note('of none', { verdict: 'rumor~q~r1' })).toBe(false)
      expect([
        await note('first \u0000 \u{1f600}'),
        await note('second', { at: NOW - 1 }),
        await note('third'),
      ]).toEqual([true, true, false])
      expect(await pictures.notesOf(POST)).toEqual([
        { by: 'anna', at: NOW, text: 'first \u0000 \u{1f600}' },
        { by: 'anna', at: NOW - 1, text: 'second' },
      ])
      expect(await pictures.notesOf({ ...POST, postId: 'q' })).toEqual([])
      await topics.judged({ subjectId: 'old', seconds: 10 }, 'x')
      expect(await note('old', { verdict: 'rumor~old~r1', at: 0 })).toBe(true)
      await store.tidy(NOW)
      expect(await pictures.notesOf({ ...POST, postId: 'old' })).toEqual([])
      expect(await pictures.notesOf(POST)).toHaveLength(2)
      await topics.send('posts', 'p', { id: 'p', createdAt: at(0), deleted: true }, 60)
      expect(await pictures.notesOf(POST)).toEqual([])
      expect(await note('afterwards')).toBe(false)
      await topics.judged({ seconds: 120, revision: 2 }, 'another')
      expect(await pictures.notesOf(POST)).toEqual([])
    })

    it('keeps the lists that each person names, up to so many', async () => {
      const save = (name: string, query: string, person = 'anna') => pictures.saveView(person, { name, query }, 2)
      expect([await save('b', 'lang=ko'), await save('a', 'lang=ar'), await save('c', 'x=y')]).toEqual([
        true,
        true,
        false,
      ])
      expect(await save('b', 'lang=ja')).toBe(true)
      expect(await save('b', 'lang=fr', 'ben')).toBe(true)
      expect(await pictures.viewsOf('anna')).toEqual([
        { name: 'a', query: 'lang=ar' },
        { name: 'b', query: 'lang=ja' },
      ])
      await pictures.dropView('anna', 'b')
      expect(await pictures.viewsOf('anna')).toEqual([{ name: 'a', query: 'lang=ar' }])
      expect(await pictures.viewsOf('ben')).toEqual([{ name: 'b', query: 'lang=fr' }])
    })
  })
}
