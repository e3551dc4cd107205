import { describe, expect, it } from 'vitest'
import { loadSettings } from '../../config/load.ts'
import { promptsOf } from '../../src/app/composition/make-protocols.ts'
import type { Comment, Snapshot } from '../../src/contracts/facts/thread.ts'
import { commentKey } from '../../src/contracts/facts/verdict-id.ts'
import { seededRandom } from '../../src/lab/evaluation/statistics/random.ts'
import { rumor } from '../../src/protocols/rumor/index.ts'
import { type Asked, drive, plainFence, plainRank, type Replies } from './drive.ts'

const { enabled: _, ...shipped } = loadSettings({}).protocols.rumor as { enabled: boolean }
const made = (settings: object = {}) =>
  rumor.make({
    settings: { ...shipped, ...settings },
    prompts: promptsOf('rumor'),
    fence: plainFence,
    samplingRank: plainRank,
    files: () => new Map(),
  })
const ON = { elsewhere: true }

const own = (texts: readonly string[]): Comment[] =>
  texts.map((text, at) => ({ id: `c${at}`, text: `${text} ${at}`, author: `a${at}`, createdAt: at + 1 }))
const other = (nth: number, text = `other words ${nth}`): Comment => ({
  id: commentKey(`t${nth % 5}`, `e${nth}`),
  text,
  createdAt: nth,
})
const thread = (texts: readonly string[], elsewhere?: readonly Comment[]): Snapshot => ({
  post: { id: 'p', text: 'The bridge has collapsed.', createdAt: 0 },
  comments: own(texts),
  leftOut: 0,
  ...(elsewhere === undefined ? {} : { elsewhere: [...elsewhere] }),
})
const SHAPES = [
  ['for', 'for', 'against', 'against'],
  ['for', 'for', 'neither'],
  ['against', 'against', 'against'],
  ['for', 'neither'],
  ['neither', 'neither'],
  [],
]

/** A comment that says "for" supports the claim; whoever debates finds the claim real as soon as others say so. */
const answers: Replies = ({ ask }: Asked) => {
  const all = ask.messages.map(({ content }) => content).join('\n')
  const shown = [...(ask.messages.at(-1)?.content ?? '').matchAll(/<comment(?: \d+)?\|([^>]*)>/g)]
  const value = (text = '') => (text.startsWith('for') ? 0.9 : text.startsWith('against') ? -0.9 : 0)
  const scored = { scores: shown.map(([, text], at) => ({ comment: at + 1, reason: 'r', score: value(text) })) }
  if (ask.stage === 'stance') return ask.label === undefined ? { reason: 'r', score: value(shown[0]?.[1]) } : scored
  if (ask.stage === 'subjectivity') return { reason: 'r', answer: 'No' }
  const answer = all.includes('other words') || ask.label === 'support' ? 'Real' : 'Fake'
  return { reasoning: `${ask.label} says ${answer}`, answer, ...(ask.stage === 'judge' ? { probability: 0.7 } : {}) }
}
const judged = (settings: object, subject: Snapshot, carry: unknown = null) =>
  drive(made(settings).script(subject, carry), answers)
const asks = ({ asked }: ReturnType<typeof judged>) => JSON.stringify(asked.map(({ ask }) => [ask.stage, ask.messages]))

describe('comments under other posts in the same words', () => {
  it('change no byte of questions and verdict where the switch is off, nor the settings’ version', () => {
    const random = seededRandom('attackers')
    for (const [nth, texts] of Array.from({ length: 60 }, (_, at) => SHAPES[at % SHAPES.length] ?? []).entries()) {
      const crowd = Array.from({ length: 1 + random.below(40) }, (_, at) => other(at, `for: attacker ${nth} ${at}`))
      const [without, within] = [judged({}, thread(texts)), judged({}, thread(texts, crowd))]
      expect(asks(within)).toBe(asks(without))
      expect(JSON.stringify(within.conclusion)).toBe(JSON.stringify(without.conclusion))
    }
    expect(made().settingsHash).not.toBe(made(ON).settingsHash)
    expect(made({ ...ON, preset: 'paper' }).settingsHash).toBe(made({ preset: 'paper' }).settingsHash)
  })

  it('are shown to debaters alone, at most as many as count of the post’s own, and count for nothing', () => {
    for (const texts of SHAPES) {
      const crowd = Array.from({ length: 30 }, (_, at) => other(at))
      const [without, within] = [judged(ON, thread(texts)), judged(ON, thread(texts, crowd))]
      const told = within.asked.map(({ ask }) => ({ stage: ask.stage, text: JSON.stringify(ask.messages) }))
      for (const { stage, text } of told) {
        const shown = text.match(/other words \d+/g) ?? []
        expect(shown.length).toBeLessThanOrEqual(texts.length)
        if (stage !== 'opinion' && stage !== 'debate') expect(shown).toEqual([])
        if (shown.length > 0) expect(text).toContain('They are not about this post')
      }
      const stances = ({ asked }: ReturnType<typeof judged>) => asked.filter(({ ask }) => ask.stage === 'stance').length
      expect(stances(within)).toBe(stances(without))
      const [one, two] = [within.conclusion.ruling, without.conclusion.ruling]
      expect([one.scores, one.comments, one.evidence.support, one.evidence.oppose]).toEqual([
        two.scores,
        two.comments,
        two.evidence.support,
        two.evidence.oppose,
      ])
      const opinions = ({ asked }: ReturnType<typeof judged>) =>
        asked.filter(({ ask }) => ask.stage === 'opinion').length
      expect(opinions(within)).toBe(opinions(without))
    }
  })

  it('alone make no claim a true one: that needs support under the post itself', () => {
    const crowd = [other(1), other(2), other(3)]
    const ruled = (texts: readonly string[], settings: object = ON) =>
      judged(settings, thread(texts, crowd)).conclusion.ruling
    expect(judged(ON, thread(['against', 'against', 'against'])).conclusion.ruling.label).toBe('rumor')
    expect(ruled(['against', 'against', 'against'])).toMatchObject({
      label: 'unverified',
      unverified: { reason: 'torn' },
    })
    expect(ruled(['against', 'against', 'against'], { ...ON, unverified: false })).toMatchObject({
      label: null,
      decidedBy: 'none',
    })
    expect(ruled(['for', 'against', 'against'])).toMatchObject({ label: 'unverified' })
    const supported = ruled(['for', 'for', 'against', 'against'])
    expect(supported.label).toBe('non-rumor')
    expect(supported.evidence.elsewhere).toEqual(crowd.map(({ id }) => id))
    expect(supported.degraded[0]).toBe('3 comments under 3 other posts in the same words were shown beside its own')
  })

  it('bring a new debate where others are shown, and what rests on them goes with any of them', () => {
    const texts = ['for', 'for', 'against', 'against']
    const [first, second] = [
      [other(1), other(2)],
      [other(1), other(3)],
    ]
    const { carry } = judged(ON, thread(texts, first)).conclusion
    const debates = (subject: Snapshot) =>
      judged(ON, subject, JSON.parse(JSON.stringify(carry))).asked.filter(({ ask }) => ask.stage === 'opinion').length
    expect(debates(thread(texts, first))).toBe(0)
    expect(debates(thread(texts, second))).toBeGreaterThan(0)
    const left = JSON.stringify(made(ON).withoutComments?.(carry, new Set([other(2).id])))
    expect(left).not.toContain('says')
    expect(left).not.toContain('t2')
  })
})
