import pino from 'pino'
import { describeError } from '../contracts/facts/error-line.ts'
import { printableJson } from '../contracts/facts/printable.ts'
import { traceIdOf } from '../contracts/facts/trace.ts'
import type { Events, Listener } from '../contracts/ports/report.ts'
import { type OutageLine, outageLines, REFUSED } from './log-outages.ts'

/** The log level of each event; `debug` if missing here. */
const LEVELS: Partial<Record<keyof Events, 'info' | 'warn' | 'error'>> = {
  'message:dead': 'warn',
  'intake:paused': 'warn',
  'intake:resumed': 'info',
  'shares:kept': 'warn',
  'shares:ended': 'info',
  'opening:paused': 'warn',
  'opening:resumed': 'info',
  'overload:step': 'warn',
  'store:lost': 'error',
  'store:recovered': 'info',
  'store:full': 'error',
  'store:writable': 'info',
  'store:refused': 'error',
  'redis:unsafe': 'error',
  'redis:safe': 'info',
  'sentinels:silent': 'error',
  'sentinels:answer': 'info',
  'case:fenced': 'info',
  'case:revived': 'warn',
  'author:erased': 'info',
  'publication:closed': 'error',
  'publication:held': 'error',
  'budget:spent': 'warn',
  'budget:renewed': 'warn',
  'call:refused': 'warn',
  'model:away': 'warn',
  'model:answers': 'warn',
  'dialect:learnt': 'info',
  'model:unmetered': 'warn',
  'record:stopped': 'error',
  'record:resumed': 'info',
  'record:holes': 'error',
  'settings:reloaded': 'info',
  'vetoes:loaded': 'info',
  'vetoes:refused': 'error',
  'settings:refused': 'error',
  'settings:fixed': 'error',
  'reload:closed': 'info',
  'certificate:ends': 'warn',
  'loop:lagged': 'warn',
  'traces:held': 'warn',
  'traces:rejected': 'warn',
  error: 'error',
  'service:started': 'info',
  'door:opened': 'info',
  'door:refused': 'info',
  'console:blocked': 'warn',
  'key:unset': 'warn',
  'key:changed': 'warn',
  'service:exposed': 'warn',
  'service:waiting': 'warn',
  'budget:fresh': 'warn',
  'service:unpriced': 'warn',
  'service:behind': 'warn',
  'service:caught-up': 'warn',
  'service:short-drain': 'info',
  'settings:replaced': 'warn',
  'service:stopping': 'info',
  'service:stopped': 'info',
  'service:cut-off': 'error',
}
/** The name of `error` in the log: alerts and operators search for it. */
const ERROR_IN_LOG = 'trouble:met'
/** What kafkajs meets while topics and groups are being made or move, and tries again by itself. */
const PASSING =
  /coordinator is (?:not available|loading)|not the correct coordinator|not aware of this member|[Rr]ebalanc|does not host this topic-partition|not the leader for that topic-partition|no leader for this topic-partition|leadership election/
/** What a worker meets that was too slow to renew its job's lock. They come in groups, and each names its job. */
const LAPSED =
  /^(?:could not renew lock for job|Missing (?:lock|key) for job|Lock mismatch for job|Job \S+ is not in the active state)/
const LAPSED_ADVICE =
  'Job locks were renewed too late, so other processes take the jobs over. Calls may be paid for twice; each verdict is published once. docs/runbooks/GavelLocksLapse.md'
/** The same error is logged once in this time, lapsed locks in the longer one; the next line has in `alsoTimes` how many were left out. */
const QUIET_MS = 5_000
const QUIET_LAPSED_MS = 60_000
/** Of one event so many lines at most in this time: strangers decide how many messages can't be read. */
const MOST_LINES = 50
const MAX_ID_CHARS = 128

/**
 * JSON lines on standard error, in which no id can control a terminal. They contain ids, but never content or secrets:
 * of an error its name, code and first line, without what a parser quotes; of an event that happens ever again fifty lines in five
 * seconds. Each line names in `process` the process that wrote it:
 * deployment, machine and process id. The first one has in `identity` all that is known of it.
 */
