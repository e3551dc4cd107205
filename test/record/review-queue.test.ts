import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type CurrentVerdict, DOUBT, lookAt } from '../../src/record/review-queue.ts'

const CLEAR: CurrentVerdict = {
  id: 'rumor~p~r1',
  label: 'rumor',
  decidedBy: 'consensus',
  contested: false,
  degraded: false,
  confidence: null,
  accepted: 0,
  decidedAt: 1_000,
  drawn: false,
  golden: false,
}

it('the page for moderators has every reason, with its doubt', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/review.md'), 'utf8')
  const told = [...page.matchAll(/^\| `([a-z-]+)` \|.*\| ([\d.]+) \|$/gm)].map(([, reason, doubt]) => [
    reason,
    Number(doubt),
  ])
  expect(Object.fromEntries(told)).toEqual(DOUBT)
})

it('doubts add up without passing one, and reach with the comments', () => {
  expect(lookAt(CLEAR, [], 0)).toBeNull()
  expect(lookAt({ ...CLEAR, confidence: 0.5 }, [], 0)).toBeNull()
  const near = { ...CLEAR, contested: true, degraded: true, confidence: 0.8, accepted: 7 }
  const look = lookAt(near, [], 0)
  // What says nothing of its confidence is less sure than what is sure, and no surer than an even chance.
  const weightAt = (confidence: number | null) => lookAt({ ...near, confidence }, [], 0)?.weight ?? 0
  expect(weightAt(null)).toBe(weightAt(0.5))
  expect(weightAt(null)).toBeGreaterThan(weightAt(1))
  expect(look?.reasons).toEqual(['contested', 'degraded'])
  expect(look?.weight).toBeCloseTo((1 - 0.6 * 0.75 * 0.8) * 4, 12)
  expect(lookAt({ ...near, confidence: -3, accepted: -1 }, [], 0)?.weight).toBe(1)
})

it('one opinion is looked at where many comment, whatever it says of itself; a debate or few comments are not', () => {
  const single = { ...CLEAR, decidedBy: 'single', accepted: 20 }
  expect(lookAt(single, [], 0)?.reasons).toEqual(['single'])
  expect(lookAt({ ...single, confidence: 1 }, [], 0)?.reasons).toEqual(['single'])
  expect(lookAt({ ...single, accepted: 19 }, [], 0)).toBeNull()
  expect(lookAt({ ...single, decidedBy: 'judge' }, [], 0)).toBeNull()
  // The more comment, the sooner.
  expect(lookAt({ ...single, accepted: 400 }, [], 0)?.weight).toBeGreaterThan(lookAt(single, [], 0)?.weight ?? 0)
})

it('what was asked counts once a reason, from the first time on; unknown reasons don’t', () => {
  const asked = [
    { why: 'edited', at: 50 },
    { why: 'edited', at: 40 },
    { why: 'of-a-later-version', at: 1 },
  ]
  expect(lookAt({ ...CLEAR, decidedBy: 'human' }, asked, 0)).toEqual({
    reasons: ['edited'],
    weight: 0.30000000000000004,
    since: 40,
  })
  expect(lookAt({ ...CLEAR, decidedBy: 'human', drawn: true }, [], 1)).toBeNull()
  expect(lookAt({ ...CLEAR, decidedBy: 'human', drawn: true, contested: true }, [], 0)?.reasons).toEqual([
    'second-opinion',
  ])
  expect(lookAt({ ...CLEAR, decidedBy: 'deleted', drawn: true }, asked, 0)).toBeNull()
})
