import { expect, it } from 'vitest'
import type { Verdict } from '../../../src/contracts/facts/verdict.ts'
import { decidedVerdict, decisionOf } from '../../../src/judging/engine/decision-verdict.ts'
import type { Protocol } from '../../../src/judging/engine/script.ts'
import { aVerdict } from '../../support/verdicts.ts'

const WRITTEN = '2025-10-18T18:04:00.000Z'
const DECIDED = '2026-03-01T00:00:00.000Z'

/** What a decision, or one taken back, makes of this ruling of machines. */
function decided(change: { withdraw: boolean; ruling: Partial<Verdict> | null }): Verdict {
  const timing = { createdAt: WRITTEN, receivedAt: DECIDED, openedAt: DECIDED, decidedAt: DECIDED }
  const ruling = aVerdict(DECIDED, { timing: { ...timing, modelMs: 0, overheadMs: 0 }, ...change.ruling })
  const decision = decisionOf(
    {
      subjectId: 'p',
      tenant: 'default',
      protocol: 'rumor',
      ...(change.withdraw ? { withdraw: true } : { label: 'rumor' }),
      against: 1,
      by: 'ann',
      why: 'It was asked for.',
      at: Date.parse(DECIDED),
      createdAt: Date.parse(DECIDED),
    },
    { partition: 0, offset: '17', timestamp: Date.parse(DECIDED) },
    { tenant: 'default', postId: 'p', kind: 'post' },
  )
  const machine = change.ruling === null ? null : JSON.stringify(ruling)
  const on = { scope: 'rumor~p~r', number: 2, published: 1, isLive: false, machine }
  // Of a protocol such a verdict has its versions alone.
  const protocol = { version: 1, promptsHash: 'p', settingsHash: 's' } as Protocol
  const made = decidedVerdict(decision, protocol, on, { schema: 2, gavel: '1.0.0' })
  return JSON.parse(made?.verdict ?? 'null')
}

it.each([false, true])('says when its post was written, and not when a person decided (withdrawn: %s)', (withdraw) => {
  expect(decided({ withdraw, ruling: {} }).timing).toMatchObject({
    createdAt: WRITTEN,
    receivedAt: DECIDED,
    openedAt: DECIDED,
    decidedAt: DECIDED,
  })
  // No ruling tells it.
  expect(decided({ withdraw, ruling: null }).timing).toMatchObject({ createdAt: DECIDED, decidedAt: DECIDED })
})

it.each([false, true])('still says that comments dispute its post (withdrawn: %s)', (withdraw) => {
  const opposed = { since: WRITTEN }
  expect(decided({ withdraw, ruling: { schema: 2, opposed } }).opposed).toEqual(opposed)
  expect(decided({ withdraw, ruling: {} })).not.toHaveProperty('opposed')
})
