import pino from 'pino'
import { describeError } from '../contracts/facts/error-line.ts'
import { printableJson } from '../contracts/facts/printable.ts'
import { traceIdOf } from '../contracts/facts/trace.ts'
import { type Events, type Listener, sourceOf } from '../contracts/ports/report.ts'
import { type EpisodeLine, episodeLines } from './log-episodes.ts'
import { type OutageLine, outageLines, REFUSED } from './log-outages.ts'
import { type SubjectsInLog, subjectNaming } from './subject-naming.ts'

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
  'jetstream:connected': 'info',
  'jetstream:disconnected': 'warn',
  'jetstream:gap': 'error',
  'jetstream:paused': 'warn',
  'jetstream:resumed': 'info',
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
  'statement:given-up': 'warn',
  'settings:reloaded': 'info',
  'vetoes:loaded': 'info',
  'lane:changed': 'warn',
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
  'topics:waiting': 'warn',
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
/** The same error is logged once in this time; the next line has in `alsoTimes` how many were left out. */
const QUIET_MS = 60_000
/** Of one event so many lines at most in this time: strangers decide how many messages can't be read. */
const [MOST_LINES, BURST_MS] = [50, 5_000]
const MAX_ID_CHARS = 128
/** The loop that asks Redis ever again succeeds once a second. Without a success for so long, in ms, Redis is away. */
const REDIS_SILENT_MS = 5_000
/** A process that stood still itself hears the answer of meanwhile within this time, in ms. */
const HEARD_WITHIN_MS = 1_000

/** What the lines of a process say of it. */
interface LogIdentity {
  readonly gavel: string
  readonly host: string
  readonly version?: string
  readonly roles?: readonly string[]
}

/** How lines are written. */
interface LogForm {
  /** Whether lines that are about a case name its trace. */
  readonly traced?: boolean
  readonly subjects?: SubjectsInLog
}

/**
 * JSON lines on standard error, in which no id can control a terminal. They contain ids, but never content or secrets:
 * of an error its name, code and first line, without what a parser quotes; of an event that happens ever again fifty lines in five
 * seconds. A fault that lasts is a line when it begins, one a minute, and one when it ends. Each line names its severity as a word,
 * and in `process` the process that wrote it: deployment, machine and process id, with its version and roles. The first one has in
 * `identity` all that is known of it. A line about a case has its tenant, protocol and subject as fields.
 */
