import { expect, it } from 'vitest'
import { laneAudits } from '../../../src/app/composition/lanes.ts'
import { laneMark } from '../../../src/contracts/facts/lane-mark.ts'
import type { LaneAudit } from '../../../src/contracts/ports/review.ts'
import { memoryStores } from '../../../src/store/memory-stores.ts'

const LANE = { protocol: 'hate', lane: 'a', tenant: null, risk: 0.05, delta: 0.05, groups: 2 }
const AUDIT: LaneAudit = {
  drawn: 9,
  audited: 9,
  wrong: 1,
  share: 0.1,
  interval: { low: 0, high: 0.4 },
  evidence: 1,
  evidenceOfAll: 1,
  tenants: [],
  next: null,
}

it('closes a lane where the evidence against its promise is enough, for all or for one tenant, once, and no other', async () => {
  const { threads } = memoryStores(() => 0)
  const told: string[] = []
  let evidence = 19.9
  const look = laneAudits({
    lanes: () => [LANE, { ...LANE, lane: 'b' }],
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
    threads,
    report: (name) => void told.push(name),
  })
  await look()
  expect([...(await threads.paused())]).toEqual([])
  evidence = 20
  await look()
  expect([...(await threads.paused())]).toEqual([laneMark('a'), laneMark('b', 'acme')])
  expect(told).toEqual(['lane:audited', 'lane:audited'])
  // What people find later opens it no more.
  evidence = 1
  await look()
  expect([...(await threads.paused())]).toEqual([laneMark('a'), laneMark('b', 'acme')])
})
