import type { CaseRecord } from '../../contracts/facts/case.ts'
import type { CaseStore } from '../../contracts/ports/cases.ts'
import type { Clock } from '../../contracts/ports/clock.ts'

/** How long a case may take, and for how long its asks may wait for a model besides, in ms. */
export interface DeadlineSettings {
  readonly deadline: number
  readonly mostHeld: number
}

/**
 * Each restart gives a case its full time again, but its deadline is never later than this many times that time after
 * its opening: deletions may arrive one by one.
 */
export const MOST_DEADLINES = 4

/** How long a case can be open at most, in ms: its deadline put off for what was deleted, and its asks waiting for a model. */
export function longestCaseMs({ deadline, mostHeld }: DeadlineSettings): number {
  return MOST_DEADLINES * deadline + mostHeld
}

type Timed = Pick<CaseRecord, 'protocol' | 'openedAt' | 'deadline'>

/**
 * A case's deadline, where asks of its protocol last waited for a model then, in ms since 1970: as if it had been opened at
 * that time, but no later than `mostHeld` after its opening. So what waited has all its time again when a model answers.
 */
export function extendedDeadline(
  { openedAt, deadline }: Omit<Timed, 'protocol'>,
  unansweredUntil: number | null,
  { deadline: longest, mostHeld }: DeadlineSettings,
): number {
  if (unansweredUntil === null || unansweredUntil <= openedAt) return deadline
  return Math.max(deadline, Math.min(unansweredUntil, openedAt + mostHeld) + longest)
}

/** A process notes this often that asks of a protocol wait for a model, in ms. */
const NOTE_MS = 1_000
/** Only within this of a case's own deadline is it looked up whether its asks have waited for a model, in ms. */
const NEAR_MS = 120_000

/** The deadlines of cases, in ms since 1970. */
export interface Deadlines {
  of(record: Timed): Promise<number>
  /** Notes that an ask of this case waits for a model now, and returns the deadline that follows. */
  extend(record: Timed): Promise<number>
}

/** Where no ask waits for a model. */
export const FIXED_DEADLINES: Deadlines = {
  of: async ({ deadline }) => deadline,
  extend: async ({ deadline }) => deadline,
}

/** The deadlines of cases whose asks may wait for a model, in any process. */
export function deadlines(deps: {
  cases: Pick<CaseStore, 'noteUnanswered' | 'unansweredUntil'>
  clock: Clock
  settings: DeadlineSettings
}): Deadlines {
  const { cases, clock, settings } = deps
  const noted = new Map<string, number>()
  return {
    async of(record) {
      if (clock() < record.deadline - NEAR_MS) return record.deadline
      const until = await cases.unansweredUntil(record.protocol)
      // A note from before the clock was set back lies ahead.
      return extendedDeadline(record, until === null ? null : Math.min(until, clock()), settings)
    },
    async extend(record) {
      const now = clock()
      if (Math.abs(now - (noted.get(record.protocol) ?? 0)) >= NOTE_MS) {
        await cases.noteUnanswered(record.protocol, now)
        noted.set(record.protocol, now)
      }
      return extendedDeadline(record, now, settings)
    },
  }
}
