import { setTimeout as sleep } from 'node:timers/promises'
import { relayGeneration } from '../../src/contracts/facts/relay-address.ts'
import type { JetstreamPosition } from '../../src/contracts/ports/jetstream.ts'
import { type RelayEvent, readFrame } from './frame.ts'
import { RelayEnded, type RelayStream } from './relay.ts'
import { eventTaker, type TakerParts } from './taker.ts'

/** Frames that are taken together, how long they are waited for, and how long others are gathered after the first, in ms. */
const [AT_ONCE, WAIT_MS, GATHER_MS] = [500, 1_000, 50]
/** The first and the longest wait before another connection, in ms. */
const [FIRST_WAIT_MS, LONGEST_WAIT_MS] = [500, 30_000]
/** How often it is asked whether this process may read, in ms, while it may not. */
const ASK_MS = 1_000
/** A relay whose first event is this much later than the last one that was taken, in ms, no longer has what lies between. */
const GAP_MS = 60_000
/** Events that were this young when they were taken, in ms, are the newest that there are: after them nothing may have been written. */
const LIVE_MS = 10_000
/** Longest part of a relay's own words that is shown, in characters. */
const MOST_SAID = 300

export interface JetstreamParts extends TakerParts {
  /** The streams, which are tried in turn. */
  readonly urls: readonly string[]
  /** Opens the stream at this address from an event's number, or µs since 1970; null: from now on. */
  readonly open: (url: string, cursor: number | null) => Promise<RelayStream>
  /** In ms: how far back it begins, how far it goes back at each connection, and how long a stop may take. */
  readonly times: Readonly<Record<'since' | 'rewind' | 'drain', number>>
  /** Whether only some accounts are read: then long pauses are usual. */
  readonly isNarrow: boolean
  /** Why nothing more should come in now, in words; null while it may. */
  readonly pressure: () => string | null
}

