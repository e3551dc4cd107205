import { expect, it, vi } from 'vitest'
import { isLaneClosed, laneMark } from '../../src/contracts/facts/lane-mark.ts'
import { type LaneAuditRow, laneAudit } from '../../src/record/lane-audits.ts'
import { laneEvidence } from '../../src/record/lane-evidence.ts'

vi.mock('../../src/record/lane-evidence.ts', { spy: true })

const promise = { risk: 0.05, groups: 1 }
/** So many audited verdicts of a tenant, of which every so manieth is wrong. */
const rows = (tenant: string, count: number, wrongEach: number): LaneAuditRow[] =>
  Array.from({ length: count }, (_, nth) => ({
    tenant,
    verdict: `${tenant} ${nth}`,
    lang: 'en',
    label: 'hate',
    chance: 0.02,
    differs: Number(nth % wrongEach === 0),
    lost: 0,
    drawn_at: nth,
  }))
const CLOSES = 20

it('one tenant closes a lane for itself, and for nobody else; nobody outvotes another', () => {
  const right = rows('beta', 400, Number.POSITIVE_INFINITY).map((one) => ({ ...one, differs: 0 }))
  const { evidenceOfAll, tenants } = laneAudit([...rows('alpha', 30, 1), ...right], promise)
  const of = new Map(tenants.map(({ tenant, evidence }) => [tenant, evidence]))
  expect(of.get('alpha')).toBeGreaterThan(CLOSES)
  expect(of.get('beta')).toBeLessThan(CLOSES)
  expect(evidenceOfAll).toBe(1)
  // Alpha floods right labels: what beta found shows all the same, of beta.
  const flooded = laneAudit([...rows('alpha', 2_000, 100), ...rows('beta', 200, 4)], promise)
  expect(flooded.tenants.find(({ tenant }) => tenant === 'beta')?.evidence).toBeGreaterThan(CLOSES)
  expect(flooded.evidenceOfAll).toBeLessThan(CLOSES)
})

it('several close it for all, where it shows whichever of them is left out', () => {
  const drifted = ['a', 'b', 'c'].flatMap((tenant) => rows(tenant, 200, 4))
  expect(laneAudit(drifted, promise).evidenceOfAll).toBeGreaterThan(CLOSES)
  const oneLies = [...rows('a', 200, 1), ...rows('b', 200, 40), ...rows('c', 200, 40)]
  expect(laneAudit(oneLies, promise).evidenceOfAll).toBeLessThan(CLOSES)
})

it('of many tenants, too, none closes it for others, a drift closes it for all, and the work grows by draws alone', () => {
  const names = Array.from({ length: 200 }, (_, nth) => `t${nth}`)
  const of = (wrongEach: (nth: number) => number) => names.flatMap((name, nth) => rows(name, 20, wrongEach(nth)))
  const kept = laneAudit(
    of((nth) => (nth === 150 ? 1 : 25)),
    promise,
  )
  expect(kept.tenants.find(({ tenant }) => tenant === 't150')?.evidence).toBeGreaterThan(CLOSES)
  expect(kept.evidenceOfAll).toBeLessThan(CLOSES)
  vi.mocked(laneEvidence).mockClear()
  expect(
    laneAudit(
      of(() => 4),
      promise,
    ).evidenceOfAll,
  ).toBeGreaterThan(CLOSES)
  const looked = vi.mocked(laneEvidence).mock.calls.reduce((sum, [audited]) => sum + audited.length, 0)
  expect(looked).toBe(16 * 200 * 20)
})

it('a mark of one tenant closes it for that one alone', () => {
  const closed = new Set([laneMark('a', 'alpha')])
  expect(['alpha', 'beta', 'alpha2'].map((tenant) => isLaneClosed(closed, 'a', tenant))).toEqual([true, false, false])
  expect(isLaneClosed(new Set([laneMark('a')]), 'a', 'beta')).toBe(true)
})
