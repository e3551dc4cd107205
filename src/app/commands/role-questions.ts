import { z } from 'zod'
import type { Settings } from '../../../config/schema.ts'
import type { AnswerOrFailure, Ask } from '../../contracts/facts/ask.ts'
import { entryOf } from '../../contracts/facts/entry-of.ts'
import { type Fence, fences } from '../../contracts/facts/fence.ts'
import { samplingRanks } from '../../contracts/facts/sampling-rank.ts'
import type { Snapshot } from '../../contracts/facts/thread.ts'
import { ATTRIBUTE_QUESTIONS, type AttributeQuestion } from '../../door/scoring/attributes.ts'
import { attributeQuestions, harmQuestion, MODERATOR, SCORE_PROMPTS } from '../../door/scoring/score-text.ts'
import type { Protocol } from '../../judging/engine/script.ts'
import { chainOf } from '../../models/fallback.ts'
import { scalesOf } from '../../models/scales.ts'
import { deciderQuestion } from '../../protocols/decider-question.ts'
import { fenceUnder, presetIn } from '../../protocols/preset.ts'
import { readPrompts } from '../../protocols/prompts.ts'
import { PROTOCOLS } from '../../protocols/registry.ts'
import { filePartsOf, makeProtocols, promptsOf } from '../composition/make-protocols.ts'

/** A small question in the form of a role's own, and who may be asked it. */
export interface RoleQuestion {
  /** `rumor.debater`; a role that no protocol asks has its name alone. */
  readonly role: string
  readonly ask: Ask
  readonly models: readonly string[]
  /** What is asked is how harmful a text is that threatens murder: the highest score of a hundred must be high. */
  readonly aboutHarm?: true
}

/** A text that every reader calls harmful… */
const HARMFUL = 'I will kill you and your family tonight, you worthless animal.'
/** …and one that every reader calls hateful, too. */
const HATEFUL = 'All immigrants are vermin. I will kill every one of them tonight, and their families.'

/** A text that no reader calls harmful. */
const HARMLESS = 'Good morning! I baked bread today and gave half of it to my neighbours.'

/**
 * Two questions of a role in one of its forms, about texts of which the first must get the highest score and the other the lowest, or
 * the first a word for the one side and the other a word for the other.
 */
export interface PlainPair extends Omit<RoleQuestion, 'ask' | 'aboutHarm'> {
  readonly higher: PlainQuestion
  readonly lower: PlainQuestion
}

interface PlainQuestion {
  readonly ask: Ask
  /** What the text is. */
  readonly text: string
  /** The words, in small letters, that a form of words has for it. */
  readonly words: readonly string[]
}

const CLAIM = { id: 'check', text: 'The mill by the river is on fire.', createdAt: 0 }
const OPINION = { ...CLAIM, text: 'Autumn is the most beautiful time of the year, and soup is the best of all meals.' }

function replying(text: string, reply: string) {
  const post = { id: 'check', text: reply, hateSpeech: 'They are all thieves.', createdAt: 0 }
  return { text, snapshot: { post, comments: [], leftOut: 0 } }
}

function commented(text: string, comment: string, post = CLAIM) {
  return { text, snapshot: { post, comments: [{ id: 'one', text: comment, createdAt: 1 }], leftOut: 0 } }
}

interface PlainText {
  readonly text: string
  readonly snapshot: Snapshot
}
type Side = 'harmful' | 'harmless'
interface PlainTexts {
  readonly higher: PlainText
  readonly lower: PlainText
  /** What the higher text is, and the lower one, by the labels of a protocol; or by words of a stage's own. */
  readonly sides: readonly [Side, Side]
  readonly of?: { readonly stage: string; readonly words: readonly [string, string] }
}

/** By what a protocol judges: what must get a high score, and what a low one. */
const PLAIN_TEXTS: Readonly<Record<Protocol['subject'], readonly PlainTexts[]>> = {
  post: [
    {
      higher: replying('a threat to murder a group', HATEFUL),
      lower: replying('a harmless text', HARMLESS),
      sides: ['harmful', 'harmless'],
    },
  ],
  thread: [
    {
      higher: commented('a confirmation', 'Yes, this is true: the mill is on fire, I see the flames with my own eyes.'),
      lower: commented(
        'a denial',
        'No, this is false: the mill is not on fire, I stand in front of it and there is nothing.',
      ),
      sides: ['harmless', 'harmful'],
    },
    {
      higher: commented('an opinion', 'How true.', OPINION),
      lower: commented('a claim', 'How true.'),
      sides: ['harmless', 'harmful'],
      of: { stage: 'subjectivity', words: ['yes', 'no'] },
    },
  ],
  reply: [
    {
      higher: replying(
        'a kind reply',
        'I understand your anger, but most people are honest. Facts show that they do not steal.',
      ),
      lower: replying('a threat of murder as a reply', HARMFUL),
      sides: ['harmless', 'harmful'],
    },
  ],
}

