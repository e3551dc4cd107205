import { describe, expect, it } from 'vitest'
import { loadSettings } from '../../config/load.ts'
import { makeProtocols } from '../../src/app/composition/make-protocols.ts'
import { fences } from '../../src/contracts/facts/fence.ts'
import type { Snapshot } from '../../src/contracts/facts/thread.ts'
import type { Protocol } from '../../src/judging/engine/script.ts'
import { type Asked, drive, plainRank, wordsOf } from './drive.ts'

// PREDICT, appendix C: five texts, what the agents A to E said of each, who changed their mind, and how the judge ruled. The reasons
// are shortened; the stances and the way are the paper's.

type Side = 'non-hate' | 'hate'

/** The data sets A to E, with their labels for non-hate and for hate. */
const AGENTS = [
  ['k-haters', 'Not Offensive', 'Offensive'],
  ['k-mhas', 'Not Hate Speech', 'Hate Speech'],
  ['kold', 'Not Offensive', 'Offensive'],
  ['kodoli', 'Not Offensive', 'Offensive'],
  ['unsmile', 'Not Hate Speech', 'Hate Speech'],
] as const

interface Example {
  readonly text: string
  /** `+` for hate, of A to E. */
  readonly stances: string
  /** NH1, H1, NH2, H2. */
  readonly turns: readonly [string, string, string, string]
  readonly ruled: Side
}

const EXAMPLES: readonly Example[] = [
  {
    text: "Maybe we should not say anything. Let's go to aphasia society.",
    stances: '+--+-',
    turns: ['attacks no group', 'a joke on a disability', 'I disagree: satire', 'I disagree: no simple joke'],
    ruled: 'non-hate',
  },
  {
    text: 'One idiot and the media are falling for it.',
    stances: '+-++-',
    turns: ['attacks no minority', 'profanity and ridicule', 'I disagree: no slur of a group', 'it demeans the media'],
    ruled: 'hate',
  },
  {
    text: 'After all, men should be young Young & Rich & Handsome Peace!',
    stances: '+--+-',
    turns: ['a matter of taste', 'stereotypes of men', 'I disagree: a preference', 'I disagree: sexist'],
    ruled: 'hate',
  },
  {
    text: 'Is this even a country? Jaeang?',
    stances: '-+--+',
    // The non-hate side gives way.
    turns: ['only a question', 'it demeans a person', 'I agree: it demeans a person', 'I agree with my opponent'],
    ruled: 'hate',
  },
  {
    text: 'Shouldn\'t Song Gain be on "Mom\'s Diary: My Ugly Duckling"?',
    stances: '--+-+',
    // The hate side gives way.
    turns: ['degrades nobody', 'it ridicules a person', 'I disagree: a question', 'I agree: no insult is meant'],
    ruled: 'non-hate',
  },
]

const settings = loadSettings({})
const protocol = (history: 'algorithm' | 'code'): Protocol => {
  const own = { ...settings.protocols.hate, enabled: true, preset: 'paper', history }
  const [made] = makeProtocols({ hate: own } as typeof settings.protocols, fences('a key', settings.fences), plainRank)
  return made ?? fail()
}

function fail(): never {
  throw new Error('no protocol')
}

describe.each(EXAMPLES)('appendix C: $text', ({ text, stances, turns, ruled }) => {
  const subject: Snapshot = { post: { id: 'p', text, createdAt: 0 }, comments: [], leftOut: 0 }
  const reasonOf = (at: number) => `reason of ${'ABCDE'[at]}`
  const answers = ({ ask }: Asked): unknown => {
    if (ask.stage === 'retrieve')
      return { shelves: AGENTS.map(([shelf]) => ({ shelf, problem: null, neighbours: [] })), weak: null }
    if (ask.stage === 'judge') return { reason: 'weighed', label: ruled }
    const at = AGENTS.findIndex(([name]) => name === ask.label)
    if (ask.stage === 'perspective') return { reason: reasonOf(at), label: AGENTS[at]?.[stances[at] === '+' ? 2 : 1] }
    return { argument: spoken.shift() }
  }
  const spoken: (string | undefined)[] = []
  const judged = (history: 'algorithm' | 'code') => {
    spoken.splice(0, spoken.length, ...turns)
    return drive(protocol(history).script(subject, null), answers)
  }
  /** Where what was said stands, one after the other. */
  const inOrder = (words: string, said: readonly string[]) => {
    const places = said.map((one) => words.indexOf(one))
    expect(places.every((place, nth) => place >= 0 && place > (places[nth - 1] ?? -1))).toBe(true)
  }

  it.each(['algorithm', 'code'] as const)('goes its way, history: %s', (history) => {
    const { asked, conclusion } = judged(history)
    const debate = asked.filter(({ ask }) => ask.stage === 'debate').map(({ ask }) => ask)
    expect(debate.map(({ label }) => label)).toEqual(['non-hate', 'hate', 'non-hate', 'hate'])
    const words = debate.map(({ messages }) => wordsOf(messages))
    // Each side argues from the reasons of its own agents, and from no other's.
    for (const [at, stance] of [...stances].entries()) {
      expect(words[0]?.includes(reasonOf(at))).toBe(stance === '-')
      expect(words[1]?.includes(reasonOf(at))).toBe(stance === '+')
    }
    const [nh1, h1, nh2, h2] = turns
    expect(words[1]).toContain(nh1)
    inOrder(words[2] ?? '', [nh1, h1])
    inOrder(words[3] ?? '', [h1, nh2])
    const judge = wordsOf(asked.at(-1)?.ask.messages ?? [])
    inOrder(judge, [nh1, h1, nh2, h2])
    // The judge's label stands, against the majority, and whoever gave way.
    const hateful = [...stances].filter((stance) => stance === '+').length
    expect(conclusion.ruling).toMatchObject({
      label: ruled,
      decidedBy: 'judge',
      rounds: 2,
      scores: { hate: hateful, nonHate: 5 - hateful },
    })
  })
})
