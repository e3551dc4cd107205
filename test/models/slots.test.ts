import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { slots } from '../../src/contracts/facts/slots.ts'

const never = () => new AbortController().signal

/** Slots, and tasks that have one for as long as they run. */
function slotsOf(limit: () => number) {
  const places = slots(limit)
  const run = async <Result>(signal: AbortSignal, task: () => Promise<Result>) => {
    await places.acquire(signal)
    try {
      return await task()
    } finally {
      places.release()
    }
  }
  return {
    run,
    get busy() {
      return places.busy
    },
    get waiting() {
      return places.waiting
    },
  }
}

/** Tasks that run until they are told to end, in the order in which they began. */
function tasks() {
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const task = (name: string) => () => {
    begun.push(name)
    return new Promise<string>((resolve) => ends.set(name, () => resolve(name)))
  }
  return { begun, task, end: (name: string) => ends.get(name)?.() }
}

describe('slots', () => {
  test('run as many at once as there are places, the others in order of arrival', async () => {
    const places = slotsOf(() => 2)
    const { begun, task, end } = tasks()
    const all = ['a', 'b', 'c', 'd'].map((name) => places.run(never(), task(name)))
    await turn()
    expect(begun).toEqual(['a', 'b'])
    expect(places.busy).toBe(2)
    end('b')
    await turn()
    expect(begun).toEqual(['a', 'b', 'c'])
    expect(places.busy).toBe(2)
    end('a')
    await turn()
    end('c')
    end('d')
    expect(await Promise.all(all)).toEqual(['a', 'b', 'c', 'd'])
    expect(places.busy).toBe(0)
  })

  test('reject at once what was aborted before it came', async () => {
    const places = slotsOf(() => 1)
    const { begun, task } = tasks()
    await expect(places.run(AbortSignal.abort(new Error('stopping')), task('a'))).rejects.toThrow('stopping')
    expect(begun).toEqual([])
    expect(places.busy).toBe(0)
  })

  test('reject what is aborted while it waits, and go on to the next', async () => {
    const places = slotsOf(() => 1)
    const { begun, task, end } = tasks()
    const stop = new AbortController()
    const a = places.run(never(), task('a'))
    const b = places.run(stop.signal, task('b'))
    const c = places.run(never(), task('c'))
    stop.abort(new Error('stopping'))
    await expect(b).rejects.toThrow('stopping')
    end('a')
    expect(await a).toBe('a')
    await turn()
    expect(begun).toEqual(['a', 'c'])
    end('c')
    await c
    expect(places.busy).toBe(0)
  })

  test('leave what is running to deal with its own signal', async () => {
    const places = slotsOf(() => 1)
    const { task, end } = tasks()
    const stop = new AbortController()
    const a = places.run(stop.signal, task('a'))
    await turn()
    stop.abort(new Error('stopping'))
    expect(places.busy).toBe(1)
    end('a')
    expect(await a).toBe('a')
  })

  test('give back the place of a task that throws, at once or later', async () => {
    const places = slotsOf(() => 1)
    const thrown = places.run(never(), () => {
      throw new Error('at once')
    })
    await expect(thrown).rejects.toThrow('at once')
    await expect(places.run(never(), () => Promise.reject(new Error('later')))).rejects.toThrow('later')
    expect(await places.run(never(), async () => 'well')).toBe('well')
  })

  test('are never exceeded and never lost, whatever ends, fails or is aborted in whatever order', async () => {
    const plan = fc.array(fc.record({ turns: fc.nat(3), fails: fc.boolean(), abortAfter: fc.option(fc.nat(3)) }))
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 4 }), plan, async (count, jobs) => {
        const places = slotsOf(() => count)
        let running = 0
        let most = 0
        const wait = async (turns: number) => {
          for (let at = 0; at < turns; at++) await turn()
        }
        const done = jobs.map(async ({ turns, fails, abortAfter }) => {
          const stop = new AbortController()
          const run = places.run(stop.signal, async () => {
            most = Math.max(most, ++running)
            await wait(turns)
            running--
            if (fails) throw new Error('failed')
          })
          const aborted = abortAfter === null ? undefined : wait(abortAfter).then(() => stop.abort())
          await Promise.all([run.catch(() => undefined), aborted])
        })
        await Promise.all(done)
        expect(most).toBeLessThanOrEqual(count)
        expect([running, places.busy]).toEqual([0, 0])
      }),
    )
  })
})
