import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { loadSettings } from '../../config/load.ts'
import { promptsOf } from '../../src/app/composition/make-protocols.ts'
import type { Comment, Snapshot } from '../../src/contracts/facts/thread.ts'
import type { PinnedContext } from '../../src/judging/engine/script.ts'
import { rumor } from '../../src/protocols/rumor/index.ts'
import type { RumorSettings } from '../../src/protocols/rumor/settings.ts'
import { bandOf } from '../../src/protocols/rumor/told-counts.ts'
import { lookAt } from '../../src/record/review-queue.ts'
import { type Asked, calls, drive, Failed, MODEL, plainFence, plainRank, wordsOf } from './drive.ts'

// When a thread is debated by default, and what its prompts tell against what its next revision is keyed by.

// The settings' type knows each protocol's own only as a record; the schema has checked them.
const { enabled: _, ...shipped } = loadSettings({}).protocols.rumor as unknown as RumorSettings & { enabled: boolean }
/** No thread is drawn as a control, unless a test says so. */
const made = (settings: Partial<RumorSettings> = {}) =>
  rumor.make({
    settings: { ...shipped, order: 'fixed', controlShare: 0, ...settings },
    prompts: promptsOf('rumor'),
    fence: plainFence,
    samplingRank: plainRank,
    files: () => new Map(),
  })

/** `AUTHOR: words`, or the words of somebody unnamed. */
function thread(...said: string[]): Snapshot {
  const comments = said.map((one, at): Comment => {
    const [, author, text = one] = /^(\w+): (.*)$/.exec(one) ?? []
    return { id: `c${at}`, text, createdAt: 60_000 * (at + 1), ...(author === undefined ? {} : { author }) }
  })
  return { post: { id: 'p', text: 'The bridge has fallen.', createdAt: 0 }, comments, leftOut: 0 }
}
const by = (count: number, who: string, words: string) =>
  Array.from({ length: count }, (_, at) => `${who}${at}: ${words} ${who}${at}`)

/** Comments that begin with "yes" support the claim, those with "no" oppose it; debaters keep their side's answer. */
const cast =
  (spoken: { judge?: unknown; opinion?: unknown; strength?: (text: string) => number } = {}) =>
  ({ ask, round }: Asked): unknown => {
    const shown = [...wordsOf(ask.messages.slice(-1)).matchAll(/<comment(?: \d+)?\|([^>]*)>/g)].map(
      ([, text = '']) => text,
    )
    const strength = spoken.strength ?? (() => 0.5)
    const of = (text: string) => strength(text) * (text.startsWith('yes') ? 1 : text.startsWith('no') ? -1 : 0)
    const scores = shown.map((text, at) => ({ comment: at + 1, reason: 'r', score: of(text) }))
    if (ask.stage === 'stance') return ask.label === undefined ? scores[0] : { scores }
    if (ask.stage === 'subjectivity') return { reason: 'r', answer: 'No' }
    if (ask.stage === 'judge') return spoken.judge ?? { reasoning: 'J', answer: 'Real', probability: 0.7 }
    if (ask.label === 'alone') return spoken.opinion ?? { reasoning: 'alone', answer: 'Fake' }
    const words = `In round ${round} the ${ask.label} side says ${round * 7919} ${ask.label === 'oppose' ? 'doubts' : 'grounds'}`
    return { reasoning: words, answer: ask.label === 'oppose' ? 'Fake' : 'Real' }
  }

const judged = (
  subject: Snapshot,
  {
    settings = {},
    spoken = {},
    carry = null,
    context = {},
  }: {
    settings?: Partial<RumorSettings>
    spoken?: Parameters<typeof cast>[0]
    carry?: unknown
    context?: Partial<PinnedContext>
  } = {},
) => drive(made(settings).script(subject, carry, { overloaded: false, ...context }), cast(spoken))
const stages = (asked: readonly Asked[]) => asked.map(({ ask }) => ask.stage)
const carried = ({ conclusion }: ReturnType<typeof judged>) => JSON.parse(JSON.stringify(conclusion.carry)) as unknown

