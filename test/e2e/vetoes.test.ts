import { expect } from 'vitest'
import { IN_PROOF } from '../support/in-proof.ts'
import { onServers } from '../support/on-servers.ts'
import { tell } from '../support/pipeline.ts'
import { vetoedStream } from './vetoes.ts'

const it = onServers({ latencyMs: 5 }, 'memory')
const POSTS = IN_PROOF ? 1_000 : 12

it('pictures on a list reach no model, and are fetched once a revision at most, whatever is edited and deleted meanwhile', {
  timeout: 1_800_000,
}, async ({ stack, skip }) => {
  const seen = await vetoedStream(stack, { posts: POSTS, seed: 67 })
  if (seen === null) return skip('there is no openssl')
  const { bad, edits, deleted, requests, fetches, fetchedBad, goodShown, ...breaches } = seen
  tell(
    `${POSTS} posts, ${edits} edits, ${deleted} deleted; ${bad} revisions on a list, ${fetchedBad} fetched once; ${fetches} fetches, ${requests} questions`,
  )
  expect(breaches).toEqual({
    notCompared: [],
    fetchedTooOften: [],
    shown: [],
    picturesShown: 0,
    inTranscripts: [],
    picturesKept: 0,
  })
  // Something was there to be kept back, and something to be let through.
  expect(fetchedBad).toBeGreaterThan(0)
  expect(goodShown).toBe(true)
})
