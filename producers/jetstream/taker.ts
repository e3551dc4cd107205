import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../../src/contracts/ports/clock.ts'
import type { JetstreamPosition, JetstreamStore } from '../../src/contracts/ports/jetstream.ts'
import type { JetstreamOutcome, Report } from '../../src/contracts/ports/report.ts'
import { type OutgoingMessage, RefusedRecord, type TopicWriter } from '../../src/contracts/ports/topic.ts'
import type { RelayEvent } from './frame.ts'
import { namedIn, planEvents, type TakingRules } from './plan.ts'

/** The first and the longest wait before records are sent again, in ms. */
const [FIRST_WAIT_MS, LONGEST_WAIT_MS] = [500, 30_000]

export interface TakerParts {
  readonly store: JetstreamStore
  /** Whether this process is the one that reads. */
  readonly lead: () => Promise<boolean>
  readonly writer: Pick<TopicWriter, 'send'>
  readonly rules: TakingRules
  /** How long what was sent is remembered, in ms. */
  readonly followMs: number
  readonly clock: Clock
  readonly report: Report
}

/**
 * Writes what events come to to the topics. The position is noted only once all before it was acknowledged; so after a crash some is sent
 * again, with the same bytes, and none is lost.
 */
export function eventTaker({ store, lead, writer, rules, followMs, clock, report }: TakerParts, signal: AbortSignal) {
  let position: JetstreamPosition | null = null

  /** Rejects where another process reads now: it sends what is not noted, and this one's place would be behind its own. */
  async function stillLeads(): Promise<void> {
    if (!(await lead())) throw new Error('another process reads now')
  }

  /** Sends until all are acknowledged, or never will be. Resolves to how many are not. */
  async function send(records: readonly OutgoingMessage[]): Promise<number> {
    for (let waitMs = FIRST_WAIT_MS; records.length > 0; waitMs = Math.min(LONGEST_WAIT_MS, 2 * waitMs)) {
      try {
        await writer.send(records)
        return 0
      } catch (error) {
        report('error', { where: 'jetstream kafka', error })
        if (error instanceof RefusedRecord) {
          if (records.length === 1) return 1
          // By itself each shows whether it is the one.
          let refused = 0
          for (const record of records) refused += await send([record])
          return refused
        }
        await sleep(waitMs, undefined, { signal })
        await stillLeads()
      }
    }
    return 0
  }

  function after(events: readonly RelayEvent[], relay: string): JetstreamPosition | null {
    let reached = position
    for (const event of events)
      if ('time' in event) reached = { time: Math.max(event.time, reached?.time ?? 0), seq: event.seq, relay }
    return reached
  }

  return {
    /** How far it has come; null: nothing was taken yet. */
    get position() {
      return position
    },
    /** Goes on where this process, or another, has come to. */
    async resume(): Promise<JetstreamPosition | null> {
      const noted = await store.position()
      if ((noted?.time ?? -1) > (position?.time ?? -1)) position = noted
      return position
    },
    /** Takes events of a relay; `tooLong`: how many frames were left out. Resolves when all is on the topics and noted. */
    async take(events: readonly RelayEvent[], relay: string, tooLong: number): Promise<void> {
      const timed = events.map((event) => inTime(event, clock() * 1_000))
      const names = namedIn(timed)
      const found = await store.taken(names)
      const known = new Map(names.flatMap((name, at) => (found[at] ? [[name, found[at]] as const] : [])))
      const { records, outcomes, ...noted } = planEvents(timed, known, rules)
      const refused = await send(records)
      const reached = after(timed, relay)
      await stillLeads()
      if (reached !== null) await store.save(reached, noted, followMs)
      position = reached
      const counts: (readonly [JetstreamOutcome, number])[] = [
        ...outcomes,
        ['too-large', tooLong],
        ['refused', refused],
      ]
      for (const [outcome, count] of counts) if (count > 0) report('jetstream:read', { outcome, count })
    },
  }
}

/** A time that has not come is not believed: from there on everything would count as read. */
function inTime(event: RelayEvent, now: number): RelayEvent {
  return 'time' in event ? { ...event, time: Math.min(event.time, now) } : event
}
