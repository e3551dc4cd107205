import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ThreadRef } from '../contracts/facts/thread.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { KeptAnswer, LeasedQuestion, Memo, MemoEntry, MemoLookup } from '../contracts/ports/memo.ts'
import type { Report } from '../contracts/ports/report.ts'

export interface LeaseSettings {
  /** How long an answer is remembered, in ms. */
  readonly keep: number
  /** How long a lease runs after it was taken or last renewed, in ms. */
  readonly lease: number
  /** Longest entry, in bytes: a longer one is stored without its raw text, or else not at all. */
  readonly maxBytes: number
}

/** The leases of one ask on its questions: among all processes, only the holder of a question's lease pays for the question. */
export interface QuestionLease {
  /** For each key: its answer, or a lease, or that another holder has the lease. `overwrite`: as in the memo. */
  lookUp(keys: readonly string[], how?: { readonly overwrite: boolean }): Promise<readonly MemoLookup[]>
  /** Renews the leases of these questions until the returned function is called. */
  startRenewing(keys: readonly string[]): () => void
  /** Stores answers for others, in the background, and ends their leases. An answer that is too long is not stored. */
  keep(answers: ReadonlyMap<string, MemoEntry>): void
  /** Ends the leases of these questions, so that others may ask them. Never rejects. */
  release(keys: readonly string[]): Promise<void>
  /** The same, unless another process waits for one of the answers, or nobody knows: false then. Never rejects. */
  releaseUnlessAwaited(keys: readonly string[]): Promise<boolean>
}

/**
 * Leases on questions, in the memo. A paid answer must not be lost because it can't be stored for others: failures after
 * a call are reported, and a lease that is not released expires.
 */
export function leases(deps: { memo: Memo; settings: LeaseSettings; clock: Clock; report: Report }) {
  const { memo, settings, clock, report } = deps
  const failed = (error: unknown) => report('error', { where: 'memo', error })
  const renewing = new Set<readonly LeasedQuestion[]>()
  let heartbeat: NodeJS.Timeout | undefined
  /** One step for all that this process asks: a call may take ten seconds, in which each lease alone would be renewed six times. */
  const renewAll = () => void memo.renew([...renewing].flat(), settings.lease).catch(failed)

  return {
    /** The leases of an ask about this subject, under a holder's name of its own. */
    lease(subject: ThreadRef): QuestionLease {
      const holder = randomUUID()
      const release = (keys: readonly string[]) => memo.release(keys, holder).catch(failed)
      return {
        lookUp: (keys, how) => memo.lookUp(keys, holder, settings.lease, subject, how),
        startRenewing(keys) {
          const own = keys.map((key) => ({ key, holder }))
          renewing.add(own)
          heartbeat ??= setInterval(renewAll, settings.lease / 3)
          return () => {
            renewing.delete(own)
            if (renewing.size > 0) return
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
          if (kept.length > 0) void memo.keep(kept, holder, settings.keep, subject).catch(failed)
          if (tooLong.length > 0) void release(tooLong)
        },
        release,
        releaseUnlessAwaited: (keys) =>
          memo.releaseUnlessAwaited(keys, holder).catch((error: unknown) => {
            failed(error)
            return false
          }),
      }
    },

    /**
     * Polls for the answer to a question that another process is asking, while `isAwaited` returns true. Resolves to null
     * if no process is asking any more, or the answer is no longer awaited. `otherExpiresInMs`: until the other's lease expires.
     */
    async watch(
      key: string,
      subject: ThreadRef,
      otherExpiresInMs: number,
      isAwaited: () => boolean,
    ): Promise<MemoEntry | null> {
      const holder = randomUUID()
      const began = clock()
      let expiresInMs = otherExpiresInMs
      try {
        while (isAwaited()) {
          await sleep(Math.min(pauseAfter(clock() - began), expiresInMs + 1))
          const [looked] = await memo.lookUp([key], holder, settings.lease, subject)
          if (looked === undefined) break
          if (looked.state === 'known') return looked.entry
          if (looked.state === 'leased') {
            await memo.release([key], holder)
            break
          }
          expiresInMs = looked.expiresInMs
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