describe('what comments dispute', () => {
  const opposed = (...said: string[]) => judged(thread(...said)).conclusion.ruling.opposed
  const since = (minute: number) => ({ since: new Date(60_000 * minute).toISOString() })

  test('is said since the first comment against it, whatever side leads and whatever is decided', () => {
    expect(opposed('a: yes', 'b: no it stands', 'c: hm', 'd: no that is false')).toEqual(since(2))
    expect(opposed('a: no it stands', 'b: no that is false')).toEqual(since(1))
    expect(opposed(...by(15, 'y', 'yes'), 'b: no it stands', 'c: no that is false')).toEqual(since(16))
  })

  test('is nothing that one person opposes, however often, nor two among many', () => {
    expect(opposed('a: yes', 'b: yes so')).toBeUndefined()
    expect(opposed('a: no it stands', 'a: no that is false', 'b: yes')).toBeUndefined()
    expect(opposed(...by(30, 'y', 'yes'), 'b: no it stands', 'c: no that is false')).toBeUndefined()
    expect(opposed(...by(30, 'y', 'hm'), 'b: no it stands', 'c: no that is false')).toEqual(since(31))
  })

  test('is not disputed before the post was written, whatever its sender says', () => {
    const { comments, ...rest } = thread('a: no it stands', 'b: no that is false')
    const early = comments.map((one) => ({ ...one, createdAt: -5 }))
    expect(judged({ ...rest, comments: early }).conclusion.ruling.opposed).toEqual(since(0))
  })
})

describe('what could own the gate', () => {
  test('not whoever says first what others will say', () => {
    const others = ['s0: yes', 's1: yes so', 'y: no it stands', 'z: no that is false', 'w: no way']
    const first = ['x: no it stands', 'x: no that is false', 'x: no way']
    for (const said of [others, [...first, ...others]])
      expect(judged(thread(...said)).conclusion.ruling.debated?.why).toBe('contested')
  })

  test('not load: what it leaves out brings no debate, and no label where nobody takes a side', () => {
    const context = { overloaded: true }
    const settings = { overloadedComments: 20 }
    const many = (count: number, words: string) =>
      Array.from({ length: count }, (_, at) => `u${words}${at}: ${words} ${at * 7919}`)
    const calm = judged(thread(...many(60, 'hm')), { settings, context })
    expect([calm.conclusion.ruling.label, stages(calm.asked).includes('opinion')]).toEqual(['unverified', false])
    const sided = judged(thread(...many(30, 'yes'), ...many(30, 'hm')), { settings, context })
    expect(sided.conclusion.ruling.decidedBy).toBe('single')
    expect(JSON.parse(JSON.stringify(sided.conclusion.carry)).decision.again).toBe(true)
  })

  test('not comments that nobody can score: at the end a thread without sides is unverified all the same', () => {
    const refused = (asked: Asked) =>
      asked.ask.stage === 'stance' && !wordsOf(asked.ask.messages.slice(-1)).includes('hm')
        ? new Failed('content-filter')
        : cast()(asked)
    const run = (final: boolean) =>
      drive(
        made({ batchSize: 1, minScored: 0 }).script(thread('a: hm', 'b: x1', 'c: x2'), null, {
          overloaded: false,
          final,
        }),
        refused,
      )
    expect(run(true).conclusion.ruling).toMatchObject({ label: 'unverified', unverified: { reason: 'no-evidence' } })
    expect(run(false).conclusion.ruling.decidedBy).toBe('single')
  })
})

