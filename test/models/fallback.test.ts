import { describe, expect, test } from 'vitest'
import { ParameterRefused, PermanentError, RetryLaterError, UnknownRefusal } from '../../src/contracts/facts/errors.ts'
import { GATEWAY } from '../support/parts.ts'
import { ask, FAKE, reply, setUp, unreadable } from './set-up.ts'

describe('a model for a role', () => {
  test('of one protocol goes before that for the role, and that before the default', async () => {
    const roles = { default: ['d'], debater: ['r'], 'rumor.debater': ['p'] }
    const { put, requests } = setUp([reply(), reply(), reply()], { roles })
    await put()
    await put(ask, { protocol: 'hate' })
    await put({ ...ask, role: 'judge' }, { protocol: 'hate' })
    expect(requests.map(({ model }) => model)).toEqual(['p', 'r', 'd'])
  })
})

describe('models', () => {
  test.each([
    [1, 'small'],
    [2, 'large'],
    [3, 'large'],
    [9, 'large'],
  ])('attempt %i uses the chain’s %s', async (attempt, model) => {
    const { put, requests } = setUp([reply()])
    await put(ask, { attempt })
    expect(requests[0]?.model).toBe(model)
  })

  test('are those of the role where it is named', async () => {
    const { put, requests } = setUp([reply(), reply()], { roles: { default: ['small'], debater: ['own'] } })
    await put()
    await put({ ...ask, role: 'judge' })
    expect(requests.map(({ model }) => model)).toEqual(['own', 'small'])
  })

  test('do not change between an answer and its repair', async () => {
    const { put, requests } = setUp([unreadable, reply()])
    await put(ask, { attempt: 2 })
    expect(requests.map(({ model }) => model)).toEqual(['large', 'large'])
  })

  test('that are not set are a permanent failure', async () => {
    const { put } = setUp([], { roles: {} })
    await expect(put()).rejects.toMatchObject({ name: 'PermanentError', code: 'rejected' })
  })
})

test('what a server says of a failure is told once a minute, and not of its being busy', async () => {
  const saying = <Failure extends PermanentError | RetryLaterError>(error: Failure, said = 'no template') =>
    Object.assign(error, { saidByServer: () => said })
  const refused = () => saying(new PermanentError('rejected', 'status 400'))
  const answers = [
    saying(new RetryLaterError('rate-limited', 'status 429')),
    saying(new PermanentError('rejected', 'status 422'), ''),
    saying(new ParameterRefused('status 400: no temperature', (ask) => ask({ changes: {} }))),
    refused(),
    refused(),
    refused(),
    saying(new RetryLaterError('unavailable', 'status 500'), 'no memory'),
    refused(),
  ]
  const { put, pass, told } = setUp(answers, { roles: { default: ['small'] } })
  // The refused parameter and what follows it are one question's.
  for (let left = answers.length - 1; left > 0; left--) {
    if (left === 1) pass(61_000)
    await put().catch(() => {})
  }
  const once = { name: 'call:refused', model: 'small', why: 'status 400', said: 'no template' }
  expect(told.filter((event) => 'said' in event)).toMatchObject([
    once,
    { ...once, why: 'status 500', said: 'no memory' },
    once,
  ])
})

