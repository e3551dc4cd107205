import { describe, expect, it } from 'vitest'
import { timeBehind } from '../../consumers/partition-lag.ts'

function watched() {
  const time = { now: 1_000_000 }
  const behind = timeBehind(() => time.now)
  /** The seconds behind, `after` seconds later, where the group will read `next` and the partition ends at `end`. */
  const look = (after: number, next: number, end: number, partition = 0) => {
    time.now += after * 1_000
    return behind({ topic: 'posts', partition, next, end })
  }
  return { look }
}

describe('the time that a partition is behind', () => {
  it('is none while all is committed, and while the group keeps up with what comes', () => {
    const { look } = watched()
    expect([look(0, 5, 5), look(5, 5, 9), look(5, 9, 12), look(5, 12, 12)]).toEqual([0, 0, 0, 0])
  })

  it('counts from when the end was first beyond what is committed', () => {
    const { look } = watched()
    expect([look(0, 5, 5), look(5, 5, 6), look(5, 5, 6), look(60, 5, 90)]).toEqual([0, 0, 5, 65])
  })

  it('shrinks as the group catches up, message by message of those that came at different times', () => {
    const { look } = watched()
    expect([look(0, 0, 10), look(10, 0, 20), look(10, 0, 30)]).toEqual([null, 10, 20])
    expect([look(1, 9, 30), look(1, 10, 30), look(1, 25, 30), look(1, 30, 30)]).toEqual([21, 12, 3, 0])
  })

  it('is each partition’s own', () => {
    const { look } = watched()
    look(0, 0, 1, 0)
    expect([look(7, 0, 1, 1), look(1, 0, 1, 0)]).toEqual([null, 8])
  })

  it('is not known where a partition is behind at the first look, or at the first after a while', () => {
    const { look } = watched()
    expect([look(0, 0, 268), look(2, 0, 268), look(2, 268, 268)]).toEqual([null, 2, 0])
    expect([look(31, 268, 300), look(3, 268, 300)]).toEqual([null, 3])
    expect(look(600, 268, 900)).toBe(603)
  })

  it('begins anew with a topic that was recreated', () => {
    const { look } = watched()
    look(0, 100, 200)
    expect([look(50, 100, 200), look(1, 0, 3), look(2, 0, 3)]).toEqual([50, 0, 2])
  })

  it('keeps the oldest of very many ends', () => {
    const { look } = watched()
    for (let end = 1; end <= 5_000; end++) look(1, 0, end)
    expect(look(1, 0, 5_000)).toBe(5_000)
    expect(look(0, 2_500, 5_000)).toBeGreaterThan(2_450)
  })
})