export function logListener(
  level: string,
  now: () => number,
  identity?: { readonly gavel: string; readonly host: string },
  /** Whether lines that are about a case name its trace. */
  traced = false,
): Listener {
  const standardError = pino.destination({ dest: 2, sync: true })
  let isFirst = true
  const log = pino(
    {
      level,
      base: identity === undefined ? null : { process: `${identity.gavel}@${identity.host}:${process.pid}` },
      timestamp: pino.stdTimeFunctions.isoTime,
      mixin() {
        const first = isFirst
        isFirst = false
        return first && identity !== undefined ? { identity } : {}
      },
    },
    { write: (line) => standardError.write(printableJson(line)) },
  )
  /** By its name in OpenTelemetry's logs. */
  const traceOf = (caseId: unknown) =>
    traced && identity !== undefined && typeof caseId === 'string'
      ? { trace_id: traceIdOf(identity.gavel, caseId) }
      : {}
  const logged = new Map<string, { at: number; silent: number }>()
  const bursts = new Map<keyof Events, { readonly since: number; lines: number; silent: number }>()
  const outages = outageLines(now)
  const tell = (lines: readonly OutageLine[]) => {
    for (const { level: loudness, ...line } of lines) log[loudness](line)
  }

  /** Null if the same error was logged a moment ago; else how many were left out since. */
  function repeats(key: string, quietMs: number): number | null {
    const before = logged.get(key)
    if (before !== undefined && now() - before.at < quietMs) {
      before.silent++
      return null
    }
    logged.set(key, { at: now(), silent: 0 })
    if (logged.size > 1_000) logged.clear()
    return before?.silent ?? 0
  }

  /** Null if there were many lines of this event just now; else how many were left out before. */
  function leftOut(name: keyof Events): number | null {
    const before = bursts.get(name)
    if (before === undefined || Math.abs(now() - before.since) >= QUIET_MS) {
      bursts.set(name, { since: now(), lines: 1, silent: 0 })
      return before?.silent ?? 0
    }
    if (before.lines < MOST_LINES) {
      before.lines++
      return 0
    }
    before.silent++
    return null
  }

  return (name, event) => {
    tell(outages.ofEvent(name, event))
    const loudness = LEVELS[name] ?? 'debug'
    if (!log.isLevelEnabled(loudness)) return
    if (name === 'error') {
      const { where, error, ...ids } = event as Events['error']
      const described = describeError(error)
      const outage = outages.ofError({ where, ...described })
      if (outage !== null) return tell(outage)
      const { message } = described
      const hasLapsed = LAPSED.test(message)
      const silent = hasLapsed
        ? repeats('lapsed', QUIET_LAPSED_MS)
        : repeats(REFUSED.exec(message)?.[0] ?? `${where} ${message}`, QUIET_MS)
      const isPassing = where.startsWith('kafkajs ') && PASSING.test(message)
      if (silent !== null)
        log[isPassing ? 'info' : hasLapsed ? 'warn' : loudness]({
          event: ERROR_IN_LOG,
          where,
          ...described,
          ...shortened(ids),
          ...traceOf('caseId' in ids ? ids.caseId : undefined),
          ...(hasLapsed ? { advice: LAPSED_ADVICE } : {}),
          ...(silent > 0 ? { alsoTimes: silent } : {}),
        })
      return
    }
    if (name === 'verdict:published') {
      const { id } = (event as Events['verdict:published']).verdict
      return log[loudness]({ event: name, id: id.slice(0, MAX_ID_CHARS), ...traceOf(id) })
    }
    const silent = loudness === 'debug' ? 0 : leftOut(name)
    if (silent === null) return
    // What ends is no error.
    const ends =
      name === 'publication:closed'
        ? !(event as Events['publication:closed']).closed
        : (name === 'publication:held' || name === 'traces:held') &&
          !(event as Events['publication:held' | 'traces:held']).held
    const alsoTimes = silent > 0 ? { alsoTimes: silent } : {}
    const trace = traceOf('caseId' in event ? event.caseId : undefined)
    log[ends ? 'info' : loudness]({ event: name, ...shortened(event), ...trace, ...alsoTimes })
  }
}

const MAX_MESSAGE_CHARS = 300

function shortened(event: object): object {
  return Object.fromEntries(
    Object.entries(event).map(([key, value]) => [
      key,
      typeof value === 'string' ? value.slice(0, MAX_MESSAGE_CHARS) : Array.isArray(value) ? value.map(shortId) : value,
    ]),
  )
}

function shortId(id: unknown): unknown {
  return typeof id === 'string' ? id.slice(0, MAX_ID_CHARS) : id
}
