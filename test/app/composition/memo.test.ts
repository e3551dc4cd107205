import { expect, test } from 'vitest'
import { sparingMemo } from '../../../src/app/composition/gateway.ts'
import { memoryMemo } from '../../../src/store/memo/memory.ts'
import { HOUR, MINUTE, thread } from '../../contracts/samples.ts'

const ENTRY = { answer: 'Fake', raw: null, model: 'm', promptTokens: 1, completionTokens: 1 }

test.each([true, false])('an answer is remembered for a minute at most while Redis fills: %s', async (fills) => {
  let now = 1_000
  const memo = sparingMemo(
    memoryMemo(() => now),
    () => fills,
  )
  const subject = thread('p')
  const look = async () => (await memo.lookUp(['key'], 'one', MINUTE, subject)).map(({ state }) => state)
  expect(await look()).toEqual(['leased'])
  expect(await memo.keep([{ key: 'key', entry: JSON.stringify(ENTRY) }], 'one', HOUR, subject)).toEqual([true])
  now += MINUTE - 1
  expect(await look()).toEqual(['known'])
  now += 2
  expect(await look()).toEqual([fills ? 'leased' : 'known'])
})
