import { expect, test } from 'vitest'
import { reconciler } from '../../../src/judging/engine/reconcile.ts'

test('the reconciler comes to every idle case, however many that it can’t help stand before it', async () => {
  const idle = Array.from({ length: 1_200 }, (_, index) => `case ${index}`)
  const lost = new Set(['case 3', 'case 700', 'case 1199'])
  const pushed: string[] = []
  const steps: number[] = []
  const reconcile = reconciler({
    cases: { idle: async (_, limit, skip = 0) => idle.slice(skip, skip + limit) },
    queues: {
      async stranded(waiting) {
        steps.push(waiting.length)
        return waiting.flatMap(({ caseId }) => (lost.has(caseId) ? [caseId] : []))
      },
      async push(caseIds) {
        for (const id of caseIds) lost.delete(id)
        pushed.push(...caseIds)
      },
    },
    pending: async () => [],
    report: () => {},
    idleMs: 15_000,
  })
  const helped: number[] = []
  for (let step = 0; step < 6; step++) helped.push(await reconcile())
  expect(pushed).toEqual(['case 3', 'case 700', 'case 1199'])
  expect(helped).toEqual([1, 1, 1, 0, 0, 0])
  // A bounded step each time, and from the beginning again after the last; those without a job are looked at twice.
  expect(steps).toEqual([500, 1, 500, 1, 200, 1, 500, 500, 200])
})

test('a case that somebody takes while it is looked at is left to him', async () => {
  const idle = new Set(['taken', 'lost'])
  const pushed: string[] = []
  const reconcile = reconciler({
    cases: { idle: async () => [...idle] },
    queues: {
      async stranded(waiting) {
        idle.delete('taken')
        return waiting.map(({ caseId }) => caseId)
      },
      push: async (caseIds) => void pushed.push(...caseIds),
    },
    pending: async () => [],
    report: () => {},
    idleMs: 15_000,
  })
  expect(await reconcile()).toBe(1)
  expect(pushed).toEqual(['lost'])
})

test('a case that is left to other processes is not looked for', async () => {
  const reconcile = reconciler({
    cases: { idle: async () => ['newer'] },
    queues: {
      stranded: async (waiting) => waiting.map(({ caseId }) => caseId),
      push: async (caseIds) => expect(caseIds).toEqual([]),
    },
    pending: async () => null,
    report: () => {},
    idleMs: 15_000,
  })
  expect(await reconcile()).toBe(0)
})

test('a case that can’t be read keeps no other from being found', async () => {
  const told: unknown[] = []
  const reconcile = reconciler({
    cases: { idle: async () => ['broken', 'lost'] },
    queues: { stranded: async (waiting) => waiting.map(({ caseId }) => caseId), push: async () => {} },
    async pending(caseId) {
      if (caseId === 'broken') throw new Error('no record')
      return []
    },
    report: (name, event) => void told.push([name, 'caseId' in event && event.caseId]),
    idleMs: 15_000,
  })
  expect(await reconcile()).toBe(1)
  expect(told).toEqual([
    ['error', 'broken'],
    ['case:revived', 'lost'],
  ])
})
