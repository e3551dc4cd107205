import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type Ask, type Decision, decidedAnswer } from '../../src/contracts/facts/ask.ts'
import { PermanentError } from '../../src/contracts/facts/errors.ts'
import { askContext } from '../../src/models/context.ts'
import { gateway } from '../../src/models/gateway.ts'
import { PLAIN } from '../../src/models/openai/dialects.ts'
import type { DialectLesson } from '../../src/models/openai/learning.ts'
import { openAiServer } from '../../src/models/openai/model.ts'
import { BENIGN, fence, IN_PAPER, IN_THRIFTY, OTHERWISE, STAGES } from '../models/stages.ts'
import { drive } from '../protocols/drive.ts'
import { GATEWAY, memoryParts } from '../support/parts.ts'
import { tell } from '../support/pipeline.ts'
import { isSmallModelHere, startSmallModel } from '../support/small-model.ts'

let [baseUrl, end] = ['', () => {}]
beforeAll(async () => {
  if (isSmallModelHere) [baseUrl, end] = await startSmallModel()
}, 310_000)
afterAll(() => end())

/** Asks through the gateway, as the service does. */
function asking(answerFormat: 'json_schema' | 'text' = 'json_schema') {
  const lessons: DialectLesson[] = []
  const model = openAiServer(
    { baseUrl, apiKey: 'none', answerFormat },
    { learnt: (lesson) => lessons.push(lesson), told: () => ({ ...PLAIN, form: answerFormat }) },
  )
  const { ask } = gateway({
    model,
    loadImage: () => Promise.reject(new PermanentError('image', 'it sees none')),
    ...memoryParts(Date.now),
    settings: { ...GATEWAY, callTimeout: 600_000 },
    clock: Date.now,
    report: () => {},
  })
  const put = (asked: Ask, id: string) =>
    ask(
      askContext({
        ask: asked,
        protocol: 'small',
        subject: { tenant: 'default', postId: id, kind: 'post' },
        caseId: id,
        askId: id,
        remember: false,
        attempt: 1,
        last: true,
        signal: new AbortController().signal,
        deadline: Date.now() + 3_600_000,
        calls: [],
      }),
    )
  return { put, lessons }
}

const label = z.object({ label: z.enum(['hate', 'non-hate']) })
const decisionAbout = (text: string): Ask => {
  const instructions = 'Hate attacks people for what they are. Which is it: "hate" or "non-hate"?'
  const input = fence('post', text)
  const decision: Decision = {
    field: 'label',
    instructions,
    input,
    options: [{ value: 'hate' }, { value: 'non-hate' }],
  }
  return {
    stage: 'decide',
    role: 'decider',
    messages: [{ role: 'user', content: `${input}\n\n${instructions}` }],
    answer: label,
    kept: decidedAnswer(label),
    decision,
    temperature: 0,
    maxTokens: 20,
  }
}

describe.runIf(isSmallModelHere)('a chat model of llama.cpp', () => {
  it('is no decision model, as it says itself, and is asked in a chat within the same ask', async () => {
    const said = await fetch(`${baseUrl}/systemone`, {
      method: 'POST',
      body: JSON.stringify({
        model: 'small',
        state: 'The light is on.',
        questions: { is_on: { type: 'noul', instructions: 'Is the light on?' } },
      }),
    })
    expect(said.status).toBe(501)
    tell(`POST /v1/systemone: ${said.status} ${(await said.text()).slice(0, 200)}`)
    const { put, lessons } = asking()
    for (const text of ['All of them are vermin, kill them.', 'I baked bread today.']) {
      const { answer, failed } = await put(decisionAbout(text), text)
      expect(failed).toBeUndefined()
      tell(`${text} ${JSON.stringify(answer)}`)
      const { probabilities = {}, wire } = decidedAnswer(label).parse(answer)
      expect(wire).toBe('chat')
      expect(Object.values(probabilities).reduce((sum, one) => sum + one, 0)).toBeCloseTo(1, 6)
    }
    expect(lessons.map(({ setting }) => setting)).toEqual(['decisions: chat'])
  })

  it.each(['json_schema', 'text'] as const)(
    'answers every form of question readably, or fails by name: %s',
    async (answerFormat) => {
      const { put } = asking(answerFormat)
      const counts = new Map<string, number>()
      for (const { name, ask } of forms().filter((_, at) => answerFormat === 'json_schema' || at % 4 === 0)) {
        const { answer, raw, failed } = await put({ ...ask, maxTokens: Math.min(ask.maxTokens, LONGEST) }, name)
        const outcome = failed === undefined ? 'readable' : `${failed.code}: ${failed.detail}`
        tell(`${name}, ${ask.stage}: ${outcome}`)
        counts.set(failed?.code ?? 'readable', (counts.get(failed?.code ?? 'readable') ?? 0) + 1)
        if (failed !== undefined)
          expect(failed).toMatchObject({
            code: expect.stringMatching(/^(?:unreadable|refused)$/),
            detail: expect.stringMatching(/\w/),
          })
        else expect(ask.answer.safeParse(answer).success && inventedIn(answer, raw ?? '')).toEqual([])
      }
      tell(`${answerFormat}: ${JSON.stringify(Object.fromEntries(counts))}`)
      expect([...counts.values()].reduce((sum, one) => sum + one, 0)).toBeGreaterThanOrEqual(9)
    },
  )
})

/** Longer answers of a small model are its own repetitions. */
const LONGEST = 160

/** Every question of every protocol, once for each form that it is asked in; without images. */
function forms(): { readonly name: string; readonly ask: Ask }[] {
  const found = new Map<string, { name: string; ask: Ask }>()
  for (const stage of [...STAGES, ...OTHERWISE, ...IN_THRIFTY, ...IN_PAPER]) {
    for (const { ask } of drive(stage.script(BENIGN), stage.replies(BENIGN)).asked) {
      const isSeen = ask.messages.some(({ images = [] }) => images.length > 0)
      const form = JSON.stringify([ask.stage, z.toJSONSchema(ask.answer)])
      if (ask.lookup === undefined && !isSeen && !found.has(form)) found.set(form, { name: stage.name, ask })
    }
  }
  return [...found.values()]
}

/** Words and numbers of an answer that stand nowhere in what the model wrote. */
function inventedIn(answer: unknown, raw: string): unknown[] {
  if (Array.isArray(answer)) return answer.flatMap((one) => inventedIn(one, raw))
  if (typeof answer === 'object' && answer !== null) return Object.values(answer).flatMap((one) => inventedIn(one, raw))
  const letters = (text: string) => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')
  return letters(
    raw.replace(/\\u([0-9a-f]{4})|\\[nrt]/gi, (_, hex?: string) =>
      hex === undefined ? '' : String.fromCharCode(Number.parseInt(hex, 16)),
    ),
  ).includes(letters(String(answer)))
    ? []
    : [answer]
}
