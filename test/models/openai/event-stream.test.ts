import { expect, test } from 'vitest'
import { completionOf } from '../../../src/models/openai/event-stream.ts'

const parsed = (data: string): unknown => JSON.parse(data)

test('a long stream is read in steps between which others have their turn', async () => {
  let [turns, going] = [0, true]
  const count = () => {
    turns++
    if (going) setImmediate(count)
  }
  setImmediate(count)
  const event = 'data: {"choices":[{"delta":{"content":"a"}}]}\n'
  const read = await completionOf(`${event.repeat(20_000)}data: [DONE]\n`, parsed)
  going = false
  expect(read).toMatchObject({ choices: [{ message: { content: 'a'.repeat(20_000) } }] })
  expect(turns).toBeGreaterThanOrEqual(38)
})

test('a stream whose events have ever other fields is none', async () => {
  const events = (fields: number) => Array.from({ length: fields }, (_, nth) => `data: {"a${nth}":1}\n`).join('')
  expect(await completionOf(`${events(50)}data: [DONE]\n`, parsed)).toMatchObject({ a0: 1, a49: 1 })
  let read = 0
  const counting = (data: string) => {
    read++
    return parsed(data)
  }
  expect(await completionOf(`${events(50_000)}data: [DONE]\n`, counting)).toBeUndefined()
  expect(read).toBeLessThanOrEqual(101)
})
