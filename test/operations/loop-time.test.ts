import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { namedLoops } from '../../src/operations/loop.ts'

/** What is said where loops are told to stop in their first run. */
async function saidAtStop(task: () => Promise<unknown>, meanwhile: () => void): Promise<string[]> {
  const said: string[] = []
  const running = Promise.withResolvers<void>()
  const loops = namedLoops((name, event) => {
    if (name === 'error' && 'error' in event) said.push(String(event.error))
  })
  loops.start('opener', 60_000, async () => {
    running.resolve()
    await task()
  })
  await running.promise
  const closed = loops.close()
  meanwhile()
  await closed
  return said
}

const standStill = () => {
  for (const until = performance.now() + 700; performance.now() < until; );
}

it('a loop has its time to stop also where the process stood still as long', async () => {
  const readsTwice = async () => {
    await readFile(import.meta.filename)
    await readFile(import.meta.filename)
  }
  expect(await saidAtStop(readsTwice, standStill)).toEqual([])
})

it('a loop that hangs is abandoned, and said to be, with the time that it had', async () => {
  const hang = () => new Promise(() => {})
  const [said] = await saidAtStop(hang, standStill)
  const [, ms] = /^Error: loop did not stop within (\d+) ms; abandoned$/.exec(said ?? '') ?? []
  expect(Number(ms)).toBeGreaterThanOrEqual(700)
})
