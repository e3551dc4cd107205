import type { Settings } from '../../config/schema.ts'
import { deadLetterOf } from '../../producers/dead-letter.ts'
import { type OpenerSettings, opener } from '../engine/open.ts'
import type { OpenedCases } from '../engine/opened-cases.ts'
import type { Router } from '../engine/routes.ts'
import type { CaseStore } from '../ports/cases.ts'
import type { Clock } from '../ports/clock.ts'
import type { StageQueues } from '../ports/queues.ts'
import type { Report } from '../ports/report.ts'
import type { Origin, StreamMarks, ThreadStore } from '../ports/threads.ts'

/** Opens cases for threads that become due. The settings' `clock` may be replaced if there is no stream. */
export function openerOf(
  settings: Settings,
  parts: {
    routes: Router
    threads: ThreadStore
    marks: StreamMarks
    cases: CaseStore
    queues: StageQueues
    clock: Clock
    report: Report
    /** The partitions that drive the stream's clock; null: all that have been seen. */
    partitions: OpenerSettings['partitions']
    streamClock?: OpenerSettings['clock']
    opened?: OpenedCases
  },
) {
  const { partitions, streamClock = settings.clock, ...given } = parts
  return opener({
    ...given,
    settings: {
      checkpoints: settings.checkpoints,
      clock: streamClock,
      maxOpen: settings.cases.maxOpen,
      pressedAtDue: settings.cases.pressedAtDue,
      caseDeadlineMs: settings.cases.deadline,
      partitions,
    },
    orphanLetter: orphanLetter(parts.report),
  })
}
export type Opener = ReturnType<typeof openerOf>

/** The dead letter of a comment whose post never arrived. */
function orphanLetter(report: Report) {
  return ({ topic, partition, offset, timestamp, raw, bytes }: Origin) => {
    const detail =
      raw === ''
        ? "the post never arrived; comment was over the thread's cap, content not stored"
        : 'the post never arrived'
    report('message:dead', { topic, partition, offset, reason: 'orphan-expired', detail })
    const value = Buffer.from(raw, 'base64')
    const from = { topic, partition, offset, timestamp, key: null, headers: {}, value }
    return deadLetterOf(from, { reason: 'orphan-expired', detail }, bytes)
  }
}
