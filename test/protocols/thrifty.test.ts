import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { loadSettings } from '../../config/load.ts'
import { makeProtocols } from '../../src/app/composition/make-protocols.ts'
import type { Comment, Post, Snapshot } from '../../src/contracts/facts/thread.ts'
import type { Protocol } from '../../src/judging/engine/script.ts'
import { fill } from '../../src/kit/understudy/json-schema.ts'
import { withFormat } from '../../src/models/format.ts'
import { PROTOCOLS } from '../../src/protocols/registry.ts'
import { rumor } from '../../src/protocols/rumor/index.ts'
import { changeOf, type DebatedComments } from '../../src/protocols/rumor/material-change.ts'
import { type Asked, calls, drive, Failed, plainFence, plainRank, type Replies, wordsOf } from './drive.ts'

// What `preset: thrifty` changes, switch by switch: fewer calls, and the same needs of a benign label.

const { protocols } = loadSettings({})
/** Every debate is held, and to its end, where a test does not say otherwise. */
const FIXED = {
  order: 'fixed',
  debateWhen: 'always',
  controlShare: 0,
  exits: false,
  cites: false,
  endsAtEcho: false,
  brief: 'always',
}
const made = (name: string, over: object = {}): Protocol => {
  const { shape } = PROTOCOLS.find((kind) => kind.name === name)?.settings ?? { shape: {} }
  const fixed = Object.entries(FIXED).filter(([key]) => key in shape)
  const given = { [name]: { ...protocols[name], enabled: true, ...Object.fromEntries(fixed), ...over } }
  const [protocol] = makeProtocols(given as typeof protocols, plainFence, plainRank)
  if (protocol === undefined) throw new Error(`no protocol ${name}`)
  return protocol
}
const post = (over: Partial<Post> = {}): Snapshot => ({
  post: { id: 'p', text: 'They are back.', createdAt: 0, ...over },
  comments: [],
  leftOut: 0,
})
const stages = (asked: readonly Asked[]) => asked.map(({ ask }) => ask.stage)

describe.each(PROTOCOLS.flatMap(({ name, savings }) => (savings === undefined ? [] : [[name, savings] as const])))(
  'preset thrifty of %s',
  (name, savings) => {
    const image = { kind: 'image' as const, url: 'https://images.example/1.png' }
    const said = ['It is so.', 'It is not.'].map((text, at) => ({ id: `c${at}`, text, createdAt: at }))
    const subjects: Snapshot[] = [
      { ...post(name === 'counterspeech' ? { hateSpeech: 'They lie.' } : { media: [image] }), comments: said },
      post(name === 'counterspeech' ? { hateSpeech: 'They all lie.' } : {}),
    ]
    /** Every question that is asked, as it is sent. */
    const sent = (over: object) =>
      JSON.stringify(
        subjects.flatMap((subject) =>
          drive(made(name, over).script(subject, null), (asked) => anything(asked)).asked.map(({ ask }) => [
            ask.stage,
            ask.role,
            ask.temperature,
            ask.maxTokens,
            withFormat(ask),
          ]),
        ),
      )
    const all = Object.assign({}, ...Object.values(savings)) as object

    test('is each of its switches, and all of them are off by default and under `paper`, to the byte', () => {
      expect(Object.keys(savings).length).toBeGreaterThan(0)
      expect(sent({ preset: 'thrifty' })).toBe(sent(all))
      expect(sent({ preset: 'paper', ...all })).toBe(sent({ preset: 'paper' }))
      for (const [row, switches] of Object.entries(savings))
        for (const [key, value] of Object.entries(switches)) expect(protocols[name]?.[key], row).not.toEqual(value)
    })

    test('has each switch in the hash of its settings', () => {
      const hashes = [{}, { preset: 'thrifty' }, ...Object.values(savings)].map((over) => made(name, over).settingsHash)
      // A preset of one switch is another setting than the switch.
      expect(new Set(hashes).size).toBe(hashes.length)
      expect(made(name, { preset: 'thrifty' }).faithful).toBe(false)
    })
  },
)

/** An answer that fits, whatever is asked; perspectives and debaters differ. */
function anything({ ask, order }: Asked): unknown {
  if (ask.lookup !== undefined) return new Failed()
  const label = (own: string) => ({ reason: 'r', label: own })
  const aspect = { reasoning: 'r', score: 2 }
  const tries = [
    { reason: 'r', score: 0.5 },
    { score: 0.5 },
    { scores: [1, 2].map((comment) => ({ comment, reason: 'r', score: comment === 1 ? 0.5 : -0.5 })) },
    {
      subjectivity: { reason: 'r', answer: 'No' },
      scores: [1, 2].map((comment) => ({ comment, reason: 'r', score: comment === 1 ? 0.5 : -0.5 })),
    },
    { reason: 'r', answer: 'No' },
    { reasoning: 'r', answer: ask.label === 'oppose' ? 'Fake' : 'Real' },
    label(order === 0 ? 'Hateful' : 'Not hateful'),
    label('Offensive'),
    label('Hate Speech'),
    label('hate'),
    { annotator1: label('Hateful'), annotator2: label('Not hateful'), annotator3: label('Not hateful') },
    { argument: 'a' },
    { seen: 'yes', description: 'd' },
    { description: 'd' },
    { summary: 's', precedents: [], patterns: 'none' },
    { reasoning: 'r', evidence: [], rule: 'default-safe', categories: [], score: 0.5, label: 'safe' },
    { reasoning: 'r', score: ask.stage === 'strict' ? 0.7 : 0.2 },
    aspect,
    { relevance: aspect, aggressiveness: aspect, coherence: aspect, suitableness: aspect },
  ]
  const fitting = tries.find((one) => ask.answer.safeParse(one).success)
  return fitting ?? fill(z.toJSONSchema(ask.answer, { io: 'input' }), { seed: order })
}

