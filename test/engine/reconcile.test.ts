import { expect, test } from 'vitest'
import { reconciler } from '../../src/engine/reconcile.ts'
import type { CaseStore } from '../../src/ports/cases.ts'
import type { StageQueues } from '../../src/ports/queues.ts'

test('the reconciler comes to every idle case, however many that it can’t help stand before it', async () => {
  const idle = Array.from({ length: 1_200 }, (_, index) => `case ${index}`)
  const lost = new Set(['case 3', 'case 700', 'case 1199'])
  const pushed: string[] = []
  const steps: number[] = []
  const reconcile = reconciler({
    cases: { idle: async (_, limit, skip = 0) => idle.slice(skip, skip + limit) } as Partial<CaseStore> as CaseStore,
    queues: {
      async stranded(caseIds) {
        steps.push(caseIds.length)
        return caseIds.filter((id) => lost.has(id))
      },
      async push(caseIds) {
        for (const id of caseIds) lost.delete(id)
        pushed.push(...caseIds)
      },
    } as Partial<StageQueues> as StageQueues,
    report: () => {},
    idleMs: 15_000,
  })
  const helped: number[] = []
  for (let step = 0; step < 6; step++) helped.push(await reconcile())
  expect(pushed).toEqual(['case 3', 'case 700', 'case 1199'])
  expect(helped).toEqual([1, 1, 1, 0, 0, 0])
  // A bounded step each time, and from the beginning again after the last.
  expect(steps).toEqual([500, 500, 200, 500, 500, 200])
})
