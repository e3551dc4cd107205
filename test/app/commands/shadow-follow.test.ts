import { describe, expect, it } from 'vitest'
import { shadowing } from '../../../src/app/commands/variant/shadow-follow.ts'
import type { JudgedSnapshot } from '../../../src/app/commands/variant/shadow-judge.ts'
import { samplingRanks } from '../../../src/contracts/facts/sampling-rank.ts'
import type { ShadowVerdict } from '../../../src/contracts/facts/shadow-verdict.ts'
import { isOfVariant } from '../../../src/contracts/facts/variant-draw.ts'
import type { IncomingMessage, MessageBatch } from '../../../src/contracts/ports/topic.ts'

const T0 = Date.parse('2026-05-01T10:00:00Z')
const judgedOf = (id: string): JudgedSnapshot => ({
  of: `hate~${id}~r1`,
  ref: { tenant: 'default', postId: id, kind: 'post' },
  revision: 1,
  final: true,
  live: { label: 'hate', decidedBy: 'consensus', costUsd: 0, faults: [] },
  transcript: {} as JudgedSnapshot['transcript'], // Who follows does not read it.
})
// Of a shadow verdict only these fields count here.
const shadow = (of: string, costUsd = 1) =>
  ({ id: `${of}~v~new`, of, at: new Date(T0).toISOString(), usage: { costUsd } }) as ShadowVerdict

/** A variant whose cases cost a dollar each, over messages whose words are ids. */
function following(over: Partial<Parameters<typeof shadowing>[0]> = {}) {
  const sent: string[] = []
  const failures: string[] = []
  const stopped = new AbortController()
  let now = T0
  const { handle, counts } = shadowing({
    variant: 'new',
    bounds: { atOnce: 1, budget: 100, behindMs: 60_000 },
    read: (value) => (value === null ? null : judgedOf(String(value))),
    judge: async ({ of }) => shadow(of),
    send: async ({ of }) => sent.push(of),
    isDeleted: async () => false,
    spentUsd: async () => 0,
    isNeeded: async () => false,
    signal: stopped.signal,
    clock: () => now,
    failed: (why) => failures.push(why),
    judged() {},
    waited() {},
    before: [],
    lookMs: 1,
    ...over,
  })
  const batch = (...ids: string[]): MessageBatch => {
    const messages = ids.map(
      (id, offset): IncomingMessage => ({
        topic: 'transcripts',
        partition: 0,
        offset: String(offset),
        key: id,
        value: Buffer.from(id),
        headers: {},
        timestamp: T0,
      }),
    )
    return { topic: 'transcripts', partition: 0, messages, next: String(ids.length), atEnd: true }
  }
  const pass = (ms: number) => {
    now += ms
  }
  const take = (ids: readonly string[], heartbeat = async () => {}) => handle(batch(...ids), heartbeat, () => {})
  return { take, counts, sent, failures, stopped, pass }
}