describe('hate, where all perspectives agree', () => {
  const HATEFUL = { reason: 'R', label: 'Hateful' }
  const NOT = { reason: 'N', label: 'Not hateful' }
  const DONT = { reason: 'D', label: "I don't know" }
  const judged = (stances: readonly unknown[], over: object = {}, subject = post()) =>
    drive(made('hate', { debateWhen: 'contested', ...over }).script(subject, null), ({ ask, order }) =>
      ask.stage === 'perspective'
        ? stances[order]
        : ask.stage === 'judge'
          ? { reason: 'judged', label: 'hate' }
          : { argument: 'a' },
    )

  test.each([
    ['hate', HATEFUL],
    ['non-hate', NOT],
  ])('their side is the verdict, without a debate: %s', (label, stance) => {
    const { asked, conclusion } = judged([stance, stance, stance])
    expect(stages(asked)).toEqual(['perspective', 'perspective', 'perspective'])
    expect(conclusion.ruling).toMatchObject({ label, decidedBy: 'consensus', rounds: 0, degraded: [] })
    expect(conclusion.ruling.rationale.split('\n')).toHaveLength(3)
  })

  test.each([
    ['one differs', [HATEFUL, HATEFUL, NOT], {}],
    ['one could not tell', [NOT, NOT, DONT], {}],
    ['one could not tell, and is filed under the side of the others', [NOT, NOT, DONT], { abstentions: 'else' }],
    ['one failed', [NOT, NOT, new Failed()], {}],
    ['there is but one', [NOT], { perspectives: ['un-strategy'] }],
    ['the switch is off', [NOT, NOT, NOT], { debateWhen: 'always' }],
  ])('and a debate is held where %s', (_, stances, over) => {
    const { asked, conclusion } = judged(stances, over)
    expect(stages(asked).slice(stances.length)).toEqual(['debate', 'debate', 'debate', 'debate', 'judge'])
    expect(conclusion.ruling).toMatchObject({ label: 'hate', decidedBy: 'judge' })
  })

  test('non-hate still needs every word read, and no question refused by a filter', () => {
    const cut = post({ cut: { left: 5, of: 100 } })
    expect(judged([NOT, NOT, NOT], {}, cut).conclusion.ruling).toMatchObject({ label: null, decidedBy: 'none' })
    expect(judged([HATEFUL, HATEFUL, HATEFUL], {}, cut).conclusion.ruling.label).toBe('hate')
    const refused = judged([NOT, NOT, new Failed('content-filter')], { decide: 'majority' })
    expect(refused.conclusion.ruling).toMatchObject({ label: null })
  })
})

describe('hate, several perspectives in one call', () => {
  const each = (...labels: string[]) =>
    Object.fromEntries(labels.map((label, at) => [`annotator${at + 1}`, { reason: `r${at}`, label }]))
  const judged = (reply: (asked: Asked) => unknown, over: object = {}) =>
    drive(made('hate', { batchSize: 5, decide: 'majority', ...over }).script(post(), null), reply)

  test('have what each is shown alone, and each answer is the one of its number', () => {
    const { asked, conclusion } = judged(() => each('Hateful', 'Hateful', 'Not hateful'))
    expect(calls(asked)).toEqual(['0.0 perspective perspective (as-worded, as-meant, as-received)'])
    const words = wordsOf(asked[0]?.ask.messages ?? [])
    for (const { ask } of judged(() => ({ reason: 'r', label: 'Hateful' }), { batchSize: 1 }).asked) {
      const [, criteria = ''] = /Criteria of the labels:\n([\s\S]*?)\n\nThe text/.exec(wordsOf(ask.messages)) ?? []
      expect(criteria.length).toBeGreaterThan(100)
      expect(words.split(criteria)).toHaveLength(2)
    }
    expect(words.split('<text|They are back.>')).toHaveLength(2)
    expect(words).toContain('for 3 annotators')
    expect(conclusion.ruling).toMatchObject({ label: 'hate', scores: { hate: 2, nonHate: 1 } })
    expect(conclusion.ruling.rationale).toMatch(/r0\n.*r1$/)
  })

  test('stand in either order, by a draw of their own, and each has its own answer', () => {
    const drawn = Array.from({ length: 24 }, (_, at) => {
      const protocol = made('hate', { batchSize: 5, decide: 'majority', order: 'lot' })
      const { asked, conclusion } = drive(protocol.script(post({ text: `Text ${at}.` }), null), () =>
        each('Not hateful', 'Not hateful', 'Hateful'),
      )
      const [{ ask }] = asked as [Asked]
      const [first] = ask.label?.split(', ') ?? []
      // The last one asked is of another side than the verdict.
      expect(conclusion.ruling.rationale.includes('As received')).toBe(first === 'as-received')
      const [, offered] = /annotator1[^[]*\["([^"]*)"/.exec(wordsOf(withFormat(ask))) ?? []
      return `${first} ${offered}`
    })
    expect(new Set(drawn).size).toBe(4)
  })

  test('are as many in a call as is set, and what is left over is asked alone', () => {
    const { asked } = judged(
      (one) => (one.order === 0 ? each('Hateful', 'Hateful') : { reason: 'r', label: 'Hateful' }),
      {
        batchSize: 2,
      },
    )
    expect(asked.map(({ ask }) => ask.label)).toEqual(['as-worded, as-meant', 'as-received'])
  })

  test.each(['unreadable', 'refused', 'content-filter', 'rejected'])(
    'are asked alone where their call was %s, and the verdict says so',
    (code) => {
      const { asked, conclusion } = judged(({ round }) =>
        round === 0 ? new Failed(code) : { reason: 'r', label: 'Not hateful' },
      )
      expect(asked.map(({ round }) => round)).toEqual([0, 1, 1, 1])
      expect(conclusion.ruling.degraded[0]).toContain('perspectives in one call failed')
      expect(conclusion.ruling.label).toBe(code === 'content-filter' ? null : 'non-hate')
    },
  )

  test('are lost together where their call failed otherwise: no label', () => {
    const { asked, conclusion } = judged(() => new Failed('timeout'))
    expect(asked).toHaveLength(1)
    expect(conclusion.ruling).toMatchObject({ label: null, decidedBy: 'none' })
    expect(conclusion.ruling.degraded.filter((one) => one.includes('failed'))).toHaveLength(3)
  })

  test('are asked alone where only examples tell them apart', () => {
    const { asked } = judged(
      ({ ask }) => (ask.lookup === undefined ? { reason: 'r', label: "I don't know" } : new Failed()),
      {
        show: 'examples',
        perspectives: ['kold', 'unsmile'],
      },
    )
    expect(asked.filter(({ ask }) => ask.lookup === undefined)).toHaveLength(2)
  })
})