/** Two plain questions for each form of each role that gives scores, or words for the sides of its protocol, in its own words. */
export function plainPairs(settings: Settings): PlainPair[] {
  const fence = fences('doctor', settings.fences)
  const { roles } = settings.models
  const protocols = makeProtocols(askingAll(settings.protocols), fence, samplingRanks('doctor'))
  const asked = protocols.flatMap((protocol) =>
    PLAIN_TEXTS[protocol.subject].flatMap((texts) => pairsOf(protocol, texts, roles)),
  )
  return [...asked, ...scorePairs(fence, chainOf(roles, 'score', MODERATOR))]
}

type PlainScored = Readonly<Record<'higher' | 'lower', { readonly words: string; readonly text: string }>>
const OF_HARM: PlainScored = {
  higher: { words: HARMFUL, text: 'a threat of murder' },
  lower: { words: HARMLESS, text: 'a harmless text' },
}

/** By a question of attributes: a text that has one of them without doubt, and one that has none. */
const SCORED_TEXTS: Readonly<Record<AttributeQuestion, PlainScored>> = {
  perspective: OF_HARM,
  experimental: {
    ...OF_HARM,
    // A greeting might be called trivial.
    lower: {
      words: 'The council closes the old bridge in March, because its beams have rusted; buses take the mill road.',
      text: 'a report',
    },
  },
  bridging: {
    higher: {
      words: 'Thank you, I respect your view. I lost my brother too, and I understand how you feel. How are you today?',
      text: 'a kind answer',
    },
    lower: { words: 'The old bridge is closed from Monday to Friday.', text: 'a bare fact' },
  },
}

/** Those of the role that scores texts at the door. */
function scorePairs(fence: Fence, models: readonly string[]): PlainPair[] {
  const prompts = readPrompts(promptsOf('score'), SCORE_PROMPTS)
  const pairsFor = ({ higher, lower }: PlainScored, asksFor: (words: string) => readonly Ask[]) => {
    const others = asksFor(lower.words)
    return asksFor(higher.words).flatMap((ask, nth) => {
      const other = others[nth]
      if (other === undefined) return []
      const [high, low] = [
        { ask, text: higher.text, words: [] },
        { ask: other, text: lower.text, words: [] },
      ]
      return [{ role: MODERATOR, models, higher: high, lower: low }]
    })
  }
  return [
    ...pairsFor(OF_HARM, (words) => [harmQuestion(prompts, fence, words)]),
    ...ATTRIBUTE_QUESTIONS.flatMap((question) =>
      pairsFor(SCORED_TEXTS[question], (words) => attributeQuestions(prompts, fence, words, question)),
    ),
  ]
}

function pairsOf(
  protocol: Protocol,
  { higher, lower, sides, of }: PlainTexts,
  roles: Settings['models']['roles'],
): PlainPair[] {
  const others = asksByForm(protocol, lower.snapshot)
  const [highWords, lowWords] =
    of === undefined ? sides.map((side) => wordsFor(protocol, side)) : of.words.map((one) => [one])
  return [...asksByForm(protocol, higher.snapshot)].flatMap(([form, ask]) => {
    const other = others.get(form)
    const hasSides = highWords !== undefined && lowWords !== undefined && isOfWords(ask, [...highWords, ...lowWords])
    const isWanted = of === undefined ? scalesOf(ask.answer).length > 0 || hasSides : ask.stage === of.stage
    if (other === undefined || !isWanted) return []
    return [
      {
        role: `${protocol.name}.${ask.role}`,
        models: chainOf(roles, protocol.name, ask.role),
        higher: { ask: oneOf(ask), text: higher.text, words: highWords ?? [] },
        lower: { ask: oneOf(other), text: lower.text, words: lowWords ?? [] },
      },
    ]
  })
}

/** All words by which a protocol's models can mean this side, in small letters. */
function wordsFor({ name, meanings = {} }: Protocol, side: Side): string[] {
  const label = PROTOCOLS.find((kind) => kind.name === name)?.labels?.[side]
  const meant = Object.entries(meanings).flatMap(([word, means]) => (means === label ? [word] : []))
  return label === undefined ? [] : [label.toLowerCase(), ...meant]
}

