import { describe, expect, test } from 'vitest'
import {
  OPERATOR_ACTIONS,
  type OperatorAction,
  type OutageReason,
  PermanentError,
  RetryLaterError,
} from '../../src/contracts/facts/errors.ts'
import { type Breaker, breaker } from '../../src/models/breaker.ts'
import { ModelAvoided } from '../../src/models/context.ts'
import { outageDeferral } from '../../src/models/model-outage.ts'
import { GATEWAY } from '../support/parts.ts'

const CHAIN = ['small', 'large']

function setUp() {
  let now = 1_000_000
  const breakers = breaker({ settings: GATEWAY.breaker, clock: () => now, random: () => 0 })
  const deferral = outageDeferral({ breakers, clock: () => now, random: () => 0.5 })
  const errorFor = (error: unknown, { caseId = 'c', last = false, chain = CHAIN, leftMs = 600_000 } = {}) => {
    now += 1_000
    return deferral.errorFor(error, chain, { caseId, askId: `${caseId}/0/0.0`, last, deadline: now + leftMs })
  }
  const answered = (caseId: string, beganAt = now) =>
    deferral.answered(CHAIN, { caseId, askId: `${caseId}/0/0.0` }, beganAt)
  const refuse = (model: string, mend: OperatorAction) => {
    for (let n = 0; n < 10 && breakers.outage(model) === null; n++) leave(breakers, model, mend)
  }
  return { breakers, deferral, errorFor, answered, refuse, now: () => now, pass: (ms: number) => (now += ms) }
}

function leave(breakers: Breaker, model: string, mend: OperatorAction): void {
  const allowed = breakers.allow(model)
  if (allowed.ok) breakers.note(allowed.pass, 'operator', { action: mend, why: 'status 429' })
}

const refused = (operatorAction: OperatorAction) =>
  new PermanentError('rejected', `status 400: ${operatorAction}`, { operatorAction })
const silent = (code: 'unavailable' | 'timeout' = 'unavailable') => new RetryLaterError(code, 'status 503')
const waitsFor = (reason: OutageReason) => ({ name: 'RetryLaterError', costsAttempt: false, awaits: reason })

describe('an ask that no model of its chain answers', () => {
  test.each(OPERATOR_ACTIONS)('is deferred at no attempt’s cost, where the operator has to mend it (%s)', (mend) => {
    const { errorFor } = setUp()
    for (let n = 0; n < 20; n++)
      expect(errorFor(refused(mend))).toMatchObject({ ...waitsFor(mend), message: `status 400: ${mend}` })
  })

  test('comes back soon as long as the models may be called, and not all at once after that', () => {
    const { errorFor, refuse } = setUp()
    expect(errorFor(refused('quota'))).toMatchObject({ delayMs: 1_500 })
    for (const model of CHAIN) refuse(model, 'quota')
    // The probe comes after 10 s, less the second that has passed.
    expect(errorFor(new ModelAvoided('unavailable', 'no model'))).toMatchObject({
      ...waitsFor('quota'),
      message: 'no model: status 429',
      delayMs: 9_000 * 1.5,
    })
  })

  test('comes back the later the more wait, up to a minute: so they cost no more together', () => {
    const { errorFor, refuse, answered, pass } = setUp()
    for (const model of CHAIN) refuse(model, 'quota')
    const avoided = new ModelAvoided('unavailable', 'no model')
    const spreads = Array.from({ length: 3_000 }, (_, n) => {
      const error = errorFor(avoided, { caseId: `c${n}` }) as RetryLaterError
      pass(-1_000)
      return error.delayMs ?? 0
    })
    // The probe is 10 s away, less the second that passes at each.
    expect([spreads[0], spreads[799], spreads[2_999]]).toEqual([9_000 * 1.5, 9_000 + 20_000, 9_000 + 30_000])
    for (let n = 0; n < 2_999; n++) answered(`c${n}`)
    expect(errorFor(avoided, { caseId: 'c2999' })).toMatchObject({ delayMs: 9_000 * 1.5 })
  })

  test('is deferred by a breaker that is open for silence, with that for a reason', () => {
    const { errorFor } = setUp()
    expect(errorFor(new ModelAvoided('unavailable', 'no model'))).toMatchObject(waitsFor('unreachable'))
  })

  test('is deferred where the failed call was the one by which the last model was left alone', () => {
    const { errorFor, refuse } = setUp()
    refuse('large', 'key')
    expect(errorFor(silent())).toMatchObject({ costsAttempt: true, awaits: undefined })
    refuse('small', 'key')
    expect(errorFor(silent())).toMatchObject(waitsFor('unreachable'))
  })
})

