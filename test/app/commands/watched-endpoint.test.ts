import { describe, expect, test } from 'vitest'
import { watchedEndpoint } from '../../../src/app/commands/judging/watched-endpoint.ts'
import { type OperatorAction, PermanentError, RetryLaterError } from '../../../src/contracts/facts/errors.ts'
import { ERROR_FOR_ANSWER } from '../../../src/contracts/facts/model-name.ts'
import type { ModelReply, ModelRequest } from '../../../src/contracts/ports/model.ts'

const REPLY: ModelReply = {
  text: '{}',
  finish: 'stop',
  model: 'm',
  promptTokens: 1,
  cachedTokens: 0,
  completionTokens: 1,
}
const silence = () => new RetryLaterError('unavailable', 'the endpoint could not be reached')
const refused = (operatorAction: OperatorAction) => new PermanentError('rejected', 'status 400: no', { operatorAction })

function setUp(loadMs: number | null = null) {
  let now = 0
  const waiting: string[] = []
  let next: ModelReply | Error = REPLY
  const endpoint = watchedEndpoint(
    {
      async complete() {
        now += 1_000
        if (next instanceof Error) throw next
        return next
      },
    },
    () => ({ baseUrl: 'http://me:SECRET@models.example/v1', url: 'OPENAI_BASE_URL', key: 'OPENAI_API_KEY' }),
    () => now,
    loadMs === null ? {} : { load: { ms: loadMs, waiting: (...words) => waiting.push(words.join(' ')) } },
  )
  const ask = async (given: ModelReply | Error, change: Partial<ModelRequest> = {}) => {
    next = given
    const request = { model: 'small', callId: 'c', ...change } as ModelRequest
    return endpoint.model.complete(request).catch((error: unknown) => error)
  }
  return { endpoint, ask, waiting }
}

describe('an endpoint is given up', () => {
  test.each<[OperatorAction, boolean, RegExp]>([
    ['key', false, /OPENAI_API_KEY/],
    ['quota', true, /credit/],
    ['permission', true, /what the key may do/],
    ['model', true, /models\.roles/],
  ])('at once where its %s is the operator’s to mend, with what to do', async (mend, alone, todo) => {
    const { endpoint, ask } = setUp()
    expect(await ask(refused(mend), { alone })).toMatchObject({ code: 'aborted', costsAttempt: false })
    expect(endpoint.dead()?.message).toMatch(todo)
    expect(endpoint.dead()?.message).toContain(
      'The model small cannot be asked: status 400: no (http://models.example/v1)',
    )
    expect(endpoint.dead()?.message).not.toContain('SECRET')
  })

  test('where each answer is an error, with what that says of the server', async () => {
    const { endpoint, ask } = setUp()
    const why = `${ERROR_FOR_ANSWER}: status 502`
    for (let call = 1; call <= 4; call++) await ask(new RetryLaterError('unavailable', why))
    expect(endpoint.dead()?.message).toMatch(/error in place of an answer: status 502 .*OPENAI_BASE_URL is reached/)
  })

  test('where nobody answers: after few calls at the beginning, after the usual tries later', async () => {
    const fresh = setUp()
    for (let call = 1; call <= 4; call++) {
      expect(fresh.endpoint.dead()).toBeNull()
      await fresh.ask(silence())
    }
    expect(fresh.endpoint.dead()?.message).toMatch(/^The model does not answer: the endpoint could not be reached/)
    const late = setUp()
    await late.ask(REPLY)
    for (let call = 1; call <= 30; call++) await late.ask(silence())
    expect(late.endpoint.dead()).toBeNull()
    for (let call = 1; call <= 3; call++) await late.ask(silence())
    expect(late.endpoint.dead()).not.toBeNull()
  })

  test.each([
    ['status 502', true],
    ['status 503 (overloaded)', true],
    ['status 500', true],
    ['the endpoint could not be reached', false],
    ['status 520', false],
  ])('with a word on servers that load a model, where it answers as they do (%s)', async (why, isSaid) => {
    const { endpoint, ask } = setUp()
    for (let call = 1; call <= 4; call++) await ask(new RetryLaterError('unavailable', why))
    expect(endpoint.dead()?.message.includes('loading the model')).toBe(isSaid)
  })

  test('after the time that a load may take, where it never answered but as servers do that load a model', async () => {
    const { endpoint, ask, waiting } = setUp(90_000)
    const loading = new RetryLaterError('unavailable', 'status 502')
    for (let call = 1; call <= 90; call++) {
      expect(await ask(loading)).toMatchObject({ code: 'rate-limited', message: 'status 502', costsAttempt: false })
      expect(endpoint.dead()).toBeNull()
    }
    expect(await ask(loading)).toMatchObject({ code: 'aborted' })
    expect(endpoint.dead()?.message).toMatch(/^The model does not answer: status 502 .*loading the model/)
    expect(waiting).toEqual(['status 502 (http://models.example/v1) Check OPENAI_BASE_URL, and that the server runs.'])
  })

  test('not by one unanswered call before or during a load, of which it tells once', async () => {
    const { endpoint, ask, waiting } = setUp(90_000)
    await ask(silence())
    const loading = new RetryLaterError('unavailable', 'status 502')
    for (let call = 1; call <= 60; call++) {
      await ask(loading)
      if (call % 10 === 0) expect(await ask(silence())).toMatchObject({ code: 'unavailable' })
    }
    expect(endpoint.dead()).toBeNull()
    expect(waiting).toHaveLength(1)
    for (let call = 1; call <= 30; call++) await ask(loading)
    expect(endpoint.dead()).not.toBeNull()
  })

  test('as before where nobody is there, or it has answered, however long a load may take', async () => {
    const { endpoint, ask } = setUp(90_000)
    for (let call = 1; call <= 4; call++) expect(await ask(silence())).not.toMatchObject({ code: 'rate-limited' })
    expect(endpoint.dead()).not.toBeNull()
    const loaded = setUp(90_000)
    await loaded.ask(new RetryLaterError('unavailable', 'status 500'))
    await loaded.ask(REPLY)
    const late = new RetryLaterError('unavailable', 'status 500')
    expect(await loaded.ask(late)).toBe(late)
    for (let call = 1; call <= 31; call++) await loaded.ask(late)
    expect(loaded.endpoint.dead()).not.toBeNull()
  })

  test('and asks nobody any more then', async () => {
    const { endpoint, ask } = setUp()
    await ask(refused('key'))
    const { message } = endpoint.dead() ?? {}
    expect(await ask(REPLY)).toMatchObject({ code: 'aborted' })
    expect(endpoint.dead()?.message).toBe(message)
  })
})

describe('an endpoint is not given up', () => {
  test.each<[string, Error]>([
    ['a question is refused', new PermanentError('rejected', 'status 400')],
    ['a filter refuses a question', new PermanentError('content-filter', 'status 400')],
    ['it is busy', new RetryLaterError('rate-limited', 'status 429')],
    ['a model is missing that has another beside it', refused('model')],
    ['a call takes too long', new RetryLaterError('timeout', 'no answer')],
  ])('where %s, however often', async (_, error) => {
    const { endpoint, ask } = setUp()
    for (let call = 0; call < 50; call++) expect(await ask(error)).toBe(error)
    expect(endpoint.dead()).toBeNull()
  })

  test('where some of its calls get no answer', async () => {
    const { endpoint, ask } = setUp()
    for (let call = 0; call < 50; call++) await ask(call % 3 === 0 ? REPLY : silence())
    expect(endpoint.dead()).toBeNull()
  })
})
