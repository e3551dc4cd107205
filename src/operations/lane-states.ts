import { laneMark } from '../contracts/facts/lane-mark.ts'
import type { LaneState } from '../contracts/ports/report.ts'
import type { Protocol } from '../judging/engine/script.ts'

/** How each first lane of these protocols stands, and why one settles nothing. */
export function laneStates(
  protocols: readonly Pick<Protocol, 'name' | 'lanes'>[],
  {
    deciderOf,
    paused,
  }: {
    /** The model that is asked first in the role decider. */
    readonly deciderOf: (protocol: string) => string | undefined
    readonly paused: ReadonlySet<string>
  },
): LaneState[] {
  return protocols.flatMap(({ name: protocol, lanes = [] }) =>
    lanes.map(({ hash, tenant, model, isVoid }): LaneState => {
      const of = { protocol, lane: hash, tenant }
      const decider = deciderOf(protocol)
      const isOther = `it holds for ${model ?? 'a decider without a name'}, and ${decider ?? 'nobody'} has the role decider`
      const why = model === decider ? isVoid(tenant ?? '') : isOther
      if (why !== null) return { ...of, state: 'void', why }
      if (paused.has(laneMark(hash)))
        return { ...of, state: 'closed', why: 'people found it wrong more often than it promises' }
      return { ...of, state: 'open', why: '' }
    }),
  )
}
