import { describe, expect, test } from 'vitest'
import { singleFlight } from '../../src/models/single-flight.ts'

describe('of callers who want the same', () => {
  test('the first starts it, and all get its result', async () => {
    const flights = singleFlight<string, number>()
    const [first, second] = [flights.waiter('first'), flights.waiter('second')]
    expect([...first.join(['a', 'b'])]).toEqual(['a', 'b'])
    expect([...second.join(['b', 'c'])]).toEqual(['c'])
    expect(second.flightOf('b')).toBe(first.flightOf('b'))
    expect(second.flightOf('b')?.owner).toBe('first')
    first.flightOf('b')?.resolve(7)
    expect(await second.flightOf('b')?.ended).toBe(7)
  })

  test('the next starts it again once it has ended, with or without a result', async () => {
    for (const result of [7, null]) {
      const flights = singleFlight<string, number>()
      const [first, second] = [flights.waiter('first'), flights.waiter('second')]
      first.join(['a'])
      first.flightOf('a')?.resolve(result)
      expect([...second.join(['a'])]).toEqual(['a'])
      expect(await first.flightOf('a')?.ended).toBe(result)
      // An end that is told twice ends no flight of somebody else.
      first.flightOf('a')?.resolve(result)
      expect([...flights.waiter('third').join(['a'])]).toEqual([])
    }
  })

  test('one who leaves is counted no more, and the others still get the result', async () => {
    const flights = singleFlight<string, number>()
    const [first, second] = [flights.waiter('first'), flights.waiter('second')]
    first.join(['a'])
    const flight = first.flightOf('a')
    second.join(['a'])
    expect(flight?.waiters).toBe(2)
    first.leave()
    expect(first.flightOf('a')).toBeUndefined()
    expect(flight?.waiters).toBe(1)
    flight?.resolve(7)
    expect(await second.flightOf('a')?.ended).toBe(7)
    second.leave()
    expect(flight?.waiters).toBe(0)
  })
})
