import { describe, expect, it } from 'vitest'
import { overdueCount, overdueUnread, type WaitingWork } from '../../src/operations/overdue.ts'

function counted() {
  const time = { now: 1_000_000 }
  const overdue = overdueCount(['rumor', 'hate'], 60_000, () => time.now)
  const nothing: WaitingWork = { open: [], due: { count: 0, oldestAgeMs: 0 }, outbox: { count: 0, oldestAgeMs: 0 } }
  /** What is overdue `after` seconds later, as `PROTOCOL at PLACE: COUNT`, without what is 0. */
  const look = (after: number, waiting: Partial<WaitingWork> = {}) => {
    time.now += after * 1_000
    return overdue
      .count({ ...nothing, ...waiting })
      .flatMap(({ protocol, at, count }) => (count === 0 ? [] : [`${protocol} at ${at}: ${count}`]))
  }
  return { look, forget: overdue.forget }
}

describe('what is overdue', () => {
  it('are cases that stay open longer than the objective, by protocol', () => {
    const { look } = counted()
    const open = ['rumor~p1~r1', 'rumor@t~p1~r1', 'hate/reply~q~r1']
    expect(look(0, { open })).toEqual([])
    expect(look(60, { open })).toEqual([])
    expect(look(1, { open: [...open, 'hate~new~r1'] })).toEqual(['rumor at open: 2', 'hate at open: 1'])
    expect(look(1, { open: ['hate/reply~q~r1'] })).toEqual(['hate at open: 1'])
    expect(look(1)).toEqual([])
    expect(look(1, { open })).toEqual([])
  })

  it('is none again for a process that begins to count anew', () => {
    const { look, forget } = counted()
    look(0, { open: ['rumor~p~r1'] })
    forget()
    expect(look(61, { open: ['rumor~p~r1'] })).toEqual([])
    expect(look(61, { open: ['rumor~p~r1'] })).toEqual(['rumor at open: 1'])
  })

  it('are all due threads and all records in the outbox where the oldest of them is', () => {
    const { look } = counted()
    const due = { count: 4, oldestAgeMs: 60_000 }
    const outbox = { count: 3, oldestAgeMs: 60_000 }
    expect(look(0, { due, outbox })).toEqual([])
    expect(look(0, { due: { ...due, oldestAgeMs: 60_001 }, outbox })).toEqual(['all at due: 4'])
    expect(look(0, { due, outbox: { ...outbox, oldestAgeMs: 60_001 } })).toEqual(['all at outbox: 3'])
  })
})

describe('what is overdue in Kafka', () => {
  const partition = (topic: string, messages: number, seconds: number | null) => ({
    topic,
    partition: 0,
    messages,
    seconds,
  })
  const overdue = (...partitions: ReturnType<typeof partition>[]) =>
    overdueUnread(partitions, ['posts', 'counterspeech'], 60_000)

  it('is all that waits in a partition which has been behind for longer than the objective', () => {
    expect(overdue(partition('posts', 5, 60), partition('posts', 7, 61), partition('counterspeech', 2, 90))).toBe(9)
    expect(overdue(partition('posts', 0, 0))).toBe(0)
  })

  it('is nothing where nobody has watched for how long', () => {
    expect(overdue(partition('posts', 268, null))).toBe(0)
  })

  it('is no comment, which gets no verdict', () => {
    expect(overdue(partition('comments', 500, 600))).toBe(0)
  })
})
