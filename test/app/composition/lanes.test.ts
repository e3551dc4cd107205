import { expect, it } from 'vitest'
import { laneAudits, lanesOf } from '../../../src/app/composition/lanes.ts'
import { laneMark } from '../../../src/contracts/facts/lane-mark.ts'
import type { LaneAudit } from '../../../src/contracts/ports/review.ts'
import { memoryStores } from '../../../src/store/memory-stores.ts'

const LANE = { protocol: 'hate', lane: 'a', basis: 'x', tenant: null, risk: 0.05, delta: 0.05, groups: 2 }
const AUDIT: LaneAudit = {
  drawn: 9,
  audited: 9,
  wrong: 1,
  lost: 0,
  share: 0.1,
  interval: { low: 0, high: 0.4 },
  evidence: 1,
  evidenceOfAll: 1,
  tenants: [],
  next: null,
  nextSince: null,
}

/** What a record keeps of closed lanes. */
function recordOf(kept = new Set<string>()) {
  return {
    kept,
    keepClosed: async (marks: readonly string[]) => {
      for (const mark of marks) kept.add(mark)
      return [...kept]
    },
  }
}

it('knows the lanes of protocols in force, not those of files', () => {
  const { lane: hash, basis, tenant, risk, delta, groups } = LANE
  const lanes = [
    { hash, basis, tenant, decider: { asked: 'm', signs: 'm' }, promise: { risk, delta }, groups, isVoid: () => null },
  ]
  expect(lanesOf([{ name: 'hate', lanes }, { name: 'rumor' }])).toEqual([LANE])
})

it('closes a lane where the evidence against its promise is enough, for all or for one tenant, once, and no other', async () => {
  const { threads } = memoryStores(() => 0)
  const store = recordOf()
  const told: string[] = []
  let evidence = 19.9
  const look = laneAudits({
    lanes: () => [LANE, { ...LANE, lane: 'b', basis: 'y' }],
    queue: {
      laneAudit: async (lane) => ({
        ...AUDIT,
        evidenceOfAll: lane === 'a' ? evidence : 1,
        tenants: [
          { tenant: 'acme', evidence: lane === 'b' ? evidence : 1 },
          { tenant: 'beta', evidence: 1 },
        ],
      }),
    },
    store,
    threads,
    clock: () => 0,
    report: (name) => void told.push(name),
  })
  await look()
  expect([...(await threads.paused())]).toEqual([])
  evidence = 20
  await look()
  expect([...(await threads.paused())]).toEqual([laneMark('x'), laneMark('y', 'acme')])
  expect(told).toEqual(['lane:audited', 'lane:audited'])
  // What people find later opens it no more.
  evidence = 1
  await look()
  expect([...(await threads.paused())]).toEqual([laneMark('x'), laneMark('y', 'acme')])
})

it('closes again in an emptied Redis what the record keeps as closed, before it looks at what is left of the draws', async () => {
  const store = recordOf()
  const silent = { ...AUDIT, drawn: 0, audited: 0, wrong: 0 }
  const look = async (threads: ReturnType<typeof memoryStores>['threads'], laneAudit: () => Promise<LaneAudit>) =>
    laneAudits({ lanes: () => [LANE], queue: { laneAudit }, store, threads, clock: () => 0, report: () => {} })()
  const { threads } = memoryStores(() => 0)
  // Closed by an earlier version's process, of which the record knows nothing yet; a protocol that is paused is none of it.
  await threads.pause(laneMark('x', 'acme'))
  await threads.pause('hate')
  await look(threads, async () => silent)
  expect([...store.kept]).toEqual([laneMark('x', 'acme')])
  const { threads: emptied } = memoryStores(() => 0)
  await expect(look(emptied, () => Promise.reject(new Error('away')))).rejects.toThrow('away')
  expect([...(await emptied.paused())]).toEqual([laneMark('x', 'acme')])
})

it('closes a lane also where the record is too full to keep that', async () => {
  const { threads } = memoryStores(() => 0)
  const told: string[] = []
  const look = laneAudits({
    lanes: () => [LANE],
    queue: { laneAudit: async () => ({ ...AUDIT, evidenceOfAll: 20 }) },
    store: { keepClosed: () => Promise.reject(new Error('full')) },
    threads,
    clock: () => 0,
    report: (name) => void told.push(name),
  })
  await expect(look()).rejects.toThrow('full')
  expect([...(await threads.paused())]).toEqual([laneMark('x')])
  expect(told).toEqual(['error', 'lane:audited'])
})
