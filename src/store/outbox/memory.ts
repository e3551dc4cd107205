import { redactWords } from '../../contracts/facts/redact-words.ts'
import type { ThreadRef } from '../../contracts/facts/thread.ts'
import { revisionIn } from '../../contracts/facts/verdict-id.ts'
import type { Outbox, OutboxEntry } from '../../contracts/ports/cases.ts'
import type { Clock } from '../../contracts/ports/clock.ts'
import { publish } from '../../judging/threads/revisions.ts'
import type { Thread } from '../../judging/threads/thread.ts'
import { type CaseTable, threadOf } from '../case/memory-table.ts'
import type { MemoryErasures } from '../erasure/memory.ts'
import type { ThreadTable } from '../thread/memory-table.ts'

// The twin of redis.ts and the Lua beside it: test/contracts/outbox.ts holds both to the same promises.

/** An erased entry is waited for this many times longer than an entry that another publisher can adopt and send. */
const ERASED_WAIT = 6

type Unnumbered<Entry> = Entry extends OutboxEntry ? Omit<Entry, 'id'> : never
type Verdict = Extract<OutboxEntry, { kind: 'verdict' }>

/** A verdict that a publisher has, by its case. */
interface OnTheWay {
  readonly ref: ThreadRef
  readonly protocol: string
  readonly caseId: string
}

/** An entry that was handed to a publisher. */
interface InHand {
  readonly entry: OutboxEntry
  readonly publisher: string
  /** Another publisher has had it, too. */
  readonly isAdopted: boolean
  /** The publisher's last heartbeat, ms. */
  readonly at: number
  /** The case of the verdict, if it was erased meanwhile. */
  readonly erased: string | null
}

/** Outbox entries, for the other memory stores of this Gavel to write to. */
export interface OutboxEntries {
  /** Returns the entry's id. */
  put(entry: Unnumbered<OutboxEntry>): string
  /** Withdraws a case's verdict; `in-flight` if a publisher has it and may still send it. */
  withdraw(entry: string, caseId: string): 'taken-back' | 'in-flight'
  /** Whether it waits or a publisher has it, and nobody has withdrawn it. */
  has(entry: string): boolean
  /** A verdict that a person brought about: the same for it, by its own id. */
  putDecided(verdict: OnTheWay, entry: Unnumbered<Verdict>): void
  withdrawDecided(id: string): 'taken-back' | 'in-flight'
  /** Takes the words out of it, unless a publisher has it. */
  stripDecided(id: string): void
  /** Dead letters that wait or that a publisher has. */
  countLetters(): number
  /** ms since 1970 */
  now(): number
  /** Adds an entry after the verdict that a publisher has was published. */
  follow(verdict: OnTheWay, entry: Unnumbered<Verdict>): void
  /** Verdicts that people brought about, until they are published, by their ids. */
  readonly decided: Map<string, { readonly verdict: OnTheWay; readonly entry: string }>
  /** Those that no publisher has, dead letters apart from the others. */
  readonly waiting: OutboxEntry[]
  readonly letters: OutboxEntry[]
  readonly inHand: Map<string, InHand>
  readonly followers: Map<string, { verdict: OnTheWay; entry: Unnumbered<Verdict> }>
  /** Resolves at the next entry, or after `ms`. */
  arrival(ms: number): Promise<void>
}

