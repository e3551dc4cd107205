import { expect, it } from 'vitest'
import { memoryStores } from '../../../src/store/memory-stores.ts'

it('gives dead letters however many wait, as where each line of a long file is one', async () => {
  const { outbox } = memoryStores(Date.now)
  await outbox.putDeadLetters(Array.from({ length: 300_000 }, (_, at) => ({ key: `${at}`, letter: '{}' })))
  const entries = await outbox.next('one', 2, 10)
  expect(entries.map((entry) => 'key' in entry && entry.key)).toEqual(['0', '1'])
  expect(await outbox.backlog()).toEqual({ verdicts: 0, letters: 300_000, oldestVerdict: null })
})
