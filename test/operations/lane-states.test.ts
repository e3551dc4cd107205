import { expect, it } from 'vitest'
import { laneMark } from '../../src/contracts/facts/lane-mark.ts'
import { laneStates } from '../../src/operations/lane-states.ts'

const LANE = {
  hash: 'h',
  basis: 'a',
  tenant: null,
  promise: { risk: 0.05, delta: 0.05 },
  groups: 2,
  decider: { asked: 'm', signs: 'm' },
  isVoid: (tenant: string): string | null => (tenant === 'acme' ? 'another policy' : null),
}
const stand = (lane: typeof LANE | (Omit<typeof LANE, 'tenant'> & { tenant: string }), closed = '') =>
  laneStates([{ name: 'hate', lanes: [lane] }, { name: 'rumor' }], new Set([laneMark(closed), 'rumor'])).map(
    ({ state, why }) => [state, why],
  )

it('a lane is open, void for another policy, or closed for all or some', () => {
  expect(stand(LANE)).toEqual([['open', '']])
  expect(stand({ ...LANE, tenant: 'acme' })).toEqual([['void', 'another policy']])
  expect(stand(LANE, 'a')).toEqual([
    ['closed', 'people found its decider wrong more often than was promised on the same labels'],
  ])
  expect(stand(LANE, 'b')).toEqual([['open', '']])
  expect(stand(LANE, 'a acme')).toEqual([
    [
      'closed-in-part',
      'for acme alone, whose people found its decider wrong more often than was promised on the same labels',
    ],
  ])
})
