import { describe, expect, test } from 'vitest'
import { loadFiles, loadSettings } from '../../config/load.ts'
import { promptsOf } from '../../src/app/composition/make-protocols.ts'
import type { Post, Snapshot } from '../../src/contracts/facts/thread.ts'
import { isEcho } from '../../src/protocols/echo.ts'
import { hate } from '../../src/protocols/hate/index.ts'
import type { HateSettings } from '../../src/protocols/hate/settings.ts'
import { type Asked, calls, drive, Failed, plainFence, plainRank, wordsOf } from './drive.ts'

// When a text is debated, and how its debate may end before the second round.

// The settings' type knows each protocol's own only as a record; the schema has checked them.
const { enabled: _, ...shipped } = loadSettings({}).protocols.hate as unknown as HateSettings & { enabled: boolean }
const made = (settings: Partial<HateSettings> = {}) =>
  hate.make({
    settings: {
      ...shipped,
      debateWhen: 'contested',
      cites: false,
      order: 'fixed',
      opens: 'non-hate',
      controlShare: 0,
      ...settings,
    },
    prompts: promptsOf('hate'),
    fence: plainFence,
    samplingRank: plainRank,
    files: (folder) => loadFiles(folder),
  })
const post = (over: Partial<Post> = {}): Snapshot => ({
  post: { id: 'p', text: 'They are all vermin.', createdAt: 0, ...over },
  comments: [],
  leftOut: 0,
})

const HATEFUL = { reason: 'It calls people vermin.', label: 'Hateful' }
const NOT = { reason: 'It names nobody.', label: 'Not hateful' }
const turn = (argument: string, holds: 'yes' | 'no' = 'yes') => ({ argument, holds })
/** The n-th turn of a side, from 0, where a test does not say what it is. */
const PLAIN: Readonly<Record<string, readonly unknown[]>> = {
  'non-hate': [turn('It may speak of animals in a cellar.'), turn('Nothing says which people are meant.')],
  hate: [turn('It likens people to pests.'), turn('The word "all" tells that a whole group is meant.')],
}
function judged(
  stances: readonly unknown[],
  turns: Partial<typeof PLAIN> = {},
  { settings = {}, subject = post(), judge = { reason: 'J', label: 'hate', probability: 0.9 } as unknown } = {},
) {
  const spoken = { 'non-hate': 0, hate: 0 } as Record<string, number>
  return drive(made(settings).script(subject, null), ({ ask, order }: Asked) => {
    if (ask.lookup !== undefined) return new Failed('library', 'no shelf')
    if (ask.stage === 'perspective') return stances[order]
    if (ask.stage === 'judge') return judge
    const side = ask.label ?? ''
    const nth = spoken[side] ?? 0
    spoken[side] = nth + 1
    return (turns[side] ?? PLAIN[side])?.[nth]
  })
}
const debate = (asked: readonly Asked[]) =>
  asked.filter(({ ask }) => ask.stage === 'debate').map(({ ask }) => ask.label)
const lastWords = (asked: readonly Asked[]) => wordsOf(asked.at(-1)?.ask.messages ?? [])
const CONTESTED = [HATEFUL, HATEFUL, NOT]

