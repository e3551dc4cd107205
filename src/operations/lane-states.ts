import { closedTenants, laneMark } from '../contracts/facts/lane-mark.ts'
import type { LaneState } from '../contracts/ports/report.ts'
import type { Protocol } from '../judging/engine/script.ts'

/** A lane of the same decider on the same labels is closed with it. */
const FOUND = 'people found its decider wrong more often than was promised on the same labels'

/** How each first lane of these protocols stands, and why one settles nothing. */
export function laneStates(
  protocols: readonly Pick<Protocol, 'name' | 'lanes'>[],
  paused: ReadonlySet<string>,
): LaneState[] {
  return protocols.flatMap(({ name: protocol, lanes = [] }) =>
    lanes.map(({ hash, basis, tenant, isVoid }): LaneState => {
      const of = { protocol, lane: hash, tenant }
      const why = isVoid(tenant ?? '')
      if (why !== null) return { ...of, state: 'void', why }
      const only = closedTenants(paused, basis)
      if (!paused.has(laneMark(basis)) && only.length > 0)
        return {
          ...of,
          state: 'closed-in-part',
          why: `for ${only.join(', ')} alone, whose ${FOUND}`,
        }
      if (paused.has(laneMark(basis))) return { ...of, state: 'closed', why: FOUND }
      return { ...of, state: 'open', why: '' }
    }),
  )
}
