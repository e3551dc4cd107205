import type { Settings } from '../../../config/schema.ts'
import { laneMark } from '../../contracts/facts/lane-mark.ts'
import type { Report } from '../../contracts/ports/report.ts'
import type { LaneInUse, ReviewQueue } from '../../contracts/ports/review.ts'
import type { ThreadStore } from '../../contracts/ports/threads.ts'
import { everyProtocol } from './protocols.ts'

/** The first lanes of these settings, whose files are read anew. */
export function lanesInUse(settings: Settings): LaneInUse[] {
  const hasOne = Object.values(settings.protocols).some((own) => 'lane' in own)
  if (!hasOne) return []
  return everyProtocol(settings).flatMap(({ name: protocol, lanes = [] }) =>
    lanes.map(({ hash: lane, tenant, promise, groups }) => ({ protocol, lane, tenant, ...promise, groups })),
  )
}

/** Looks at what people say of what each lane settled, and closes those that are wrong more often than they promise. */
export function laneAudits({
  lanes,
  queue,
  threads,
  report,
}: {
  readonly lanes: () => readonly LaneInUse[]
  readonly queue: Pick<ReviewQueue, 'laneAudit'>
  readonly threads: Pick<ThreadStore, 'paused' | 'pause'>
  readonly report: Report
}): () => Promise<void> {
  return async () => {
    const known = lanes()
    if (known.length === 0) return
    const paused = await threads.paused()
    const audits = await Promise.all(known.map(async (one) => ({ ...one, ...(await queue.laneAudit(one.lane, one)) })))
    report('lane:audited', { audits })
    for (const { lane, delta, evidenceOfAll, tenants } of audits) {
      const accused = tenants.flatMap(({ tenant, evidence }) => (evidence >= 1 / delta ? [laneMark(lane, tenant)] : []))
      const marks = [...(evidenceOfAll >= 1 / delta ? [laneMark(lane)] : []), ...accused]
      // No script and no settings open it again: another file has another mark.
      for (const mark of marks) if (!paused.has(mark)) await threads.pause(mark)
    }
  }
}