/** Reads one relay at a time, the next one when it fails, and in one process at a time. */
export function jetstreamReader(parts: JetstreamParts) {
  const { urls, lead, pressure, clock, report } = parts
  const stopping = new AbortController()
  const { signal } = stopping
  const taker = eventTaker(parts, signal)
  let [nth, failures, isTooOld] = [0, 0, false]
  let state: 'standby' | 'away' | 'reads' = 'standby'
  /** How far the last event was behind when it was taken, in ms. */
  let behindMs = 0
  let pausedFor: string | null = null

  /** Rejects once it is to stop. */
  const pause = (ms: number) => sleep(ms, undefined, { signal })
  const current = () => urls[nth % urls.length] ?? ''

  async function run(): Promise<void> {
    while (!signal.aborted) {
      try {
        if (await mayRead()) await readFrom(current())
        else await pause(ASK_MS)
      } catch (error) {
        if (!signal.aborted) await waitAfter(error).catch(() => {})
      } finally {
        if (state === 'reads') state = 'away'
      }
    }
  }

  /** Whether this process may read now; says when the backlog is against it. */
  async function mayRead(): Promise<boolean> {
    const leads = await lead()
    if (!leads) state = 'standby'
    else if (state === 'standby') state = 'away'
    const reason = pressure()
    if (reason !== null && pausedFor === null) report('jetstream:paused', { reason })
    if (reason === null && pausedFor !== null) report('jetstream:resumed', {})
    pausedFor = reason
    return leads && reason === null
  }

  async function readFrom(url: string): Promise<void> {
    const generation = relayGeneration(url) ?? 'v1'
    const from = await taker.resume()
    const cursor = cursorFor(url, from)
    let due = cursor !== null && cursor === from?.seq ? cursor : null
    const stream = await parts.open(url, cursor)
    isTooOld = false
    try {
      report('jetstream:connected', { relay: new URL(url).host, from: from === null ? 'now' : isoOf(from.time) })
      state = 'reads'
      const gapBefore = gapsBehind(from, parts.isNarrow)
      while (!signal.aborted && (await mayRead())) {
        const frames = await stream.take(AT_ONCE, WAIT_MS)
        if (frames.length === 0) continue
        const events = frames.flatMap((frame) => (frame === null ? [] : [readFrame(generation, frame)]))
        if (due !== null && hasOtherNumbers(events, due))
          throw new RelayEnded('it no longer has the numbers that it gave', 'CursorTooOld')
        if (events.some((event) => 'time' in event)) due = null
        for (const event of events) {
          const gap = gapBefore(event)
          if (gap !== null) report('jetstream:gap', { ...gap, advice: GAP })
        }
        await taker.take(events, url, frames.length - events.length)
        const reached = taker.position?.time ?? 0
        if (reached > 0) behindMs = clock() - reached / 1_000
        // A relay that ends before it has sent anything new is asked less and less often.
        if (reached > (from?.time ?? 0)) failures = 0
        for (const event of events)
          if (event.kind === 'error')
            throw new RelayEnded(`${event.name}: ${event.message}`.slice(0, MOST_SAID), event.name)
        if (frames.length < AT_ONCE) await pause(GATHER_MS)
      }
    } finally {
      stream.close()
    }
  }

  /** Of the relay that numbered the last event, that number; else the time, and some seconds before it. */
  function cursorFor(url: string, from: JetstreamPosition | null): number | null {
    const { since, rewind } = parts.times
    if (from === null) return since === 0 ? null : (clock() - since) * 1_000
    if (!isTooOld && from.seq !== null && from.relay === url) return from.seq
    return Math.max(0, from.time - rewind * 1_000)
  }

  async function waitAfter(error: unknown): Promise<void> {
    if (error instanceof RelayEnded && error.reason === 'CursorTooOld' && !isTooOld) {
      // By time it begins where it can, and says so.
      isTooOld = true
      return
    }
    const relay = new URL(current()).host
    nth++
    const most = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** failures++)
    const waitMs = Math.round(most * (0.5 + Math.random() / 2))
    if (error instanceof RelayEnded) report('jetstream:disconnected', { relay, why: error.message, waitMs })
    else report('error', { where: 'jetstream', error })
    await pause(waitMs)
  }

  const running = run()
  return {
    /** Tells how it stands. */
    async watch(): Promise<void> {
      if (state === 'standby') return report('jetstream:watched', { reads: null, lagSeconds: 0 })
      const ageMs = taker.position === null ? 0 : clock() - taker.position.time / 1_000
      const isLive = state === 'reads' && behindMs < LIVE_MS
      const lagSeconds = Math.max(0, isLive ? behindMs : ageMs) / 1_000
      report('jetstream:watched', { reads: state === 'reads', lagSeconds })
    },
    /** Resolves when what was being sent is on the topics and noted, or was given up. */
    async close(): Promise<void> {
      stopping.abort()
      await Promise.race([running, sleep(parts.times.drain, undefined, { ref: false })])
    },
  }
}

const GAP =
  'The relay no longer has what lies between: those posts, edits and deletions are not read. Name one that keeps more in jetstream.urls, or erase by hand what has to go. docs/runbooks/GavelJetstreamGap.md'

/**
 * Tells, at the first event that has a time, what is missing before it: where all accounts are read it can't be much later than what was
 * taken last.
 */
function gapsBehind(from: JetstreamPosition | null, isNarrow: boolean) {
  let [isOver, isTold] = [from === null, false]
  return (event: RelayEvent) => {
    if (event.kind === 'info' && event.name === 'OutdatedCursor') isTold = true
    if (isOver || from === null || !('time' in event)) return null
    isOver = true
    const ms = (event.time - from.time) / 1_000
    if (!isTold && (isNarrow || ms <= GAP_MS)) return null
    return { from: isoOf(from.time), to: isoOf(event.time), seconds: Math.max(0, Math.round(ms / 1_000)) }
  }
}

/** Whether a relay that was asked for the event of this number, which it has sent before, begins with another: it was set up anew. */
function hasOtherNumbers(events: readonly RelayEvent[], due: number): boolean {
  const first = events.find((event) => 'time' in event)
  if (first !== undefined && first.seq !== due) return true
  return events.some((event) => event.kind === 'info' && event.name === 'FutureCursor')
}

function isoOf(micros: number): string {
  return new Date(micros / 1_000).toISOString()
}
