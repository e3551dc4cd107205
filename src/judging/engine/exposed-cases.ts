import type { CaseRecord, Journal, JournalEntry } from '../../contracts/facts/case.ts'
import { withoutItems } from '../../contracts/facts/library.ts'
import { fairSlots } from '../../contracts/facts/slots.ts'
import type { CaseRestart, CaseStore, UnpublishedCase } from '../../contracts/ports/cases.ts'
import type { Clock } from '../../contracts/ports/clock.ts'
import type { DeletedOwners, ExposedCase } from '../../contracts/ports/erasures.ts'
import type { Memo } from '../../contracts/ports/memo.ts'
import type { ThreadStore } from '../../contracts/ports/threads.ts'
import { caseIdsOf, deadlineAnew, ERASED_WITHIN_MS, journalOfRestart, sameVersions } from './comment-erasure.ts'
import { callsIn } from './lost-calls.ts'
import type { CaseTimes } from './new-case.ts'
import { COMMENTS_AT_ONCE } from './open.ts'
import type { Protocol } from './script.ts'
import { protocolOf } from './versions.ts'

/** The cleaning is retried if the thread or the case has changed meanwhile; after this many tries something else is wrong. */
const TRIES = 100

/**
 * Cleans a case of what it was shown of subjects that have been deleted since. An unpublished case restarts on the same
 * snapshot, withheld, with the answers that don't rest on it, and once: what it was shown of other subjects goes as well. Of a
 * published one nothing is kept. What was asked about its
 * subject leaves the memo. Resolves to whether the case restarted. Repeatable.
 */
export function shownCaseCleaner(deps: {
  threads: Pick<ThreadStore, 'read' | 'weigh' | 'eraseLeft'>
  cases: Pick<CaseStore, 'unpublished' | 'withhold' | 'restartUnpublished'>
  memo: Pick<Memo, 'forget'>
  owners: DeletedOwners
  protocols: readonly Protocol[]
  clock: Clock
  settings: Pick<CaseTimes, 'cases'>
}): (shown: ExposedCase) => Promise<boolean> {
  const { threads, cases, memo, owners, clock, settings } = deps
  const protocols = new Map(deps.protocols.map((protocol) => [protocol.name, protocol]))

  /** What the case restarts with; null if it holds nothing of deleted subjects, or has restarted already. */
  async function restartOf(found: UnpublishedCase, version: number): Promise<CaseRestart | null> {
    const { record, journal } = found
    const all = [...journal.values()].flatMap(({ shown = [] }) => shown.map(({ owner }) => owner))
    const deleted = await owners.deletedAmong([...new Set(all)])
    if (deleted.size === 0) return null
    const protocol = protocolOf(protocols, record)
    const restarted: CaseRecord = {
      ...record,
      // Of an earlier revision, which may have been shown the same.
      carry: null,
      restartedAtEpoch: found.epoch + 1,
      deadline: deadlineAnew(record, clock(), settings.cases.deadline),
    }
    const kept =
      protocol !== undefined && sameVersions(record, protocol)
        ? await journalOfRestart(protocol, found, restarted, new Set(), withoutOwned(journal))
        : { journal: new Map<string, JournalEntry>(), lostCalls: callsIn(journal) }
    return { record: restarted, ...kept, version, seen: null, withheld: true }
  }

  const slots = fairSlots({ all: () => COMMENTS_AT_ONCE })

  async function clean({ ref, protocol, caseId }: ExposedCase): Promise<boolean> {
    // Before the case asks again: an answer of a question that showed it may quote it. As long as a call with such a
    // question may be in flight, no answer about the subject is kept.
    await memo.forget(ref, settings.cases.deadline)
    for (let tries = 0; tries < TRIES; tries++) {
      const state = await threads.read(ref)
      const openIds = [...(state?.revisions.values() ?? [])].flatMap(({ openId }) => openId ?? [])
      const found = openIds.includes(caseId) ? await cases.unpublished(caseId) : null
      if (found !== null && state !== null) {
        const restart = await restartOf(found, state.version)
        if (restart === null) return false
        const done = await cases.restartUnpublished(found, restart)
        if (done === 'restarted') return true
        // One that a publisher has may be on its way to receivers already: what waits for these is erased with what is left of it.
        if (done === 'changed') await cases.withhold(caseId, found.run, ERASED_WITHIN_MS)
      } else {
        const withoutCarry = (name: string, carry: unknown) => (name === protocol ? null : carry)
        const left = { openIds, without: withoutCarry, caseId: caseIdsOf(ref, protocols), now: clock() }
        if (await threads.eraseLeft(ref, left)) return false
      }
    }
    throw new Error(`the case ${caseId} kept changing while it was cleaned; gave up after ${TRIES} tries`)
  }

  return async (shown) => {
    const size = 1 + (await threads.weigh(shown.ref)).weight
    const whose = { name: shown.ref.tenant, part: '' }
    return slots.run(whose, new AbortController().signal, () => clean(shown), size)
  }
}

/**
 * The answers, each lookup's without all that is anybody's content, so that a case goes back once, whichever other account is deleted while
 * it is judged: were the others kept, each account whose content it was shown could send it back once more.
 */
function withoutOwned(journal: Journal): Journal {
  return new Map(
    [...journal].map(([key, { shown = [], ...entry }]) => {
      return [key, shown.length === 0 ? entry : { ...entry, answer: withoutItems(entry.answer, shown) }]
    }),
  )
}
