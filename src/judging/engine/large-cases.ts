import { scopeOf } from '../../contracts/facts/verdict-id.ts'
import type { CaseStore } from '../../contracts/ports/cases.ts'
import type { Clock } from '../../contracts/ports/clock.ts'

/** From this length of a case's record on, in characters or bytes, it counts: shorter ones in 256 slots together have less than {@link MOST}. */
const LARGE = 62_500
/** As many of them may be used at a time in a process, but always one: a process has some 190 MB for all that it does. */
const MOST = 16_000_000
/** Who has not come back for so long, in ms, waits for no room any more. */
const WAITS_MS = 6_000

/** The use of a case, until it ends. */
export type LargeCaseTurn = { end(): void }

/**
 * The large cases of a process, which it can't have in memory all at once: a thread of as many comments as may be kept, each as
 * long as may be, is ten megabytes, and a few accounts may write in dozens of threads.
 */
export interface LargeCases {
  /** Begins to use a case; null if others that are used leave no room for it. `length` is its record's, if it is known. */
  takeTurn(caseId: string, length?: number): Promise<LargeCaseTurn | null>
}

const NOTHING: LargeCaseTurn = { end: () => {} }

/**
 * Who was refused comes back after some seconds. Meanwhile each other tenant may begin one more case, and then waits until that one
 * has begun: else a tenant with many would take all room that becomes free.
 */
export function largeCases(cases: Pick<CaseStore, 'recordLength'>, clock: Clock): LargeCases {
  const used = new Map<string, { readonly length: number; users: number }>()
  /** When tenants were refused; and those that have begun one since. */
  const waiting = new Map<string, number>()
  const passed = new Set<string>()
  let total = 0

  /** Whether another waits who has had no turn since: of those who have, each would wait for the other. */
  function isAwaited(tenant: string): boolean {
    for (const [name, at] of waiting) if (clock() - at > WAITS_MS) waiting.delete(name)
    return [...waiting.keys()].some((name) => name !== tenant && !passed.has(name))
  }

  function again(caseId: string): LargeCaseTurn | null {
    const known = used.get(caseId)
    if (known === undefined) return null
    known.users++
    return {
      end() {
        if (--known.users > 0) return
        used.delete(caseId)
        total -= known.length
      },
    }
  }

  return {
    async takeTurn(caseId, given) {
      const known = again(caseId)
      if (known !== null) return known
      const length = given ?? (await cases.recordLength(caseId))
      if (length < LARGE) return NOTHING
      const meanwhile = again(caseId)
      if (meanwhile !== null) return meanwhile
      const { tenant } = scopeOf(caseId)
      const isFull = total > 0 && total + length > MOST
      if (isFull || (passed.has(tenant) && isAwaited(tenant))) {
        waiting.set(tenant, clock())
        return null
      }
      waiting.delete(tenant)
      if (isAwaited(tenant)) passed.add(tenant)
      else passed.clear()
      used.set(caseId, { length, users: 0 })
      total += length
      return again(caseId)
    },
  }
}