describe('an ask that may have failed by its own doing', () => {
  test('is not deferred for an image whose host is silent: nobody holds a verdict up by a host of their own', () => {
    const { errorFor } = setUp()
    const error = new RetryLaterError('image', 'no image within 20000 ms')
    for (const last of [false, true]) expect(errorFor(error, { last })).toBe(error)
  })

  test.each(['permission', 'model'] as const)('fails when others are answered that asked later (%s)', (mend) => {
    const { errorFor, answered } = setUp()
    for (let n = 0; n < 2; n++) {
      expect(errorFor(refused(mend))).toMatchObject(waitsFor(mend))
      answered('another')
    }
    const error = refused(mend)
    expect(errorFor(error)).toBe(error)
  })

  test.each(['permission', 'model'] as const)(
    'and not for its own answers, nor for those that were asked for before (%s)',
    (mend) => {
      const { errorFor, answered, now } = setUp()
      const before = now()
      for (let n = 0; n < 10; n++) {
        expect(errorFor(refused(mend))).toMatchObject(waitsFor(mend))
        answered('another', before)
      }
    },
  )

  test.each(['quota', 'key'] as const)('does not where no question can be the cause (%s)', (mend) => {
    const { errorFor, answered } = setUp()
    for (let n = 0; n < 10; n++) {
      expect(errorFor(refused(mend))).toMatchObject(waitsFor(mend))
      answered('another')
    }
  })

  test.each(['unavailable', 'timeout'] as const)(
    'costs attempts, and its last is deferred only while nobody else is answered (%s)',
    (code) => {
      const { errorFor, answered } = setUp()
      expect(errorFor(silent(code))).toMatchObject({ costsAttempt: true })
      expect(errorFor(silent(code), { last: true })).toMatchObject(waitsFor('unreachable'))
      answered('another')
      const error = silent(code)
      expect(errorFor(error, { last: true })).toBe(error)
    },
  )

  test.each(['unavailable', 'timeout'] as const)(
    'is deferred at its case’s deadline as at its last attempt: a call that hangs may be the only one that it has (%s)',
    (code) => {
      const { errorFor, answered } = setUp()
      const never = silent(code)
      expect(errorFor(never, { leftMs: 1_000 })).toBe(never)
      answered('an earlier one')
      answered('c')
      expect(errorFor(silent(code))).toMatchObject({ costsAttempt: true })
      expect(errorFor(silent(code), { leftMs: 1_000 })).toMatchObject(waitsFor('unreachable'))
      answered('another')
      const error = silent(code)
      expect(errorFor(error, { leftMs: 1_000 })).toBe(error)
    },
  )

  test('begins anew when it has been answered', () => {
    const { errorFor, answered } = setUp()
    errorFor(silent())
    answered('another')
    answered('c')
    expect(errorFor(silent(), { last: true })).toMatchObject(waitsFor('unreachable'))
  })
})

test.each([
  ['a refused question', new PermanentError('rejected', 'status 400')],
  ['a filtered one', new PermanentError('content-filter', 'status 400')],
  ['a wait that the endpoint imposed', new RetryLaterError('unavailable', 'wait', { delayMs: 5, costsAttempt: false })],
  ['a stop', new RetryLaterError('aborted', 'stopped', { costsAttempt: false })],
  ['an unexpected error', new Error('bug')],
])('%s is left as it is', (_, error) => {
  const { errorFor } = setUp()
  expect(errorFor(error, { last: true })).toBe(error)
})

