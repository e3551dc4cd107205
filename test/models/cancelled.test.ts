import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import type { Ask } from '../../src/contracts/facts/ask.ts'
import { RetryLaterError } from '../../src/contracts/facts/errors.ts'
import { noUsage } from '../../src/contracts/facts/verdict.ts'
import type { Memo } from '../../src/contracts/ports/memo.ts'
import { askInTurn } from '../../src/models/ask.ts'
import { type AskResult, askContext } from '../../src/models/context.ts'
import { leases } from '../../src/models/lease.ts'
import { sharingOf } from '../../src/models/memo.ts'
import type { GatewayState } from '../../src/models/parts.ts'
import { questionKeys, settledOf } from '../../src/models/questions.ts'
import { singleFlight } from '../../src/models/single-flight.ts'
import { memoryMemo } from '../../src/store/memo/memory.ts'
import { GATEWAY } from '../support/parts.ts'

const HOUR = 3_600_000
const QUESTION: Ask = {
  stage: 'opinion',
  role: 'debater',
  messages: [{ role: 'user', content: 'Fake or Real?' }],
  answer: z.object({ answer: z.enum(['Fake', 'Real']) }),
  temperature: 0,
  maxTokens: 100,
}
const FAKE: AskResult = {
  answer: { answer: 'Fake' },
  raw: '{"answer": "Fake"}',
  model: 'small',
  ms: 700,
  memo: false,
  usage: { ...noUsage(), calls: 1 },
}

/** Processes that share a memo, and a model that answers when it is let, unless its call is stopped. */
function setUp(over: Partial<Memo> = {}) {
  const memo = { ...memoryMemo(Date.now), ...over }
  const settings = { enabled: true, keep: HOUR, lease: 5_000, patience: 5_000, maxBytes: 10_000 }
  const errors: unknown[] = []
  const calls: { stopped: boolean; answer(): void }[] = []
  const process = () => {
    const report: GatewayState['report'] = (_, event) => void errors.push(event)
    // Of the parts of a gateway those that the memo reads.
    const gateway = {
      memo,
      clock: Date.now,
      report,
      flights: singleFlight(),
      questionKeys: questionKeys('secret'),
      settings: { ...GATEWAY, memo: settings },
      leases: leases({ memo, settings, clock: Date.now, report }),
      breakers: { preferred: ([model]: string[]) => ({ model, retryInMs: 0 }) },
      // A memo asks for no other part of it.
    } as unknown as GatewayState
    return (postId: string, { remember = true } = {}) => {
      const left = new AbortController()
      const context = askContext({
        ask: QUESTION,
        protocol: 'rumor',
        caseId: 'c',
        askId: 'a',
        attempt: 1,
        last: false,
        remember,
        calls: [],
        subject: { tenant: 'default', kind: 'asked', postId },
        signal: new AbortController().signal,
        cancelled: left.signal,
        deadline: Date.now() + HOUR,
      })
      const choice = { chain: ['small'], remaining: ['small'], model: 'small' }
      const sharing = sharingOf(gateway, context)
      const settled = askInTurn(gateway, context, sharing, choice, QUESTION.messages, async (_, { signal }) => {
        const { promise, resolve, reject } = Promise.withResolvers<AskResult>()
        const call = { stopped: false, answer: () => resolve(FAKE) }
        calls.push(call)
        if (signal.aborted) throw signal.reason
        signal.addEventListener('abort', () => {
          call.stopped = true
          reject(signal.reason)
        })
        return promise
      }).then((answers) => settledOf(QUESTION, answers))
      settled.catch(() => {})
      return { settled, leave: () => left.abort() }
    }
  }
  const called = (count = 1) => vi.waitFor(() => expect(calls).toHaveLength(count))
  return { put: process(), another: process, calls, called, errors, memo }
}

const STOPPED = expect.objectContaining({ code: 'aborted', costsAttempt: false })

test('a call that nobody else waits for is stopped when its asker leaves, and asked anew by who comes later', async () => {
  const { put, calls, called } = setUp()
  const one = put('one')
  await called()
  one.leave()
  await expect(one.settled).rejects.toEqual(STOPPED)
  await expect(one.settled).rejects.toBeInstanceOf(RetryLaterError)
  expect(calls[0]?.stopped).toBe(true)
  const two = put('two')
  await called(2)
  calls[1]?.answer()
  expect(await two.settled).toMatchObject({ answer: { answer: 'Fake' }, memo: false })
})

test('so is one of an ask that is not remembered', async () => {
  const { put, calls, called } = setUp()
  const [one, two] = [put('one', { remember: false }), put('two', { remember: false })]
  await called(2)
  one.leave()
  await expect(one.settled).rejects.toEqual(STOPPED)
  expect(calls.map(({ stopped }) => stopped)).toEqual([true, false])
  calls[1]?.answer()
  await two.settled
})

test('a call that somebody else in the process waits for goes on, and answers them', async () => {
  const { put, calls, called } = setUp()
  const one = put('one')
  await called()
  const two = put('two')
  await sleep(20)
  one.leave()
  await sleep(20)
  expect(calls[0]?.stopped).toBe(false)
  calls[0]?.answer()
  expect(await two.settled).toMatchObject({ memo: true })
  expect(await one.settled).toMatchObject({ memo: false })
  expect(calls).toHaveLength(1)
})

test('a call that another process waits for goes on, and answers it', async () => {
  const { put, another, calls, called } = setUp()
  const one = put('one')
  await called()
  const two = another()('two')
  await sleep(60)
  one.leave()
  await sleep(20)
  expect(calls[0]?.stopped).toBe(false)
  calls[0]?.answer()
  expect(await two.settled).toMatchObject({ memo: true })
  expect(calls).toHaveLength(1)
})

test('the last of those who wait for a call stops it, whoever made it', async () => {
  const { put, calls, called } = setUp()
  const one = put('one')
  await called()
  const two = put('two')
  await sleep(20)
  two.leave()
  await expect(two.settled).rejects.toEqual(STOPPED)
  expect(calls[0]?.stopped).toBe(false)
  one.leave()
  await expect(one.settled).rejects.toEqual(STOPPED)
  expect(calls[0]?.stopped).toBe(true)
})

test('where the memo does not answer, nobody knows who waits: the call goes on', async () => {
  const { put, calls, called, errors } = setUp({ releaseUnlessAwaited: async () => Promise.reject(new Error('away')) })
  const one = put('one')
  await called()
  one.leave()
  await vi.waitFor(() => expect(errors).toHaveLength(1))
  calls[0]?.answer()
  expect(await one.settled).toMatchObject({ memo: false })
  expect(calls[0]?.stopped).toBe(false)
})

test('an ask that was unwanted before it began ends', async () => {
  const { put } = setUp()
  const one = put('one')
  one.leave()
  await expect(one.settled).rejects.toEqual(STOPPED)
})
