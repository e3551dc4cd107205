import { expect, it } from 'vitest'
import { memoryStores } from '../../../src/store/memory-stores.ts'
import { fencedOutbox } from '../../../src/store/outbox/redis-fenced.ts'
import type { Incarnation, Loss } from '../../../src/store/redis/incarnation.ts'

it('has what was handed out before wait while Redis has lost data, may have, or is another than the sentinels’', async () => {
  const { outbox } = memoryStores(Date.now)
  await outbox.putDeadLetters([{ key: 'k', letter: '{}' }])
  const entries = await outbox.next('one', 10, 10)
  const redis = { quiet: false, lost: null as Loss | null, isCutOff: false, advance: async () => null }
  // Of an incarnation what is asked here.
  const fenced = fencedOutbox(outbox, redis as unknown as Incarnation, () => redis.isCutOff)
  for (const wrong of [{ lost: 'emptied' as const }, { quiet: true }, { isCutOff: true }]) {
    Object.assign(redis, { quiet: false, lost: null, isCutOff: false }, wrong)
    expect(await fenced.stillToSend(entries, new Set())).toEqual({ sendable: [], withheld: entries })
  }
  Object.assign(redis, { isCutOff: false })
  expect(await fenced.stillToSend(entries, new Set())).toEqual({ sendable: entries, withheld: [] })
})
