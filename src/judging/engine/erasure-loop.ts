import type { Erasures } from '../../contracts/ports/erasures.ts'
import type { Library } from '../../contracts/ports/library.ts'
import type { Report } from '../../contracts/ports/report.ts'
import type { StageQueues } from '../../contracts/ports/stage-queues.ts'
import type { shownCaseCleaner } from './exposed-cases.ts'

export interface EraserSettings {
  /** This process's name, unique among all. */
  readonly name: string
  /** Most cases, of all processes, that begin again in a second because of what they were shown. */
  readonly restartsPerSecond: number
  /** How long a deleted owner is still left out of lookups when it has been erased everywhere, in ms: longer than any lasts. */
  readonly keepTombstone: number
}

/** Another process erases when the one that did has not said for this long that it is alive, in ms. */
const LEASE_MS = 600
/** One run ends after this time, in ms, so that the lease is renewed; the next goes on. */
const RUN_MS = 1_000
/** How often what a damaged shelf holds up is tried again, in ms. */
const DAMAGED_RETRY_MS = 30_000
/** Owners whose shelves are erased in one rewrite. */
const OWNERS_AT_ONCE = 1_000
/** Owners, and cases of one owner, whose cases are cleaned in parallel. */
const [CASE_OWNERS_AT_ONCE, CASES_AT_ONCE] = [20, 50]
/**
 * How often a process looks whether its own library holds anything from subjects that were erased lately, in ms, and when it starts: its
 * folder may be a copy, or one that was put back.
 */
const COPIES_EVERY_MS = 3_600_000
/**
 * A process whose library is empty takes it that there is none when no other has found one for this long, in ms: all look several
 * times a second, but after Redis was emptied one without the library's volume may look first.
 */
const EMPTY_MS = 60_000
const EXPIRE_EVERY_MS = 60_000

/**
 * Erases from shelves and cases what was deleted, and lets the cleaned cases go on at a rate. Each is to be run again and
 * again, in every process that has the library; one at a time does the work.
 */
export function erasureLoop(deps: {
  erasures: Erasures
  library: Pick<Library, 'forget' | 'holdsAnything'>
  clean: ReturnType<typeof shownCaseCleaner>
  queues: Pick<StageQueues, 'push'>
  report: Report
  settings: EraserSettings
}) {
  const { erasures, library, clean, queues, report, settings } = deps
  const { name, restartsPerSecond } = settings
  let releasedAt = Number.NEGATIVE_INFINITY
  let expiredAt = Number.NEGATIVE_INFINITY
  let copiesAt = Number.NEGATIVE_INFINITY
  /** Since when nobody, as far as this process knows, has found anything in a library; null if somebody has. */
  let emptySince: number | null = null
  /** How many owners, the first that wait, were erased from all shelves but the damaged ones, and until when they are passed over. */
  let passedOver = { owners: 0, until: 0 }

  /** Cleans an owner's cases, some side by side, as far as the time allows. */
  async function cleanAll(owner: string, until: number): Promise<void> {
    for (let left = 1; left > 0 && performance.now() < until; ) {
      const shown = await erasures.shownTo(owner, CASES_AT_ONCE)
      const cleaning = await Promise.allSettled(shown.map(clean))
      const cleaned = shown.filter((_, at) => cleaning[at]?.status === 'fulfilled')
      left = await erasures.casesCleaned(owner, cleaned)
      const restarted = cleaning.filter((one) => one.status === 'fulfilled' && one.value).length
      if (cleaned.length > 0) report('cases:cleaned', { cases: cleaned.length, restarted })
      for (const one of cleaning) if (one.status === 'rejected') throw one.reason
    }
  }

  /** Whether what this process finds in its library is all there is. */
  async function knowsShelves(): Promise<boolean> {
    const holds = await library.holdsAnything()
    const knows = await erasures.knowsShelves(holds)
    if (holds || !knows) emptySince = null
    else emptySince ??= performance.now()
    return knows && (emptySince === null || performance.now() - emptySince >= EMPTY_MS)
  }

  /** Erases from this process's own library what was erased already, from it or from another copy. */
  async function eraseAgain(): Promise<void> {
    if (performance.now() - copiesAt < COPIES_EVERY_MS) return
    for await (const owners of erasures.deletedOwners()) {
      if (owners.length === 0) continue
      const { erased, owned } = await library.forget(owners, 'again')
      if (erased > 0) report('shelves:erased', { subjects: owned.size, items: erased })
    }
    copiesAt = performance.now()
  }

  /** As many as the time since the last call allows, and no more than a second's. */
  async function letGoOn(): Promise<void> {
    const seconds = Math.min(1, (performance.now() - releasedAt) / 1000)
    const most = Math.floor(seconds * restartsPerSecond)
    if (most < 1) return
    releasedAt = performance.now()
    const released = await erasures.release(most)
    if (released.length > 0) await queues.push(released)
  }

  return {
    async shelves(): Promise<void> {
      if (!(await knowsShelves())) return
      const until = performance.now() + RUN_MS
      if (performance.now() >= passedOver.until) passedOver = { owners: 0, until: performance.now() + DAMAGED_RETRY_MS }
      let damage: Error | undefined
      while (performance.now() < until) {
        // Who leads next begins at the first of them.
        if (!(await erasures.lead('shelves', name, LEASE_MS))) {
          passedOver = { owners: 0, until: 0 }
          break
        }
        const owners = await erasures.onShelves(OWNERS_AT_ONCE, passedOver.owners)
        if (owners.length === 0) break
        const { erased, owned, damaged } = await library.forget(owners)
        if (erased > 0) report('shelves:erased', { subjects: owned.size, items: erased })
        if (damaged.length === 0) await erasures.shelvesErased(owners, owned)
        else {
          passedOver = { ...passedOver, owners: passedOver.owners + owners.length }
          damage = damaged[0]
        }
      }
      if (damage !== undefined) throw damage
      if (passedOver.owners === 0) await eraseAgain()
    },
    async cases(): Promise<void> {
      if (!(await erasures.lead('cases', name, LEASE_MS))) return
      const until = performance.now() + RUN_MS
      await Promise.all((await erasures.inCases(CASE_OWNERS_AT_ONCE)).map((owner) => cleanAll(owner, until)))
      await letGoOn()
      if (performance.now() - expiredAt < EXPIRE_EVERY_MS) return
      expiredAt = performance.now()
      await erasures.expire(settings.keepTombstone)
    },
  }
}