describe('safety', () => {
  const report = { reasoning: 'r', evidence: [], rule: 'exoneration', categories: [], score: 0.1, label: 'safe' }
  const judged = (scores: readonly unknown[], over: object = {}, subject = post()) => {
    const left = [...scores]
    return drive(made('safety', over).script(subject, null), ({ ask }) => {
      if (ask.lookup !== undefined) return { shelves: [], weak: null }
      if (ask.stage === 'describe') return { seen: 'yes', description: 'd' }
      if (ask.stage === 'brief') return { summary: 's', precedents: [], patterns: 'p' }
      if (ask.stage === 'arbitrate') return report
      const next = left.shift()
      return typeof next === 'number' ? { reasoning: 'r', score: next } : next
    })
  }
  const roles = (asked: readonly Asked[]) =>
    asked.filter(({ ask }) => ask.stage === 'arbitrate').map(({ ask }) => ask.role)

  test('asks a small arbiter of posts without images, and the large one of all others', () => {
    const image = { kind: 'image' as const, url: 'https://images.example/1.png' }
    const turns = [0.1, 0.1, 0.1, 0.1]
    expect(roles(judged(turns, { textArbiter: 'small' }).asked)).toEqual(['strict'])
    expect(roles(judged(turns, { textArbiter: 'small' }, post({ media: [image] })).asked)).toEqual(['arbiter'])
    expect(roles(judged(turns, { textArbiter: 'small' }, post({ media: [image], text: '' })).asked)).toEqual([
      'arbiter',
    ])
    expect(roles(judged(turns, { textArbiter: 'small', models: 'all-large' }).asked)).toEqual(['arbiter'])
    expect(roles(judged(turns).asked)).toEqual(['arbiter'])
  })

  test.each([
    [0.2, 0.1, 1, 'unanimous'],
    [0.9, 0.6, 1, 'unanimous'],
    [0.6, 0.4, 2, 'contested'],
    [0.4, 0.6, 2, 'contested'],
    [0.5, 0.1, 2, 'close'],
    [0.9, 0.5, 2, 'close'],
    [new Failed(), 0.1, 2, 'close'],
    [0.1, new Failed(), 2, 'close'],
  ])('where strict says %s and loose %s holds %i rounds: %s', (strict, loose, rounds, why) => {
    const { asked, conclusion } = judged([strict, loose, 0.3, 0.2], { debateWhen: 'contested' })
    expect(asked.filter(({ ask }) => ask.stage === 'strict')).toHaveLength(rounds)
    expect(conclusion.ruling.rounds).toBe(rounds)
    expect(conclusion.ruling.debated).toEqual({ held: rounds > 1, why })
    // Of one round no score has moved.
    const ruling = wordsOf(asked.at(-1)?.ask.messages ?? [])
    for (const words of ['strict debater: ', 'How their scores moved']) expect(ruling.includes(words)).toBe(rounds > 1)
    const lost = [strict, loose].some((one) => one instanceof Failed)
    expect(conclusion.ruling.label).toBe(lost ? null : 'safe')
  })

  test.each([
    ['lost', new Failed()],
    ['refused by a filter', new Failed('content-filter')],
  ])('a control whose second round is %s has the ruling on its first, and says that there was a second', (_, last) => {
    const { conclusion } = judged([0.2, 0.1, 0.2, last], { debateWhen: 'contested', controlShare: 1 })
    expect(conclusion.ruling).toMatchObject({ label: 'safe', rounds: 1, degraded: [] })
    expect(conclusion.ruling.debated).toEqual({ held: true, why: 'control', chance: 1 })
  })

  describe('a small arbiter first, of posts with images', () => {
    const over = { imageArbiter: 'small-first' }
    const image = { kind: 'image' as const, url: 'https://images.example/1.png' }
    const SAFE = { ...report, score: 0.1, probability: 0.9 }
    const UNSAFE = { ...report, rule: 'confirmation', score: 0.9, label: 'unsafe', probability: 0.9 }
    type Given = { turns?: readonly unknown[]; small?: unknown; large?: unknown; settings?: object; media?: object[] }
    const ruled = ({ turns = [0.1, 0.2, 0.1, 0.2], small = SAFE, large = UNSAFE, settings = {}, ...rest }: Given) => {
      const left = [...turns]
      const subject = post({ media: (rest.media ?? [image]) as NonNullable<Post['media']> })
      return drive(made('safety', { ...over, ...settings }).script(subject, null), ({ ask }) => {
        if (ask.lookup !== undefined) return { shelves: [], weak: null }
        if (ask.stage === 'describe') return { seen: 'yes', description: 'd' }
        if (ask.stage === 'brief') return { summary: 's', precedents: [], patterns: 'p' }
        if (ask.stage === 'arbitrate') return ask.role === 'strict' ? small : large
        const next = left.shift()
        return typeof next === 'number' ? { reasoning: 'r', score: next } : next
      })
    }

    test.each([
      [0.2, 0.1, SAFE],
      [0.4, 0.4, { ...SAFE, score: 0.4, probability: 0.8 }],
      [0.9, 0.6, UNSAFE],
      [0.6, 0.6, { ...UNSAFE, score: 0.6, probability: 0.7 }],
    ])('is not followed by another where strict ended at %s, loose at %s, and it is sure of the same', (...given) => {
      const [strict, loose, small] = given
      const { asked, conclusion } = ruled({ turns: [0.3, 0.7, strict, loose], small, large: new Failed() })
      expect(roles(asked)).toEqual(['strict'])
      expect(calls(asked).at(-1)).toContain('arbitrate strict (small arbiter)')
      const { label, score } = small
      expect(conclusion.ruling).toMatchObject({ label, decidedBy: 'arbiter', degraded: [], scores: { final: score } })
    })

    test.each([
      ['it is not sure enough that it is safe', 0.1, 0.1, { ...SAFE, probability: 0.79 }],
      ['it is not sure enough of the harm', 0.9, 0.9, { ...UNSAFE, probability: 0.69 }],
      ['it does not say how sure it is', 0.1, 0.1, { ...SAFE, probability: undefined }],
      ['it finds safe what both debaters find a risk', 0.9, 0.9, SAFE],
      ['it finds unsafe what neither debater finds a risk', 0.1, 0.1, UNSAFE],
      ['it failed', 0.1, 0.1, new Failed()],
    ])('is followed by the arbiter where %s', (_, strict, loose, small) => {
      for (const large of [SAFE, UNSAFE]) {
        const { asked, conclusion } = ruled({ turns: [strict, loose, strict, loose], small, large })
        expect(roles(asked)).toEqual(['strict', 'arbiter'])
        expect(conclusion.ruling).toMatchObject({ label: large.label, scores: { final: large.score } })
        const told = conclusion.ruling.degraded.filter((one) => one.startsWith('arbitrate (small arbiter) failed'))
        expect(told).toHaveLength(small instanceof Failed ? 1 : 0)
      }
      const lost = ruled({ turns: [strict, loose, strict, loose], small, large: new Failed() })
      expect(lost.conclusion.ruling).toMatchObject({ label: null, decidedBy: 'none' })
    })

    test.each<[string, Given]>([
      ['the debaters end on two sides', { turns: [0.1, 0.1, 0.6, 0.4] }],
      ['one ends in the middle', { turns: [0.1, 0.1, 0.5, 0.4] }],
      ['a last turn is lost', { turns: [0.1, 0.1, 0.1, new Failed()] }],
      ['but one side speaks', { settings: { loose: false } }],
      ['nobody debates', { settings: { strict: false, loose: false } }],
      ['the post has no image', { media: [] }],
      ['all models are large', { settings: { models: 'all-large' } }],
      ['the switch is off', { settings: { imageArbiter: 'by-role' } }],
    ])('is not asked where %s', (_, given) => {
      expect(roles(ruled(given).asked)).toEqual(['arbiter'])
    })

    test('is asked the arbiter’s question, and the arbiter is asked as if there were no other', () => {
      const [small, large] = ruled({ small: { ...SAFE, probability: 0.5 } }).asked.slice(-2)
      const [alone] = ruled({ settings: { imageArbiter: 'by-role' } }).asked.slice(-1)
      if (small === undefined || large === undefined || alone === undefined) throw new Error('not asked')
      expect(withFormat(large.ask)).toEqual(withFormat(alone.ask))
      expect(withFormat(small.ask)).toEqual(withFormat(large.ask))
      expect(large.ask.label).toBeUndefined()
    })

    test('says safe only if nothing is missing that safe needs, and harm also then', () => {
      const unseen = [image, { kind: 'image' as const }]
      expect(ruled({ media: unseen }).conclusion.ruling).toMatchObject({ label: null, decidedBy: 'none' })
      const harm = ruled({ media: unseen, turns: [0.9, 0.9, 0.9, 0.9], small: UNSAFE })
      expect(harm.conclusion.ruling.label).toBe('unsafe')
      const filtered = ruled({ small: new Failed('content-filter'), large: SAFE })
      expect(filtered.conclusion.ruling).toMatchObject({ label: null, decidedBy: 'none' })
      expect(ruled({ small: new Failed('content-filter') }).conclusion.ruling.label).toBe('unsafe')
    })
  })

  test('holds the third round as well only where the second straddles', () => {
    const rounds = (...scores: number[]) =>
      judged(scores, { debateWhen: 'contested', rounds: 3 }).conclusion.ruling.rounds
    expect(rounds(0.6, 0.4, 0.3, 0.2)).toBe(2)
    expect(rounds(0.6, 0.4, 0.6, 0.4, 0.6, 0.4)).toBe(3)
  })

  test('holds every round where but one side speaks', () => {
    const { conclusion } = judged([0.1, 0.1], { debateWhen: 'contested', loose: false })
    expect(conclusion.ruling).toMatchObject({ rounds: 2, label: 'safe' })
  })

  test('without the switch a round that is missing keeps `safe` back', () => {
    expect(judged([0.1, 0.1, new Failed(), 0.1]).conclusion.ruling.label).toBeNull()
  })
})

