import { entryOf } from '../contracts/facts/entry-of.ts'
import type { Events } from '../contracts/ports/report.ts'

/** What a line of the log says beside its level, time and process. */
type LogFields = Readonly<Record<string, unknown>>

export interface EpisodeLine {
  readonly event: keyof Events
  /** The event that is an error where a fault begins says here that it is over. */
  readonly isNoMore: boolean
  readonly fields: LogFields
}

/** A fault that has ended is said to have after so long without it, in ms: what comes and goes is one fault. */
const CALM_MS = 5_000
/** While a fault lasts it is said once in this time, in ms. */
const SAY_AGAIN_MS = 60_000

/** The events by which faults end, by those by which they begin. */
const ENDS: Partial<Record<keyof Events, keyof Events>> = {
  'record:stopped': 'record:resumed',
  'store:lost': 'store:recovered',
  'store:full': 'store:writable',
  'store:refused': 'store:writable',
  'redis:unsafe': 'redis:safe',
  'sentinels:silent': 'sentinels:answer',
  'model:away': 'model:answers',
}
/** Events that say themselves whether the fault begins or ends, by the name of what says so. */
const TOLD_BY: Partial<Record<keyof Events, 'closed' | 'held'>> = {
  'publication:closed': 'closed',
  'publication:held': 'held',
  'traces:held': 'held',
}
/** By which of its fields one fault is told from another of the same event. */
const OF: Partial<Record<keyof Events, string>> = {
  'model:away': 'model',
  'model:answers': 'model',
  'publication:closed': 'what',
  'publication:held': 'what',
}
const BEGINS: ReadonlyMap<string, readonly (keyof Events)[]> = Map.groupBy(
  Object.keys(ENDS) as (keyof Events)[],
  (begin) => String(ENDS[begin]),
)

interface Episode {
  readonly event: keyof Events
  fields: LogFields
  readonly since: number
  saidAt: number
  /** How often it was met and not said. */
  alsoTimes: number
  end: { readonly at: number; readonly line: EpisodeLine } | null
}

/**
 * Puts the events of a fault that lasts into one line when it begins, one a minute with how often it was met meanwhile, and one
 * when it has ended for good.
 */
export function episodeLines(now: () => number) {
  const episodes = new Map<string, Episode>()
  const keyOf = (event: keyof Events, fields: LogFields) => `${event} ${String(entryOf(fields, OF[event] ?? '') ?? '')}`

  function begun(event: keyof Events, fields: LogFields): EpisodeLine[] {
    const key = keyOf(event, fields)
    const known = episodes.get(key)
    const line: EpisodeLine = { event, isNoMore: false, fields }
    if (known === undefined) {
      episodes.set(key, { event, fields, since: now(), saidAt: now(), alsoTimes: 0, end: null })
      return [line]
    }
    // Another cause is news, also where the fault before it has just ended.
    const isNews = JSON.stringify(known.fields) !== JSON.stringify(fields)
    known.end = null
    known.fields = fields
    if (isNews) known.saidAt = now()
    else known.alsoTimes++
    return isNews ? [line] : []
  }

  function ended(event: keyof Events, fields: LogFields, begins: readonly (keyof Events)[]): EpisodeLine[] {
    const line: EpisodeLine = { event, isNoMore: TOLD_BY[event] !== undefined, fields }
    const open = begins.flatMap((begin) => episodes.get(keyOf(begin, fields)) ?? [])
    for (const one of open) one.end ??= { at: now(), line }
    return open.length === 0 ? [line] : []
  }

  return {
    /** The lines in the place of this event's; null if it is about no fault that lasts. */
    ofEvent(event: keyof Events, fields: LogFields): EpisodeLine[] | null {
      const told = TOLD_BY[event]
      if (told !== undefined) return fields[told] === true ? begun(event, fields) : ended(event, fields, [event])
      if (ENDS[event] !== undefined) return begun(event, fields)
      const begins = BEGINS.get(event)
      return begins === undefined ? null : ended(event, fields, begins)
    },

    /** Whether a fault ends by events of this name, none of which begins one. */
    isEnd: (event: keyof Events) => BEGINS.has(event),

    /** The lines that are due by the time alone; all ends that wait, if the process ends. */
    due(isLast = false): EpisodeLine[] {
      const lines: EpisodeLine[] = []
      for (const [key, one] of episodes) {
        const forSeconds = Math.round(((one.end?.at ?? now()) - one.since) / 1000)
        const times = one.alsoTimes === 0 ? {} : { alsoTimes: one.alsoTimes }
        if (one.end !== null) {
          if (!isLast && now() - one.end.at < CALM_MS) continue
          episodes.delete(key)
          const { line } = one.end
          lines.push({ ...line, fields: { ...line.fields, afterSeconds: forSeconds, ...times } })
        } else if (now() - one.saidAt >= SAY_AGAIN_MS) {
          one.saidAt = now()
          one.alsoTimes = 0
          lines.push({ event: one.event, isNoMore: false, fields: { ...one.fields, forSeconds, ...times } })
        }
      }
      return lines
    },
  }
}