describe('perspectives that agree', () => {
  test('decide, without a debate, and the verdict is as sure as they are many', () => {
    const { asked, conclusion } = judged([NOT, NOT, NOT])
    expect(debate(asked)).toEqual([])
    expect(conclusion.ruling).toMatchObject({
      label: 'non-hate',
      decidedBy: 'consensus',
      debated: { held: false, why: 'unanimous' },
      confidence: { value: 1, how: 'perspectives' },
    })
  })

  test('are debated all the same as a control, after their own answer, and the debate is published', () => {
    const { asked, conclusion } = judged([NOT, NOT, NOT], {}, { settings: { controlShare: 1 } })
    expect(debate(asked)).toHaveLength(4)
    expect(conclusion.ruling).toMatchObject({
      label: 'hate',
      decidedBy: 'judge',
      debated: { held: true, why: 'control', chance: 1, without: 'non-hate' },
      confidence: { value: 0.9, how: 'probability' },
    })
  })

  const AGREED = { label: 'non-hate', decidedBy: 'consensus', degraded: [] }

  test('decide also as a control whose debate comes to nothing, which the verdict says', () => {
    const lost = judged([NOT, NOT, NOT], {}, { settings: { controlShare: 1 }, judge: new Failed() })
    expect(lost.conclusion.ruling).toMatchObject(AGREED)
    expect(lost.conclusion.ruling.debated).toEqual({ held: true, why: 'control', chance: 1 })
    const mute = judged(
      [NOT, NOT, NOT],
      { hate: [new Failed(), turn('It is plain.')] },
      { settings: { controlShare: 1 } },
    )
    expect(mute.conclusion.ruling).toMatchObject(AGREED)
    expect(mute.conclusion.ruling.debated).toEqual({ held: true, why: 'control', chance: 1 })
  })

  test('decide also where a filter refused a question of that debate, on which the verdict does not rest', () => {
    const judge = new Failed('content-filter')
    const { asked, conclusion } = judged([NOT, NOT, NOT], {}, { settings: { controlShare: 1 }, judge })
    expect(debate(asked)).toHaveLength(4)
    expect(conclusion.ruling).toMatchObject(AGREED)
    expect(judged(CONTESTED, {}, { judge }).conclusion.ruling).toMatchObject({ label: null, decidedBy: 'none' })
  })
})

describe('debateWhen: never', () => {
  const never = (judge: unknown, settings: Partial<HateSettings> = {}, subject = post()) =>
    judged([], {}, { settings: { debateWhen: 'never', controlShare: 1, ...settings }, judge, subject })

  test('asks the judge alone, by the policy, and is as sure as it says', () => {
    const { asked, conclusion } = never({ reason: 'It calls people vermin.', label: 'hate', probability: 0.8 })
    expect(asked.map(({ ask }) => [ask.stage, ask.role])).toEqual([['judge', 'judge']])
    const words = lastWords(asked)
    expect(words).toContain('H1 Demeaning')
    expect(words).toContain('They are all vermin.')
    expect(words).not.toMatch(/debate|reference|\bsides?\b/)
    expect(conclusion.ruling).toMatchObject({
      label: 'hate',
      rationale: 'It calls people vermin.',
      decidedBy: 'judge',
      rounds: 0,
      debated: { held: false, why: 'off' },
      confidence: { value: 0.8, how: 'probability' },
      scores: { hate: 0, nonHate: 0 },
      degraded: [],
    })
  })

  test('has its clauses checked as everywhere: what does not hold is asked for once more', () => {
    const cited = (quote: string) => ({ clauses: [{ id: 'H1', quote }] })
    const { asked, conclusion } = drive(
      made({ debateWhen: 'never', cites: true }).script(post(), null),
      ({ ask }: Asked) =>
        ask.stage === 'cite' ? cited('vermin') : { reason: 'R', label: 'hate', probability: 0.8, ...cited('rats') },
    )
    expect(asked.map(({ ask }) => ask.stage)).toEqual(['judge', 'cite'])
    expect(conclusion.ruling).toMatchObject({
      policy: { version: '2' },
      clauses: [{ id: 'H1', quote: 'vermin' }],
      degraded: [],
    })
  })

  test('has no label where the judge is lost, and withholds non-hate of a text that was cut', () => {
    expect(never(new Failed()).conclusion.ruling).toMatchObject({ label: null, decidedBy: 'none' })
    const answer = { reason: 'R', label: 'non-hate', probability: 0.9 }
    expect(never(answer).conclusion.ruling).toMatchObject({ label: 'non-hate' })
    expect(never(answer, {}, post({ cut: { left: 5, of: 100 } })).conclusion.ruling).toMatchObject({ label: null })
  })

  test('is refused beside perspectives that are listed, which nobody would ask', () => {
    expect(() => made({ debateWhen: 'never', perspectives: ['kold'] })).toThrow('are not asked with debateWhen: never')
    expect(() => made({ decide: 'majority', debateWhen: 'never', perspectives: ['kold'] })).not.toThrow()
  })
})

