import { describe, expect, test } from 'vitest'
import { fairSlots } from '../../../src/contracts/facts/slots.ts'

const never = new AbortController().signal

/** A letter is a name; a capital letter behind it is a part. */
const whoseIs = (task: string) => ({ name: task.charAt(0), part: /[A-Z]/.exec(task)?.[0] ?? '' })

/** Tasks that run until they are ended, in the order in which they began. */
function tasks(limits: { all: number; each: number; ofPart?: number }) {
  const slots = fairSlots({ ofPart: limits.each, ...limits, all: () => limits.all })
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const start = (name: string, signal = never) =>
    slots.run(whoseIs(name), signal, (waited) => {
      begun.push(waited ? name : `${name} at once`)
      return new Promise<void>((resolve) => ends.set(name, resolve))
    })
  const end = async (name: string) => {
    await new Promise((resolve) => setImmediate(resolve))
    ends.get(name)?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { slots, begun, start, end }
}

describe('fair slots', () => {
  test('are given at once while there are free ones, and only so many to one name', async () => {
    const { slots, begun, start } = tasks({ all: 4, each: 2 })
    for (const name of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']) void start(name)
    await new Promise((resolve) => setImmediate(resolve))
    expect(begun).toEqual(['a1 at once', 'a2 at once', 'b1 at once', 'b2 at once'])
    expect(['a', 'b', 'c', 'd'].map((name) => slots.waiting(whoseIs(name)).ofName)).toEqual([1, 0, 1, 0])
  })

  test('are taken now only where there is one that nobody waits for, and count as others do', async () => {
    const { slots, begun, start, end } = tasks({ all: 3, each: 2 })
    const first = slots.takeNow(whoseIs('a1'))
    expect(first).not.toBeNull()
    expect(slots.takeNow(whoseIs('a2'))).not.toBeNull()
    expect(slots.takeNow(whoseIs('a3'))).toBeNull()
    for (const name of ['a4', 'b1', 'b2']) void start(name)
    await new Promise((resolve) => setImmediate(resolve))
    expect(begun).toEqual(['b1 at once'])
    expect(slots.takeNow(whoseIs('c1'))).toBeNull()
    first?.()
    first?.()
    await new Promise((resolve) => setImmediate(resolve))
    expect(begun).toEqual(['b1 at once', 'a4'])
    expect(slots.load()).toEqual({ busy: 3, waiting: 1 })
    await end('b1')
    expect(begun).toEqual(['b1 at once', 'a4', 'b2'])
  })

  test('go to the name that has fewest, then to the one that had one least recently', async () => {
    const { begun, start, end } = tasks({ all: 2, each: 2 })
    for (const name of ['a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'b2']) void start(name)
    await end('a1')
    await end('a2')
    await end('b1')
    await end('c1')
    await end('a3')
    expect(begun).toEqual(['a1 at once', 'a2 at once', 'b1', 'c1', 'a3', 'b2', 'a4'])
  })

  test('go within a name to its parts by the same rule, only so many to one part', async () => {
    const { slots, begun, start, end } = tasks({ all: 4, each: 3, ofPart: 2 })
    for (const name of ['aA1', 'aA2', 'aA3', 'aB1', 'aC1', 'aA4', 'b1']) void start(name)
    await new Promise((resolve) => setImmediate(resolve))
    expect(begun).toEqual(['aA1 at once', 'aA2 at once', 'aB1 at once', 'b1 at once'])
    expect(slots.waiting(whoseIs('aA'))).toEqual({ ofName: 3, ofPart: 2 })
    await end('aA1')
    await end('aA2')
    expect(begun.slice(4)).toEqual(['aC1', 'aA3'])
  })

  test('are taken by tasks of a size as so many, by one that is larger than all alone', async () => {
    const slots = fairSlots({ all: () => 10, each: 6 })
    const begun: string[] = []
    const ends = new Map<string, () => void>()
    const start = (name: string, size: number) =>
      slots.run(
        whoseIs(name),
        never,
        () => {
          begun.push(name)
          return new Promise<void>((resolve) => ends.set(name, resolve))
        },
        size,
      )
    const end = async (name: string) => {
      ends.get(name)?.()
      await new Promise((resolve) => setImmediate(resolve))
    }
    for (const [name, size] of Object.entries({ a1: 4, a2: 3, a3: 2, b1: 6, c1: 50 })) void start(name, size)
    await end('')
    expect(begun).toEqual(['a1', 'b1'])
    await end('b1')
    // The large one is next: nothing smaller goes before it.
    expect(begun).toEqual(['a1', 'b1'])
    await end('a1')
    expect(begun).toEqual(['a1', 'b1', 'c1'])
    await end('c1')
    expect(begun).toEqual(['a1', 'b1', 'c1', 'a2', 'a3'])
    for (const name of ['a2', 'a3']) await end(name)
    expect(slots.load()).toEqual({ busy: 0, waiting: 0 })
  })

  test('that a large task kept free are given to those behind it once it gives up', async () => {
    const slots = fairSlots({ all: () => 10 })
    const stop = new AbortController()
    const running = await slots.take(whoseIs('a'), never, 6)
    const large = slots.take(whoseIs('b'), stop.signal, 8)
    const leaving = slots.take(whoseIs('c'), stop.signal, 4)
    const small = slots.take(whoseIs('c'), never, 4)
    expect(slots.load()).toEqual({ busy: 6, waiting: 3 })
    stop.abort(new Error('gone'))
    for (const gone of [large, leaving]) await expect(gone).rejects.toThrow('gone')
    expect(slots.load()).toEqual({ busy: 10, waiting: 0 })
    for (const { free } of [running, await small]) free()
    expect(slots.load()).toEqual({ busy: 0, waiting: 0 })
  })

  test('leave nothing behind of who gives up waiting, and free the slot of a task that fails', async () => {
    const { slots, begun, start, end } = tasks({ all: 1, each: 1 })
    void start('a1')
    const stop = new AbortController()
    const gaveUp = start('b1', stop.signal)
    stop.abort(new Error('enough'))
    await expect(gaveUp).rejects.toThrow('enough')
    await expect(start('b2', AbortSignal.abort(new Error('too late')))).rejects.toThrow('too late')
    expect(slots.waiting(whoseIs('b'))).toEqual({ ofName: 0, ofPart: 0 })
    await end('a1')
    await expect(slots.run(whoseIs('a'), never, () => Promise.reject(new Error('failed')))).rejects.toThrow('failed')
    void start('c1')
    await new Promise((resolve) => setImmediate(resolve))
    expect(begun).toEqual(['a1 at once', 'c1 at once'])
  })
})
