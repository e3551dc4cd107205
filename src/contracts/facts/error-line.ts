import { entryOf } from './entry-of.ts'
import { printableJson } from './printable.ts'

/**
 * Describes a bug to a person in one line: the part of the error that may be shown, and the place in our code that it came from;
 * with `stack` the whole stack. Nothing from its causes is included.
 */
export function unexpected(error: unknown, { stack }: { stack: boolean }): string {
  const { error: name, code, message } = describeError(error)
  const said = `${name}${code === undefined ? '' : ` (${code})`}: ${message}`
  const frames = error instanceof Error ? (error.stack ?? '').split('\n').filter((line) => /^ {4}at /.test(line)) : []
  if (stack) return [said, ...frames].join('\n')
  const [place] = frames.flatMap((frame) => (frame.includes('node_modules') ? [] : (OUR_PLACE.exec(frame) ?? [])))
  return place === undefined ? said : `${said} (${place})`
}
const OUR_PLACE = /(?:src|consumers|producers|config)\/[\w./-]+:\d+/

/** What to tell a person of an error that the machine is to blame for, not Gavel; null for any other. */
export function machineFault(error: unknown): string | null {
  if (!(error instanceof Error)) return null
  const { name, code, path } = error as Error & { readonly code?: unknown; readonly path?: unknown }
  if (name === 'RecordFull') return `The record cannot be written: ${describeError(error).message}. Free space first.`
  const meaning = typeof code === 'string' ? entryOf(MACHINE_FAULTS, code) : undefined
  if (meaning === undefined) return null
  return typeof path === 'string' ? `${path}: ${meaning}` : meaning
}
const MACHINE_FAULTS: Readonly<Record<string, string>> = {
  ENOSPC: 'No space is left on the disk. Free some first.',
  EDQUOT: "The user's disk quota is used up. Free space first.",
  EROFS: 'The file system is read-only.',
  EMFILE: 'Too many files are open. Raise the limit (ulimit -n).',
}

/** The last line of a service that could not start, or broke: in the form of its log, so that whoever collects that reads it. */
export function failedServiceLine(why: string, writer: { process: string; version: string }, now: Date): string {
  return printableJson(
    JSON.stringify({ level: 'error', time: now.toISOString(), ...writer, event: 'service:failed', why }),
  )
}

/** What may be shown of an error to anyone: its name, its code and the first line of its message. */
export function describeError(error: unknown): { error: string; code?: string; message: string } {
  if (!(error instanceof Error)) return { error: typeof error, message: '' }
  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code.slice(0, MAX_CODE_CHARS) } : {}
  const message = error.message
    .slice(0, MAX_READ_CHARS)
    .replace(QUOTED_BY_PARSER, 'what was read is no JSON')
    .replace(CREDENTIALS, '//…@')
    .split('\n', 1)[0]
  return { error: error.name, ...code, message: (message ?? '').slice(0, MAX_MESSAGE_CHARS) }
}

const MAX_CODE_CHARS = 64
const MAX_MESSAGE_CHARS = 300
/** A message may hold what strangers wrote, and is searched in time quadratic in this. */
const MAX_READ_CHARS = 4_000
/** `JSON.parse` quotes the text that it can't parse. */
const QUOTED_BY_PARSER = /(?:Unexpected token .*|".*) is not valid JSON/s
const CREDENTIALS = /\/\/[^@\s/]*@/g
