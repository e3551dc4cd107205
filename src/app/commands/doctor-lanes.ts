import type { Settings } from '../../../config/schema.ts'
import type { Finding } from '../../contracts/facts/finding.ts'
import { printable } from '../../contracts/facts/printable.ts'
import type { Protocol } from '../../judging/engine/script.ts'
import { laneStates } from '../../operations/lane-states.ts'
import { reviewQueueOf } from '../../record/record-store.ts'
import { redisAddresses } from '../../store/redis/connect.ts'
import { lanesOf } from '../composition/lanes.ts'
import { everyProtocol } from '../composition/protocols.ts'
import { withTimeout } from './doctor-findings.ts'
import { isDecider, type ModelCheck } from './model-checks.ts'
import { withThreads } from './protocols/store.ts'

/** Whether each first lane holds for what is in force, and is open; nothing where there are none. */
export async function laneFindings(settings: Settings): Promise<Finding[]> {
  const protocols = lanesIn(settings)
  if (protocols.length === 0) return []
  const paused = await pausedIn(settings)
  const states = laneStates(protocols, paused ?? new Set())
  return [
    ...unaudited(settings),
    ...(await auditFindings(settings, protocols)),
    ...states.map(({ protocol, lane, tenant, state, why }): Finding => {
      const what = `first lane of ${protocol}${tenant === null ? '' : ` for ${tenant}`}`
      const unknown = paused === null ? '; whether people closed it, Redis alone knows' : ''
      if (state === 'open') return { what, state: 'ok', detail: `${lane} holds for what is in force${unknown}` }
      const detail = state === 'closed-in-part' ? `${lane} is closed ${why}` : `${lane} settles nothing: ${why}`
      return { what, state: 'warning', detail, todo: 'Fit it again (docs/lane.md).' }
    }),
  ]
}

/** That nothing can close a lane, where nothing of what it settles goes to people. */
function unaudited({ review: { laneShare, auditShare } }: Settings): Finding[] {
  if (Math.max(laneShare, auditShare) > 0) return []
  const detail =
    'review.laneShare and review.auditShare are 0: people see nothing of what lanes settle, and no lane ever closes'
  return [{ what: 'audit of first lanes', state: 'warning', detail, todo: 'Set review.laneShare (docs/lane.md).' }]
}

/** So long a drawn verdict may wait for somebody, in ms. */
const MOST_WAITING_MS = 7 * 86_400_000

/** That nothing can close a lane, where no record is kept, or where nobody looks at what comes first. */
async function auditFindings(settings: Settings, protocols: readonly Protocol[]): Promise<Finding[]> {
  const what = 'audit of first lanes'
  try {
    const queue = await reviewQueueOf(settings)
    try {
      const found: Finding[] = []
      for (const lane of lanesOf(protocols)) {
        const { next, nextSince } = await queue.laneAudit(lane.lane, lane)
        const waited = nextSince === null ? 0 : Date.now() - nextSince
        if (waited <= MOST_WAITING_MS) continue
        const detail = `${lane.lane}: ${next} has waited for ${Math.floor(waited / 86_400_000)} days for somebody to look, and nothing that was drawn of its tenant since counts`
        found.push({ what, state: 'warning', detail, todo: "Decide on it in Review (the console's Quality shows it)." })
      }
      return found
    } finally {
      await queue.close()
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    const detail = `nothing of what lanes settle is drawn, and none ever closes: ${why}`
    return [{ what, state: 'warning', detail, todo: 'Start a process with the role "record" (docs/lane.md).' }]
  }
}

/** That what a decider answers is signed by another name than a lane of it was fitted with: none of it is settled by. */
export function signatureFindings(what: string, { model, roles }: ModelCheck, settings: Settings): Finding[] {
  const signed = roles.find((one) => isDecider(one) && one.reply !== null)?.reply?.model
  if (signed === undefined) return []
  return lanesIn(settings).flatMap(({ name, lanes = [] }) =>
    lanes.flatMap(({ hash, decider }): Finding[] => {
      if (decider.asked !== model || decider.signs === null || decider.signs === signed) return []
      const detail = `answers as ${printable(signed, 80)}, and the first lane ${hash} of ${name} was fitted with answers of ${printable(decider.signs, 80)}: it settles nothing, and each question is paid`
      return [{ what, state: 'warning', detail, todo: 'Fit it again (docs/lane.md).' }]
    }),
  )
}

/** The protocols with first lanes; none where settings or prompts have faults, which another finding tells. */
function lanesIn(settings: Settings): readonly Protocol[] {
  if (!Object.values(settings.protocols).some((own) => 'lane' in own)) return []
  try {
    return everyProtocol(settings).filter(({ lanes = [] }) => lanes.length > 0)
  } catch {
    return []
  }
}

/** What is paused, and closed; null where Redis does not say, which a finding of its own tells. */
export async function pausedIn(settings: Settings): Promise<ReadonlySet<string> | null> {
  if (redisAddresses(settings.redis).length === 0) return null
  return withTimeout(withThreads(settings, (threads) => threads.paused())).catch(() => null)
}
