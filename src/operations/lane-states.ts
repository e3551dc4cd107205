import { closedTenants, laneMark } from '../contracts/facts/lane-mark.ts'
import type { LaneState } from '../contracts/ports/report.ts'
import type { Protocol } from '../judging/engine/script.ts'

/** How each first lane of these protocols stands, and why one settles nothing. */
export function laneStates(
  protocols: readonly Pick<Protocol, 'name' | 'lanes'>[],
  paused: ReadonlySet<string>,
): LaneState[] {
  return protocols.flatMap(({ name: protocol, lanes = [] }) =>
    lanes.map(({ hash, tenant, isVoid }): LaneState => {
      const of = { protocol, lane: hash, tenant }
      const why = isVoid(tenant ?? '')
      if (why !== null) return { ...of, state: 'void', why }
      const only = closedTenants(paused, hash)
      if (!paused.has(laneMark(hash)) && only.length > 0)
        return {
          ...of,
          state: 'closed-in-part',
          why: `for ${only.join(', ')} alone, whose people found it wrong more often than it promises`,
        }
      if (paused.has(laneMark(hash)))
        return { ...of, state: 'closed', why: 'people found it wrong more often than it promises' }
      return { ...of, state: 'open', why: '' }
    }),
  )
}
