import type { VerdictForm } from '../../contracts/facts/verdict-fields.ts'
import type { CaseStore } from '../../contracts/ports/cases.ts'
import type { Clock } from '../../contracts/ports/clock.ts'
import type { Report } from '../../contracts/ports/report.ts'
import type { StageQueues } from '../../contracts/ports/stage-queues.ts'
import { giveUp } from './give-up.ts'

/** Cases looked at concurrently. */
const AT_ONCE = 50

/**
 * Handles open cases whose protocol is switched off. From now on they count neither towards `cases.maxOpen` nor for
 * backpressure; workers that have the protocol on, as in a rolling restart, continue them. Those that are still open
 * `handBack` after their deadline end without a decision: `degraded` holds `protocol-off`.
 */
export function attendCases(deps: {
  /** Names of those that this process works on. */
  protocols: readonly string[]
  cases: Pick<CaseStore, 'partitionByProtocol' | 'peek' | 'take' | 'conclude'>
  queues: Pick<StageQueues, 'push' | 'drop'>
  clock: Clock
  report: Report
  settings: { readonly handBack: number; readonly transcriptBytes: number; readonly writes: VerdictForm }
}) {
  const { protocols, cases, queues, clock, report, settings } = deps
  let deadlines = new Map<string, number>()

  async function deadlineOf(id: string): Promise<number> {
    const known = deadlines.get(id)
    return known ?? (await cases.peek(id))?.record.deadline ?? Number.POSITIVE_INFINITY
  }

  async function end(id: string): Promise<boolean> {
    let protocol = ''
    // This process does not have the script, so the transcript has no turns.
    const won = await giveUp(
      { cases, clock, transcriptBytes: settings.transcriptBytes, writes: settings.writes },
      id,
      'protocol-off',
      (taken) => {
        protocol = taken.record.protocol
        return !protocols.includes(protocol)
      },
    )
    if (won) report('case:concluded', { caseId: id, protocol, rounds: 0 })
    return won
  }

  /** One pass; returns the ids of the cases that it ended. */
  return async function endOverdue(): Promise<string[]> {
    const { back, unworked } = await cases.partitionByProtocol(protocols)
    await queues.push(back)
    const ended: string[] = []
    const seen = new Map<string, number>()
    for (let start = 0; start < unworked.length; start += AT_ONCE)
      await Promise.all(
        unworked.slice(start, start + AT_ONCE).map(async (id) => {
          const deadline = await deadlineOf(id)
          seen.set(id, deadline)
          if (deadline + settings.handBack < clock() && (await end(id))) ended.push(id)
        }),
      )
    deadlines = seen
    await queues.drop(ended)
    return ended
  }
}
