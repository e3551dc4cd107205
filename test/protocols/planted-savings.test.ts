import { describe, expect, test } from 'vitest'
import { loadSettings } from '../../config/load.ts'
import { makeProtocols } from '../../src/app/composition/make-protocols.ts'
import type { Post, Snapshot } from '../../src/contracts/facts/thread.ts'
import type { Protocol } from '../../src/judging/engine/script.ts'
import { seededRandom } from '../../src/lab/evaluation/statistics/random.ts'
import { rumorSettings } from '../../src/protocols/rumor/settings.ts'
import { type Asked, drive, plainFence, plainRank } from './drive.ts'

// A planted model, whose answers go by what it is asked about and not by how: each saving changes labels only where its text says.

const { protocols } = loadSettings({})
const ITEMS = 150
/** The perspectives of hate that are asked by default. */
const PERSPECTIVES = ['as-worded', 'as-meant', 'as-received']

type Draw = (name: string) => number
const drawsOf =
  (item: number): Draw =>
  (name) =>
    seededRandom(`planted ${item} ${name}`).unit()

/** Every debate is held, without a gate and controls. */
const DEBATED = { debateWhen: 'always', controlShare: 0 }
const TO_THE_END = { exits: false, endsAtEcho: false }

const known = new Map<string, Protocol>()

function made(name: string, over: object): Protocol {
  const key = JSON.stringify([name, over])
  const settings = {
    [name]: { ...protocols[name], enabled: true, ...(name === 'counterspeech' ? {} : DEBATED), ...over },
  } as typeof protocols
  const protocol = known.get(key) ?? makeProtocols(settings, plainFence, plainRank)[0]
  if (protocol === undefined) throw new Error(`no protocol ${name}`)
  known.set(key, protocol)
  return protocol
}

function judged(name: string, over: object, subject: Snapshot, answer: (asked: Asked) => unknown) {
  return drive(made(name, over).script(subject, null), answer)
}
const subjectOf = (item: number, over: Partial<Post> = {}): Snapshot => ({
  post: { id: `item-${item}`, text: `the words of ${item}`, createdAt: 0, ...over },
  comments: [],
  leftOut: 0,
})
const items = Array.from({ length: ITEMS }, (_, item) => item)
const fitting = (asked: Asked, ...tries: unknown[]) => tries.find((one) => asked.ask.answer.safeParse(one).success)

describe('rumor, before a planted model', () => {
  /** A comment's words name its stance. */
  const STANCES = ['yes', 'no', 'hm'] as const
  const thread = (item: number): Snapshot => {
    const draw = drawsOf(item)
    const only = STANCES[Math.floor(draw('side') * 4)]
    const count = Math.floor(draw('count') * 30)
    const texts = Array.from({ length: count }, (_, at) => {
      const stance = STANCES[Math.floor(draw(`comment ${at}`) * 3)] as string
      return `${only !== undefined && stance !== 'hm' ? only : stance} says number ${at} of them`
    })
    const comments = texts.map((text, at) => ({ id: `c${at}`, text, createdAt: at + 1, author: `u${at}` }))
    return { ...subjectOf(item), comments }
  }
  /** A view goes by the claim and the comments that are shown, a turn by those of its conversation, as does whom a debater follows. */
  const answering = (item: number) => (asked: Asked) => {
    const draw = drawsOf(item)
    const { ask } = asked
    const words = ask.messages.map(({ content }) => content).join('\n')
    const shown = [...words.matchAll(/<comment \d+\|([^>]*)>/g)].map(([, text = '']) => text)
    const kind = { reason: 'r', answer: draw('kind') < 0.3 ? 'Yes' : 'No' }
    if (ask.stage === 'stance') {
      const values = shown.map((text) => (text.startsWith('yes') ? 0.5 : text.startsWith('no') ? -0.5 : 0))
      const bare = values.map((score, at) => ({ comment: at + 1, score }))
      const scores = bare.map((one) => ({ ...one, reason: 'r' }))
      return fitting(
        asked,
        { subjectivity: kind, scores },
        { subjectivity: kind, scores: bare },
        { scores },
        { scores: bare },
      )
    }
    if (ask.stage === 'subjectivity') return kind
    const turns = ask.messages.filter(({ role }) => role === 'assistant').length
    const isFake = draw(`${ask.stage === 'judge' ? 'judge' : shown.join()} ${turns} ${ask.draw ?? ''}`) < 0.5
    return { reasoning: `r${turns} ${ask.label}`, answer: isFake ? 'Fake' : 'Real' }
  }
  const all = items.map((item) => {
    const [subject, answer] = [thread(item), answering(item)]
    return (over: object) => judged('rumor', over, subject, answer)
  })
  const plain = all.map((judge) => judge({}))
  const sidesOf = (at: number) => {
    const { support, oppose } = plain[at]?.conclusion.ruling.evidence ?? { support: [], oppose: [] }
    return [support, oppose].filter((side) => side.length > 0).length
  }

  const gates = { 'one opinion without two sides': { debateWhen: 'contested', unverified: false, minSideAuthors: 1 } }

  test.each(Object.entries({ ...rumorSettings.savings, ...gates }))('%s', (row, switches) => {
    const others = all.map((judge) => judge(switches))
    const changed = items.filter((at) => others[at]?.conclusion.ruling.label !== plain[at]?.conclusion.ruling.label)
    const calls = (of: typeof plain) => of.reduce((sum, { asked }) => sum + asked.length, 0)
    const may = row.includes('two sides') ? [0, 1] : []
    for (const at of changed) expect(may).toContain(sidesOf(at))
    expect(changed.length > 0).toBe(may.length > 0)
    // Elsewhere it is the same ruling, word for word, except for why it was debated.
    // Who disputes a claim is counted by `minSideAuthors`, which a row may change.
    const rulingOf = (of: typeof plain, at: number) => ({
      ...of[at]?.conclusion.ruling,
      debated: null,
      opposed: undefined,
    })
    for (const at of items.filter((one) => !may.includes(sidesOf(one))))
      expect(rulingOf(others, at)).toEqual(rulingOf(plain, at))
    expect(calls(others)).toBeLessThanOrEqual(calls(plain))
    for (const { conclusion } of others) expect(conclusion.ruling.label).not.toBeNull()
  })
})

