import { expect, it } from 'vitest'
import { ratedDecisions } from '../../src/console/rated-decisions.ts'
import type { DecisionMessage } from '../../src/contracts/facts/decision-messages.ts'

it('one person decides no more than anybody can read, on one subject a few times, and no other person is refused for it', async () => {
  let [now, sent] = [0, 0]
  const desk = ratedDecisions(
    {
      async decide() {
        sent++
        return { of: '0@0', decided: { outcome: 'noted' } }
      },
    },
    () => now,
  )
  const decide = async (by: string, subjectId: string, of: Partial<DecisionMessage> = {}) => {
    const message = {
      ...of,
      subjectId,
      tenant: 'acme',
      protocol: 'hate',
      label: 'hate',
      against: 1,
      by,
      why: 'y',
      at: 0,
    }
    const heard = await desk.decide({ ...message, createdAt: 0 } satisfies DecisionMessage, AbortSignal.any([]))
    return heard.decided?.outcome
  }
  for (let n = 0; n < 7; n++) await decide('ann', 'p1')
  expect(sent).toBe(5)
  // Of a post that is no comment no post above it makes another subject.
  expect(await decide('ann', 'p1', { postId: 'another' })).toBe('refused')
  for (let n = 0; n < 300; n++) await decide('ann', `of ${n}`)
  expect(sent).toBe(200)
  expect([await decide('ann', 'p2'), await decide('ben', 'p1')]).toEqual(['refused', 'noted'])
  now += 1_000
  expect(await decide('cleo', 'c1', { subjectKind: 'comment', postId: 'p1' })).toBe('noted')
  expect([await decide('ann', 'p1'), await decide('ann', 'p1')]).toEqual(['noted', 'refused'])
})