describe('a thread without sides', () => {
  test('without comments is unverified, without one call', () => {
    const { asked, conclusion } = judged(thread())
    expect(asked).toEqual([])
    expect(conclusion.ruling).toMatchObject({
      label: 'unverified',
      unverified: { reason: 'early' },
      decidedBy: 'scores',
      rounds: 0,
      debated: { held: false, why: 'no-sides' },
      degraded: [],
    })
  })

  test.each([
    ['nobody takes a side', ['a: hm', 'b: who says so']],
    ['one author a side', ['a: yes it has', 'b: no it stands', 'c: hm']],
    ['one author says it thrice', ['a: yes 1', 'a: yes it has', 'a: yes I saw it']],
    ['many say the same words', by(5, 'bot', '').map((one) => one.replace(/: .*/, ': yes it has indeed fallen'))],
  ])('is asked for no opinion where %s', (_, said) => {
    const { asked, conclusion } = judged(thread(...said))
    expect(new Set(stages(asked))).toEqual(new Set(['stance', 'subjectivity']))
    expect(conclusion.ruling).toMatchObject({ label: 'unverified', decidedBy: 'scores' })
  })

  test('lacks evidence for good at its final checkpoint, also where nothing has changed since', () => {
    const first = judged(thread('a: hm'))
    expect(first.conclusion.ruling.unverified).toEqual({ reason: 'early' })
    const last = judged(thread('a: hm'), { carry: carried(first), context: { final: true } })
    expect(last.asked).toEqual([])
    expect(last.conclusion.ruling).toMatchObject({ label: 'unverified', unverified: { reason: 'no-evidence' } })
  })

  test('has one opinion where that is set', () => {
    const { asked, conclusion } = judged(thread('a: hm'), { settings: { unverified: false } })
    expect(calls(asked).at(-1)).toBe('1.0 opinion debater (alone)')
    expect(conclusion.ruling).toMatchObject({
      label: 'rumor',
      decidedBy: 'single',
      debated: { held: false, why: 'no-sides' },
      confidence: undefined,
    })
    expect(made({ unverified: false }).labels).toEqual(['rumor', 'non-rumor'])
    expect(made({ preset: 'paper' }).labels).toEqual(['rumor', 'non-rumor'])
  })

  test('has one opinion, and is asked again, where comments without a score may be of a side', () => {
    const unread = drive(made({ batchSize: 1 }).script(thread('a: hm', 'b: x', 'c: y'), null), ({ ask }) => {
      if (ask.stage === 'stance')
        return wordsOf(ask.messages).includes('|hm>') ? { reason: 'r', score: 0 } : new Failed()
      return ask.stage === 'subjectivity' ? { reason: 'r', answer: 'No' } : { reasoning: 'o', answer: 'Real' }
    })
    expect(unread.conclusion.ruling).toMatchObject({ label: 'non-rumor', decidedBy: 'single' })
    expect(unread.conclusion.carry).toMatchObject({ decision: { again: true } })
  })
})

describe('a thread with one side', () => {
  const ONE_SIDE = [...by(2, 'a', 'yes'), 'z: hm']

  test('has one opinion, of an agent that reads it', () => {
    const { asked, conclusion } = judged(thread(...ONE_SIDE))
    expect(calls(asked).slice(2)).toEqual(['1.0 opinion debater (alone)'])
    expect(conclusion.ruling).toMatchObject({
      label: 'rumor',
      decidedBy: 'single',
      rounds: 0,
      debated: { held: false, why: 'one-sided' },
      models: { debater: MODEL },
    })
    expect(conclusion.ruling.confidence).toBeUndefined()
  })
})

