import { expect, test } from 'vitest'
import { loadSettings } from '../../config/load.ts'
import { makeProtocols } from '../../src/app/composition/make-protocols.ts'
import { fences } from '../../src/contracts/facts/fence.ts'
import type { Snapshot } from '../../src/contracts/facts/thread.ts'
import { ATTACKS } from '../models/attacks.ts'
import { read } from '../models/fenced-blocks.ts'
import { drive, Failed, plainRank, wordsOf } from './drive.ts'

const { protocols: settings } = loadSettings({ GAVEL_PROTOCOLS_SAFETY_RETRIEVAL: 'false' })
const judges = makeProtocols(settings, fences('a key', { maxChars: 12_000, maxCommentChars: 2_000 }), plainRank).filter(
  ({ subject }) => subject === 'post',
)
const SAID = 'I like soup'
const comment = (of: Partial<Snapshot>): Snapshot => ({
  post: { id: 'c', text: SAID, createdAt: 1, parentId: 'a' },
  comments: [],
  leftOut: 0,
  under: null,
  ...of,
})
/** What a protocol asks first, and what it says where nobody answers. */
function asked(protocol: (typeof judges)[number], subject: Snapshot) {
  const { asked: all, conclusion } = drive(protocol.script(subject, null), () => new Failed())
  return {
    question: wordsOf(all.find(({ ask }) => ask.messages.length > 0)?.ask.messages ?? []),
    ruling: conclusion.ruling,
  }
}

test('whatever a post or a parent says, it stays in a block of its own, and the comment in the last', () => {
  expect(judges.map(({ name }) => name)).toEqual(['hate', 'safety'])
  for (const protocol of judges) {
    const plain = read(
      asked(protocol, comment({ under: { text: 'soup' }, comments: [{ id: 'a', text: 'soup', createdAt: 0 }] }))
        .question,
    )
    for (const { text } of ATTACKS) {
      const { question } = asked(protocol, comment({ under: { text }, comments: [{ id: 'a', text, createdAt: 0 }] }))
      const { blocks, outside } = read(question)
      expect([text, blocks.map(({ label }) => label)]).toEqual([text, plain.blocks.map(({ label }) => label)])
      expect([text, outside]).toEqual([text, plain.outside])
      const at = blocks.findIndex(({ label }) => label === 'thread')
      expect(blocks.slice(at, at + 3).map(({ label }) => label)).toEqual([
        'thread',
        'parent',
        protocol.name === 'hate' ? 'text' : 'post',
      ])
      expect(blocks[at + 2]?.lines).toEqual([SAID])
    }
  }
})

test('what is missing around a comment is named, and nothing is said of it where a post is judged', () => {
  const under = { text: 'the post' }
  const parent = [{ id: 'a', text: 'the parent', createdAt: 0 }]
  for (const protocol of judges) {
    const missing = (of: Partial<Snapshot>) =>
      asked(protocol, comment(of)).ruling.degraded.filter((why) => why.startsWith('judged without'))
    expect([missing({ under, comments: parent }), missing({ under }), missing({})].map(({ length }) => length)).toEqual(
      [0, 1, 2],
    )
    const { under: _, ...post } = comment({ comments: [] })
    const [asPost, alone] = [asked(protocol, post), asked(protocol, comment({}))]
    expect(asPost.ruling.degraded.filter((why) => why.startsWith('judged without'))).toEqual([])
    expect(asPost.question).not.toContain('comment')
    expect(alone.question).toContain('What is judged is a comment.')
    expect(read(alone.question).blocks.map(({ label }) => label)).toEqual(
      read(asPost.question).blocks.map(({ label }) => label),
    )
  }
})
