import { z } from 'zod'
import type { RelayGeneration } from '../../src/contracts/facts/relay-address.ts'

/** The collection of posts and replies. */
export const POSTS = 'app.bsky.feed.post'

const did = z.string().regex(/^did:[a-z]+:[A-Za-z0-9._:%-]{1,300}$/)
const rkey = z.string().regex(/^[A-Za-z0-9._:~-]{1,300}$/)
/** A timestamp identifier: 13 characters of a sortable base 32, of which the first 11 are microseconds. */
const rev = z.string().regex(/^[2-7a-j][2-7a-z]{12}$/)
const number = z.int().min(0)

const change = { rev, operation: z.enum(['create', 'update', 'delete']), collection: z.string(), rkey }
const account = z.object({ active: z.boolean(), status: z.string().optional() })

/** Events of the first generation. */
const bareEvent = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('commit'),
    did,
    time_us: number,
    commit: z.object({ ...change, record: z.unknown().optional() }),
  }),
  z.object({ kind: z.literal('account'), did, time_us: number, account }),
  z.object({ kind: z.literal('identity'), time_us: number }),
])

const TYPE = 'network.bsky.jetstream.subscribeEvents#'
const at = { seq: number.max(1e15 - 1), time: z.string() }

/** Frames of the second one. */
const frame = z.discriminatedUnion('$type', [
  z.object({ $type: z.literal('error'), error: z.string(), message: z.string().optional() }),
  z.object({
    $type: z.literal('message'),
    payload: z.discriminatedUnion('$type', [
      z.object({ $type: z.literal(`${TYPE}commit`), did, ...at, ...change, record: z.unknown().optional() }),
      z.object({ $type: z.literal(`${TYPE}account`), did, ...at, account }),
      z.object({ $type: z.literal(`${TYPE}identity`), ...at }),
      z.object({ $type: z.literal(`${TYPE}sync`), ...at }),
      z.object({ $type: z.literal(`${TYPE}info`), name: z.string(), message: z.string().optional() }),
    ]),
  }),
])

/** Where an event stands in its relay's stream: when the relay saw it, µs since 1970, and its number there. */
interface EventPlace {
  readonly time: number
  readonly seq: number | null
}

/** A post, a reply or another record was written, changed or deleted. */
export interface RecordChange extends EventPlace {
  readonly kind: 'commit'
  readonly did: string
  readonly rev: string
  readonly operation: 'create' | 'update' | 'delete'
  readonly collection: string
  readonly rkey: string
  /** As it came: anybody may have written it. */
  readonly record: unknown
}

interface AccountChange extends EventPlace {
  readonly kind: 'account'
  readonly did: string
  readonly active: boolean
  readonly status: string | null
}

/** What a frame of a relay says; `passed`: nothing that is read here. */
export type RelayEvent =
  | RecordChange
  | AccountChange
  | ({ readonly kind: 'passed' } & EventPlace)
  | { readonly kind: 'info' | 'error'; readonly name: string; readonly message: string }
  | { readonly kind: 'invalid' }

const INVALID: RelayEvent = { kind: 'invalid' }

/** Reads a frame, whatever it holds. */
export function readFrame(generation: RelayGeneration, text: string): RelayEvent {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return INVALID
  }
  return generation === 'v1' ? bareEventOf(json) : framedEventOf(json)
}

function bareEventOf(json: unknown): RelayEvent {
  const read = bareEvent.safeParse(json)
  if (!read.success) return INVALID
  const { data } = read
  const place = { time: data.time_us, seq: null }
  if (data.kind === 'identity') return { kind: 'passed', ...place }
  if (data.kind === 'account') return accountOf(data.did, data.account, place)
  return { kind: 'commit', did: data.did, ...data.commit, record: data.commit.record, ...place }
}

function framedEventOf(json: unknown): RelayEvent {
  const read = frame.safeParse(json)
  if (!read.success) return INVALID
  const { data } = read
  if (data.$type === 'error') return { kind: 'error', name: data.error, message: data.message ?? '' }
  const { payload } = data
  if (payload.$type === `${TYPE}info`) return { kind: 'info', name: payload.name, message: payload.message ?? '' }
  const time = microseconds(payload.time)
  if (time === null) return INVALID
  const place = { time, seq: payload.seq }
  if (payload.$type === `${TYPE}account`) return accountOf(payload.did, payload.account, place)
  if (payload.$type !== `${TYPE}commit`) return { kind: 'passed', ...place }
  const { did, rev, operation, collection, rkey, record } = payload
  return { kind: 'commit', did, rev, operation, collection, rkey, record, ...place }
}

function accountOf(did: string, { active, status }: z.infer<typeof account>, place: EventPlace): RelayEvent {
  return { kind: 'account', did, active, status: status ?? null, ...place }
}

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.(\d{1,9}))?(?:Z|[+-]\d\d:\d\d)$/

/** µs since 1970 of an RFC 3339 time; null if it is none. */
function microseconds(time: string): number | null {
  const read = INSTANT.exec(time)
  const ms = read === null ? Number.NaN : Date.parse(time)
  // Date knows no microseconds.
  return ms >= 0 ? ms * 1_000 + Number((read?.[1] ?? '').padEnd(6, '0').slice(3, 6)) : null
}

const DIGITS = '234567abcdefghijklmnopqrstuvwxyz'

/** When a revision was made, as its repository says, ms since 1970. */
export function timeOfRev(rev: string): number {
  let micros = 0
  for (const digit of rev.slice(0, 11)) micros = micros * 32 + DIGITS.indexOf(digit)
  return Math.floor(micros / 1_000)
}