describe('a thread with two sides', () => {
  const TWO = [...by(2, 'a', 'yes'), ...by(2, 'b', 'no')]

  test('is debated, and the judge says how sure it is', () => {
    const { asked, conclusion } = judged(thread(...TWO))
    expect(stages(asked).slice(2)).toEqual(['opinion', 'opinion', 'debate', 'debate', 'debate', 'debate', 'judge'])
    expect(conclusion.ruling).toMatchObject({
      label: 'non-rumor',
      decidedBy: 'judge',
      debated: { held: true, why: 'contested' },
      confidence: { value: 0.7, how: 'probability' },
    })
  })

  test('is unverified where the judge finds neither shown, sure of no label', () => {
    const { conclusion } = judged(thread(...TWO), {
      spoken: { judge: { reasoning: 'J', answer: 'Unverified', probability: 0.9 } },
    })
    expect(conclusion.ruling).toMatchObject({ label: 'unverified', unverified: { reason: 'torn' }, decidedBy: 'judge' })
    expect(conclusion.ruling.confidence).toBeUndefined()
    const kept = judged(thread(...TWO), { carry: carried({ asked: [], conclusion }) })
    expect(kept.asked).toEqual([])
    expect(kept.conclusion.ruling).toMatchObject({ label: 'unverified', unverified: { reason: 'torn' } })
  })

  test('has no label where the judge can’t be read', () => {
    const { conclusion } = judged(thread(...TWO), { spoken: { judge: new Failed() } })
    expect(conclusion.ruling).toMatchObject({ label: null, decidedBy: 'none', unverified: undefined })
  })

  test('nobody named, each comment stands for an author', () => {
    const { conclusion } = judged(thread('yes 1', 'yes 2', 'no 1', 'no 2'))
    expect(conclusion.ruling.debated?.why).toBe('contested')
  })

  test('where somebody is named, the unnamed of a side stand for one', () => {
    const { conclusion } = judged(thread('yes 1', 'yes 2', 'no 1', 'no 2', 'a: hm'))
    expect(conclusion.ruling).toMatchObject({ label: 'unverified', debated: { why: 'no-sides' } })
    const joined = judged(thread('yes 1', 'yes 2', 'no 1', 'no 2', 'a: yes too', 'b: no way'))
    expect(joined.conclusion.ruling.debated?.why).toBe('contested')
  })

  test.each(['always', 'contested'] as const)('ends at an echo, which the verdict names (%s)', (debateWhen) => {
    const again = { reasoning: 'They all saw it fall with their own eyes.', answer: 'Real' }
    const script = made({ debateWhen }).script(thread(...TWO), null)
    const { asked, conclusion } = drive(script, (one) => (one.ask.label === 'support' ? again : cast()(one)))
    expect(stages(asked).slice(2)).toEqual(['opinion', 'opinion', 'debate', 'debate', 'judge'])
    expect(conclusion.ruling.rounds).toBe(1)
    expect(conclusion.ruling.degraded).toEqual([
      'the debate ended at an echo: the turn of the support side (round 1) repeats its own turn before',
    ])
    const heard = drive(made({ debateWhen, endsAtEcho: false }).script(thread(...TWO), null), (one) =>
      one.ask.label === 'support' ? again : cast()(one),
    )
    expect(heard.conclusion.ruling).toMatchObject({ rounds: 2, degraded: [] })
  })
})

// Each tells what the attack costs, and what it gains.
describe('who would own the gate', () => {
  const HONEST = [...by(3, 'a', 'yes'), ...by(3, 'b', 'no')]
  const why = (...said: string[]) => judged(thread(...said)).conclusion.ruling.debated?.why

  test('by silence: comments that take no side, however many accounts write them, silence nobody', () => {
    expect(why(...HONEST, ...by(100, 'x', 'hm'))).toBe('contested')
    // Against others' silence there is no verdict at all to be had.
    expect(why(...by(100, 'x', 'hm'))).toBe('no-sides')
  })

  test('by one side bought: one account buys nothing, two buy an opinion that nobody contradicts, and no debate', () => {
    expect(why('x: yes 1', 'x: yes really', 'x: yes I was there')).toBe('no-sides')
    const bought = judged(thread(...by(2, 'x', 'yes')))
    expect(bought.conclusion.ruling).toMatchObject({ decidedBy: 'single', debated: { why: 'one-sided' } })
    // Who reads that side alone is asked to look for the other one.
    expect(wordsOf(bought.asked.at(-1)?.ask.messages ?? [])).toContain('Nobody speaks for the other side')
    // Two others undo it.
    expect(why(...by(2, 'x', 'yes'), ...by(2, 'b', 'no'))).toBe('contested')
  })

  test('by a token of the other side: one account brings no debate, two bring one, of nine calls at most', () => {
    expect(why(...by(5, 'a', 'yes'), 'x: no 1', 'x: no 2', 'x: no 3')).toBe('one-sided')
    const forced = judged(thread(...by(5, 'a', 'yes'), ...by(2, 'x', 'no')))
    expect(forced.conclusion.ruling.debated?.why).toBe('contested')
    expect(forced.asked.length).toBeLessThanOrEqual(9)
  })

  test('by many names that look the same: they are one account', () => {
    const said = (word: string, name: string, at: number): Comment => ({
      id: `${word}${at}`,
      text: `${word} ${at}`,
      author: `${name}${'\u200b'.repeat(at)}`,
      createdAt: at,
    })
    const named = [0, 1, 2].flatMap((at) => [said('yes', 'a', at), said('no', 'b', at)])
    expect(judged({ ...thread(), comments: named }).conclusion.ruling.debated?.why).toBe('no-sides')
  })

  test('by one named account in a thread of unnamed ones: it ends the debate, and its verdict', () => {
    expect(why('yes 1', 'yes 2', 'no 1', 'no 2')).toBe('contested')
    expect(why('yes 1', 'yes 2', 'no 1', 'no 2', 'x: hm')).toBe('no-sides')
  })
})

