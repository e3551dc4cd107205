import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Snapshot } from '../../src/contracts/facts/thread.ts'
import type { Protocol } from '../../src/judging/engine/script.ts'
import { withAppeals } from '../../src/protocols/with-appeals.ts'
import { ownFolder } from '../support/own-folder.ts'
import { plantedLane, protocolWith, writtenLane } from '../support/planted-lane.ts'
import { type Asked, drive, plainFence, type Replies } from './drive.ts'

const APPEAL = 'The city has confirmed it.'
const thread: Snapshot = {
  post: { id: 'p', text: 'The bridge is closed.', author: 'ana', createdAt: 0 },
  comments: ['for', 'for', 'against', 'against'].map((text, at) => ({
    id: `c${at}`,
    text: `${text} ${at}`,
    author: `a${at}`,
    createdAt: at + 1,
  })),
  leftOut: 0,
}
const alone: Snapshot = { ...thread, comments: [] }

/** Everybody says the same of anything, but for stances. */
const replies: Replies = ({ ask }: Asked) => {
  switch (ask.stage) {
    case 'stance':
      return { scores: [0.9, 0.9, -0.9, -0.9].map((score, at) => ({ comment: at + 1, reason: 'r', score })) }
    case 'subjectivity':
      return { reason: 'r', answer: 'No' }
    case 'opinion':
      return { reasoning: 'r', answer: ask.label === 'oppose' ? 'Fake' : 'Real' }
    case 'debate':
      return ask.answer.safeParse({ argument: 'a', holds: 'yes' }).success
        ? { argument: 'a', holds: 'yes' }
        : { reasoning: 'r', answer: 'Fake' }
    case 'perspective':
      return { reason: 'r', label: 'Not hateful' }
    case 'judge':
      return ask.answer.safeParse({ reason: 'r', label: 'hate' }).success
        ? { reason: 'r', label: 'hate' }
        : { reasoning: 'r', answer: 'Fake', probability: 0.7 }
    case 'retrieve':
      return { shelves: [], weak: null }
    case 'brief':
      return { summary: 's', precedents: [], patterns: 'none' }
    case 'strict':
    case 'loose':
      return { reasoning: 'r', score: 0.2 }
    case 'arbitrate':
      return { reasoning: 'r', evidence: [], rule: 'default-safe', categories: [], score: 0.2, label: 'safe' }
    default:
      throw new Error(`nobody asks ${ask.stage}`)
  }
}

const told = (protocol: Protocol) => withAppeals(protocol, [{ by: 'author', text: APPEAL }], plainFence)
const asked = (protocol: Protocol, subject: Snapshot, carry: unknown = null) =>
  drive(protocol.script(subject, carry), replies).asked.map(({ ask }) => ask)
const CITES = { cites: false }

const CASES: readonly { readonly name: string; readonly own: object; readonly subject: Snapshot }[] = [
  { name: 'rumor', own: { debateWhen: 'always' }, subject: thread },
  { name: 'hate', own: { debateWhen: 'always', perspectives: [], ...CITES }, subject: alone },
  { name: 'hate', own: { debateWhen: 'never', ...CITES }, subject: alone },
  { name: 'safety', own: { debateWhen: 'always', brief: 'always', ...CITES }, subject: alone },
  { name: 'safety', own: { ...CITES }, subject: alone },
]

describe('appeals before the questions of a debate', () => {
  it.each(CASES)(
    '$name: are shown once to each of its stages that hear them, and leave every other question as it is',
    ({ name, own, subject }) => {
      const protocol = protocolWith(name, { order: 'fixed', controlShare: 0, ...own })
      const [before, within] = [asked(protocol, subject), asked(told(protocol), subject)]
      expect(within.map(({ stage }) => stage)).toEqual(before.map(({ stage }) => stage))
      const heard = within.filter(({ messages }) => JSON.stringify(messages).includes(APPEAL))
      const hears = within.filter(({ stage }) => protocol.hears?.includes(stage))
      expect(heard.length).toBeGreaterThan(0)
      expect(heard).toEqual(hears)
      for (const [at, { stage, messages }] of within.entries()) {
        const plain = before[at]?.messages
        if (protocol.hears?.includes(stage) !== true) {
          expect(JSON.stringify(messages)).toBe(JSON.stringify(plain))
          continue
        }
        // In the first thing that is asked, before it, in a block of its own; whatever else is asked is the same.
        const first = messages.findIndex(({ role }) => role === 'user')
        expect(messages.filter(({ content }) => content.includes(APPEAL))).toEqual([messages[first]])
        expect(messages[first]?.content).toContain(`Its author says:\n<appeal|${APPEAL}>\n\n`)
        expect(messages[first]?.content.endsWith(plain?.[first]?.content ?? '-')).toBe(true)
        expect(messages.toSpliced(first, 1)).toEqual(plain?.toSpliced(first, 1))
      }
    },
  )

  it('bring a debate where perspectives agree, and have a decision that holds argued once more', () => {
    const hate = protocolWith('hate', { debateWhen: 'contested', perspectives: [], controlShare: 0, ...CITES })
    const stages = (protocol: Protocol) => asked(protocol, alone).map(({ stage }) => stage)
    expect(new Set(stages(hate))).toEqual(new Set(['perspective']))
    expect(new Set(stages(told(hate)))).toEqual(new Set(['perspective', 'debate', 'judge']))

    const rumor = protocolWith('rumor', { debateWhen: 'always', keepUnlessEvidenceChanged: true, controlShare: 0 })
    const { conclusion } = drive(rumor.script(thread, null), replies)
    expect(asked(rumor, thread, conclusion.carry)).toEqual([])
    const again = new Set(asked(told(rumor), thread, conclusion.carry).map(({ stage }) => stage))
    expect([...again].filter((stage) => !rumor.hears?.includes(stage))).toEqual([])
    expect(again.has('opinion')).toBe(true)
  })

  it('reach a debate that a first lane has spared: its decider is asked for nothing', () => {
    const path = join(ownFolder('with-appeals'), 'lane.json')
    const lane = [writtenLane(path, plantedLane('hate', 'the decider'))]
    const hate = protocolWith('hate', { lane, ...CITES }, 'the decider')
    expect(() => asked(hate, alone)).toThrow('nobody asks decide')
    expect(asked(told(hate), alone).map(({ stage }) => stage)).toEqual(['judge'])
  })

  it('have no place where a protocol says of no stage that it hears them', () => {
    expect(protocolWith('counterspeech').hears).toBeUndefined()
  })
})