describe('a busy model', () => {
  const busy = (delayMs?: number) =>
    new RetryLaterError('rate-limited', 'status 429', {
      ...(delayMs === undefined ? {} : { delayMs }),
      costsAttempt: false,
    })

  test('is waited for longer and longer, unless it has answered another case since it last turned this ask away', () => {
    const { errorFor, answered, pass } = setUp()
    const grows = (error = busy()) => (errorFor(error) as RetryLaterError).grows
    expect(grows()).toBe(true)
    pass(1)
    answered('another')
    // It had been answered before that; what it answers later counts.
    expect([grows(busy(7)), grows()]).toEqual([false, true])
    pass(1)
    answered('another')
    expect(errorFor(busy(7))).toMatchObject({ grows: false, delayMs: 7, code: 'rate-limited', costsAttempt: false })
  })

  test('is waited for as in an outage, at no time’s cost, unless it has answered another case since it first turned this ask away', () => {
    const { errorFor, answered, pass } = setUp()
    answered('an earlier one')
    for (let n = 0; n < 20; n++)
      expect(errorFor(busy(7), { last: true })).toMatchObject({ costsAttempt: false, awaits: 'load', delayMs: 7 })
    pass(1)
    answered('another')
    for (let n = 0; n < 2; n++)
      expect(errorFor(busy(), { last: true })).toMatchObject({ costsAttempt: false, awaits: undefined })
  })
})

describe('what is remembered of failures and answers', () => {
  test('is each ask’s own count of refusals, and three of them', () => {
    const { errorFor, answered, pass } = setUp()
    for (let n = 0; n < 2; n++) {
      for (const caseId of ['c', 'd']) expect(errorFor(refused('model'), { caseId })).toMatchObject(waitsFor('model'))
      pass(1)
      answered('another')
    }
    for (const caseId of ['c', 'd']) {
      const error = refused('model')
      expect(errorFor(error, { caseId })).toBe(error)
    }
  })

  test('is not that another case asked at the very moment of the first failure', () => {
    const { errorFor, answered } = setUp()
    errorFor(silent())
    answered('another')
    expect(errorFor(silent(), { last: true })).toMatchObject(waitsFor('unreachable'))
  })

  test('is not an answer to another ask of the same case, nor does that hide another case’s', () => {
    const { deferral, errorFor, answered, now, pass } = setUp()
    const ownOther = () => deferral.answered(CHAIN, { caseId: 'c', askId: 'c/0/0.1' }, now())
    errorFor(silent())
    pass(1)
    ownOther()
    expect(errorFor(silent(), { last: true })).toMatchObject(waitsFor('unreachable'))
    answered('another')
    ownOther()
    const error = silent()
    expect(errorFor(error, { last: true })).toBe(error)
  })

  test('is gone once the ask was answered, whoever was answered before', () => {
    const { errorFor, answered, pass } = setUp()
    errorFor(silent())
    pass(1)
    answered('another')
    answered('c')
    expect(errorFor(silent(), { last: true })).toMatchObject(waitsFor('unreachable'))
  })
})

describe('how an ask is deferred', () => {
  const blocked = (away: ReturnType<Breaker['outage']>) =>
    outageDeferral({
      breakers: { preferred: () => ({ model: 'small', retryInMs: 100_000 }), outage: () => away },
      clock: () => 0,
      random: () => 0.5,
    })
  const context = { caseId: 'c', askId: 'c/0/0.0', last: false, deadline: 1e15 }

  test('says whether the operator has to act, and what it comes from', () => {
    const { errorFor } = setUp()
    const cause = refused('quota')
    expect(errorFor(cause)).toMatchObject({ code: 'operator', cause })
    expect(errorFor(silent(), { last: true })).toMatchObject({ code: 'unavailable' })
  })

  test('is spread over half a minute at most, and gives no reason that nobody knows', () => {
    const avoided = new ModelAvoided('unavailable', 'no model')
    const known = blocked({ reason: 'key', why: '', since: 0 })
    expect(known.errorFor(avoided, CHAIN, context)).toMatchObject({ message: 'no model', delayMs: 115_000 })
    expect(blocked(null).errorFor(avoided, CHAIN, context)).toMatchObject({ message: 'no model' })
  })
})
