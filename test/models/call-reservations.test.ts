import { describe, expect, test } from 'vitest'
import { RetryLaterError } from '../../src/contracts/facts/errors.ts'
import { ask, reply, setUp, unreadable } from './set-up.ts'

describe('the deadline', () => {
  test('bounds the wait for a call', async () => {
    const { put, requests } = setUp([reply()])
    await put(ask, { deadline: 400 })
    expect(requests[0]?.timeoutMs).toBe(400)
  })

  test.each([0, -1])('that has passed lets no call begin', async (deadline) => {
    const { put, requests, calls } = setUp([reply()])
    await expect(put(ask, { deadline })).rejects.toMatchObject({ name: 'PermanentError', code: 'deadline' })
    expect(requests).toEqual([])
    expect(calls).toEqual([])
  })

  test('that passes during the first call leaves no repair; the call is noted', async () => {
    const { put, requests, calls } = setUp([unreadable, reply()], {}, 50)
    await expect(put(ask, { deadline: 50 })).rejects.toMatchObject({ code: 'deadline' })
    expect(requests).toHaveLength(1)
    expect(calls.map(({ outcome }) => outcome)).toEqual(['unreadable'])
  })
})

describe('a limit', () => {
  const limits = { models: { small: { callsPerMinute: 1 } }, tenants: {} }

  test('that is reached makes the call wait, at no attempt’s cost and without a call', async () => {
    const { put, requests, calls, told } = setUp([reply(), reply()], { limits })
    await put()
    await expect(put()).rejects.toMatchObject({ code: 'limited', costsAttempt: false, delayMs: expect.any(Number) })
    expect(requests).toHaveLength(1)
    expect(calls).toHaveLength(1)
    expect(told).toContainEqual({
      name: 'call:limited',
      scope: 'model',
      waitMs: expect.any(Number),
      caseId: 'rumor~p~r1',
    })
  })

  test('is that of its model and its tenant alone', async () => {
    const { put } = setUp([reply(), reply(), reply()], {
      limits: { ...limits, tenants: { loud: { callsPerMinute: 1 } } },
    })
    await put()
    await put(ask, { attempt: 2, subject: { tenant: 'loud', postId: 'p', kind: 'post' } })
    const loud = put(ask, { attempt: 2, subject: { tenant: 'loud', postId: 'q', kind: 'post' } })
    await expect(loud).rejects.toMatchObject({ code: 'limited', message: expect.stringContaining('tenant:loud') })
    await put(ask, { attempt: 2, subject: { tenant: 'quiet', postId: 'p', kind: 'post' } })
  })

  test('gets back what a failed call did not take', async () => {
    const { put, requests } = setUp([new RetryLaterError('unavailable', 'gone'), reply()], { limits })
    await expect(put()).rejects.toMatchObject({ code: 'unavailable' })
    await put()
    expect(requests).toHaveLength(2)
  })

  test('that no call could meet is an error that says what to do', async () => {
    const { put, requests } = setUp([reply()], { limits: { models: { small: { tokensPerMinute: 100 } }, tenants: {} } })
    await expect(put()).rejects.toMatchObject({ name: 'PermanentError', code: 'rejected' })
    expect(requests).toEqual([])
  })

  test('that leaves no room for the repair lets the first reading stand', async () => {
    const { put, requests } = setUp([unreadable, reply()], { limits })
    const settled = await put()
    expect(settled).toMatchObject({ failed: { code: 'unreadable' }, usage: { calls: 1 } })
    expect(requests).toHaveLength(1)
  })
})

test('a repair and a call that waits for a budget keep no room in a limit’s line', async () => {
  const limits = { models: { small: { callsPerMinute: 1 } }, tenants: {} }
  const repaired = setUp([unreadable, reply()], { limits })
  await repaired.put()
  repaired.pass(60_100)
  await repaired.put(ask, { subject: { tenant: 'other', postId: 'p', kind: 'post' }, askId: 'other' })

  const spent = { verdict: { tokens: 2_000, usd: null } }
  const held = setUp([reply({ completionTokens: 1_900 }), reply()], { limits }, 10, undefined, spent)
  await held.put()
  await expect(held.put()).rejects.toMatchObject({ code: 'budget' })
  held.pass(60_100)
  await held.put(ask, { caseId: 'another', askId: 'other' })
})

describe('a budget', () => {
  const verdict = { tokens: 2_000, usd: null }

  test('that is spent fails the ask with its name before any call', async () => {
    const { put, requests, told } = setUp([reply({ completionTokens: 1_900 }), reply()], {}, 10, undefined, { verdict })
    await put()
    await expect(put()).rejects.toMatchObject({ name: 'PermanentError', code: 'budget' })
    expect(requests).toHaveLength(1)
    expect(told).toContainEqual({
      name: 'budget:refused',
      scope: 'verdict',
      unit: 'tokens',
      why: 'spent',
      caseId: 'rumor~p~r1',
    })
  })

  test('of one verdict is not another’s', async () => {
    const { put } = setUp([reply({ completionTokens: 1_900 }), reply()], {}, 10, undefined, { verdict })
    await put()
    await put(ask, { caseId: 'another' })
  })

  const hourly = { tenant: { tokens: 2_000, usd: null, per: 3_600_000 } }
  test('that renews holds the ask, or does without, as the settings say', async () => {
    const replies = [reply({ completionTokens: 1_900 }), reply()]
    const holding = setUp(replies, { whenSpent: 'hold' }, 10, undefined, hourly)
    await holding.put()
    await expect(holding.put()).rejects.toMatchObject({ name: 'RetryLaterError', code: 'budget', costsAttempt: false })
    holding.pass(3_600_000)
    await holding.put(ask, { deadline: 1e9 })
    const degrading = setUp(replies, { whenSpent: 'degrade' }, 10, undefined, hourly)
    await degrading.put()
    await expect(degrading.put()).rejects.toMatchObject({ name: 'PermanentError', code: 'budget' })
  })

  test('is charged what was used, and not the bound that was set aside', async () => {
    const { put } = setUp([reply(), reply(), reply(), reply()], {}, 10, undefined, { verdict })
    for (let call = 0; call < 4; call++) await put()
  })

  test('in dollars goes by the model’s prices', async () => {
    const prices = { small: { prompt: 0, cached: 0, completion: 1_000 } }
    const usd = { verdict: { tokens: null, usd: 0.71 } }
    const { put } = setUp([reply({ completionTokens: 700 }), reply()], { prices }, 10, undefined, usd)
    await put()
    await expect(put()).rejects.toMatchObject({ code: 'budget', message: expect.stringContaining('usd') })
  })
})