describe('perspectives that differ', () => {
  test('are debated, and the verdict is as sure as its judge, whose label need not be theirs', () => {
    const { conclusion } = judged(CONTESTED, {}, { judge: { reason: 'J', label: 'non-hate', probability: 0.6 } })
    expect(conclusion.ruling).toMatchObject({
      label: 'non-hate',
      decidedBy: 'judge',
      scores: { hate: 2, nonHate: 1 },
      debated: { held: true, why: 'contested' },
      confidence: { value: 0.6, how: 'probability' },
    })
  })

  test('a judge that does not say how sure it is leaves that unknown, and its label stands', () => {
    for (const probability of [undefined, 95, 'high', -1]) {
      const { conclusion } = judged(CONTESTED, {}, { judge: { reason: 'J', label: 'hate', probability } })
      expect(conclusion.ruling).toMatchObject({ label: 'hate', confidence: { value: null, how: null } })
    }
  })

  test('a label that is withheld takes its confidence along', () => {
    const judge = { reason: 'J', label: 'non-hate', probability: 0.9 }
    const { ruling } = judged(CONTESTED, {}, { judge, subject: post({ cut: { left: 5, of: 100 } }) }).conclusion
    expect(ruling).toMatchObject({ label: null, decidedBy: 'none' })
    expect(ruling).not.toHaveProperty('confidence')
  })
})

describe('a debater who finds nothing that can honestly be said for its side', () => {
  test('says so of a plain slur, and the debate ends after round 1', () => {
    const turns = { 'non-hate': [turn('Nothing can honestly be said for it: it is a slur.', 'no')] }
    const { asked, conclusion } = judged(CONTESTED, turns)
    expect(debate(asked)).toEqual(['non-hate', 'hate'])
    expect(conclusion.ruling).toMatchObject({ label: 'hate', decidedBy: 'judge', rounds: 1, degraded: [] })
    // The other is told that, and not to be of another opinion; the judge, that it alone proves nothing.
    const other = wordsOf(asked.filter(({ ask }) => ask.label === 'hate').at(-1)?.ask.messages ?? [])
    expect(other).toContain('The non-hate side gives up: it finds nothing')
    expect(other).not.toContain('You are of another opinion')
    expect(lastWords(asked)).toContain('Non-hate side, round 1 (gives up its side):')
    expect(lastWords(asked)).toContain('A side that gave up has not lost by that')
  })

  test('is not told by its question that no perspective took its side, and need not fill a sentence', () => {
    const opening = (stance: unknown) => {
      const { asked } = judged([stance, stance, stance], {}, { settings: { debateWhen: 'always' } })
      return wordsOf(asked.find(({ ask }) => ask.label === 'non-hate')?.ask.messages ?? [])
    }
    expect(opening(HATEFUL)).not.toMatch(/reference|from the text itself/)
    expect(opening(NOT).replace(/Your reference, .*?(?=Say what)/s, '')).toBe(opening(HATEFUL))
    expect(opening(HATEFUL)).toContain('no more than "I give up" under "argument"')
  })

  test('may be the second to speak, or give up in round 2, which then ends', () => {
    const second = judged(CONTESTED, { hate: [turn('There is nothing to say for it.', 'no')] })
    expect(debate(second.asked)).toEqual(['non-hate', 'hate'])
    const later = judged(CONTESTED, { 'non-hate': [PLAIN['non-hate']?.[0], turn('The other side is right.', 'no')] })
    expect(debate(later.asked)).toEqual(['non-hate', 'hate', 'non-hate'])
    expect(later.conclusion.ruling.rounds).toBe(2)
  })

  test('no turn is missing of a text that is not hateful', () => {
    const turns = { hate: [turn('Nothing in it is hateful.', 'no')] }
    const { conclusion } = judged(CONTESTED, turns, { judge: { reason: 'J', label: 'non-hate', probability: 0.8 } })
    expect(conclusion.ruling.label).toBe('non-hate')
  })

  test('is not asked to believe what it does not, and has no way out where none is set', () => {
    const { asked } = judged(CONTESTED)
    for (const { ask } of asked.filter((one) => one.ask.stage === 'debate')) {
      expect(wordsOf(ask.messages)).not.toMatch(/In your view|You are of another opinion/)
      expect(wordsOf(ask.messages)).toMatch(/nothing for your side( any more)? that you would hold to be sound/)
    }
    const forced = judged(CONTESTED, {}, { settings: { exits: false } })
    for (const { ask } of forced.asked.filter((one) => one.ask.stage === 'debate'))
      expect(wordsOf(ask.messages)).not.toMatch(/honest/)
    expect(debate(forced.asked)).toHaveLength(4)
  })
})

