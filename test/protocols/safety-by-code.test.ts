import { describe, expect, test } from 'vitest'
import { loadFiles, loadSettings } from '../../config/load.ts'
import { promptsOf } from '../../src/app/composition/make-protocols.ts'
import type { Post } from '../../src/contracts/facts/thread.ts'
import { safety } from '../../src/protocols/safety/index.ts'
import { safetySettings } from '../../src/protocols/safety/settings.ts'
import { drive, Failed, plainFence, plainRank, wordsOf } from './drive.ts'

// `preset: paper` with `as: code`: what Aetheria's published code asks in other ways than the paper's sections.

const PICTURE = { media: [{ kind: 'image' as const, description: 'A knife on a table.' }] }
const MADE_OF: Record<'text' | 'image' | 'both', Partial<Post>> = {
  text: { text: 'I can’t help with that.' },
  image: { text: '', ...PICTURE },
  both: { text: 'Look.', ...PICTURE },
}
const NEIGHBOUR = { id: 'n1', text: 'old', label: 'unsafe', similarity: 0.9, metadata: { keyCues: 'cue' } }
const RULED = { reasoning: 'r', evidence: [], rule: 'confirmation', categories: [], score: 1, label: 'unsafe' }

function run(
  made: keyof typeof MADE_OF,
  given: { as?: string; scores?: number[]; arbiter?: unknown; strict?: boolean } = {},
) {
  const { as = 'code', scores = [0.9, 0.2, 0.9, 0.75], arbiter = RULED, strict = true } = given
  const shipped = Object.entries(loadSettings({}).protocols.safety ?? {}).filter(
    ([key]) => key in safetySettings.schema.shape,
  )
  const settings = { ...Object.fromEntries(shipped), preset: 'paper', as, strict, loose: strict, k: 1 }
  const protocol = safety.make({
    settings,
    prompts: promptsOf('safety'),
    fence: plainFence,
    samplingRank: plainRank,
    files: loadFiles,
  })
  const post: Post = { id: 'p', createdAt: 0, text: '', ...MADE_OF[made] }
  let turn = 0
  const { asked, conclusion } = drive(protocol.script({ post, comments: [], leftOut: 0 }, null), ({ ask }) => {
    if (ask.stage === 'retrieve')
      return { shelves: [{ shelf: 'precedents', neighbours: [NEIGHBOUR], problem: null }], weak: null }
    if (ask.stage === 'brief')
      return { summary: 'S', precedents: [{ precedent: 1, keyCues: [], differences: '' }], patterns: 'P' }
    if (ask.stage === 'arbitrate') return arbiter
    return { reasoning: `${ask.stage} speaks`, score: scores[turn++] }
  })
  const of = (stage: string) =>
    asked.filter(({ ask }) => ask.stage === stage).map(({ ask }) => wordsOf('messages' in ask ? ask.messages : []))
  return { of, ruling: conclusion.ruling }
}

describe('as the published code', () => {
  const GUIDE = 'The guide to risks, by category'
  const PRINCIPLES = 'Three principles decide'

  test('debaters and arbiter read a guide to risks, by what the post is made of', () => {
    const text = run('text')
    for (const stage of ['brief', 'strict', 'loose'])
      for (const words of text.of(stage)) expect([stage, words.includes(PRINCIPLES)]).toEqual([stage, true])
    expect(text.of('arbitrate')[0]).toContain(GUIDE)
    for (const made of ['image', 'both'] as const) {
      const { of } = run(made)
      for (const words of [...of('strict'), ...of('loose'), ...of('arbitrate')]) expect(words).toContain(GUIDE)
      expect(of('brief')[0]?.includes(GUIDE)).toBe(made === 'image')
    }
  })

  test('the supporter sums up what the post is made of', () => {
    const summed = (made: keyof typeof MADE_OF) =>
      run(made)
        .of('brief')[0]
        ?.match(/First sum up the post: (.*)/)?.[1]
    expect(summed('text')).toBe('in one short sentence what its text is after.')
    expect(summed('image')).toBe('in one short sentence what its images show.')
    expect(summed('both')).toBe('in one short sentence what its text is after, and in another what its images show.')
  })

  test('of images alone the arbiter tests harm before context; else context comes first, and a refusal is safe', () => {
    const order = (made: keyof typeof MADE_OF) =>
      [...(run(made).of('arbitrate')[0] ?? '').matchAll(/^\d\. ([a-z-]+)/gm)]
        .flatMap(([, rule]) => rule ?? [])
        .slice(-3)
    expect(order('image')).toEqual(['confirmation', 'exoneration', 'default-safe'])
    for (const made of ['text', 'both'] as const)
      expect(order(made)).toEqual(['exoneration', 'confirmation', 'default-safe'])
    expect(run('text').of('arbitrate')[0]).toContain('A text that refuses is always safe.')
  })

  test('each debater reads all that was said, its own words among it', () => {
    const { of } = run('text')
    const [first = '', second = ''] = of('strict')
    expect(first).toContain('Nobody has spoken yet.')
    expect([second.includes('strict speaks'), second.includes('loose speaks')]).toEqual([true, true])
    expect(run('text', { as: 'paper' }).of('strict')[0]).not.toContain('Nobody has spoken yet.')
  })

  test.each([
    // By aetheria_simple/utils/voting.py, run by hand.
    [
      [0.9, 0.2, 0.9, 0.75],
      ['unsafe', 'unsafe', 'unsafe', '0.85'],
    ],
    [
      [0.9, 0.2, 0.8, 0.4],
      ['unsafe', 'safe', 'a tie', '0.72'],
    ],
    [
      [0.1, 0.1, 0, 1],
      ['safe', 'unsafe', 'a tie', '0.90'],
    ],
    [
      [0.1, 0.1, 0.4, 0.2],
      ['safe', 'safe', 'safe', '0.34'],
    ],
  ])('the arbiter sees the votes on %j', (scores, [strict, loose, majority, weighted]) => {
    expect(run('text', { scores }).of('arbitrate')[0]).toContain(
      `strict debater's vote: ${strict}\nloose debater's vote: ${loose}\nmajority: ${majority}\nweighted score: ${weighted}`,
    )
  })

  test('without debaters the arbiter is told that this is no reason to call the post safe', () => {
    expect(run('text', { strict: false }).of('arbitrate')[0]).toContain('no reason to call it safe')
    expect(run('text').of('arbitrate')[0]).not.toContain('no reason to call it safe')
  })

  test.each([
    ['unreadable', [0.9, 0.2, 0.9, 0.75], 'unsafe', 'majority'],
    ['unreadable', [0.9, 0.2, 0.1, 0.2], 'safe', 'majority'],
    ['unreadable', [0.9, 0.2, 0.9, 0.2], null, 'none'],
    ['timeout', [0.9, 0.2, 0.9, 0.75], null, 'none'],
  ])('an arbiter that fails (%s) after %j leaves %s, by %s', (code, scores, label, decidedBy) => {
    expect(run('text', { scores, arbiter: new Failed(code) }).ruling).toMatchObject({ label, decidedBy })
    expect(run('text', { as: 'paper', scores, arbiter: new Failed(code) }).ruling.label).toBeNull()
  })
})
