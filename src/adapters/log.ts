import pino from 'pino'
import type { Events, Listener } from '../ports/report.ts'

/** How loud each event is; what is missing here is `debug`. */
const LEVELS: Partial<Record<keyof Events, 'info' | 'warn' | 'error'>> = {
  'message:dead': 'warn',
  'intake:paused': 'warn',
  'intake:resumed': 'info',
  'case:fenced': 'warn',
  'case:revived': 'warn',
  'trouble:met': 'error',
  'service:started': 'info',
  'service:stopping': 'info',
  'service:stopped': 'info',
}
/** The same trouble is told once in this time, with the number of times that it was not. */
const QUIET_MS = 5_000
const MAX_ID_CHARS = 128

/** JSON lines on standard error. Ids yes, content and secrets never: of an error its name, code and first line are told. */
export function logListener(level: string, now: () => number): Listener {
  const log = pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ dest: 2, sync: true }),
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
    if (name === 'trouble:met') {
      const { where, error } = event as Events['trouble:met']
      const described = describe(error)
      const silent = repeats(`${where} ${described.message}`)
      if (silent !== null)
        log[loudness]({ event: name, where, ...described, ...(silent > 0 ? { alsoTimes: silent } : {}) })
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

function describe(error: unknown): { error: string; code?: string; message: string } {
  if (!(error instanceof Error)) return { error: typeof error, message: '' }
  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {}
  const message = (error.message.split('\n', 1)[0] ?? '').replace(/\/\/[^@\s]*@/g, '//…@').slice(0, 300)
  return { error: error.name, ...code, message }
}

function shortened(event: object): object {
  return Object.fromEntries(
    Object.entries(event).map(([key, value]) => [key, typeof value === 'string' ? value.slice(0, 300) : value]),
  )
}