describe('a model that does not answer', () => {
  const gone = () => new RetryLaterError('unavailable', 'gone')
  const over = { breaker: { ...GATEWAY.breaker, window: 4, minCalls: 4, coolDown: 1_000 } }

  test('is left alone after a while, and the next of the chain is asked', async () => {
    const { put, requests, told } = setUp([gone(), gone(), gone(), gone(), reply({ model: 'large-2026' })], over)
    for (let call = 0; call < 4; call++) await expect(put()).rejects.toMatchObject({ code: 'unavailable' })
    expect(told).toContainEqual({ name: 'breaker:changed', model: 'small', to: 'open', reason: 'unreachable' })
    expect((await put()).model).toBe('large-2026')
    expect(requests.at(-1)?.model).toBe('large')
  })

  test('leaves nothing to be remembered under its name: a fallback’s answer is the fallback’s', async () => {
    const lost = Array.from({ length: 4 }, gone)
    const { put, pass, requests } = setUp([...lost, reply({ model: 'large-2026' }), reply({ model: 'small-2026' })], {
      ...over,
      memo: { enabled: true, keep: 60_000, lease: 5_000, patience: 2_000, maxBytes: 10_000 },
    })
    for (let call = 0; call < 4; call++) await expect(put(ask, { remember: true })).rejects.toThrow()
    expect(await put(ask, { remember: true })).toMatchObject({ model: 'large-2026', memo: false })
    // The outage does not pay for it again…
    expect(await put(ask, { remember: true })).toMatchObject({ model: 'large-2026', memo: true })
    pass(1_100)
    // …and once it is over the preferred model is asked.
    expect(await put(ask, { remember: true })).toMatchObject({ model: 'small-2026', memo: false })
    expect(requests.slice(4).map(({ model }) => model)).toEqual(['large', 'small'])
  })

  test('and has no next is waited for, at no attempt’s cost', async () => {
    const { put, requests } = setUp([gone(), gone(), gone(), gone()], { ...over, roles: { default: ['small'] } })
    for (let call = 0; call < 4; call++) await expect(put()).rejects.toMatchObject({ costsAttempt: true })
    await expect(put()).rejects.toMatchObject({ code: 'unavailable', costsAttempt: false, delayMs: expect.any(Number) })
    expect(requests).toHaveLength(4)
  })

  test('is tried again, and is back when it answers', async () => {
    const answers = [reply(), reply(), reply(), reply()]
    const { put, pass, told } = setUp([gone(), gone(), gone(), gone(), ...answers], {
      ...over,
      roles: { default: ['small'] },
    })
    for (let call = 0; call < 4; call++) await expect(put()).rejects.toThrow()
    pass(1_100)
    for (let call = 0; call < 4; call++) await put()
    expect(told).toContainEqual({ name: 'breaker:changed', model: 'small', to: 'closed', reason: 'unreachable' })
  })
})

