import { expect, it } from 'vitest'
import { tell } from '../../support/pipeline.ts'
import { simulateEvent } from './event.ts'

// The event at a size that a service may see: 60,000 posts in ten minutes, where ten a second can be judged.
it.each([1, 2, 3])('serves at least 0.95 of the reach that could be served in time: seed %i', async (seed) => {
  const event = { seed, perSecond: 10, load: 10, forMs: 600_000, inTimeMs: 60_000 }
  const { posts, served, byUrgency, asItCame, othersWaitMs } = await simulateEvent(event)
  tell(
    `seed ${seed}: ${posts} posts; of the reach that an order serves in time which knows what comes, ${byUrgency.toFixed(3)} in the order of reach and age, ${asItCame.toFixed(3)} as it came; ${served} judged; another tenant waited ${othersWaitMs / 1_000} s at most`,
  )
  expect(served).toBe(posts)
  expect(byUrgency).toBeGreaterThanOrEqual(0.95)
  expect(othersWaitMs).toBeLessThanOrEqual(10_000)
})