describe('hate, before a planted model', () => {
  const said = (label: string) => ({ reason: 'r', label })
  /** Perspectives differ by the draws of the text, some can't tell, and the judge goes by a draw of its own. */
  const stanceOf = (draw: Draw, name: string) => {
    const own = draw(`${draw('agree') < 0.4 ? 'all' : name} stance`)
    return draw(`${name} abstains`) < 0.1 ? "I don't know" : own < 0.5 ? 'Hateful' : 'Not hateful'
  }
  const answering = (item: number) => (asked: Asked) => {
    const draw = drawsOf(item)
    const { stage, label = '' } = asked.ask
    if (stage === 'debate') return { argument: 'a' }
    if (stage === 'judge') return said(draw('judge') < 0.5 ? 'hate' : 'non-hate')
    const stances = label.split(', ').map((name) => said(stanceOf(draw, name)))
    return fitting(asked, stances[0], Object.fromEntries(stances.map((one, at) => [`annotator${at + 1}`, one])))
  }
  const rulings = (over: object) =>
    items.map((item) => judged('hate', { ...TO_THE_END, ...over }, subjectOf(item), answering(item)).conclusion.ruling)
  const plain = rulings({})
  /** The perspectives' own side, where all have the same; else null. */
  const agreed = (item: number) => {
    const [first, ...others] = PERSPECTIVES.map((name) => stanceOf(drawsOf(item), name))
    if (others.some((one) => one !== first)) return null
    return first === 'Hateful' ? 'hate' : first === 'Not hateful' ? 'non-hate' : null
  }

  test('no debate where all perspectives agree changes labels there alone, to what they say', () => {
    const fewer = rulings({ debateWhen: 'contested' })
    const alike = items.filter((item) => agreed(item) !== null)
    expect(alike.length).toBeGreaterThan(20)
    expect(alike.length).toBeLessThan(ITEMS - 20)
    for (const item of alike) expect(fewer[item]).toMatchObject({ label: agreed(item), decidedBy: 'consensus' })
    expect(alike.some((item) => fewer[item]?.label !== plain[item]?.label)).toBe(true)
    for (const item of alike) expect(fewer[item]?.debated).toEqual({ held: false, why: 'unanimous' })
    const contested = { held: true, why: 'contested' }
    for (const item of items.filter((one) => !alike.includes(one)))
      expect(fewer[item]).toEqual({ ...plain[item], debated: contested })
  })

  test('perspectives that know no other answer the same in one call', () => {
    expect(rulings({ batchSize: 5 })).toEqual(plain)
  })
})