describe('another model of the chain is asked at once', () => {
  const elsewhere = (what: 'question' | 'model') =>
    new PermanentError('rejected', 'status 404', {
      elsewhere: what,
      ...(what === 'model' ? { operatorAction: 'model' as const } : {}),
    })
  const wait = (delayMs: number) => new RetryLaterError('rate-limited', 'status 429', { delayMs, costsAttempt: false })

  test.each([
    ['the first is not there', elsewhere('model'), 'operator'],
    ['the question is too long for the first', elsewhere('question'), 'rejected'],
    ['the first is to be left alone for long', wait(60_000), 'rate-limited'],
    [
      'the first is busy for nobody knows how long',
      new RetryLaterError('rate-limited', 'status 429', { costsAttempt: false }),
      'rate-limited',
    ],
  ])('where %s', async (_, error, outcome) => {
    const { put, requests, calls } = setUp([error, reply({ model: 'large-2026' })])
    expect(await put()).toMatchObject({ answer: FAKE, model: 'large-2026', usage: { calls: 1 } })
    expect(requests.map(({ model }) => model)).toEqual(['small', 'large'])
    expect(calls.map((call) => call.outcome)).toEqual([outcome, 'answered'])
  })

  test.each([
    ['of another endpoint, where its key is refused', ['a/x', 'a/y', 'b/z'], ['a/x', 'b/z'], 'answered'],
    ['of no other endpoint than there is', ['a/x', 'a/y'], ['a/x'], 'operator'],
  ])('%s', async (_, chain, asked, end) => {
    const { put, requests, calls } = setUp(
      [new PermanentError('rejected', 'status 401', { elsewhere: 'endpoint', operatorAction: 'key' }), reply()],
      { roles: { default: chain }, endpointOf: (model) => model.slice(0, 1) },
    )
    await put().catch(() => undefined)
    expect(requests.map(({ model }) => model)).toEqual(asked)
    expect(calls.at(-1)?.outcome).toBe(end)
  })

  test('and its answer is known as its own: it is not paid for again, and never taken for the first one’s', async () => {
    const { put, requests, told } = setUp(
      [wait(60_000), reply({ model: 'large-2026' }), wait(60_000), elsewhere('question'), reply()],
      { memo: { enabled: true, keep: 60_000, lease: 5_000, patience: 2_000, maxBytes: 10_000 } },
    )
    const again = () => put(ask, { remember: true })
    expect(await again()).toMatchObject({ model: 'large-2026', memo: false })
    // The first is asked each time, as it may have come back, and the other's answer is there already.
    for (const _ of [1, 2]) expect(await again()).toMatchObject({ model: 'large-2026', memo: true })
    expect(await again()).toMatchObject({ model: 'small-2026', memo: false })
    expect(await again()).toMatchObject({ model: 'small-2026', memo: true })
    expect(requests.map(({ model }) => model)).toEqual(['small', 'large', 'small', 'small', 'small'])
    expect(told.filter((event) => 'hits' in event)).toHaveLength(3)
  })

  describe('where a filter refused the question', () => {
    const HATE = { category: 'hate', severity: 'high' }
    const refusals = [
      ['with an error', new PermanentError('content-filter', 'status 400', { filtered: [HATE] })],
      ['in an answer', reply({ text: null, finish: 'content-filter', filtered: [HATE] })],
    ] as const

    test.each(refusals)('only if the settings say so, %s: the call tells what was refused', async (_, refusal) => {
      const next = setUp([refusal, reply({ model: 'large-2026' })], { onFiltered: 'next' })
      expect(await next.put()).toMatchObject({ answer: FAKE, model: 'large-2026' })
      expect(next.calls).toMatchObject([
        { outcome: 'content-filter', filtered: { model: 'small', found: [HATE] } },
        { outcome: 'answered' },
      ])
      expect(next.told).toContainEqual(
        expect.objectContaining({ name: 'call:filtered', model: 'small', found: [HATE] }),
      )
      const stop = setUp([refusal, reply()])
      await stop.put().catch(() => {})
      expect(stop.requests).toHaveLength(1)
    })

    test('and ends with that where every model refuses it', async () => {
      const { put, requests } = setUp([refusals[1][1], refusals[1][1]], { onFiltered: 'next' })
      expect(await put()).toMatchObject({ failed: { code: 'content-filter' } })
      expect(requests.map(({ model }) => model)).toEqual(['small', 'large'])
    })
  })

  test('and no third time: the last one’s error is the ask’s', async () => {
    const { put, requests } = setUp([
      elsewhere('model'),
      new PermanentError('rejected', 'status 403', { elsewhere: 'model' }),
    ])
    await expect(put()).rejects.toThrow('status 403')
    expect(requests).toHaveLength(2)
  })

  test('at a later attempt, that is one before the model whose turn it is', async () => {
    const { put, requests } = setUp([elsewhere('question'), reply()])
    await put(ask, { attempt: 2 })
    expect(requests.map(({ model }) => model)).toEqual(['large', 'small'])
  })

  test.each([
    ['a wait is short', wait(2_000)],
    ['the key is wrong', new PermanentError('rejected', 'status 401')],
    ['the model gave no answer', new RetryLaterError('unavailable', 'status 500')],
  ])('but not where %s', async (_, error) => {
    const { put, requests } = setUp([error, reply()])
    await expect(put()).rejects.toBe(error)
    expect(requests).toHaveLength(1)
  })

  test('but not where there is none', async () => {
    const error = elsewhere('model')
    const { put, requests } = setUp([error, reply()], { roles: { default: ['small'] } })
    await expect(put()).rejects.toBe(error)
    expect(requests).toHaveLength(1)
  })

  test('and one that is not there is then left alone, but for one that this question was too long for', async () => {
    const askedFirst = async (what: 'question' | 'model') => {
      const tenTimes = Array.from({ length: 10 }, () => [elsewhere(what), reply()]).flat()
      const { put, requests } = setUp([...tenTimes, reply(), reply()])
      for (let n = 0; n < 11; n++) await put(ask, { caseId: `rumor~p~r${n}` }).catch(() => {})
      return requests.map(({ model }) => model)
    }
    const tenTimes = Array.from({ length: 10 }, () => ['small', 'large']).flat()
    expect(await askedFirst('model')).toEqual([...tenTimes, 'large'])
    expect(await askedFirst('question')).toEqual([...tenTimes, 'small'])
  })
})