describe('counterspeech, several aspects in one call', () => {
  const ASPECTS = ['relevance', 'aggressiveness', 'coherence', 'suitableness']
  const READ = { reasoning: 'r', score: 2 }
  const reply = post({ hateSpeech: 'They lie.' })
  const scored = (...scores: number[]) =>
    Object.fromEntries(ASPECTS.map((name, at) => [name, { reasoning: `of ${name}`, score: scores[at] }]))
  const judged = (replies: Replies, over: object = {}) =>
    drive(made('counterspeech', { batchSize: 4, ...over }).script(reply, null), replies)

  test('are scored each on its own scale, and combined as when asked alone', () => {
    const { asked, conclusion } = judged([scored(4, 1, 5, 3)])
    const alone = judged(({ order }) => ({ reasoning: `of ${ASPECTS[order]}`, score: [4, 1, 5, 3][order] }), {
      batchSize: 1,
    })
    expect(asked).toHaveLength(1)
    expect(alone.asked).toHaveLength(4)
    expect(conclusion).toEqual(alone.conclusion)
    const schema = (score: number) => asked[0]?.ask.answer.safeParse(scored(4, 1, 5, score)).success
    expect([schema(3), schema(4)]).toEqual([true, false])
  })

  test('have each criterion and its steps once, the static text before the reply', () => {
    const told = (over: object = {}) => wordsOf(judged([scored(4, 1, 5, 3)], over).asked[0]?.ask.messages ?? [])
    const words = told()
    expect([words, told({ steps: 'zero-shot' })].map((one) => one.includes('evaluation steps, if'))).toEqual([
      true,
      false,
    ])
    for (const name of ASPECTS) expect(words.split(`Evaluation steps of "${name}":\n1. `)).toHaveLength(2)
    expect(words.indexOf('<hate-speech|They lie.>')).toBeGreaterThan(
      words.indexOf('Evaluation steps of "suitableness"'),
    )
  })

  test('are as many in a call as is set, and the one that is left over is asked as by itself', () => {
    const { asked, conclusion } = judged(
      ({ order }) => (order === 0 ? { relevance: READ, aggressiveness: READ, coherence: READ } : READ),
      { batchSize: 3 },
    )
    const alone = judged(() => READ, { batchSize: 1 })
    expect(asked.map(({ ask }) => ask.label)).toEqual(['relevance, aggressiveness, coherence', 'suitableness'])
    const [left, by] = [asked.at(-1), alone.asked.at(-1)].map((one) => one && withFormat(one.ask))
    expect(left).toEqual(by)
    expect(conclusion).toEqual(alone.conclusion)
  })

  test('are asked alone where their call can’t be read, or a weighted score is wanted', () => {
    const again = judged(({ round }) => (round === 0 ? new Failed() : { reasoning: 'r', score: 2 }))
    expect(again.asked.map(({ ask }) => ask.label)).toEqual([ASPECTS.join(', '), ...ASPECTS])
    expect(again.conclusion.ruling.scores.unified).toBeDefined()
    const weighted = judged(() => ({ reasoning: 'r', score: 2 }), { score: 'weighted' })
    expect(weighted.asked.map(({ ask }) => ask.label)).toEqual(ASPECTS)
    expect(judged([new Failed('timeout')]).conclusion.ruling).toMatchObject({ decidedBy: 'none' })
  })
})

