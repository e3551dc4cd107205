import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { loadSettings } from '../../config/load.ts'
import { makeProtocols } from '../../src/app/composition/make-protocols.ts'
import type { Ask } from '../../src/contracts/facts/ask.ts'
import { fences } from '../../src/contracts/facts/fence.ts'
import type { Snapshot } from '../../src/contracts/facts/thread.ts'
import { answer } from '../../src/kit/understudy/answer.ts'
import { jsonSchema, withFormat } from '../../src/models/format.ts'
import { drive, plainRank } from './drive.ts'

/** The fields of each answer in the order in which they are asked for, by protocol and stage; of lists, those of an entry. */
const FIELDS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  rumor: {
    'stance, one': ['reason', 'score'],
    stance: ['scores', 'scores[].comment', 'scores[].reason', 'scores[].score'],
    subjectivity: ['reason', 'answer'],
    opinion: ['reasoning', 'answer'],
    debate: ['reasoning', 'answer'],
    judge: ['reasoning', 'answer', 'probability'],
  },
  hate: {
    perspective: ['reason', 'label', 'clauses', 'clauses[].id', 'clauses[].quote'],
    debate: ['argument', 'holds'],
    judge: ['reason', 'label', 'probability', 'clauses', 'clauses[].id', 'clauses[].quote'],
  },
  safety: {
    describe: ['seen', 'description'],
    brief: [
      'summary',
      'precedents',
      'precedents[].precedent',
      'precedents[].keyCues',
      'precedents[].differences',
      'patterns',
    ],
    strict: ['reasoning', 'score'],
    loose: ['reasoning', 'score'],
    arbitrate: [
      'reasoning',
      'evidence',
      'rule',
      'categories',
      'score',
      'label',
      'probability',
      'clauses',
      'clauses[].id',
      'clauses[].quote',
    ],
  },
  counterspeech: {
    score: ['reasoning', 'score'],
    steps: ['steps'],
  },
}

/** Where the papers' form is another. */
const PAPER_FIELDS: typeof FIELDS = {
  rumor: { judge: ['reasoning', 'answer'] },
  hate: { perspective: ['reason', 'label'], debate: ['argument'], judge: ['reason', 'label'] },
  safety: {
    describe: ['description'],
    arbitrate: ['reasoning', 'evidence', 'rule', 'categories', 'score', 'label'],
  },
}

/** What a reason of two or three sentences takes, with its score, in tokens. */
const REASON_TOKENS = 60

const settings = loadSettings({})
const post: Snapshot['post'] = {
  id: 'p',
  text: 'The bridge has fallen.',
  createdAt: 0,
  media: [{ kind: 'image', url: 'https://images.example/a.png', alt: 'a bridge' }],
}
const SUBJECTS: Readonly<Record<string, Snapshot>> = {
  rumor: {
    post,
    comments: Array.from({ length: 25 }, (_, at) => ({
      id: `c${at}`,
      text: `${at % 2 ? 'That is true' : 'That is false'}, number ${at}`,
      createdAt: at,
    })),
    leftOut: 0,
  },
  hate: { post, comments: [], leftOut: 0 },
  safety: { post, comments: [], leftOut: 0 },
  counterspeech: {
    post: { id: 'r', text: 'Most of them work.', hateSpeech: 'They only take.', createdAt: 0 },
    comments: [],
    leftOut: 0,
  },
}

/** Every question that a protocol puts to a model over its subject, the understudy answering. */
function asked(protocol: string, change: object): Ask[] {
  const given = { ...settings.protocols, [protocol]: { ...settings.protocols[protocol], enabled: true, ...change } }
  const made = makeProtocols(given as typeof settings.protocols, fences('a key', settings.fences), plainRank).find(
    ({ name }) => name === protocol,
  )
  const subject = SUBJECTS[protocol]
  if (made === undefined || subject === undefined) throw new Error(`no protocol ${protocol}`)
  return drive(made.script(subject, null), ({ ask }) => replyTo(ask))
    .asked.map(({ ask }) => ask)
    .filter(({ lookup }) => lookup === undefined)
}