describe('a variant in the shadow', () => {
  it('judges each case once, whichever it has said before or comes again', async () => {
    const { take, sent, counts } = following({ before: [shadow('hate~a~r1')] })
    await take(['a', 'b'])
    await take(['b', 'c'])
    expect(sent).toEqual(['hate~b~r1', 'hate~c~r1'])
    expect(counts()).toEqual({ sent: 2, passedOver: 0 })
  })

  it('begins nothing while the service needs its models', async () => {
    let looks = 0
    const order: string[] = []
    const { take } = following({
      isNeeded: async () => ++looks < 4,
      judge: async ({ of }) => {
        order.push(`${of} after ${looks}`)
        return shadow(of)
      },
    })
    await take(['a'])
    expect(order).toEqual(['hate~a~r1 after 4'])
  })

  it('waits once its day’s money is spent, what was spent before a restart too, and passes over what is too old then', async () => {
    const { take, sent, counts, pass } = following({
      bounds: { atOnce: 1, budget: 2, behindMs: 60_000 },
      before: [shadow('hate~z~r1')],
    })
    const taking = take(['a', 'b', 'c'])
    await expect.poll(() => sent).toEqual(['hate~a~r1'])
    pass(60_001)
    await taking
    expect([sent, counts()]).toEqual([['hate~a~r1'], { sent: 1, passedOver: 2 }])
  })

  it('waits also once the calls of cases that could not be judged may have cost so much', async () => {
    let [tries, spent] = [0, 0]
    const { take, sent, counts, pass } = following({
      bounds: { atOnce: 1, budget: 2, behindMs: 60_000 },
      async judge() {
        tries++
        spent += 1
        throw new Error('timeout')
      },
      spentUsd: async () => spent,
    })
    const taking = take(['a', 'b', 'c'])
    await expect.poll(() => counts().passedOver).toBe(1)
    pass(60_001)
    await taking
    expect([sent, tries, counts().passedOver]).toEqual([[], 3, 3])
  })

  it('pays for what it asked alone, and tells how long it waited', async () => {
    let [looks, waited] = [0, 0]
    const { take, sent } = following({
      bounds: { atOnce: 1, budget: 2, behindMs: 60_000 },
      judge: async ({ of }) => ({ ...shadow(of), asked: { anew: 0, known: 3, costUsd: 0 } }),
      isNeeded: async () => ++looks < 3,
      waited: (seconds) => {
        waited += seconds
      },
    })
    await take(['a', 'b', 'c', 'd'])
    expect([sent.length, waited]).toEqual([4, 0.002])
  })

  it('passes over a subject that was deleted, and a case that can’t be judged, which it says', async () => {
    const { take, sent, counts, failures } = following({
      isDeleted: async ({ postId }) => postId === 'a',
      judge: async ({ of }) => {
        if (of.includes('b')) throw new Error('no model')
        return shadow(of)
      },
    })
    await take(['a', 'b', 'c'])
    expect([sent, counts().passedOver]).toEqual([['hate~c~r1'], 2])
    expect(failures).toEqual(['no model', 'no model', 'no model'])
  })

  it('judges so many at once, whichever partitions they come from', async () => {
    let [open, most] = [0, 0]
    const { take } = following({
      bounds: { atOnce: 3, budget: 100, behindMs: 60_000 },
      async judge({ of }) {
        most = Math.max(most, ++open)
        await new Promise((resolve) => setTimeout(resolve, 5))
        open--
        return shadow(of)
      },
    })
    await Promise.all([take(['a', 'b', 'c', 'd', 'e']), take(['f', 'g', 'h']), take(['i', 'j'])])
    expect(most).toBe(3)
  })

  it('ends its work, and the batch is read again, where the group has gone on without it or it is stopped', async () => {
    const never = { judge: (_: JudgedSnapshot, signal: AbortSignal) => untilAborted(signal) }
    const lost = following(never)
    const left = async () => {
      throw new Error('the group is rebalanced')
    }
    await expect(lost.take(['a'], left)).rejects.toThrow('rebalanced')
    const ended = following(never)
    const taking = ended.take(['a'])
    ended.stopped.abort()
    await expect(taking).rejects.toThrow()
    expect([lost.sent, ended.sent]).toEqual([[], []])
  })
})

function untilAborted(signal: AbortSignal): Promise<ShadowVerdict> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
}

it('its share of subjects is drawn by the key, all revisions alike, and another variant draws others', () => {
  const rank = samplingRanks('a secret')
  const drawn = (variant: string) =>
    Array.from({ length: 2_000 }, (_, n) => isOfVariant(variant, 'hate', judgedOf(`p${n}`).ref, { share: 0.1, rank }))
  const [one, other] = [drawn('new'), drawn('other')]
  const share = one.filter(Boolean).length / one.length
  expect(share).toBeGreaterThan(0.07)
  expect(share).toBeLessThan(0.13)
  expect(one).not.toEqual(other)
  const more = Array.from({ length: 2_000 }, (_, n) =>
    isOfVariant('new', 'hate', judgedOf(`p${n}`).ref, { share: 0.3, rank }),
  )
  expect(
    one.every((is, n) => !is || more[n] === true),
    'whoever draws more draws the same',
  ).toBe(true)
  expect(isOfVariant('new', 'hate', judgedOf('p1').ref, { share: 1, rank })).toBe(true)
})