describe('rumor', () => {
  const said = (...texts: string[]): Comment[] =>
    texts.map((text, at) => ({ id: `c-${text}`, text, createdAt: at + 1 }))
  const thread = (...texts: string[]): Snapshot => ({ ...post(), comments: said(...texts) })
  const view = (answer: 'Fake' | 'Real') => ({ reasoning: 'v', answer })
  const NO = { reason: 'r', answer: 'No' }
  /** Comments that begin with `yes` support, with `no` oppose; debaters agree. */
  const cast =
    (over: (asked: Asked) => unknown = () => undefined): Replies =>
    (asked) => {
      const { ask } = asked
      const own = over(asked)
      if (own !== undefined) return own
      if (ask.stage === 'subjectivity') return NO
      if (ask.stage !== 'stance') return view('Fake')
      const shown = [...(ask.messages.at(-1)?.content ?? '').matchAll(/<comment \d+\|([^>]*)>/g)].map(
        ([, text = '']) => text,
      )
      const scores = shown.map((text, at) => ({
        comment: at + 1,
        reason: 'r',
        score: text.startsWith('yes') ? 0.5 : text.startsWith('no') ? -0.5 : 0,
      }))
      const joined = { subjectivity: NO, scores }
      return ask.answer.safeParse(joined).success ? joined : { scores }
    }
  const judged = (over: object, subject: Snapshot, replies = cast(), carry: unknown = null) =>
    drive(made('rumor', over).script(subject, carry === null ? null : JSON.parse(JSON.stringify(carry))), replies)

  describe('subjectivity with the first stances', () => {
    const WITH = { subjectivity: 'with-stances' }

    test('is a call less, and the same verdict', () => {
      const [joined, apart] = [judged(WITH, thread('yes', 'no')), judged({}, thread('yes', 'no'))]
      expect(stages(apart.asked)).toEqual(['stance', 'subjectivity', 'opinion', 'opinion'])
      expect(stages(joined.asked)).toEqual(['stance', 'opinion', 'opinion'])
      expect(joined.conclusion.ruling).toEqual(apart.conclusion.ruling)
    })

    test('says which prompt the debaters have', () => {
      const yes = cast(({ ask }) =>
        ask.stage === 'stance'
          ? { subjectivity: { reason: 'r', answer: 'Yes' }, scores: [{ comment: 1, reason: 'r', score: 0.5 }] }
          : undefined,
      )
      const { asked } = judged(WITH, thread('yes'), yes)
      expect(wordsOf(asked[1]?.ask.messages ?? [])).toContain('expression of its author')
    })

    test('is asked by itself where there are no comments, where each is asked alone, and where its batch failed', () => {
      expect(stages(judged(WITH, thread()).asked)[0]).toBe('subjectivity')
      const single = cast(({ ask }) => (ask.stage === 'stance' ? { reason: 'r', score: 0.5 } : undefined))
      expect(stages(judged({ ...WITH, batchSize: 1 }, thread('yes'), single).asked).slice(0, 2)).toEqual([
        'stance',
        'subjectivity',
      ])
      const failed = cast(({ ask, round }) =>
        ask.stage === 'stance' && round === 0 ? new Failed('timeout') : undefined,
      )
      const { asked, conclusion } = judged(WITH, thread('yes', 'no'), failed)
      expect(calls(asked).slice(0, 2)).toEqual(['0.0 stance scorer (batch 1)', '1.0 subjectivity scorer'])
      expect(conclusion.ruling.degraded.join()).not.toContain('subjectivity')
    })

    test('is asked for in the first of several batches alone', () => {
      const { asked } = judged({ ...WITH, batchSize: 2 }, thread('yes 1', 'yes 2', 'no 3', 'no 4'))
      const asksFor = asked.map(({ ask }) => wordsOf(ask.messages).includes('personal opinions'))
      expect(asksFor.slice(0, 2)).toEqual([true, false])
    })

    test('needs a score for each comment in its answer, each once', () => {
      const [first] = judged(WITH, thread('yes', 'no')).asked
      const fits = (...comments: number[]) =>
        first?.ask.answer.safeParse({
          subjectivity: NO,
          scores: comments.map((comment) => ({ comment, reason: 'r', score: 0 })),
        }).success
      expect([fits(1, 2), fits(2, 1), fits(1), fits(1, 1), fits(1, 3)]).toEqual([true, true, false, false, false])
    })

    test('leaves the comments to be remembered as in any other batch, and is an item by itself', () => {
      const [joined, plain] = [WITH, {}].map((over) => judged(over, thread('yes', 'no')).asked[0]?.ask)
      const [one, other] = [joined?.batch, plain?.batch]
      if (one === undefined || other === undefined) throw new Error('no batch')
      const question = (ask: ReturnType<typeof one.subset>) => [ask.stage, ask.maxTokens, withFormat(ask)]
      expect(one.texts.slice(0, 2)).toEqual(other.texts)
      for (const items of [[], [0], [1], [0, 1]])
        expect(question(one.subset(items))).toEqual(question(other.subset(items) as typeof joined & object))
      const alone = one.subset([2])
      expect(wordsOf(alone.messages)).not.toContain('Comments:')
      // Its form has it under this name; asked by itself it has none.
      expect(wordsOf(alone.messages)).toContain('Under "subjectivity", say why')
      expect(wordsOf(judged(WITH, thread()).asked[0]?.ask.messages ?? [])).toMatch(/\? Say why/)
      const scores = [1, 2].map((comment) => ({ comment, reason: `r${comment}`, score: comment / 10 }))
      const whole = { subjectivity: NO, scores }
      const picked = [0, 1, 2].map((nth) => one.pick(whole, nth))
      expect(picked).toEqual([...[0, 1].map((nth) => other.pick({ scores }, nth)), { subjectivity: NO }])
      expect(one.pick({ scores: [scores[0]] } as typeof whole, 1)).toBeUndefined()
      expect(one.pick({ subjectivity: NO, scores: [{ ...scores[0], comment: 1 }] } as typeof whole, 1)).toEqual({
        subjectivity: NO,
      })
      expect(one.pick(alone.answer.parse({ subjectivity: NO }), 0)).toEqual({ subjectivity: NO })
      const read = picked.map((item) => one.single.parse(item))
      expect(one.merge(new Map(read.map((item, nth) => [nth, item])))).toEqual(whole)
      for (const item of read.slice(0, 2)) expect(other.single.safeParse(item).success).toBe(true)
    })
  })

  test('one opinion decides where no comment takes a side, and two debate where each side has one', () => {
    const over = { debateWhen: 'contested', unverified: false, minSideAuthors: 1 }
    const { asked, conclusion } = judged(over, thread('hm'))
    expect(calls(asked).slice(2)).toEqual(['1.0 opinion debater (alone)'])
    expect(conclusion.ruling).toMatchObject({ label: 'rumor', decidedBy: 'single', rounds: 0 })
    expect(conclusion.ruling.debated).toEqual({ held: false, why: 'no-sides' })
    expect(stages(judged(over, thread('yes', 'no')).asked)).toEqual(['stance', 'subjectivity', 'opinion', 'opinion'])
    expect(stages(judged({}, thread('hm')).asked).slice(2)).toEqual(['opinion', 'opinion'])
    const alone = wordsOf(asked[2]?.ask.messages ?? [])
    expect(alone).toBe(wordsOf(judged({}, thread('hm')).asked[2]?.ask.messages ?? []))
  })

  describe('one opinion where all comments take one side', () => {
    const over = { debateWhen: 'contested', minSideAuthors: 1 }

    test.each([
      ['support', ['yes 1', 'yes 2', 'hm'], 'for every valid point that raises doubt.'],
      ['oppose it', ['no 1', 'hm', 'no 2'], 'for every valid point that speaks for the claim.'],
    ])(
      'is given by one agent that reads all of them, and looks for the other side itself: they %s',
      (_, texts, told) => {
        const { asked, conclusion } = judged(over, thread(...texts))
        expect(calls(asked).slice(2)).toEqual(['1.0 opinion debater (alone)'])
        expect(conclusion.ruling).toMatchObject({ label: 'rumor', decidedBy: 'single', rounds: 0, degraded: [] })
        expect(conclusion.ruling.debated).toEqual({ held: false, why: 'one-sided' })
        const words = wordsOf(asked[2]?.ask.messages ?? [])
        for (const text of texts) expect(words.includes(`|${text}>`), text).toBe(text !== 'hm')
        expect(words).toContain('That speaks for neither.')
        expect(words).not.toContain('another debater')
        expect(words).toContain(told)
        expect(conclusion.ruling.evidence).toEqual(judged({}, thread(...texts)).conclusion.ruling.evidence)
      },
    )

    test.each([
      ['comments take both sides', ['yes', 'no'], over],
      ['sides are drawn and not found', ['yes'], { ...over, stance: false }],
      ['the switch is off', ['yes'], {}],
    ])('is none where %s', (_, texts, settings) => {
      const { asked } = judged(settings, thread(...texts))
      expect(stages(asked).filter((stage) => stage === 'opinion')).toHaveLength(2)
    })

    test('is none where a comment has no score: it may be of the other side; what load left out costs no debate', () => {
      const leftOut = cast(({ ask }) =>
        ask.stage === 'stance' && ask.label?.startsWith('batch')
          ? { scores: [{ comment: 1, reason: 'r', score: 0.5 }] }
          : ask.stage === 'stance'
            ? new Failed()
            : undefined,
      )
      const partly = judged(over, thread('yes', 'no'), leftOut)
      expect(stages(partly.asked).filter((stage) => stage === 'opinion')).toHaveLength(2)
      const protocol = made('rumor', { ...over, overloadedComments: 1 })
      const overloaded = drive(
        protocol.script(thread('yes 1', 'yes 2'), null, { overloaded: true, tenant: '' }),
        cast(),
      )
      expect(stages(overloaded.asked).filter((stage) => stage === 'opinion')).toHaveLength(1)
      expect(JSON.parse(JSON.stringify(overloaded.conclusion.carry)).decision.again).toBe(true)
    })

    test('is followed by a debate once the other side has a comment, whatever share of the evidence that is', () => {
      const settings = { ...over, materialChange: 0.9 }
      const yes = Array.from({ length: 9 }, (_, at) => `yes ${at}`)
      const first = judged(settings, thread(...yes))
      const next = (...more: string[]) =>
        stages(judged(settings, thread(...yes, ...more), cast(), first.conclusion.carry).asked)
      expect(next('yes again')).not.toContain('opinion')
      expect(next('no').filter((stage) => stage === 'opinion')).toHaveLength(2)
    })

    test('is not contested, as a judge’s decision between two debaters is', () => {
      const contested = (models: Record<string, string>, decidedBy = 'judge') =>
        rumor.contested({ label: 'rumor', scores: {}, decidedBy: decidedBy as 'judge', models })
      expect(contested({ debater: 'm', judge: 'm' })).toBe(true)
      expect(contested({ debater: 'm', scorer: 'm' })).toBe(false)
      expect(contested({ debater: 'm' }, 'consensus')).toBe(false)
    })
  })

  describe('stances without reasons', () => {
    const over = { stanceReasons: 'none' }
    const bare = (settings: object = {}) =>
      cast(({ ask }) => {
        if (ask.stage !== 'stance') return undefined
        const all = [1, 2].map((comment) => ({ comment, score: comment === 1 ? 0.5 : -0.5 }))
        const tries = [{ subjectivity: NO, scores: all }, { scores: all }, { score: 0.5 }]
        return tries.find((one) => ask.answer.safeParse(one).success) ?? settings
      })

    test('ask for number and score alone, and come to the same', () => {
      const [none, given] = [judged(over, thread('yes', 'no'), bare()), judged({}, thread('yes', 'no'))]
      const [plain, reasoned] = [none, given].map(({ asked }) => withFormat(asked[0]?.ask as Asked['ask']))
      expect(JSON.stringify(plain)).not.toContain('reason')
      expect(JSON.stringify(reasoned)).toContain('a reason of at most ten words')
      expect(wordsOf(plain ?? [])).toContain('once and in order, give its number and its score.')
      expect(none.conclusion.ruling).toEqual(given.conclusion.ruling)
    })

    test('so do comments asked about one at a time, and the batch that asks for the subjectivity', () => {
      const single = judged({ ...over, batchSize: 1 }, thread('yes'), bare()).asked[0]?.ask
      expect(wordsOf(single?.messages ?? [])).toMatch(/\nGive the score\./)
      expect(single?.answer.safeParse({ score: 2 }).success).toBe(false)
      const joined = judged({ ...over, subjectivity: 'with-stances' }, thread('yes', 'no'), bare())
      expect(stages(joined.asked)).toEqual(['stance', 'opinion', 'opinion'])
      expect(joined.asked[0]?.ask.answer.safeParse({ subjectivity: { answer: 'No' }, scores: [] }).success).toBe(false)
    })

    test('are remembered apart from those with a reason', () => {
      const [none, given] = [over, {}].map((switches) => {
        const { batch } = judged(switches, thread('yes', 'no'), switches === over ? bare() : cast()).asked[0]?.ask ?? {}
        return (
          batch && [
            withFormat(batch.subset([])),
            batch.single.safeParse({ scores: [{ comment: 1, score: 1 }] }).success,
          ]
        )
      })
      expect(none?.[0]).not.toEqual(given?.[0])
      expect([none?.[1], given?.[1]]).toEqual([true, false])
    })
  })

  describe('a new debate', () => {
    const over = { materialChange: 0.25 }
    const BEFORE = ['yes 1', 'yes 2', 'yes 3', 'yes 4', 'no 5', 'no 6']
    const first = judged(over, thread(...BEFORE))
    const next = (texts: readonly string[], carry: unknown = first.conclusion.carry, settings: object = over) =>
      judged(settings, thread(...texts), cast(), carry)
    const debates = ({ asked }: ReturnType<typeof next>) => stages(asked).includes('opinion')

    test('is not held where less than the share has changed: the verdict stands, with the evidence that it rests on', () => {
      const kept = next([...BEFORE, 'no 7'])
      expect(debates(kept)).toBe(false)
      const { ruling } = kept.conclusion
      expect(ruling).toMatchObject({ label: 'rumor', evidence: first.conclusion.ruling.evidence })
      expect(ruling.scores).toEqual({ support: 4, oppose: 3 })
      expect(ruling.degraded.at(-1)).toBe(
        'the debate of an earlier revision stands: little of its evidence has changed since',
      )
    })

    test.each([
      ['a quarter has changed', [...BEFORE, 'no 7', 'yes 8']],
      ['another side leads', ['yes 1', 'yes 2', 'yes 3', 'yes 4', 'no 5', 'no 6', 'no 7', 'no 8', 'no 9', 'no 10']],
    ])('is held where %s', (_, texts) => {
      expect(debates(next(texts))).toBe(true)
    })

    test('is held where the claim is another, however little of the rest has changed', () => {
      for (const texts of [BEFORE, []]) {
        const { carry } = judged(over, thread(...texts)).conclusion
        const edited = { ...thread(...texts), post: { ...thread().post, text: 'It stands after all.' } }
        expect(debates(judged(over, edited, cast(), carry))).toBe(true)
        expect(debates(next(texts, carry))).toBe(false)
      }
    })

    test('is held at any change where the switch is off', () => {
      const before = judged({}, thread(...BEFORE))
      expect(debates(judgedAgain(before.conclusion.carry, [...BEFORE, 'no 7']))).toBe(true)
      expect(before.conclusion.carry).not.toHaveProperty('debated')
    })
    const judgedAgain = (carry: unknown, texts: readonly string[]) => next(texts, carry, {})

    test('is measured from what was debated: small changes add up', () => {
      const kept = next([...BEFORE, 'no 7'])
      expect(debates(next([...BEFORE, 'no 7', 'yes 8'], kept.conclusion.carry))).toBe(true)
      expect(kept.conclusion.carry).toMatchObject({
        debated: (first.conclusion.carry as { debated: unknown }).debated,
        shown: (first.conclusion.carry as { shown: unknown }).shown,
      })
    })

    test('is held once a comment that the old one was shown is deleted, also one that left the evidence meanwhile', () => {
      const carry = next([...BEFORE, 'no 7']).conclusion.carry
      const protocol = made('rumor', over)
      const without = protocol.withoutComments?.(JSON.parse(JSON.stringify(carry)), new Set(['c-no 6']))
      expect(without).not.toHaveProperty('debated')
      expect(without).toMatchObject({ shown: [], decision: { label: null, rationale: '' } })
      expect(debates(next(BEFORE.slice(0, -1), without))).toBe(true)
    })
  })

  test('a change is Jaccard’s distance by words, and whole where what matters most is another', () => {
    const of = (support: string[], oppose: string[], rest: Partial<DebatedComments> = {}): DebatedComments => ({
      kind: 'objective',
      gate: 'contested',
      lead: 1,
      support: support.map((words, at) => [`s${at}`, words]),
      oppose: oppose.map((words, at) => [`o${at}`, words]),
      ...rest,
    })
    const before = of(['a', 'b'], ['c', 'd'])
    expect(changeOf(before, of(['b', 'a'], ['d', 'c']))).toBe(0)
    expect(changeOf(before, of(['a', 'b', 'e'], ['c', 'd']))).toBeCloseTo(1 / 5)
    expect(changeOf(before, of(['a', 'x'], ['c', 'd']))).toBeCloseTo(2 / 5)
    // One that changed sides is on neither in both.
    expect(changeOf(before, of(['a', 'b', 'c'], ['d']))).toBeCloseTo(2 / 5)
    expect(changeOf(before, of(['a', 'b'], []))).toBe(1)
    expect(changeOf(of(['a', 'b'], []), before)).toBe(1)
    expect(changeOf(before, { ...before, lead: -1 })).toBe(1)
    expect(changeOf(before, { ...before, kind: 'subjective' })).toBe(1)
    expect(changeOf(before, { ...before, gate: 'one-sided' })).toBe(1)
    expect(changeOf(of([], []), of([], []))).toBe(0)
  })
})
