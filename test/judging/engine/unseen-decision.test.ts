import { expect, it } from 'vitest'
import { type DecisionMessage, decisionMessage } from '../../../src/contracts/facts/decision-messages.ts'
import { decidedVerdict, decisionOf } from '../../../src/judging/engine/decision-verdict.ts'
import type { Protocol } from '../../../src/judging/engine/script.ts'

const NOW = Date.parse('2026-03-01T00:00:00Z')
const place = { partition: 0, offset: '17', timestamp: NOW }
const said = {
  subjectId: 'p',
  protocol: 'safety',
  label: 'safe',
  against: 1,
  by: 'ann',
  why: 'By its words.',
  at: '2026-03-01T00:00:00Z',
}
const read = (more: object): DecisionMessage => decisionMessage.parse({ ...said, tenant: 'default', ...more })
const verdictOf = (message: DecisionMessage) => {
  const on = { scope: 'safety~p~r', number: 2, published: 1, isLive: true, machine: null }
  // Of a protocol a human verdict has its versions alone.
  const protocol = { version: 1, promptsHash: 'p', settingsHash: 's' } as Protocol
  const made = decidedVerdict(
    decisionOf(message, place, { tenant: 'default', postId: 'p', kind: 'post' }),
    protocol,
    on,
    { schema: 2, gavel: '' },
  )
  return JSON.parse(made?.verdict ?? 'null')
}

it('a human verdict says that an image could not be shown to who decided', () => {
  expect(verdictOf(read({ unseen: true })).decision).toEqual({
    by: 'ann',
    against: 'safety~p~r1',
    of: '0@17',
    unseen: true,
  })
  expect(verdictOf(read({})).decision).not.toHaveProperty('unseen')
  expect(decisionMessage.safeParse({ ...said, tenant: 'default', unseen: false }).success).toBe(false)
})
