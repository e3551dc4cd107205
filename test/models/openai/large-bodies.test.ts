import { PassThrough } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { collect } from '../../../src/models/openai/endpoint.ts'

const CHUNK = Buffer.alloc(2 ** 16, 'x')

/** A body that is read as it comes, and what became of it. */
function body() {
  const stream = new PassThrough({ highWaterMark: 2 ** 16 })
  const ends: (string | null)[] = []
  let read = 0
  collect(stream, 2 ** 22, (text) => {
    ends.push(text)
  })
  stream.on('data', (chunk: Buffer) => {
    read += chunk.length
  })
  return { stream, ends, read: () => read }
}

async function some(): Promise<void> {
  for (let nth = 0; nth < 50; nth++) await turn()
}

test('eight large bodies are read at once, and the others one by one after them; small ones wait for none', async () => {
  const large = Array.from({ length: 12 }, body)
  for (const { stream } of large) for (let nth = 0; nth < 32; nth++) stream.write(CHUNK)
  await some()
  const whole = () => large.filter(({ read }) => read() === 32 * CHUNK.length).length
  expect(whole()).toBe(8)
  for (const { read } of large) expect(read() === 32 * CHUNK.length || read() <= 2 ** 18 + 2 * CHUNK.length).toBe(true)
  const small = body()
  small.stream.end(CHUNK)
  await some()
  expect(small.ends).toHaveLength(1)
  const reading = large.filter(({ read }) => read() === 32 * CHUNK.length)
  reading[0]?.stream.end()
  reading[1]?.stream.destroy()
  await some()
  expect(whole()).toBe(10)
  for (const { stream } of large) stream.end()
  await some()
  await some()
  expect(large.filter(({ ends }) => ends.length === 1)).toHaveLength(11)
})
