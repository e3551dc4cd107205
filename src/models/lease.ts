import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ThreadRef } from '../contracts/facts/thread.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { HeldQuestion, KeptAnswer, Memo, MemoEntry, MemoLookup } from '../contracts/ports/memo.ts'
import type { Report } from '../contracts/ports/report.ts'

export interface LeaseSettings {
  /** How long an answer is remembered, in ms. */
  readonly keep: number
  /** How long a question is reserved for its asker after the last heartbeat, in ms. */
  readonly lease: number
  /** Longest entry, in bytes: a longer one is stored without its raw text, or else not at all. */
  readonly maxBytes: number
}

/** One caller's right to ask questions, among all processes: only one pays for a question while its lease is alive. */
export interface AskerLease {
  /** For each key: its answer, or the right to ask, or that another is asking. */
  look(keys: readonly string[]): Promise<readonly MemoLookup[]>
  /** Extends the leases of these questions until the returned function is called. */
  hold(keys: readonly string[]): () => void
  /** Stores answers for others, in the background, and ends their leases. An answer that is too long is not stored. */
  keep(answers: ReadonlyMap<string, MemoEntry>): void
  /** Lets the next asker ask these questions. Never rejects. */
  release(keys: readonly string[]): Promise<void>
  /** The same, unless another process waits for one of the answers, or nobody knows: false then. Never rejects. */
  abandon(keys: readonly string[]): Promise<boolean>
}

/**
 * Leases on questions, in the memo. A paid answer must not be lost because it can't be stored for others: failures after
 * a call are reported, and a lease that is not released expires.
 */
export function leases(deps: { memo: Memo; settings: LeaseSettings; clock: Clock; report: Report }) {
  const { memo, settings, clock, report } = deps
  const failed = (error: unknown) => report('error', { where: 'memo', error })
  const held = new Set<readonly HeldQuestion[]>()
  let heartbeat: NodeJS.Timeout | undefined
  /** One heartbeat for all that this process asks: a call may take ten seconds, in which each would have beaten eight times. */
  const beat = () => void memo.extend([...held].flat(), settings.lease).catch(failed)

  return {
    /** A lease for a caller that asks about this subject. */
    lease(subject: ThreadRef): AskerLease {
      const asker = randomUUID()
      const release = (keys: readonly string[]) => memo.giveUp(keys, asker).catch(failed)
      return {
        look: (keys) => memo.look(keys, asker, settings.lease, subject),
        hold(keys) {
          const mine = keys.map((key) => ({ key, asker }))
          held.add(mine)
          heartbeat ??= setInterval(beat, settings.lease / 3)
          return () => {
            held.delete(mine)
            if (held.size > 0) return
            clearInterval(heartbeat)
            heartbeat = undefined
          }
        },
        keep(answers) {
          const kept: KeptAnswer[] = []
          const tooLong: string[] = []
          for (const [key, answer] of answers) {
            const entry = bounded(answer, settings.maxBytes)
            if (entry === null) tooLong.push(key)
            else kept.push({ key, entry })
          }
          if (kept.length > 0) void memo.keep(kept, asker, settings.keep, subject).catch(failed)
          if (tooLong.length > 0) void release(tooLong)
        },
        release,
        abandon: (keys) =>
          memo.abandon(keys, asker).catch((error: unknown) => {
            failed(error)
            return false
          }),
      }
    },

    /**
     * Polls for the answer to a question that another process is asking, while `wanted` returns true. Resolves to null
     * if nobody is asking any more, or it is no longer wanted. `waitMs`: until the other's lease ends, in ms.
     */
    async watch(key: string, subject: ThreadRef, waitMs: number, wanted: () => boolean): Promise<MemoEntry | null> {
      const watcher = randomUUID()
      const began = clock()
      let leftMs = waitMs
      try {
        while (wanted()) {
          await sleep(Math.min(pauseAfter(clock() - began), leftMs + 1))
          const [looked] = await memo.look([key], watcher, settings.lease, subject)
          if (looked === undefined) break
          if (looked.state === 'known') return looked.entry
          if (looked.state === 'mine') {
            await memo.giveUp([key], watcher)
            break
          }
          leftMs = looked.waitMs
        }
      } catch (error) {
        failed(error)
      }
      return null
    },
  }
}

export type Leases = ReturnType<typeof leases>

/** Time between polls, in ms: a fifth of the time waited, so that polls are few and an answer is soon seen. */
function pauseAfter(waitedMs: number): number {
  return Math.min(500, Math.max(20, waitedMs / 5))
}

/** The entry as JSON of at most `maxBytes`; null if it is longer even without its raw text. */
function bounded(entry: MemoEntry, maxBytes: number): string | null {
  const fits = (json: string) => Buffer.byteLength(json) <= maxBytes
  const whole = JSON.stringify(entry)
  if (fits(whole)) return whole
  const shorter = JSON.stringify({ ...entry, raw: null })
  return fits(shorter) ? shorter : null
}