describe('comments without an author', () => {
  const note = (all: string, without: string) =>
    `comments without an author make the difference: ${all}, ${without} without them`
  const degraded = (subject: Snapshot, given: Parameters<typeof judged>[1] = {}) =>
    judged(subject, given).conclusion.ruling.degraded
  const many = (count: number, word: string) => Array.from({ length: count }, (_, at) => `${word} ${at}`)
  const [YES, NO] = [by(3, 'a', 'yes'), by(2, 'b', 'no')]
  const postedBy = (author: string, subject: Snapshot): Snapshot => ({ ...subject, post: { ...subject.post, author } })

  test('that turn the label are named beside it, and it waits for review', () => {
    const { ruling } = judged(thread(...YES, ...many(20, 'no'))).conclusion
    expect(ruling).toMatchObject({ label: 'rumor', decidedBy: 'single', scores: { support: 3, oppose: 20 } })
    expect(ruling.degraded).toEqual([note('3 support and 20 oppose', '3 and 0')])
    const { label, decidedBy, degraded } = ruling
    const rest = { contested: false, confidence: null, accepted: 23, decidedAt: 0, drawn: false, golden: false }
    const current = { id: 'rumor~p~r1', label, decidedBy, degraded: degraded.length > 0, ...rest }
    expect(lookAt(current, [], 0)?.reasons).toEqual(['single', 'degraded'])
    expect(lookAt({ ...current, degraded: false }, [], 0)?.reasons).toEqual(['single'])
  })

  test.each<[string, string[], [all: string, without: string]]>([
    [
      'are all of the other side, which does not lead',
      [...YES, ...many(2, 'no')],
      ['3 support and 2 oppose', '3 and 0'],
    ],
    ['are all that support it', [...by(3, 'b', 'no'), ...many(2, 'yes')], ['2 support and 3 oppose', '0 and 3']],
    ['make a draw of a lead', [...YES, ...NO, 'no 1'], ['3 support and 3 oppose', '3 and 2']],
    ['make a lead of a draw', [...by(2, 'a', 'yes'), ...NO, 'no 1'], ['2 support and 3 oppose', '2 and 2']],
  ])('are named where they %s', (_, said, [all, without]) => {
    expect(degraded(thread(...said))).toEqual([note(all, without)])
  })

  test.each<[string, string[]]>([
    ['add to the side that leads', [...YES, ...NO, ...many(9, 'yes')]],
    ['leave another in the lead', [...by(4, 'a', 'yes'), ...NO, 'no 1']],
    ['take no side', [...YES, ...many(20, 'hm')]],
    ['are not there', YES],
    ['say what a named one says', ['no it stands', 'b0: no, it stands', 'b1: no way', ...by(2, 'a', 'yes')]],
  ])('are not where they %s', (_, said) => {
    expect(degraded(thread(...said)).join()).not.toContain('without an author')
  })

  test('are named where they would make a side, were each somebody else’s, also in a verdict by scores alone', () => {
    const said = thread('a: hm', ...many(20, 'no'))
    const {
      label,
      decidedBy,
      rationale,
      degraded: notes,
    } = judged(said, { context: { final: true } }).conclusion.ruling
    expect([label, decidedBy]).toEqual(['unverified', 'scores'])
    expect(rationale).toContain('Fewer than 2 authors')
    expect(notes).toContain('comments without an author count as one author of each side: 0 support and 20 oppose')
  })

  test('are as good as others where nobody is named, and are named where only their post has an author', () => {
    const nobody = thread(...many(3, 'yes'), ...many(2, 'no'))
    expect(degraded(nobody)).toEqual([])
    expect(degraded(postedBy('lou', nobody))).toEqual([note('3 support and 2 oppose', '0 and 0')])
  })

  test.each<Partial<RumorSettings>>([{ preset: 'paper' }, { unnamed: null }, { stance: false }])(
    'are trusted under %j',
    (settings) => {
      expect(degraded(thread(...YES, ...many(20, 'no')), { settings })).toEqual([])
    },
  )

  test('are named again where the decision of the revision before stands', () => {
    const subject = thread(...YES, ...many(20, 'no'))
    const next = judged(subject, { carry: carried(judged(subject)) }).conclusion.ruling
    expect(next.debated).toEqual({ held: false, why: 'unchanged' })
    expect(next.degraded).toEqual([note('3 support and 20 oppose', '3 and 0')])
  })
})

