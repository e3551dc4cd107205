import { expect, it } from 'vitest'
import { laneMark } from '../../src/contracts/facts/lane-mark.ts'
import { laneStates } from '../../src/operations/lane-states.ts'

const LANE = {
  hash: 'a',
  tenant: null,
  model: 'small',
  promise: { risk: 0.05, delta: 0.05 },
  groups: 2,
  isVoid: (tenant: string): string | null => (tenant === 'acme' ? 'another policy' : null),
}
const stand = (
  lane: typeof LANE | (Omit<typeof LANE, 'tenant'> & { tenant: string }),
  decider = 'small',
  closed = '',
) =>
  laneStates([{ name: 'hate', lanes: [lane] }, { name: 'rumor' }], {
    deciderOf: () => decider,
    paused: new Set([laneMark(closed), 'rumor']),
  }).map(({ state, why }) => [state, why])

it('a lane is open, void for another decider or policy, or closed', () => {
  expect(stand(LANE)).toEqual([['open', '']])
  expect(stand(LANE, 'another')).toEqual([['void', 'it holds for small, and another has the role decider']])
  expect(stand({ ...LANE, tenant: 'acme' })).toEqual([['void', 'another policy']])
  expect(stand(LANE, 'small', 'a')).toEqual([['closed', 'people found it wrong more often than it promises']])
  expect(stand(LANE, 'small', 'b')).toEqual([['open', '']])
})
