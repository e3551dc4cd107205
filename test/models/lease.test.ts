import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { ThreadRef } from '../../src/contracts/facts/thread.ts'
import type { Memo, MemoEntry } from '../../src/contracts/ports/memo.ts'
import { type LeaseSettings, leases } from '../../src/models/lease.ts'
import { memoryMemo } from '../../src/store/memo/memory.ts'

const subject: ThreadRef = { tenant: 'default', postId: 'p1', kind: 'post' }
const ENTRY: MemoEntry = { answer: 'Fake', raw: 'Fake', model: 'm', promptTokens: 9, completionTokens: 1 }

/** Two processes over one memo. */
function setUp(over: Partial<LeaseSettings> = {}, wrap: (memo: Memo) => Memo = (memo) => memo) {
  let passed = 0
  const clock = () => Date.now() + passed
  const memo = wrap(memoryMemo(clock))
  const settings = { keep: 3_600_000, lease: 5_000, maxBytes: 1_000, ...over }
  const errors: unknown[] = []
  const process = () =>
    leases({ memo, settings, clock, report: (name, event) => void (name === 'error' && errors.push(event)) })
  return { one: process(), other: process(), memo, errors, pass: (ms: number) => (passed += ms) }
}

describe('a lease', () => {
  test('is one process’s at a time, until it is given back or has lapsed', async () => {
    const { one, other, pass } = setUp()
    const [mine, theirs] = [one.lease(subject), other.lease(subject)]
    expect(await mine.lookUp(['a', 'b'])).toEqual([{ state: 'leased' }, { state: 'leased' }])
    expect(await theirs.lookUp(['a'])).toMatchObject([{ state: 'leased-by-other' }])
    await mine.release(['a'])
    expect(await theirs.lookUp(['a'])).toEqual([{ state: 'leased' }])
    expect(await theirs.lookUp(['b'])).toMatchObject([{ state: 'leased-by-other' }])
    pass(5_001)
    expect(await theirs.lookUp(['b'])).toEqual([{ state: 'leased' }])
  })

  test('lives for as long as its work, and no heartbeat comes after it', async () => {
    let heartbeats = 0
    const { one, other } = setUp({ lease: 60 }, (memo) => ({
      ...memo,
      renew(...args) {
        heartbeats++
        return memo.renew(...args)
      },
    }))
    const [mine, theirs] = [one.lease(subject), other.lease(subject)]
    await mine.lookUp(['a'])
    const end = mine.startRenewing(['a'])
    await sleep(150)
    expect(await theirs.lookUp(['a'])).toMatchObject([{ state: 'leased-by-other' }])
    end()
    const until = heartbeats
    await sleep(80)
    expect(heartbeats).toBe(until)
  })

  test('costs no heartbeat of its own beside others of its process', async () => {
    const beats: number[] = []
    const { one } = setUp({ lease: 90 }, (memo) => ({
      ...memo,
      renew(held, leaseMs) {
        beats.push(held.length)
        return memo.renew(held, leaseMs)
      },
    }))
    const ends = Array.from({ length: 100 }, (_, nth) => one.lease(subject).startRenewing([`${nth}`, `${nth}.more`]))
    await sleep(100)
    expect(beats.length).toBeGreaterThan(0)
    expect(beats.length).toBeLessThanOrEqual(4)
    expect(new Set(beats)).toEqual(new Set([200]))
    for (const end of ends.slice(1)) end()
    await sleep(40)
    expect(beats.at(-1)).toBe(2)
    ends[0]?.()
  })

  test('ends with the answer, without its raw text where that is too long, or without any', async () => {
    const { one, other } = setUp()
    const [mine, theirs] = [one.lease(subject), other.lease(subject)]
    await mine.lookUp(['a', 'b', 'c'])
    const long = 'x'.repeat(1_000)
    mine.keep(
      new Map([
        ['a', ENTRY],
        ['b', { ...ENTRY, raw: long }],
        ['c', { ...ENTRY, answer: long }],
      ]),
    )
    await sleep(1)
    expect(await theirs.lookUp(['a', 'b', 'c'])).toEqual([
      { state: 'known', entry: ENTRY },
      { state: 'known', entry: { ...ENTRY, raw: null } },
      { state: 'leased' },
    ])
  })

  test('whose end can’t be told is reported, and hurts nobody', async () => {
    const fail = () => Promise.reject(new Error('Redis is away'))
    const { one, errors } = setUp({}, (memo) => ({ ...memo, keep: fail, release: fail }))
    const mine = one.lease(subject)
    await mine.lookUp(['a'])
    mine.keep(new Map([['a', ENTRY]]))
    await mine.release(['a'])
    expect(errors).toEqual(Array(2).fill({ where: 'memo', error: new Error('Redis is away') }))
  })
})

describe('who watches a question that another process asks', () => {
  test('gets its answer', async () => {
    const { one, other } = setUp()
    const mine = one.lease(subject)
    await mine.lookUp(['a'])
    const watched = other.watch('a', subject, 5_000, () => true)
    mine.keep(new Map([['a', ENTRY]]))
    expect(await watched).toEqual(ENTRY)
  })

  test('gets none where the other gives up, and leaves the question to the next', async () => {
    const { one, other } = setUp()
    const mine = one.lease(subject)
    await mine.lookUp(['a'])
    const watched = other.watch('a', subject, 5_000, () => true)
    await mine.release(['a'])
    expect(await watched).toBeNull()
    expect(await one.lease(subject).lookUp(['a'])).toEqual([{ state: 'leased' }])
  })

  test('stops when nobody wants it any more, or the memo is away', async () => {
    const { other, errors } = setUp({}, (memo) => ({
      ...memo,
      lookUp: () => Promise.reject(new Error('Redis is away')),
    }))
    expect(await other.watch('a', subject, 5_000, () => false)).toBeNull()
    expect(errors).toEqual([])
    expect(await other.watch('a', subject, 5_000, () => true)).toBeNull()
    expect(errors).toHaveLength(1)
  })
})