export function logListener(
  level: string,
  now: () => number,
  identity?: LogIdentity,
  { traced = false, subjects = 'plain' }: LogForm = {},
): Listener {
  const { log, traceOf, naming } = writer(level, identity, { traced, subjects })
  const logged = new Map<string, { at: number; silent: number }>()
  const bursts = new Map<keyof Events, { readonly since: number; lines: number; silent: number }>()
  const outages = outageLines(now)
  const episodes = episodeLines(now)
  const tell = (lines: readonly OutageLine[]) => {
    for (const { level: loudness, ...line } of lines) log[loudness](line)
  }
  const tellEpisodes = (lines: readonly EpisodeLine[]) => {
    for (const { event, isNoMore, fields } of lines)
      log[isNoMore ? 'info' : (LEVELS[event] ?? 'warn')]({ event, ...fields })
  }
  const redisWatchdog = watchdog(REDIS_SILENT_MS, HEARD_WITHIN_MS, () => tell(outages.silent('redis', REDIS_SILENT_MS)))

  /** Null if the same error was logged a moment ago; else how many were left out since. */
  function repeats(key: string): number | null {
    const before = logged.get(key)
    if (before !== undefined && now() - before.at < QUIET_MS) {
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
    if (before === undefined || Math.abs(now() - before.since) >= BURST_MS) {
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

  function logError({ where, error, thread, ...ids }: Events['error'], loudness: 'info' | 'warn' | 'error'): void {
    const described = describeError(error)
    const outage = outages.ofError({ where, ...described })
    if (outage !== null) {
      tell(outage)
      return
    }
    const message = naming.inWords(described.message)
    const hasLapsed = LAPSED.test(message)
    const silent = repeats(hasLapsed ? 'lapsed' : (REFUSED.exec(message)?.[0] ?? sameAs(sourceOf(where), message)))
    if (silent === null) return
    const isPassing = where.startsWith('kafkajs ') && PASSING.test(message)
    log[isPassing ? 'info' : hasLapsed ? 'warn' : loudness]({
      event: ERROR_IN_LOG,
      where,
      ...described,
      message,
      ...ofCase(shortened(ids), 'caseId' in ids ? ids.caseId : undefined),
      ...(thread === undefined ? {} : cutIds(naming.fieldsOfThread(thread))),
      ...(hasLapsed ? { advice: LAPSED_ADVICE } : {}),
      ...(silent > 0 ? { alsoTimes: silent } : {}),
    })
  }

  /** The fields of a line, and what its case's id says; ids as the settings have them written. */
  function ofCase(fields: Readonly<Record<string, unknown>>, caseId: unknown): object {
    const all = Array.isArray(fields.caseIds) ? { caseIds: fields.caseIds.map((one) => naming.named(String(one))) } : {}
    if (typeof caseId !== 'string') return { ...fields, ...all }
    return {
      ...fields,
      ...all,
      caseId: cutId(naming.named(caseId)),
      ...cutIds(naming.fieldsOf(caseId)),
      ...traceOf(caseId),
    }
  }

  return (name, event) => {
    if (name === 'loop:succeeded' && 'loop' in event && event.loop === 'store watch') redisWatchdog.arm()
    if (name === 'service:stopping') redisWatchdog.end()
    tell(outages.ofEvent(name, event))
    tellEpisodes(episodes.due(name === 'service:stopped'))
    const loudness = LEVELS[name] ?? 'debug'
    // An end that is too quiet for the log still ends its fault.
    if (!log.isLevelEnabled(loudness) && !episodes.isEnd(name)) return
    if (name === 'error') return logError(event as Events['error'], loudness === 'debug' ? 'error' : loudness)
    if (name === 'verdict:published') {
      const { id } = (event as Events['verdict:published']).verdict
      const { caseId: named, ...fields } = ofCase({}, id) as { caseId: string }
      return log[loudness]({ event: name, id: named, ...fields })
    }
    const fields = ofCase(shortened(event), 'caseId' in event ? event.caseId : undefined) as Record<string, unknown>
    const lasting = episodes.ofEvent(name, fields)
    if (lasting !== null) return tellEpisodes(lasting)
    const silent = loudness === 'debug' ? 0 : leftOut(name)
    if (silent === null) return
    log[loudness]({ event: name, ...fields, ...(silent > 0 ? { alsoTimes: silent } : {}) })
  }
}

function writer(level: string, identity: LogIdentity | undefined, { traced, subjects }: Required<LogForm>) {
  const standardError = pino.destination({ dest: 2, sync: true })
  let isFirst = true
  const { gavel = '', host = '', version, roles } = identity ?? {}
  const known = {
    process: `${gavel}@${host}:${process.pid}`,
    ...(version === undefined ? {} : { version }),
    ...(roles === undefined ? {} : { role: roles.join(',') }),
  }
  const log = pino(
    {
      level,
      base: identity === undefined ? null : known,
      timestamp: pino.stdTimeFunctions.isoTime,
      // Collectors read a word; pino's numbers are its own.
      formatters: { level: (label) => ({ level: label }) },
      mixin() {
        const first = isFirst
        isFirst = false
        return first && identity !== undefined ? { identity } : {}
      },
    },
    { write: (line) => standardError.write(printableJson(line)) },
  )
  /** By its name in OpenTelemetry's logs. */
  const traceOf = (caseId: string) => (traced && identity !== undefined ? { trace_id: traceIdOf(gavel, caseId) } : {})
  return { log, traceOf, naming: subjectNaming(subjects, gavel) }
}

/** Calls `bark` once it was not armed again for so long; `grace`: it is looked once more before that. */
function watchdog(silentMs: number, grace: number, bark: () => void): { arm(): void; end(): void } {
  let timer: NodeJS.Timeout | undefined
  let hasEnded = false
  return {
    end() {
      hasEnded = true
      clearTimeout(timer)
    },
    arm() {
      if (hasEnded) return
      clearTimeout(timer)
      timer = setTimeout(() => {
        timer = setTimeout(bark, grace).unref()
      }, silentMs).unref()
    },
  }
}

/** By which errors are the same: numbers and ids differ in what is met ever again, and every worker meets it. */
function sameAs(source: string, message: string): string {
  return `${source} ${message.replace(/[0-9a-f]{8,}|\d+/gi, '0').replace(/\S+~\S+/g, '~')}`
}

const MAX_MESSAGE_CHARS = 300

function shortened(event: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(event).map(([key, value]) => [
      key,
      typeof value === 'string' ? value.slice(0, MAX_MESSAGE_CHARS) : Array.isArray(value) ? value.map(shortId) : value,
    ]),
  )
}

function shortId(id: unknown): unknown {
  return typeof id === 'string' ? cutId(id) : id
}

function cutId(id: string): string {
  return id.slice(0, MAX_ID_CHARS)
}

function cutIds(ids: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(ids).map(([name, id]) => [name, cutId(id)]))
}
