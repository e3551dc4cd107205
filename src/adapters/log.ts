import pino from 'pino'
import { printableJson } from '../domain/printable.ts'
import type { Events, Listener } from '../ports/report.ts'

/** How loud each event is; what is missing here is `debug`. */
const LEVELS: Partial<Record<keyof Events, 'info' | 'warn' | 'error'>> = {
  'message:dead': 'warn',
  'intake:paused': 'warn',
  'intake:resumed': 'info',
  'store:lost': 'error',
  'store:recovered': 'info',
  'store:full': 'error',
  'store:writable': 'info',
  'case:fenced': 'warn',
  'case:revived': 'warn',
  'publication:held': 'error',
  error: 'error',
  'service:started': 'info',
  'key:unset': 'warn',
  'key:changed': 'warn',
  'service:exposed': 'warn',
  'service:stopping': 'info',
  'service:stopped': 'info',
}
/** What `error` is called in the log: alerts and operators search for this name. */
const ERROR_IN_LOG = 'trouble:met'
/** That Redis has no memory left is one error, whichever script or worker met it: only the rest of the message differs. */
const NO_MEMORY = /^OOM /
/** The same error is logged once in this time, with the number of times that it was left out. */
const QUIET_MS = 5_000
const MAX_ID_CHARS = 128

/**
 * JSON lines on standard error, which no id in them can make a terminal obey. Ids yes, content and secrets never: of an
 * error its name, code and first line are told, without what a parser quotes.
 */
export function logListener(level: string, now: () => number): Listener {
  const standardError = pino.destination({ dest: 2, sync: true })
  const log = pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    { write: (line) => standardError.write(printableJson(line)) },
  )
  const told = new Map<string, { at: number; silent: number }>()

  /** Null while the same was told a moment ago. */
  function repeats(key: string): number | null {
    const before = told.get(key)
    if (before !== undefined && now() - before.at < QUIET_MS) {
      before.silent++
      return null
    }
    told.set(key, { at: now(), silent: 0 })
    if (told.size > 1_000) told.clear()
    return before?.silent ?? 0
  }

  return (name, event) => {
    const loudness = LEVELS[name] ?? 'debug'
    if (!log.isLevelEnabled(loudness)) return
    if (name === 'error') {
      const { where, error } = event as Events['error']
      const described = describe(error)
      // A lock that lapses is seldom alone: BullMQ names each job.
      const alike = described.message.replace(/ for job \S+/, ' for a job')
      const silent = repeats(NO_MEMORY.test(alike) ? 'no memory' : `${where} ${alike}`)
      if (silent !== null)
        log[loudness]({ event: ERROR_IN_LOG, where, ...described, ...(silent > 0 ? { alsoTimes: silent } : {}) })
      return
    }
    if (name === 'verdict:published')
      return log[loudness]({
        event: name,
        id: (event as Events['verdict:published']).verdict.id.slice(0, MAX_ID_CHARS),
      })
    log[loudness]({ event: name, ...shortened(event) })
  }
}

/**
 * A mistake of the program for a person: what is told of an error and the place of ours where it came from, in one line; with
 * `stack` every place that it passed. Nothing that its causes hold.
 */
export function unexpected(error: unknown, { stack }: { stack: boolean }): string {
  const { error: name, code, message } = describe(error)
  const said = `${name}${code === undefined ? '' : ` (${code})`}: ${message}`
  const frames = error instanceof Error ? (error.stack ?? '').split('\n').filter((line) => /^ {4}at /.test(line)) : []
  if (stack) return [said, ...frames].join('\n')
  const [place] = frames.flatMap((frame) => (frame.includes('node_modules') ? [] : (OUR_PLACE.exec(frame) ?? [])))
  return place === undefined ? said : `${said} (${place})`
}
const OUR_PLACE = /(?:src|consumers|producers|config)\/[\w./-]+:\d+/

/** Of an error what may be told to anybody: its name, its code and the first line of its message. */
function describe(error: unknown): { error: string; code?: string; message: string } {
  if (!(error instanceof Error)) return { error: typeof error, message: '' }
  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code.slice(0, MAX_CODE_CHARS) } : {}
  const message = error.message
    .replace(QUOTED_BY_PARSER, 'what was read is no JSON')
    .replace(CREDENTIALS, '//…@')
    .split('\n', 1)[0]
  return { error: error.name, ...code, message: (message ?? '').slice(0, MAX_MESSAGE_CHARS) }
}

const MAX_CODE_CHARS = 64
const MAX_MESSAGE_CHARS = 300
/** `JSON.parse` quotes the text that it can't read. */
const QUOTED_BY_PARSER = /(?:Unexpected token .*|".*) is not valid JSON/s
const CREDENTIALS = /\/\/[^@\s/]*@/g

function shortened(event: object): object {
  return Object.fromEntries(
    Object.entries(event).map(([key, value]) => [
      key,
      typeof value === 'string' ? value.slice(0, MAX_MESSAGE_CHARS) : value,
    ]),
  )
}
