import { expect, it } from 'vitest'
import { memoryQueues } from '../../src/store/case/memory-stage-queues.ts'
import { ATTEMPTS, askOf, BACKOFF_MS, STAGES, stageQueuesContract, together } from './stage-queues.ts'

stageQueuesContract('in memory', async () =>
  memoryQueues({ stages: STAGES, attempts: ATTEMPTS, backoffMs: BACKOFF_MS, clock: Date.now, report: () => {} }),
)

it('begins further cases only when few asks of those that have begun are left, so that these end first', async () => {
  const begun: string[] = []
  const rounds = new Map<string, number>()
  const asked = new Map<string, PromiseWithResolvers<void>>()
  const queues = memoryQueues({
    stages: STAGES,
    attempts: 1,
    backoffMs: 1,
    atOnce: 4,
    clock: Date.now,
    report: () => {},
  })
  queues.work({
    async advance(caseId) {
      const round = (rounds.get(caseId) ?? 0) + 1
      rounds.set(caseId, round)
      if (round === 1) begun.push(caseId)
      if (round === 3) return { next: 'done' }
      return { next: 'asks', groups: together([askOf(caseId, `${round}.0`), askOf(caseId, `${round}.1`)]) }
    },
    async answer({ caseId, key }) {
      const end = Promise.withResolvers<void>()
      asked.set(`${caseId} ${key}`, end)
      await end.promise
      return { end: 'done', outcome: 'answered', advance: false }
    },
  })
  const answer = async (...keys: string[]) => {
    for (const key of keys) asked.get(key)?.resolve()
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  await queues.push(['a', 'b', 'c', 'd', 'e'])
  await answer()
  expect(begun).toEqual(['a', 'b'])
  await answer('a 1.0', 'a 1.1')
  // The second round of a has its place, and no other begins for it.
  expect([...asked.keys()].filter((key) => key.startsWith('a 2'))).toHaveLength(2)
  await answer('a 2.0')
  expect(begun).toEqual(['a', 'b', 'c'])
  await answer('a 2.1')
  expect(begun).toEqual(['a', 'b', 'c'])
  for (const one of asked.values()) one.resolve()
  await queues.close(0)
})
