import { closeSync, openSync, writeSync } from 'node:fs'
import type { UnderstudyFault } from './faults.ts'

/** One call, from the arrival of its whole request. */
export type CallRecord = {
  /** Counts the calls of one understudy from 1. */
  readonly seq: number
  /** The request's `x-gavel-call` header. */
  readonly call: string | null
  /** The stage that the question names; `embeddings` for those; null when the request could not be read. */
  readonly stage: string | null
  /** A digest of its messages: the same question has the same one. Null where there are none. */
  readonly question: string | null
  /** Arrival, epoch milliseconds. */
  readonly at: number
  /** When the response was handed over, or the client had gone; null while the call is open. */
  readonly endedAt: number | null
  /** `failed`: an error status or a reset; `aborted`: the client went first, or the understudy closed. */
  readonly status: 'answered' | 'failed' | 'aborted' | null
  readonly fault: UnderstudyFault | null
  /** Of a call that its dialect refused: the parameter. */
  readonly refused?: string
  readonly promptTokens: number
  readonly completionTokens: number
}

/** What is known of a call on arrival. */
type Arrival = Pick<CallRecord, 'call' | 'stage' | 'question' | 'promptTokens' | 'refused'>
/** What its end adds. */
type Ending = Pick<CallRecord, 'fault' | 'completionTokens'> & {
  readonly status: 'answered' | 'failed' | 'aborted'
}

/** How many calls are kept in memory, the newest ones; the file keeps all. */
const MOST_KEPT = 100_000

/**
 * Keeps the calls, and appends them to `file` as JSON Lines when one is given: a line `"event": "arrived"` before
 * `arrived` returns, a line `"event": "ended"` before `ended` does, each a whole CallRecord. Both are written
 * synchronously, so that whatever an answer's reader goes through later, its call is on record.
 */
export function openCallLog(file: string | undefined, now: () => number) {
  const descriptor = file === undefined ? undefined : openSync(file, 'a')
  const records = new Map<number, CallRecord>()
  let last = 0
  let open = true

  function note(event: 'arrived' | 'ended', record: CallRecord) {
    records.set(record.seq, record)
    if (descriptor !== undefined && open) writeSync(descriptor, `${JSON.stringify({ event, ...record })}\n`)
  }

  return {
    arrived(arrival: Arrival): number {
      const seq = ++last
      const unended = { endedAt: null, status: null, fault: null, completionTokens: 0 }
      note('arrived', { seq, ...arrival, at: now(), ...unended })
      records.delete(seq - MOST_KEPT)
      return seq
    },
    /** The first end of a call counts; later ones are not noted. */
    ended(seq: number, ending: Ending) {
      const record = records.get(seq)
      if (record?.status === null) note('ended', { ...record, ...ending, endedAt: now() })
    },
    calls(): CallRecord[] {
      return [...records.values()]
    },
    close() {
      if (descriptor !== undefined && open) closeSync(descriptor)
      open = false
    },
  }
}