export function outboxEntries(clock: Clock): OutboxEntries {
  const waiting: OutboxEntry[] = []
  const letters: OutboxEntry[] = []
  const inHand: OutboxEntries['inHand'] = new Map()
  const followers: OutboxEntries['followers'] = new Map()
  const decided: OutboxEntries['decided'] = new Map()
  const arrivals = new Set<() => void>()
  let number = 0
  const entries: OutboxEntries = {
    waiting,
    letters,
    inHand,
    followers,
    decided,
    countLetters: () => letters.length + [...inHand.values()].filter(({ entry }) => isLetter(entry)).length,
    now: clock,
    has: (entry) => waiting.some(({ id }) => id === entry) || inHand.get(entry)?.erased === null,
    putDecided(verdict, entry) {
      decided.set(verdict.caseId, { verdict, entry: entries.put(entry) })
    },
    withdrawDecided(id) {
      const entry = decided.get(id)?.entry
      const withdrawn = entry === undefined ? 'taken-back' : entries.withdraw(entry, id)
      if (withdrawn === 'taken-back') decided.delete(id)
      return withdrawn
    },
    stripDecided(id) {
      const at = waiting.findIndex((entry) => entry.id === decided.get(id)?.entry)
      const entry = waiting[at]
      if (entry?.kind === 'verdict') waiting[at] = { ...entry, verdict: redactWords(entry.verdict) }
    },
    put(entry) {
      const id = `${clock()}-${++number}`
      const added = { id, ...entry }
      const line = isLetter(added) ? letters : waiting
      line.push(added)
      for (const arrive of arrivals) arrive()
      return id
    },
    withdraw(entry, caseId) {
      const at = waiting.findIndex(({ id }) => id === entry)
      if (at >= 0) {
        waiting.splice(at, 1)
        return 'taken-back'
      }
      const handed = inHand.get(entry)
      if (handed !== undefined) inHand.set(entry, { ...handed, erased: caseId })
      return 'in-flight'
    },
    follow(verdict, entry) {
      followers.set(verdict.caseId, { verdict, entry })
    },
    arrival: (ms) =>
      new Promise((resolve) => {
        const done = () => {
          clearTimeout(timer)
          arrivals.delete(done)
          resolve()
        }
        const timer = setTimeout(done, ms)
        arrivals.add(done)
      }),
  }
  return entries
}

/** Whether anything is still to be judged of a thread. */
function isBusy(thread: Thread | null): boolean {
  if (thread === null) return false
  return (
    thread.due !== null ||
    thread.dormantFor.length > 0 ||
    [...thread.revisions.values()].some(({ openId }) => openId !== null)
  )
}