describe('safety, before a planted model', () => {
  const subject = (item: number) => subjectOf(item)
  const pictured = (item: number) => subjectOf(item, { media: [{ kind: 'image', description: `image ${item}` }] })
  const scoreOf = (draw: Draw, stage: string, turn: number) => Math.round(draw(`${stage} ${turn}`) * 10) / 10
  /** The arbiter goes by the last scores that it is shown; a small one of images rules by its own mind. */
  const answering = (item: number) => {
    const draw = drawsOf(item)
    const turns = { strict: 0, loose: 0 }
    let sum = 0
    return (asked: Asked) => {
      const { stage, lookup } = asked.ask
      if (lookup !== undefined) return { shelves: [], weak: null }
      if (stage === 'brief') return { summary: 's', precedents: [], patterns: 'p' }
      if (stage === 'strict' || stage === 'loose') {
        const score = scoreOf(draw, stage, turns[stage]++)
        sum += score
        return { reasoning: 'r', score }
      }
      const report = { reasoning: 'r', evidence: [], categories: [] }
      if (asked.ask.label === 'small arbiter') return { ...report, ...smallOf(draw) }
      return draw(`arbiter ${sum.toFixed(1)}`) < 0.5
        ? { ...report, rule: 'confirmation', score: 0.9, label: 'unsafe' }
        : { ...report, rule: 'exoneration', score: 0.1, label: 'safe' }
    }
  }
  const smallOf = (draw: Draw) => ({
    score: 0.5,
    probability: scoreOf(draw, 'small', 0),
    ...(draw('small label') < 0.5 ? { rule: 'confirmation', label: 'unsafe' } : { rule: 'exoneration', label: 'safe' }),
  })
  const labels = (over: object, of = subject) =>
    items.map((item) => judged('safety', over, of(item), answering(item)).conclusion.ruling.label)
  const plain = labels({})

  test('who the arbiter is changes nothing but the model', () => {
    expect(labels({ textArbiter: 'small' })).toEqual(plain)
  })

  test('a small arbiter decides on images only where both debaters ended on its side, and it is sure', () => {
    const [large, small] = [labels({}, pictured), labels({ imageArbiter: 'small-first' }, pictured)]
    const decides = items.filter((item) => {
      const draw = drawsOf(item)
      const { label, probability } = smallOf(draw)
      const last = (['strict', 'loose'] as const).map((stage) => scoreOf(draw, stage, 1))
      return label === 'unsafe'
        ? probability >= 0.7 && last.every((one) => one > 0.5)
        : probability >= 0.8 && last.every((one) => one < 0.5)
    })
    expect(decides.length).toBeGreaterThan(5)
    for (const item of items)
      expect(small[item]).toBe(decides.includes(item) ? smallOf(drawsOf(item)).label : large[item])
    expect(decides.some((item) => small[item] !== large[item])).toBe(true)
    // A post without images has none.
    expect(labels({ imageArbiter: 'small-first' })).toEqual(plain)
  })

  test('a second round is missed only where the first left both on one side', () => {
    const fewer = labels({ debateWhen: 'contested' })
    const changed = items.filter((item) => fewer[item] !== plain[item])
    expect(changed.length).toBeGreaterThan(0)
    for (const item of changed) {
      const [strict, loose] = (['strict', 'loose'] as const).map((stage) => scoreOf(drawsOf(item), stage, 0) - 0.5)
      expect(Math.sign(strict as number) * Math.sign(loose as number)).toBe(1)
    }
  })
})

test('counterspeech, before a planted model whose scores know no halo, comes to the same in one call', () => {
  const ASPECTS = ['relevance', 'aggressiveness', 'coherence', 'suitableness'] as const
  const answering = (item: number) => (asked: Asked) => {
    const scored = (name: string) => ({
      reasoning: 'r',
      score: 1 + Math.floor(drawsOf(item)(name) * (name === 'suitableness' ? 3 : 5)),
    })
    const alone = ASPECTS.find((name) => asked.ask.label === name)
    return alone === undefined ? Object.fromEntries(ASPECTS.map((name) => [name, scored(name)])) : scored(alone)
  }
  for (const item of items.slice(0, 50)) {
    const subject = subjectOf(item, { hateSpeech: 'They lie.' })
    const [one, four] = [4, 1].map((batchSize) => judged('counterspeech', { batchSize }, subject, answering(item)))
    expect([one?.asked.length, four?.asked.length]).toEqual([1, 4])
    expect(one?.conclusion).toEqual(four?.conclusion)
  }
})
