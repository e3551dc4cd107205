import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { loadSettings } from '../../config/load.ts'
import { type Ask, type Decision, decidedAnswer } from '../../src/contracts/facts/ask.ts'
import { PermanentError } from '../../src/contracts/facts/errors.ts'
import type { Model } from '../../src/contracts/ports/model.ts'
import { openRecording } from '../../src/data-files/recordings.ts'
import { askContext } from '../../src/models/context.ts'
import { gateway } from '../../src/models/gateway.ts'
import { PLAIN } from '../../src/models/openai/dialects.ts'
import type { DialectLesson } from '../../src/models/openai/learning.ts'
import { openAiServer } from '../../src/models/openai/model.ts'
import { type LaneFile, readLane } from '../../src/protocols/lane-file.ts'
import { BENIGN, fence, IN_PAPER, IN_THRIFTY, OTHERWISE, STAGES } from '../models/stages.ts'
import { drive } from '../protocols/drive.ts'
import { performWords } from '../support/commands.ts'
import { ownFolder } from '../support/own-folder.ts'
import { GATEWAY, memoryParts } from '../support/parts.ts'
import { tell } from '../support/pipeline.ts'
import { plantedLane, writtenLane } from '../support/planted-lane.ts'
import { isSmallModelHere, startSmallModel } from '../support/small-model.ts'

// Can a real model of 1.5 billion parameters be read? Prints the table of docs/small-model.md. `SMALL_MODEL_KEEP`: a folder for its
// answers, with which a run that was stopped resumes.

const folder = ownFolder('small-model')
const { SMALL_MODEL_KEEP: keep = folder } = process.env
let [baseUrl, end] = ['', () => {}]
beforeAll(async () => {
  if (isSmallModelHere) [baseUrl, end] = await startSmallModel()
}, 310_000)
afterAll(() => end())

/** One call of such a model takes minutes on a busy core. */
const LONG_MS = 24 * 3_600_000

/** Asks through the gateway, as the service does; `kept` knows what was asked before. */
function asking(answerFormat: 'json_schema' | 'text' = 'json_schema', kept = (model: Model) => model) {
  const lessons: DialectLesson[] = []
  const model = openAiServer(
    { baseUrl, apiKey: 'none', answerFormat },
    { learnt: (lesson) => lessons.push(lesson), told: () => ({ ...PLAIN, form: answerFormat }) },
  )
  const { ask } = gateway({
    model: kept(model),
    loadImage: () => Promise.reject(new PermanentError('image', 'it sees none')),
    ...memoryParts(Date.now),
    settings: { ...GATEWAY, callTimeout: LONG_MS },
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
        deadline: Date.now() + LONG_MS,
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

  it('settles nothing by a lane of a decision model, and judges instead; by one of chats it does settle', async () => {
    const { data } = z
      .object({ data: z.array(z.object({ id: z.string() })) })
      .parse(await (await fetch(`${baseUrl}/models`)).json())
    const posts = join(folder, 'posts.jsonl')
    writeFileSync(
      posts,
      `${JSON.stringify({ id: 'p', text: 'I baked bread today.', lang: 'en', createdAt: '2026-01-01T00:00:00Z' })}\n`,
    )
    const judged = async (wire: string) => {
      const lane = laneOf(data[0]?.id ?? '', wire)
      const path = writtenLane(join(folder, `${wire}.json`), lane)
      const config = join(folder, 'small.json')
      writeFileSync(
        config,
        JSON.stringify({
          openai: { answerFormat: 'json_schema' },
          models: { slots: 1, callTimeout: '1h', roles: { default: [NAME], decider: [NAME] } },
          protocols: { hate: { lane: [path] } },
          cases: { deadline: '3h' },
          library: { path: join(folder, 'library') },
        }),
      )
      const settings = loadSettings({ OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: 'none' }, config)
      const words = ['judge', posts, '--protocol', 'hate', '--json', '--out', join(keep, 'judged')]
      const { out } = await performWords(words, settings)
      tell(`${wire}: ${out[0]?.slice(0, 400)}`)
      const verdict = z
        .object({ decidedBy: z.string(), versions: z.object({ lane: z.string() }) })
        .parse(JSON.parse(out[0] ?? ''))
      expect(verdict.versions.lane).toBe(readLane(JSON.stringify(lane)).hash)
      return verdict.decidedBy
    }
    expect(await judged('systemone')).not.toBe('lane')
    expect(await judged('chat')).toBe('lane')
  }, 3_600_000)

  it.each(['json_schema', 'text'] as const)(
    'answers every form of question readably, or fails by name: %s',
    async (answerFormat) => {
      const recording = await openRecording(join(keep, `forms-${answerFormat}`))
      const { put } = asking(answerFormat, (model) => recording.model(model))
      const counts = new Map<string, number>()
      const asked = forms().filter((_, at) => answerFormat === 'json_schema' || at % 4 === 0)
      tell(`${answerFormat}: ${asked.length} forms, ${recording.answers()} answers of an earlier run`)
      try {
        for (const { name, ask } of asked) {
          const { answer, raw, failed } = await put({ ...ask, maxTokens: Math.min(ask.maxTokens, LONGEST) }, name)
          tell(`| ${name} | ${ask.stage} | ${failed === undefined ? 'readable' : `${failed.code}: ${failed.detail}`} |`)
          counts.set(failed?.code ?? 'readable', (counts.get(failed?.code ?? 'readable') ?? 0) + 1)
          if (failed !== undefined)
            expect(failed).toMatchObject({
              code: expect.stringMatching(/^(?:unreadable|refused)$/),
              detail: expect.stringMatching(/\w/),
            })
          else expect(ask.answer.safeParse(answer).success && inventedIn(answer, raw ?? '')).toEqual([])
        }
      } finally {
        await recording.close()
      }
      tell(`${answerFormat}: ${JSON.stringify(Object.fromEntries(counts))}`)
      expect([...counts.values()].reduce((sum, one) => sum + one, 0)).toBe(asked.length)
      expect(forms().length).toBeGreaterThanOrEqual(27)
    },
    LONG_MS,
  )
})

const NAME = 'small'

/** A lane of this model that was fitted over such a wire, and is sure of all that it is asked. */
function laneOf(model: string, wire: string): Omit<LaneFile, 'decider'> & { decider: object } {
  const { decider, thresholds, ...lane } = plantedLane('hate', NAME)
  const sure = { method: 'isotonic', steps: [{ from: 0, right: 0.98 }] } as const
  return {
    ...lane,
    decider: { ...decider, model, asked: NAME, wire },
    thresholds: thresholds.map((one) => ({ ...one, map: sure })),
  }
}

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
  const length = ({ ask }: { ask: Ask }) => ask.messages.reduce((sum, { content }) => sum + content.length, 0)
  // The short ones first: a run that is stopped knows most of them.
  return [...found.values()].toSorted((one, other) => length(one) - length(other))
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