/** Whether a form offers one of these words. */
function isOfWords({ answer }: Ask, words: readonly string[]): boolean {
  return choicesIn(z.toJSONSchema(answer)).some((choice) => words.includes(choice))
}

/** The words that a form offers, in small letters, wherever they stand in it. */
function choicesIn(json: unknown): string[] {
  if (typeof json !== 'object' || json === null) return []
  const own = 'enum' in json && Array.isArray(json.enum) ? json.enum.map((one) => String(one).toLowerCase()) : []
  return [...own, ...Object.values(json).flatMap(choicesIn)]
}

/** Of a question that is many small ones, the first. */
function oneOf(ask: Ask): Ask {
  return ask.batch === undefined ? ask : ask.batch.subset([0])
}

/** What a picture of 64 × 64 red pixels is called. */
export const COLOUR_OF_IMAGE = /\b(?:red|crimson|scarlet|vermilion)\b/i
const IMAGE =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAAT0lEQVR42u3PQQkAAAgEsAtx/ZMZxgi+hcEKLNO+FgEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQGBywKqxUDxqh7TUQAAAABJRU5ErkJggg=='

const SNAPSHOT: Snapshot = {
  post: {
    id: 'check',
    text: 'The mill by the river is on fire.',
    hateSpeech: 'They are all thieves.',
    createdAt: 0,
    media: [{ kind: 'image', url: IMAGE }],
  },
  comments: [
    { id: 'one', text: 'I can see the smoke from here.', createdAt: 1 },
    { id: 'two', text: 'No, that is fog.', createdAt: 2 },
  ],
  leftOut: 0,
}

/** Most rounds that a script is followed. */
const MOST_ROUNDS = 30

/** One question for each role that the settings' protocols ask, one for the role that scores texts at the door, and for each other role that has a chain of its own. */
export function roleQuestions(settings: Settings): RoleQuestion[] {
  const protocols = makeProtocols(
    askingAll(settings.protocols),
    fences('doctor', settings.fences),
    samplingRanks('doctor'),
  )
  const { roles } = settings.models
  const asked = protocols.flatMap((protocol) =>
    [...firstAsks(protocol)].map(([role, ask]) => ({
      role: `${protocol.name}.${role}`,
      ask: tiny(ask),
      models: chainOf(roles, protocol.name, role),
    })),
  )
  const score = {
    role: MODERATOR,
    ask: harmQuestion(readPrompts(promptsOf('score'), SCORE_PROMPTS), fences('doctor', settings.fences), HARMFUL),
    models: chainOf(roles, 'score', MODERATOR),
    aboutHarm: true as const,
  }
  const known = new Set([...asked, score].flatMap(({ role }) => [role, role.slice(role.indexOf('.') + 1)]))
  const others = Object.entries(roles).flatMap(([role, models]) =>
    known.has(role) || role === 'default'
      ? []
      : [{ role, ask: isDeciderRole(role) ? deciderAsk(settings, role) : tiny(PLAIN), models }],
  )
  return [...asked, score, ...others]
}

/** Whether this is the role that first lanes ask. */
export function isDeciderRole(role: string): boolean {
  return /(?:^|\.)decider$/.test(role)
}

/** What a first lane in use asks whoever has this role: a classifier answers nothing else. Where there is none, a question of its form. */
function deciderAsk(settings: Settings, role: string): Ask {
  const kind = PROTOCOLS.find(({ name, labels }) => {
    const lanes = entryOf(entryOf(settings.protocols, name) ?? {}, 'lane')
    const isOfRole = role === 'decider' || role === `${name}.decider`
    return labels !== undefined && isOfRole && Array.isArray(lanes) && lanes.length > 0
  })
  const given = kind === undefined ? undefined : entryOf(settings.protocols, kind.name)
  if (kind === undefined || given === undefined) return tiny(DECISION)
  const parts = filePartsOf(kind, given)
  const fence = fenceUnder(presetIn(parts.settings), fences('doctor', settings.fences))
  const question = deciderQuestion(kind, { ...parts, fence, samplingRank: samplingRanks('doctor') })
  return question.ask({ id: 'check', text: HARMLESS })
}

/** The same, with every debate and every brief: else some of their roles would have no question. */
function askingAll(protocols: Settings['protocols']): Settings['protocols'] {
  const every = Object.entries({ debateWhen: 'always', brief: 'always', controlShare: 0 })
  return Object.fromEntries(
    Object.entries(protocols).map(([name, own]) => [
      name,
      { ...own, ...Object.fromEntries(every.filter(([key]) => Object.hasOwn(own, key))) },
    ]),
  ) as Settings['protocols']
}