/** The outbox in memory. */
export function memoryOutbox(
  entries: OutboxEntries,
  cases: CaseTable,
  threads: ThreadTable,
  erasures: Pick<MemoryErasures, 'isWithheld'>,
  clock: Clock,
  requests: { isAnswered(ref: ThreadRef): boolean; forget(ref: ThreadRef): void },
): Outbox {
  const { waiting, letters, inHand, followers, decided } = entries

  /** The case of the entry, if it is withheld. */
  function withheldOf(entry: OutboxEntry) {
    const kept = 'caseId' in entry ? cases.get(entry.caseId) : undefined
    return kept !== undefined && kept.entry === entry.id && erasures.isWithheld(kept) ? kept : null
  }

  /** Whether it is not to be sent; then it is taken out of the outbox, as if nobody had taken it. */
  function mustStay(entry: OutboxEntry): boolean {
    const kept = withheldOf(entry)
    if (kept !== null) cases.set(kept.record.id, { ...kept, entry: null })
    return kept !== null
  }

  /**
   * A verdict was published, or erased permanently: what follows it is published, and its protocol may open the next
   * revision.
   */
  function release(caseId: string, isVerdict = true): void {
    const follower = followers.get(caseId)
    if (follower !== undefined) entries.put(follower.entry)
    followers.delete(caseId)
    const record = cases.get(caseId)?.record
    cases.delete(caseId)
    const verdict =
      follower?.verdict ??
      (record && { ref: threadOf(record), protocol: record.protocol, caseId: record.id }) ??
      decided.get(caseId)?.verdict
    decided.delete(caseId)
    if (verdict === undefined) return
    const now = clock()
    const number = isVerdict ? revisionIn(caseId) : null
    threads.step(verdict.ref, (thread) => ({ thread: publish(thread, { ...verdict, number, now }), outcome: null }))
    if (verdict.ref.kind !== 'asked' || !requests.isAnswered(verdict.ref) || isBusy(threads.find(verdict.ref))) return
    threads.step(verdict.ref, () => ({ thread: null, outcome: null }))
    requests.forget(verdict.ref)
  }

  /** Null if its publisher is not to send it. */
  function lookAgain(entry: OutboxEntry, isTried: boolean): 'sendable' | 'withheld' | null {
    const handed = inHand.get(entry.id)
    if (handed === undefined) return null
    const isErased = handed.erased !== null
    if (!isErased && (handed.isAdopted || isTried)) return withheldOf(entry) === null ? 'sendable' : 'withheld'
    if (!isErased && !mustStay(entry)) return 'sendable'
    inHand.delete(entry.id)
    if (isErased && 'caseId' in entry) release(entry.caseId, entry.kind === 'verdict')
    return null
  }

  const handed = () => [...inHand.values()].map(({ entry }) => entry)

  return {
    async putDeadLetters(given) {
      for (const { key, letter } of given) entries.put({ kind: 'dead-letter', key, letter })
    },
    async putAppealOutcomes(outcomes) {
      for (const outcome of outcomes) entries.put({ kind: 'appeal', outcome })
    },
    async next(publisher, limit, waitMs, { withLetters = true } = {}) {
      if (waiting.length + (withLetters ? letters.length : 0) === 0) await entries.arrival(waitMs)
      const taken = [...waiting.splice(0, limit), ...(withLetters ? letters.splice(0, limit) : [])]
      const next = taken.filter((entry) => !mustStay(entry))
      for (const entry of next) inHand.set(entry.id, { entry, publisher, isAdopted: false, at: clock(), erased: null })
      return next
    },
    async adopt(publisher, limit, idleMs) {
      const idle = [...inHand.values()].filter(({ at }) => clock() - at >= idleMs)
      // A dead publisher never reports that it is done with an entry that was erased.
      for (const { entry, erased, at } of idle) {
        if (erased === null || clock() - at < ERASED_WAIT * idleMs) continue
        inHand.delete(entry.id)
        release(erased)
      }
      const left = idle.filter(({ erased }) => erased === null).slice(0, limit)
      for (const one of left) inHand.set(one.entry.id, { ...one, publisher, isAdopted: true, at: clock() })
      return left.map(({ entry }) => entry)
    },
    async stillToSend(given, tried) {
      const found = given.map((entry) => lookAgain(entry, tried.has(entry.id)))
      const those = (wanted: 'sendable' | 'withheld') => given.filter((_, at) => found[at] === wanted)
      return { sendable: those('sendable'), withheld: those('withheld') }
    },
    async heartbeat(publisher, ids) {
      for (const id of ids) {
        const one = inHand.get(id)
        if (one !== undefined) inHand.set(id, { ...one, publisher, at: clock() })
      }
    },
    async done(sent) {
      for (const entry of sent) {
        inHand.delete(entry.id)
        if ('caseId' in entry) release(entry.caseId, entry.kind === 'verdict')
      }
    },
    // Nothing is stored for a publisher except its entries.
    async leave() {},
    async forget() {},
    size: async () => waiting.length + letters.length + inHand.size,
    oldest: async () => oldestOf([...handed(), ...waiting.slice(0, 1), ...letters.slice(0, 1)]),
    async backlog() {
      const verdicts = handed().filter((entry) => !isLetter(entry))
      return {
        verdicts: waiting.length + verdicts.length,
        letters: entries.countLetters(),
        oldestVerdict: oldestOf([...verdicts, ...waiting.slice(0, 1)]),
      }
    },
  }
}

function isLetter({ kind }: OutboxEntry): boolean {
  return kind === 'dead-letter'
}

function oldestOf(entries: readonly OutboxEntry[]): number | null {
  const times = entries.map(({ id }) => Number.parseInt(id, 10))
  return times.length === 0 ? null : Math.min(...times)
}
