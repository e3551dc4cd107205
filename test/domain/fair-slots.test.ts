import { describe, expect, test } from 'vitest'
import { fairSlots } from '../../src/domain/fair-slots.ts'

const never = new AbortController().signal

/** Tasks that run until they are ended, in the order in which they began. */
function tasks(limits: { all: number; each: number }) {
  const slots = fairSlots(limits)
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const start = (name: string, signal = never) =>
    slots.run(name.charAt(0), signal, (waited) => {
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
    expect([slots.waiting('a'), slots.waiting('b'), slots.waiting('c'), slots.waiting('d')]).toEqual([1, 0, 1, 0])
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

  test('leave nothing behind of who gives up waiting, and free the slot of a task that fails', async () => {
    const { slots, begun, start, end } = tasks({ all: 1, each: 1 })
    void start('a1')
    const stop = new AbortController()
    const gaveUp = start('b1', stop.signal)
    stop.abort(new Error('enough'))
    await expect(gaveUp).rejects.toThrow('enough')
    await expect(start('b2', AbortSignal.abort(new Error('too late')))).rejects.toThrow('too late')
    expect(slots.waiting('b')).toBe(0)
    await end('a1')
    await expect(slots.run('a', never, () => Promise.reject(new Error('failed')))).rejects.toThrow('failed')
    void start('c1')
    await new Promise((resolve) => setImmediate(resolve))
    expect(begun).toEqual(['a1 at once', 'c1 at once'])
  })
})