describe('an echo', () => {
  test.each([
    ['its own turn', 'hate', { hate: [turn('It likens people to pests.'), turn('It likens people to pests!')] }, 4, 2],
    ["the other side's turn", 'hate', { hate: [turn('It may speak of animals in a cellar.')] }, 2, 1],
  ] as const)('of %s ends the debate, is named, and adds nothing', (whose, side, turns, held, round) => {
    const { asked, conclusion } = judged(CONTESTED, turns)
    expect(debate(asked)).toHaveLength(held)
    expect(conclusion.ruling).toMatchObject({ rounds: round, decidedBy: 'judge', faults: ['model'] })
    expect(conclusion.ruling.degraded.filter((why) => why.includes('echo'))).toEqual([
      `the debate ended at an echo: the turn of the ${side} side (round ${round}) repeats ${whose === 'its own turn' ? whose : "the other side's turn"}`,
    ])
    expect(lastWords(asked)).toContain(`Hate side, round ${round} (repeats an earlier turn):`)
  })

  test('in the opening of round 2 spares the reply', () => {
    const [first] = PLAIN['non-hate'] ?? []
    expect(debate(judged(CONTESTED, { 'non-hate': [first, first] }).asked)).toEqual(['non-hate', 'hate', 'non-hate'])
  })

  test('is word for word, in any script; another word may say the opposite', () => {
    for (const [one, other] of [
      ['The text is hateful because it attacks them.', 'The text is harmless because it attacks them.'],
      [
        'The claim is true because the police have confirmed it.',
        'The claim is fake because the police have confirmed it.',
      ],
      ['The text is not hateful, for it asks.', 'The text is now hateful, for it asks.'],
    ] as const)
      expect(isEcho(one, [other])).toBe(false)

    expect(isEcho('Nothing in it is hateful.', ['nothing in it is hateful'])).toBe(true)
    expect(isEcho('I agree with the other side: it is a plain threat.', ['It is a plain threat.'])).toBe(false)
    expect(isEcho('그것은 혐오 표현이 아니다', ['그것은 혐오 표현이 아니다.'])).toBe(true)
    expect(isEcho('그것은 혐오 표현이다', ['그것은 농담일 뿐이다'])).toBe(false)
    expect(
      isEcho('It is hateful in all that it says of them.', ['It is not hateful in all that it says of them.']),
    ).toBe(false)
    expect(isEcho('…', ['…'])).toBe(false)
    expect(isEcho('no', ['no'])).toBe(true)
  })
})

test('who speaks first, and so last, is drawn by the text, apart from which label comes first', () => {
  const drawn = Array.from({ length: 60 }, (_, at) => {
    const subject = post({ text: `text ${at}` })
    const { asked } = judged(CONTESTED, {}, { subject, settings: { order: 'lot', opens: 'lot' } })
    const sides = debate(asked)
    expect(sides).toEqual([sides[0], sides[1], sides[0], sides[1]])
    return `${sides[0]} ${JSON.stringify(asked.at(-1)?.ask.answer.toJSONSchema()).includes('["hate"')}`
  })
  expect(new Set(drawn).size).toBe(4)
  expect(shipped).toMatchObject({
    opens: 'lot',
    debateWhen: 'never',
    exits: true,
    endsAtEcho: true,
    controlShare: 0.02,
  })
  expect(calls(judged(CONTESTED).asked).filter((one) => one.includes('debate'))[0]).toContain('(non-hate)')
})