describe('a control', () => {
  const control = { controlShare: 1 }

  test('is asked both ways: the gate’s answer first, then the debate, which is published', () => {
    const { asked, conclusion } = judged(thread(...by(2, 'a', 'yes')), { settings: control })
    expect(calls(asked).slice(2, 5)).toEqual([
      '1.0 opinion debater (alone)',
      '2.0 opinion debater (support)',
      '2.1 opinion debater (oppose)',
    ])
    expect(conclusion.ruling).toMatchObject({
      label: 'non-rumor',
      decidedBy: 'judge',
      debated: { held: true, why: 'control', chance: 1, without: 'rumor' },
    })
  })

  test('may be a thread that nobody would be asked about', () => {
    const { conclusion } = judged(thread(), { settings: control })
    expect(conclusion.ruling).toMatchObject({ label: 'non-rumor', debated: { why: 'control', without: 'unverified' } })
    expect(judged(thread(), { settings: control, carry: carried({ asked: [], conclusion }) }).asked).toEqual([])
  })

  test('changes nothing where its debate comes to nothing, and is none under load or where there is a debate anyway', () => {
    const lost = judged(thread(...by(2, 'a', 'yes')), { settings: control, spoken: { judge: new Failed() } })
    expect(lost.conclusion.ruling).toMatchObject({ label: 'rumor', decidedBy: 'single' })
    expect(lost.conclusion.ruling.debated).toEqual({ held: true, why: 'control', chance: 1 })
    const one = thread(...by(2, 'a', 'yes'))
    const loaded = judged(one, { settings: control, context: { overloaded: true } })
    expect(loaded.conclusion.ruling.debated?.why).toBe('one-sided')
    const both = judged(thread(...by(2, 'a', 'yes'), ...by(2, 'b', 'no')), { settings: control })
    expect(both.conclusion.ruling.debated?.why).toBe('contested')
  })

  test('is a thread in fifty, the same at each of its revisions', () => {
    const drawn = Array.from({ length: 1_000 }, (_, at) => {
      const subject = { ...thread(), post: { ...thread().post, id: `p${at}` } }
      return drive(made({ controlShare: 0.02 }).script(subject, null), cast()).asked.length > 0
    }).filter(Boolean).length
    expect(drawn).toBeGreaterThan(8)
    expect(drawn).toBeLessThan(35)
  })
})

