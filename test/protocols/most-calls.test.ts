import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { loadSettings } from '../../config/load.ts'
import { makeProtocols } from '../../src/app/composition/make-protocols.ts'
import { keptAnswer } from '../../src/contracts/facts/ask.ts'
import type { Post, Snapshot } from '../../src/contracts/facts/thread.ts'
import type { Protocol } from '../../src/judging/engine/script.ts'
import { fill } from '../../src/kit/understudy/json-schema.ts'
import { type Asked, By, drive, Failed, plainFence, plainRank, type Replies } from './drive.ts'

// What a question may cost is charged before it is asked: no answer may lead a script beyond its bound.

const { protocols } = loadSettings({})

function made(name: string, over: object): Protocol {
  const given = { [name]: { ...protocols[name], enabled: true, ...over } }
  const [protocol] = makeProtocols(given as typeof protocols, plainFence, plainRank)
  if (protocol === undefined) throw new Error(`no protocol ${name}`)
  return protocol
}

function threadOf(name: string, { images = 0, comments = 0, over = {} as Partial<Post> } = {}): Snapshot {
  return {
    post: {
      id: 'p',
      text: 'They are back.',
      createdAt: 0,
      ...(name === 'counterspeech' && { hateSpeech: 'They lie.' }),
      ...(images > 0 && {
        media: Array.from({ length: images }, (_, at) => ({ kind: 'image' as const, url: `https://x.example/${at}` })),
      }),
      ...over,
    },
    comments: Array.from({ length: comments }, (_, at) => ({ id: `c${at}`, text: `${at} is so.`, createdAt: at })),
    leftOut: 0,
  }
}

/** How many calls a script asks for, and how many it may. */
function callsOf(protocol: Protocol, subject: Snapshot, replies: Replies): { asked: number; most: number } {
  const { asked } = drive(protocol.script(subject, null), replies)
  return {
    asked: asked.filter(({ ask }) => ask.lookup === undefined).length,
    most: protocol.mostCalls(subject.post, subject.comments.length),
  }
}

const yes = fc.boolean()
const SETTINGS: Readonly<Record<string, fc.Arbitrary<object>>> = {
  rumor: fc.record({
    batchSize: fc.constantFrom(1, 2, 5, 20),
    oneScorer: yes,
    splitQuestions: fc.constantFrom(0, 3, 60, 10_000),
    rounds: fc.integer({ min: 0, max: 3 }),
    stopAtConsensus: yes,
    stance: yes,
    debate: yes,
    promptKind: fc.constantFrom('auto', 'objective'),
    subjectivity: fc.constantFrom('apart', 'with-stances'),
    debateWhen: fc.constantFrom('contested', 'always'),
    minSideAuthors: fc.integer({ min: 1, max: 3 }),
    unverified: yes,
    controlShare: fc.constantFrom(0, 1),
    endsAtEcho: yes,
    decide: fc.constantFrom('debate', 'debate', 'vanilla'),
    minScored: fc.constantFrom(0, 0.25),
  }),
  hate: fc.record({
    batchSize: fc.constantFrom(1, 2, 5),
    show: fc.constantFrom('both', 'criteria'),
    rounds: fc.integer({ min: 1, max: 2 }),
    decide: fc.constantFrom('debate', 'debate', 'majority', 'zero-shot'),
    debateWhen: fc.constantFrom('never', 'contested', 'always'),
    controlShare: fc.constantFrom(0, 1),
    exits: yes,
    endsAtEcho: yes,
    preset: fc.constantFrom('none', 'paper', 'thrifty'),
  }),
  safety: fc.record({
    rounds: fc.integer({ min: 1, max: 3 }),
    images: yes,
    maxImages: fc.integer({ min: 1, max: 3 }),
    supporter: yes,
    retrieval: yes,
    strict: yes,
    loose: yes,
    models: fc.constantFrom('by-role', 'all-small'),
    imageArbiter: fc.constantFrom('by-role', 'small-first'),
    debateWhen: fc.constantFrom('never', 'contested', 'always'),
    controlShare: fc.constantFrom(0, 1),
    brief: fc.constantFrom('with-precedents', 'always'),
  }),
  counterspeech: fc.record({
    batchSize: fc.constantFrom(1, 3, 4),
    steps: fc.constantFrom('zero-shot', 'model-written', 'shipped'),
    score: fc.constantFrom('answered', 'weighted'),
  }),
}
const CODES = ['refused', 'content-filter', 'unreadable', 'rejected', 'unavailable', 'timeout', 'left out']

/** An answer of one of two models that fits, perhaps without some of what was asked, or a failure; by a number. */
function anything({ ask, order }: Asked, choice: number): unknown {
  if (ask.lookup !== undefined || choice % 3 === 0) return new Failed(CODES[choice % CODES.length])
  const filled = fill(z.toJSONSchema(ask.answer, { io: 'input' }), { seed: choice + order })
  const some = ask.batch && { scores: [{ comment: 1 + (choice % ask.batch.count), reason: 'r', score: 0.5 }] }
  const view = { reasoning: 'r', answer: choice % 2 === 0 ? 'Fake' : 'Real' }
  const fitting = [view, some, filled].find((one) => keptAnswer(ask).safeParse(one).success)
  return fitting === undefined ? new Failed() : new By(choice % 5 === 0 ? 'another' : 'one', fitting)
}

