import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { StreamMark } from '../../src/contracts/ports/threads.ts'
import type { MakeStores, Stores } from './stores.ts'

/** What every store of stream marks promises. */
export function streamMarksContract(name: string, make: MakeStores): void {
  describe(`the stream marks, ${name}`, () => {
    let stores: Stores
    beforeEach(async () => {
      stores = await make()
    })
    afterEach(async () => {
      await stores.close()
    })

    it('are none at first', async () => {
      expect(await stores.marks.read()).toEqual(new Map())
    })

    it('are kept by partition; writing some leaves the others', async () => {
      const [unread, far] = [
        { newest: null, second: null, endSince: 5, seenAt: 6 },
        { newest: 1_714_564_800_001, second: -3, endSince: null, seenAt: 0 },
      ]
      await stores.marks.write(
        new Map<string, StreamMark>([
          ['posts/0', unread],
          ['comments/11', far],
        ]),
      )
      await stores.marks.write(new Map())
      await stores.marks.write(new Map([['posts/0', { ...unread, newest: 7, endSince: null }]]))
      expect(await stores.marks.read()).toEqual(
        new Map<string, StreamMark>([
          ['comments/11', far],
          ['posts/0', { newest: 7, second: null, endSince: null, seenAt: 6 }],
        ]),
      )
    })

    it('read before a write do not change with it', async () => {
      const before = await stores.marks.read()
      await stores.marks.write(new Map([['posts/0', { newest: 1, second: null, endSince: null, seenAt: 0 }]]))
      expect(before.size).toBe(0)
    })
  })
}
