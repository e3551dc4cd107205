import type { Settings } from '../../../config/schema.ts'
import { isLaneMark, laneMark } from '../../contracts/facts/lane-mark.ts'
import type { RecordStore } from '../../contracts/ports/record.ts'
import type { Report } from '../../contracts/ports/report.ts'
import type { LaneInUse, ReviewQueue } from '../../contracts/ports/review.ts'
import type { ThreadStore } from '../../contracts/ports/threads.ts'
import type { Protocol } from '../../judging/engine/script.ts'
import { everyProtocol } from './protocols.ts'

/** The first lanes of these settings, whose files are read anew. */
export function lanesInUse(settings: Settings): LaneInUse[] {
  const hasOne = Object.values(settings.protocols).some((own) => 'lane' in own)
  return hasOne ? lanesOf(everyProtocol(settings)) : []
}

/** The first lanes of protocols: those by which a process judges, whatever has become of their files since. */
export function lanesOf(protocols: readonly Pick<Protocol, 'name' | 'lanes'>[]): LaneInUse[] {
  return protocols.flatMap(({ name: protocol, lanes = [] }) =>
    lanes.map(({ hash: lane, basis, tenant, promise, groups }) => ({
      protocol,
      lane,
      basis,
      tenant,
      ...promise,
      groups,
    })),
  )
}

/**
 * Looks at what people say of what each lane settled, and closes those that are wrong more often than they promise. The record keeps
 * what is closed as well: where Redis was emptied, it is closed again.
 */
export function laneAudits({
  lanes,
  queue,
  store,
  threads,
  clock,
  report,
}: {
  readonly lanes: () => readonly LaneInUse[]
  readonly queue: Pick<ReviewQueue, 'laneAudit'>
  readonly store: Pick<RecordStore, 'keepClosed'>
  readonly threads: Pick<ThreadStore, 'paused' | 'pause'>
  readonly clock: () => number
  readonly report: Report
}): () => Promise<void> {
  return async () => {
    const known = lanes()
    if (known.length === 0) return
    const paused = new Set(await threads.paused())
    // No script and no settings open it again: further labels have another mark.
    const close = async (marks: readonly string[]) => {
      for (const mark of marks) {
        if (!paused.has(mark)) await threads.pause(mark)
        paused.add(mark)
      }
    }
    const keep = async (marks: readonly string[]) => close(await store.keepClosed(marks))
    try {
      await keep([...paused].filter(isLaneMark))
    } catch (error) {
      // A record that is full is read all the same.
      report('error', { where: 'record lanes', error })
    }
    const audits = await Promise.all(known.map(async (one) => ({ ...one, ...(await queue.laneAudit(one.lane, one)) })))
    report('lane:audited', { audits, now: clock() })
    const shown = audits.flatMap(({ basis, delta, evidenceOfAll, tenants }) => [
      ...(evidenceOfAll >= 1 / delta ? [laneMark(basis)] : []),
      ...tenants.flatMap(({ tenant, evidence }) => (evidence >= 1 / delta ? [laneMark(basis, tenant)] : [])),
    ])
    // First closed, then kept.
    await close(shown)
    if (shown.length > 0) await keep(shown)
  }
}
