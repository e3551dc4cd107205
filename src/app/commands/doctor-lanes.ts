import type { Settings } from '../../../config/schema.ts'
import type { Finding } from '../../contracts/facts/finding.ts'
import { laneStates } from '../../operations/lane-states.ts'
import { redisAddresses } from '../../store/redis/connect.ts'
import { everyProtocol } from '../composition/protocols.ts'
import { withTimeout } from './doctor-findings.ts'
import { withThreads } from './protocols/store.ts'

/** Whether each first lane holds for what is in force, and is open; nothing where there are none. */
export async function laneFindings(settings: Settings): Promise<Finding[]> {
  let protocols: ReturnType<typeof everyProtocol>
  try {
    protocols = everyProtocol(settings)
  } catch {
    // Said by the finding on settings and prompts.
    return []
  }
  if (protocols.every(({ lanes = [] }) => lanes.length === 0)) return []
  const paused = await pausedIn(settings)
  return laneStates(protocols, paused ?? new Set()).map(({ protocol, lane, tenant, state, why }): Finding => {
    const what = `first lane of ${protocol}${tenant === null ? '' : ` for ${tenant}`}`
    const unknown = paused === null ? '; whether people closed it, Redis alone knows' : ''
    if (state === 'open') return { what, state: 'ok', detail: `${lane} holds for what is in force${unknown}` }
    const detail = state === 'closed-in-part' ? `${lane} is closed ${why}` : `${lane} settles nothing: ${why}`
    return { what, state: 'warning', detail, todo: 'Fit it again (docs/lane.md).' }
  })
}

/** What is paused, and closed; null where Redis does not say, which a finding of its own tells. */
async function pausedIn(settings: Settings): Promise<ReadonlySet<string> | null> {
  if (redisAddresses(settings.redis).length === 0) return null
  return withTimeout(withThreads(settings, (threads) => threads.paused())).catch(() => null)
}