const PROBATION = { window: 4, minCalls: 2, failureShare: 0.5, coolDown: 100, probes: 1, successes: 2 }

test('a question that is taken back before it is sent shuts no model out that is on probation', async () => {
  const away = new RetryLaterError('unavailable', 'away')
  const settings = { breaker: { ...GATEWAY.breaker, ...PROBATION }, roles: { default: ['small'] } }
  const { put, pass, requests } = setUp([away, away, reply()], settings)
  for (let failure = 0; failure < 2; failure++) await expect(put()).rejects.toThrow()
  pass(200)
  const mayAsk = () => Promise.reject(new Error('answered elsewhere'))
  await expect(put(ask, { mayAsk })).rejects.toThrow('answered elsewhere')
  expect(requests).toHaveLength(2)
  expect(await put()).toMatchObject({ answer: FAKE })
})

test('a repair question that comes too late for its case shuts no model out that is on probation', async () => {
  const away = new RetryLaterError('unavailable', 'away')
  const settings = { breaker: { ...GATEWAY.breaker, ...PROBATION }, roles: { default: ['small'] } }
  const { put, pass } = setUp([away, away, unreadable, reply(), reply()], settings)
  for (let failure = 0; failure < 2; failure++) await expect(put()).rejects.toThrow()
  pass(200)
  // The first call takes the rest of its time.
  await expect(put(ask, { deadline: 225 })).rejects.toMatchObject({ code: 'deadline' })
  pass(1_000)
  expect(await put()).toMatchObject({ answer: FAKE })
})

describe('a status that says nothing of the question', () => {
  const unknown = () => new UnknownRefusal('unavailable', 'status 424')
  const over = { roles: { default: ['a/one', 'a/two', 'b'] }, endpointOf: (model: string) => model.slice(0, 1) }

  test('has the next model asked at once', async () => {
    const { put, requests } = setUp([unknown(), reply({ model: 'two' })], over)
    expect(await put()).toMatchObject({ answer: FAKE, model: 'two' })
    expect(requests.map(({ model }) => model)).toEqual(['a/one', 'a/two'])
  })

  test('is an outage as long as one endpoint alone says so', async () => {
    const { put } = setUp([unknown(), unknown()], { ...over, roles: { default: ['a/one', 'a/two'] } })
    await expect(put()).rejects.toMatchObject({ code: 'unavailable', costsAttempt: true })
  })

  test('is the question’s once a second endpoint says so, and no attempt more is made', async () => {
    const { put, requests } = setUp([unknown(), unknown(), unknown()], over)
    await expect(put()).rejects.toMatchObject({ name: 'PermanentError', code: 'rejected' })
    expect(requests).toHaveLength(3)
  })

  test('is not the question’s where the other endpoint is down', async () => {
    const down = new RetryLaterError('unavailable', 'status 503')
    const { put } = setUp([unknown(), down], { ...over, roles: { default: ['a/one', 'b'] } })
    await expect(put()).rejects.toBe(down)
  })

  test.each([
    [1, { code: 'unavailable', costsAttempt: false, awaits: 'unreachable' }],
    [2, { name: 'PermanentError', code: 'rejected' }],
  ])('is an outage until two other questions are answered meanwhile: %i', async (others, error) => {
    const replies = [unknown(), ...Array.from({ length: others }, () => reply()), unknown()]
    const { put, pass } = setUp(replies, { roles: { default: ['a'] }, defersInOutage: true })
    await expect(put()).rejects.toMatchObject({ code: 'unavailable', costsAttempt: true })
    for (let n = 0; n < others; n++) {
      pass(1)
      // Another question of the same case, and one of another.
      const caseId = `rumor~p${n === 0 ? '' : n}~r1`
      await put(ask, { caseId, askId: `${caseId}/0/0.${n + 1}` })
    }
    await expect(put(ask, { last: true })).rejects.toMatchObject(error)
  })
})
