import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { BY_HAND } from '../../../src/contracts/facts/by-hand.ts'
import { fences } from '../../../src/contracts/facts/fence.ts'
import type { Model, ModelRequest, QuestionPlace } from '../../../src/contracts/ports/model.ts'
import { recordedModel, recordingsOf } from '../../../src/kit/demo/recorded-answers.ts'

const fence = fences('a secret of sixteen', 1_000)
const inner: Model = {
  complete: async () => ({
    text: '{}',
    finish: 'stop',
    model: 'inner',
    promptTokens: 0,
    cachedTokens: 0,
    completionTokens: 0,
  }),
}
const view = z.object({ reasoning: z.string(), answer: z.string() })

function question(of: Partial<QuestionPlace>, user: string, answer: z.ZodType = view): ModelRequest {
  const place = { protocol: 'rumor', subject: 'p1', stage: 'opinion', role: 'debater support', about: [], ...of }
  return {
    model: 'm',
    messages: [{ role: 'user', content: user }],
    temperature: 0,
    maxTokens: 100,
    answer: { name: place.stage, schema: z.toJSONSchema(answer) },
    of: place,
    callId: 'c',
    timeoutMs: 1_000,
    signal: new AbortController().signal,
  }
}

const comments = (...texts: string[]) =>
  fence.list(
    'comments',
    texts.map((text, at) => [`${at + 1}: `, { kind: 'comment', text }]),
  )
const said = { reasoning: 'Two people saw it.', answer: 'Real' }
const words = `Judge this:\n${comments('I saw it', 'me too')}`
const asked = question({}, words)
const model = recordedModel(recordingsOf(asked, said), inner)
const answerTo = async (request: ModelRequest) => {
  const { model: by, text } = await model.complete(request)
  return { by, answer: JSON.parse(text ?? 'null') }
}

describe('an answer recorded by hand', () => {
  test('is known by its place, whatever the words of the question, and names itself', async () => {
    const anew = question({}, `Other words altogether.\n${comments('me too', 'I saw it')}`)
    expect(await answerTo(anew)).toEqual({ by: BY_HAND, answer: said })
  })

  test('stands only where all that it answers is shown, and nothing else', async () => {
    expect(await answerTo(question({}, comments('I saw it')))).toMatchObject({ by: 'inner' })
    expect(await answerTo(question({}, comments('I saw it', 'no, false', 'me too')))).toMatchObject({ by: 'inner' })
  })

  test('stands only beside the counts that it was told', async () => {
    const told = (oppose: number) =>
      question({}, `${words}\nComments counted: 2 for the claim, ${oppose} against it, 5 neither (shown to nobody).`)
    const counting = recordedModel(recordingsOf(told(22), { ...said, reasoning: 'Twenty-two are against it.' }), inner)
    expect((await counting.complete(told(22))).model).toBe(BY_HAND)
    expect((await counting.complete(told(12))).model).toBe('inner')
    expect((await counting.complete(asked)).model).toBe('inner')
  })

  test.each([{ subject: 'p2' }, { protocol: 'hate' }, { stage: 'debate' }, { role: 'debater oppose' }])(
    'is no answer elsewhere: %o',
    async (of) => {
      expect(await answerTo(question(of, words))).toMatchObject({ by: 'inner' })
    },
  )

  test('is no answer in another round, nor in a form that asks for more', async () => {
    const again = { role: 'user' as const, content: words }
    const second = { ...asked, messages: [again, { role: 'assistant' as const, content: '{}' }, again] }
    expect(await answerTo(second)).toMatchObject({ by: 'inner' })
    const more = question({}, words, view.extend({ probability: z.number() }))
    expect(await answerTo(more)).toMatchObject({ by: 'inner' })
  })
})

test('scores of comments stand for the words that were read, and are put together as they are asked for', async () => {
  const form = (count: number) =>
    z.object({ scores: z.array(z.object({ comment: z.number(), score: z.number() })).length(count) })
  const stance = { stage: 'stance', role: 'scorer batch 2' }
  const three = question({ ...stance, about: ['c1', 'c2', 'c3', 'parent'] }, comments('yes', 'hm', 'no'), form(3))
  const scores = [1, 0, -1].map((score, at) => ({ comment: at + 1, score }))
  const scored = recordedModel(recordingsOf(three, { scores }), inner)
  const of = { ...stance, role: 'scorer', about: ['c3', 'c1'] }
  const others = question(of, comments('no', 'yes'), form(2))
  expect(JSON.parse((await scored.complete(others)).text ?? '')).toEqual({
    scores: [
      { comment: 1, score: -1 },
      { comment: 2, score: 1 },
    ],
  })
  const unknown = question({ ...stance, about: ['c1', 'c9'] }, comments('yes', 'no'), form(2))
  expect((await scored.complete(unknown)).model).toBe('inner')
  const edited = question(of, comments('no', 'yes. Edit: no'), form(2))
  expect((await scored.complete(edited)).model).toBe('inner')
})