describe('what prompts tell is what decisions are keyed by', () => {
  const strength = (text: string) => (text.includes('late') ? 0.1 : 0.9)
  const spoken = { strength }
  const BEFORE = [...by(40, 'a', 'yes'), ...by(20, 'b', 'no')]

  test.each([{}, { materialChange: 0.25 }])('300 further denials bring a new debate (%j)', (settings) => {
    const first = judged(thread(...BEFORE), { settings, spoken })
    expect(first.conclusion.ruling).toMatchObject({ label: 'non-rumor', scores: { support: 40, oppose: 20 } })
    const flooded = thread(...BEFORE, ...by(300, 'd', 'no late'))
    const next = judged(flooded, { settings, spoken, carry: carried(first) })
    // The same twenty of each side are shown: they are the strongest.
    expect(next.conclusion.ruling.evidence).toEqual(first.conclusion.ruling.evidence)
    expect(next.conclusion.ruling.scores).toEqual({ support: 40, oppose: 320 })
    expect(stages(next.asked)).toContain('judge')
  })

  test('one comment more of those that nobody is shown does not', () => {
    const first = judged(thread(...BEFORE), { spoken })
    const next = judged(thread(...BEFORE, ...by(1, 'd', 'no late')), { spoken, carry: carried(first) })
    expect(stages(next.asked)).toEqual(['stance'])
    expect(next.conclusion.ruling.debated).toEqual({ held: false, why: 'unchanged' })
  })

  test.each([0, 0.25])(
    'a second author of the other side does, also where neither debater is shown more (%j)',
    (materialChange) => {
      const settings = { k: 1, materialChange }
      const said = [...by(40, 'a', 'yes'), 'b0: no it stands']
      const first = judged(thread(...said), { settings, spoken })
      expect(first.conclusion.ruling.debated?.why).toBe('one-sided')
      const next = judged(thread(...said, 'b1: no late'), { settings, spoken, carry: carried(first) })
      expect(next.conclusion.ruling.evidence).toEqual(first.conclusion.ruling.evidence)
      expect(next.conclusion.ruling.debated?.why).toBe('contested')
    },
  )

  test('an image more that nobody has looked at does, since every question tells of it', () => {
    const first = judged(thread(...BEFORE), { spoken })
    const subject = thread(...BEFORE)
    const media = [{ kind: 'image' as const, url: 'https://images.example/1.png' }]
    const next = judged({ ...subject, post: { ...subject.post, media } }, { spoken, carry: carried(first) })
    expect(stages(next.asked)).toEqual(expect.arrayContaining(['stance', 'subjectivity', 'judge']))
  })

  /** What debaters and judge were asked, without their own words, and with counts as their bands. */
  const told = (asked: readonly Asked[]) =>
    asked
      .filter(({ ask }) => ['opinion', 'judge'].includes(ask.stage))
      .map(({ ask }) => ask.messages.filter(({ role }) => role !== 'assistant').map(({ content }) => banded(content)))
  const COUNTS = /(\d+) for the claim, (\d+) against it, (\d+) neither/g
  const banded = (text: string) =>
    text
      .replace(COUNTS, (_, ...found) => {
        const [support, oppose, neither] = found.slice(0, 3).map(Number) as [number, number, number]
        return bandOf({ support, oppose, neither })
      })
      .replace(/the \d+ strongest of \d+, /g, '')

  test('whatever changes from one revision to the next', () => {
    const comment = fc.tuple(fc.nat(6), fc.constantFrom('yes', 'no', 'hm', 'yes late', 'no late'), fc.nat(9))
    const comments = fc.array(comment, { maxLength: 14 })
    const post = fc.record({ text: fc.constantFrom('It fell.', 'It stands.'), images: fc.nat(2) })
    const snapshot = fc.record({ comments, post, materialChange: fc.constantFrom(0, 0.25) })
    const threadOf = ({
      comments: given,
      post: { text, images },
    }: typeof snapshot extends fc.Arbitrary<infer T> ? T : never) => {
      const subject = thread(...given.map(([who, stance, words]) => `u${who}: ${stance} ${words}`))
      const media = Array.from({ length: images }, (_, at) => ({
        kind: 'image' as const,
        url: `https://x.example/${at}`,
      }))
      return { ...subject, post: { ...subject.post, text, ...(images === 0 ? {} : { media }) } }
    }
    fc.assert(
      fc.property(snapshot, snapshot, fc.boolean(), (one, other, grows) => {
        const settings = { k: 2, materialChange: one.materialChange }
        const later = grows ? { ...one, comments: [...one.comments, ...other.comments.slice(0, 3)] } : other
        const first = judged(threadOf(one), { settings, spoken })
        const next = judged(threadOf(later), { settings, spoken, carry: carried(first) })
        const { debated, degraded } = next.conclusion.ruling
        if (debated?.why !== 'unchanged') return
        // What it would be told afresh is what the decision that stands was told, or the verdict says that it is not.
        const afresh = judged(threadOf(later), { settings, spoken })
        if (!degraded.some((why) => why.startsWith('the debate of an earlier revision stands')))
          expect(told(afresh.asked)).toEqual(told(first.asked))
      }),
      { numRuns: 300 },
    )
  })
})