let turn = 0
function replyTo(ask: Ask): unknown {
  if (ask.lookup !== undefined) {
    const neighbour = { id: 'n', text: 'An old case.', label: 'safe', similarity: 0.9, metadata: {} }
    const labels: Record<string, string> = { 'k-haters': 'normal', 'k-mhas': 'not_hate_speech', unsmile: 'clean' }
    return {
      shelves: ask.lookup.shelves.map((shelf) => ({
        shelf,
        neighbours: [{ ...neighbour, label: labels[shelf] ?? (shelf === 'precedents' ? 'safe' : 'NOT') }],
        problem: null,
      })),
      weak: null,
    }
  }
  // Debaters who never agree, so that every stage is come to.
  if (ask.stage === 'opinion' || (ask.stage === 'debate' && ask.label !== undefined && fits(ask, VIEW)))
    return { ...VIEW, answer: turn++ % 2 === 0 ? 'Fake' : 'Real' }
  const schema = ask.answer.toJSONSchema() as Record<string, unknown>
  const format = { type: 'json_schema', json_schema: { name: ask.stage, schema } }
  return JSON.parse(answer({ messages: withFormat(ask), response_format: format }).content)
}
const VIEW = { reasoning: 'It is likely.', answer: 'Fake' }
const fits = (ask: Ask, reply: unknown) => ask.answer.safeParse(reply).success

const property: z.ZodType<Property> = z.object({
  get properties() {
    return z.record(z.string(), property).optional()
  },
  get items() {
    return property.optional()
  },
})
interface Property {
  properties?: Record<string, Property> | undefined
  items?: Property | undefined
}

function formIn(ask: Ask): string {
  return /\nAnswer format \([^)]*\): (\{.*\})$/.exec(withFormat(ask).at(-1)?.content ?? '')?.[1] ?? ''
}

/** A shown form with what its reader adds: all fields, no others, and the types of what has fields, items or words. */
function whole(form: unknown): unknown {
  if (Array.isArray(form) || typeof form !== 'object' || form === null) return form
  const { properties, items, ...rest } = form as Readonly<Record<string, unknown>>
  return {
    ...(properties === undefined
      ? {}
      : {
          type: 'object',
          additionalProperties: false,
          required: Object.keys(properties as object),
          properties: Object.fromEntries(
            Object.entries(properties as object).map(([name, value]) => [name, whole(value)]),
          ),
        }),
    ...(items === undefined ? {} : { type: 'array', items: whole(items) }),
    ...('enum' in rest ? { type: 'string' } : {}),
    ...rest,
  }
}

/** The fields of the form that stands at the end of a question, as the model reads it. */
function fieldsShown(ask: Ask): string[] {
  const within = ({ properties = {} }: Property, path: string): string[] =>
    Object.entries(properties).flatMap(([name, value]) => [
      `${path}${name}`,
      ...within(value, `${path}${name}.`),
      ...within(value.items ?? {}, `${path}${name}[].`),
    ])
  return within(property.parse(JSON.parse(formIn(ask))), '')
}

const forms = (asks: readonly Ask[]) =>
  Object.fromEntries(
    asks.map((ask) => [
      ask.stage === 'stance' && ask.label === undefined ? 'stance, one' : ask.stage,
      fieldsShown(ask),
    ]),
  )

/** The settings that lead to every stage between them. */
const WAYS: Readonly<Record<string, readonly object[]>> = {
  rumor: [{}, { preset: 'paper' }],
  hate: [{ debateWhen: 'always' }, { preset: 'paper' }],
  safety: [{}, { preset: 'paper' }],
  counterspeech: [{ steps: 'model-written' }, {}, { preset: 'paper', steps: 'model-written' }],
}

describe.each(Object.keys(FIELDS))('the answers that %s asks for', (protocol) => {
  test('have these fields in this order, the reasons before what they are for', () => {
    const ways = WAYS[protocol] ?? []
    const shown = ways.map((way) => forms(asked(protocol, way)))
    expect(Object.keys(Object.assign({}, ...shown)).sort()).toEqual(Object.keys(FIELDS[protocol] ?? {}).sort())
    for (const [at, way] of ways.entries()) {
      const wanted = { ...FIELDS[protocol], ...('preset' in way ? PAPER_FIELDS[protocol] : {}) }
      for (const [stage, fields] of Object.entries(shown[at] ?? {})) expect(fields).toEqual(wanted[stage])
    }
  })

  test('are shown a form from which the whole schema follows, and the whole of it under `paper`', () => {
    for (const way of WAYS[protocol] ?? [])
      for (const ask of asked(protocol, way)) {
        const shown = JSON.parse(formIn(ask))
        expect('preset' in way ? shown : whole(shown), ask.stage).toEqual(jsonSchema(ask.answer))
      }
  })

  test('have room for the reasons: of a batch, for one of each comment', () => {
    for (const way of WAYS[protocol] ?? [])
      for (const ask of asked(protocol, way)) {
        const answers = ask.batch?.count ?? 1
        expect(ask.maxTokens, `${ask.stage} over ${answers}`).toBeGreaterThanOrEqual(REASON_TOKENS * answers)
      }
  })
})