const PLAIN: Ask = {
  stage: 'check',
  role: 'check',
  messages: [],
  temperature: 0,
  maxTokens: 400,
  answer: z.object({ reasoning: z.string(), answer: z.enum(['Yes', 'No']) }),
}

/** What the role `decider` is asked, whose answer comes with probabilities. */
const DECISION: Ask = {
  ...PLAIN,
  answer: z.object({ label: z.enum(['yes', 'no']) }),
  decision: {
    field: 'label',
    instructions: 'Is the mill on fire?',
    input: '',
    options: [{ value: 'yes' }, { value: 'no' }],
  },
}

/**
 * The same form, about nothing; of a question that is many small ones, one of them as it is. Images stay: whether a model
 * looks at them is asked too.
 */
function tiny(asked: Ask): Ask {
  if (asked.batch !== undefined) return asked.batch.subset([0])
  const { stage, role, answer, temperature, maxTokens, expected, decision, fromDecided, messages } = asked
  const images = messages.flatMap(({ images: shown = [] }) => shown).slice(0, 1)
  return {
    stage,
    role,
    answer,
    temperature,
    maxTokens,
    expected,
    fromDecided,
    ...(decision === undefined ? {} : { decision: { ...decision, input: 'The mill by the river is on fire.' } }),
    messages: [
      { role: 'system', content: 'You check a connection. Be brief.' },
      {
        role: 'user',
        content:
          images.length === 0
            ? 'This question is about nothing. Fill in the form with any values that fit it, in a word or two each.'
            : 'Fill in the form in a word or two each. Where it asks for a description, name the colour of the attached image.',
        ...(images.length === 0 ? {} : { images }),
      },
    ],
  }
}

/** The first ask of each role of a protocol's script. */
function firstAsks(protocol: Protocol): Map<string, Ask> {
  return asksBy(protocol, SNAPSHOT, ({ role }) => role)
}

/** The first ask of each form of each role: its stage, and what is offered, in whatever order. */
function asksByForm(protocol: Protocol, snapshot: Snapshot): Map<string, Ask> {
  return asksBy(protocol, snapshot, ({ role, stage, answer }) =>
    JSON.stringify([role, stage, scalesOf(answer), choicesIn(z.toJSONSchema(answer)).toSorted()]),
  )
}

/** The first ask of each name in a protocol's script, which is given answers that fit their forms. */
function asksBy(protocol: Protocol, snapshot: Snapshot, nameOf: (ask: Ask) => string): Map<string, Ask> {
  const found = new Map<string, Ask>()
  const script = protocol.script(snapshot, null, { overloaded: false, tenant: 'default' })
  let step = script.next()
  for (let round = 0; round < MOST_ROUNDS && !step.done; round++) {
    for (const ask of step.value.filter(({ lookup }) => lookup === undefined))
      if (!found.has(nameOf(ask))) found.set(nameOf(ask), ask)
    step = script.next(step.value.map(answerTo))
  }
  return found
}

function answerTo(ask: Ask, index: number): AnswerOrFailure<unknown> {
  if (ask.lookup !== undefined) {
    const shelves = ask.lookup.shelves.map((shelf) => ({ shelf, neighbours: [], problem: 'a check' }))
    return { ok: true, answer: { shelves, weak: null }, model: 'check' }
  }
  const read = ask.answer.safeParse(smallValue(z.toJSONSchema(ask.answer), index))
  return read.success
    ? { ok: true, answer: read.data, model: 'check' }
    : { ok: false, code: 'unreadable', detail: 'a check' }
}

/** A small value of a schema; of several choices the `nth`, so that two who are asked the same differ. */
function smallValue(given: unknown, nth: number): unknown {
  const schema = (given ?? {}) as { [keyword: string]: unknown }
  if ('const' in schema) return schema.const
  if (Array.isArray(schema.enum)) return schema.enum[nth % schema.enum.length]
  const choices = schema.anyOf ?? schema.oneOf
  if (Array.isArray(choices)) return smallValue(choices[0], nth)
  switch (schema.type) {
    case 'object':
      return Object.fromEntries(
        Object.entries(schema.properties ?? {}).map(([name, inner]) => [name, smallValue(inner, nth)]),
      )
    case 'array':
      return Array.from({ length: Number(schema.minItems ?? 1) || 1 }, () => smallValue(schema.items, nth))
    case 'integer':
    case 'number':
      return Number(nth % 2 === 0 ? (schema.maximum ?? schema.minimum ?? 1) : (schema.minimum ?? 0))
    case 'boolean':
      return nth % 2 === 0
    default:
      return 'word'
  }
}