describe.each(Object.entries(SETTINGS))('%s', (name, settings) => {
  test('asks for no more calls than it says, whatever is answered', () => {
    fc.assert(
      fc.property(
        settings,
        fc.record({ images: fc.integer({ min: 0, max: 4 }), comments: fc.integer({ min: 0, max: 45 }) }),
        fc.array(fc.nat({ max: 10_000 }), { minLength: 1, maxLength: 40 }),
        (over, size, choices) => {
          let nth = 0
          const replies = (asked: Asked) => anything(asked, choices[nth++ % choices.length] ?? 0)
          const { asked, most } = callsOf(made(name, over), threadOf(name, size), replies)
          expect(asked).toBeLessThanOrEqual(most)
        },
      ),
      { numRuns: 100 },
    )
  })
})

/** Debaters who never agree; what else is asked fails, or is answered by anything that fits. */
const atOdds = (asked: Asked) => {
  const { ask, order } = asked
  const view = { reasoning: 'r', answer: ask.label === 'oppose' ? 'Fake' : 'Real' }
  return ask.answer.safeParse(view).success ? view : anything(asked, 3 * order + 1)
}
/** The same, where every debater is calm, and says so: nothing is contested. */
const calm = (asked: Asked) => {
  const turn = { reasoning: `r${asked.order}`, score: 0.1 }
  return asked.ask.answer.safeParse(turn).success ? turn : atOdds(asked)
}
/** Every debate is held to its end. */
const HELD = {
  rumor: { debateWhen: 'always', endsAtEcho: false },
  hate: { debateWhen: 'always', exits: false, endsAtEcho: false, cites: false },
  safety: { debateWhen: 'always', brief: 'always', cites: false },
}
/** Harm is found, and no clause of the policy is named for it. */
const citesNothing = (asked: Asked) => {
  const harmful = [
    { reason: 'r', label: 'Hateful' },
    { reason: 'r', label: 'hate', probability: 0.9 },
    { reasoning: 'r', evidence: [], rule: 'confirmation', categories: [], score: 0.9, label: 'unsafe' },
  ]
  return harmful.find((one) => asked.ask.answer.safeParse(one).success) ?? atOdds(asked)
}
const refusing = () => new Failed('content-filter')
/** Each alone is answered. */
const refusingSeveral: Replies = (asked) => (asked.ask.label?.includes(', ') ? refusing() : atOdds(asked))
const descriptions = {
  over: { media: [{ kind: 'image' as const, url: 'https://x.example/1', description: 'A bridge.' }] },
}

test.each<[string, object, Parameters<typeof threadOf>[1], Replies, number]>([
  ['rumor', HELD.rumor, {}, atOdds, 8],
  ['rumor', { controlShare: 1, unverified: false, endsAtEcho: false }, {}, atOdds, 1 + 8],
  ['rumor', { ...HELD.rumor, rounds: 3, promptKind: 'objective' }, {}, atOdds, 9],
  ['rumor', { ...HELD.rumor, batchSize: 1, oneScorer: false }, { comments: 7 }, atOdds, 7 + 8],
  ['rumor', { debate: false }, {}, atOdds, 2],
  ['rumor', { decide: 'vanilla' }, { comments: 7 }, atOdds, 1],
  ['hate', HELD.hate, {}, atOdds, 8],
  ['hate', { ...HELD.hate, rounds: 1 }, {}, atOdds, 6],
  ['hate', { ...HELD.hate, batchSize: 3 }, {}, refusingSeveral, 1 + 3 + 5],
  ['hate', { decide: 'majority', cites: false }, {}, atOdds, 3],
  ['hate', { decide: 'majority' }, {}, citesNothing, 3 + 3],
  ['hate', { decide: 'zero-shot' }, {}, atOdds, 1],
  ['hate', { debateWhen: 'never', cites: false }, {}, atOdds, 1],
  ['hate', { debateWhen: 'never' }, {}, citesNothing, 1 + 1],
  ['safety', HELD.safety, {}, atOdds, 6],
  ['safety', { debateWhen: 'contested', controlShare: 1, brief: 'always', cites: false }, {}, calm, 6 + 1],
  ['safety', { debateWhen: 'never', brief: 'always', cites: false }, { images: 3 }, atOdds, 3 + 2],
  ['safety', { ...HELD.safety, cites: true }, {}, citesNothing, 6 + 1],
  ['safety', { ...HELD.safety, maxImages: 2 }, { images: 3 }, atOdds, 2 + 6],
  ['safety', { ...HELD.safety, images: false }, { images: 3 }, atOdds, 6],
  ['safety', HELD.safety, descriptions, atOdds, 6],
  ['safety', { ...HELD.safety, rounds: 3, supporter: false, loose: false }, {}, atOdds, 4],
  ['counterspeech', {}, {}, atOdds, 4],
  ['counterspeech', { steps: 'model-written' }, {}, atOdds, 8],
  ['counterspeech', { batchSize: 4 }, {}, refusing, 1 + 4],
  ['counterspeech', { batchSize: 4, score: 'weighted' }, {}, refusing, 4],
])('%s under %o asks for all that it says of %o', (name, over, size, replies, calls) => {
  expect(callsOf(made(name, over), threadOf(name, size), replies)).toEqual({ asked: calls, most: calls })
})
