import type { Settings } from '../../../config/schema.ts'
import type { Finding } from '../../contracts/facts/finding.ts'
import { laneStates } from '../../operations/lane-states.ts'
import { everyProtocol } from '../composition/protocols.ts'

/** Whether each first lane holds for what is in force; nothing where there are none. */
export function laneFindings(settings: Settings): Finding[] {
  let protocols: ReturnType<typeof everyProtocol>
  try {
    protocols = everyProtocol(settings)
  } catch {
    // Said by the finding on settings and prompts.
    return []
  }
  return laneStates(protocols, new Set()).map(({ protocol, lane, tenant, state, why }): Finding => {
    const what = `first lane of ${protocol}${tenant === null ? '' : ` for ${tenant}`}`
    if (state === 'open') return { what, state: 'ok', detail: `${lane} holds for what is in force` }
    return { what, state: 'warning', detail: `${lane} settles nothing: ${why}`, todo: 'Fit it again (docs/lane.md).' }
  })
}
