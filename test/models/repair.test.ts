import { describe, expect, test } from 'vitest'
import type { ModelReply } from '../../src/contracts/ports/model.ts'
import { withFormat } from '../../src/models/format.ts'
import { ask, FAKE, reply, setUp, unreadable } from './set-up.ts'

describe('an unreadable answer', () => {
  test('is asked for once more, with what came back and what was wrong with it', async () => {
    const { put, requests, calls } = setUp([unreadable, reply()])
    expect((await put()).answer).toEqual(FAKE)
    expect(requests[1]?.messages).toEqual([
      ...withFormat(ask),
      { role: 'assistant', content: 'I would say Fake.' },
      {
        role: 'user',
        content: expect.stringMatching(/could not be read \(no JSON object\)[\s\S]*Answer format \(opinion\)/),
      },
    ])
    expect(calls.map(({ outcome }) => outcome)).toEqual(['unreadable', 'answered'])
    expect(new Set(calls.map(({ id }) => id)).size).toBe(2)
  })

  test('shows the answer that could not be read, but none that was cut: it leaves the next no room', async () => {
    const shownFor = async (first: ModelReply) => {
      const { put, requests } = setUp([first, reply()])
      await put()
      return requests[1]?.messages.map(({ role, content }) => `${role}: ${content.slice(0, 30)}`)
    }
    expect(await shownFor(unreadable)).toContain('assistant: I would say Fake.')
    expect(
      (await shownFor(reply({ text: '{"reasoning":"r', finish: 'length' })))?.map((one) => one.split(':')[0]),
    ).toEqual(['system', 'user', 'user'])
  })

  test('counts both calls’ tokens and time', async () => {
    const { put } = setUp([unreadable, reply()])
    expect(await put()).toMatchObject({ ms: 20, usage: { calls: 2, promptTokens: 200, completionTokens: 20 } })
  })

  test('a second time is a failure, and never a label', async () => {
    const { put, requests } = setUp([unreadable, reply({ text: '{"reasoning":"r","answer":"Fake or Real"}' })])
    expect(await put()).toMatchObject({
      answer: null,
      failed: { code: 'unreadable', detail: 'answer: invalid_value' },
      raw: '{"reasoning":"r","answer":"Fake or Real"}',
    })
    expect(requests).toHaveLength(2)
  })

  test('stands where the repair question, which repeats it, is larger than a limit', async () => {
    const long = reply({ text: `I would say Fake. ${'Really. '.repeat(200)}` })
    const { put, requests } = setUp([long, reply()], {
      limits: { models: { default: { tokensPerMinute: 1_200 } }, tenants: {} },
    })
    expect(await put()).toMatchObject({ answer: null, failed: { code: 'unreadable' }, raw: long.text })
    expect(requests).toHaveLength(1)
  })

  test.each<[string, Partial<ModelReply>, string, RegExp]>([
    ['a refusal', { text: 'I cannot help with that.', finish: 'refusal' }, 'refused', /refused/],
    ['a refusal without a word', { text: null, finish: 'refusal' }, 'refused', /refused/],
    ['the token limit', { text: '{"reasoning":"r', finish: 'length' }, 'unreadable', /cut at the token limit/],
    ['nothing', { text: null }, 'unreadable', /no JSON object/],
    ['an empty text', { text: '' }, 'unreadable', /no JSON object/],
  ])('because of %s is asked for once more, then fails under its name', async (_, over, code, detail) => {
    const { put, calls } = setUp([reply(over), reply(over)])
    const settled = await put()
    expect(settled).toMatchObject({ answer: null, failed: { code, detail: expect.stringMatching(detail) } })
    expect(calls.map(({ outcome }) => outcome)).toEqual([code, code])
    const repaired = setUp([reply(over), reply()])
    expect((await repaired.put()).answer).toEqual(FAKE)
  })

  test.each<[string, Partial<ModelReply>]>([
    ['without a text', { text: null }],
    ['in the middle of a readable answer', {}],
  ])('that the endpoint’s filter stopped is not asked for again: %s', async (_, over) => {
    const { put, calls } = setUp([reply({ finish: 'content-filter', ...over }), reply()])
    expect(await put()).toMatchObject({
      answer: null,
      failed: { code: 'content-filter', detail: expect.stringMatching(/filter/) },
    })
    expect(calls.map(({ outcome }) => outcome)).toEqual(['content-filter'])
  })
})
