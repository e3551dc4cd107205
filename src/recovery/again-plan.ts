import { createHash } from 'node:crypto'
import type { ThreadRef } from '../contracts/facts/thread.ts'
import type { Fault } from '../contracts/facts/verdict.ts'
import type { AgainRequest, KnownRevision } from '../contracts/ports/judge-again.ts'
import type { Protocol } from '../judging/engine/script.ts'
import type { ListedVerdicts } from './on-lists.ts'
import type { LastRevision, PublishedSubject } from './published.ts'

/** Which verdicts are judged again, of those without a label, of those that are `unverified`, or of those on a list; all that are set must hold. Times are those of the decision, ms since 1970. */
export interface AgainFilter {
  readonly since: number | null
  readonly until: number | null
  readonly protocol: string | null
  readonly tenant: string | null
  readonly fault: Fault | null
  /** A part of one of the sentences in `degraded`, in any case. */
  readonly reason: string | null
  /** Those with the label `unverified`; else those without a label. */
  readonly unverified?: boolean | undefined
  /** Machines' verdicts of subjects that are on a list of vetoes now, and were on none; else those without a label. */
  readonly listed?: boolean | undefined
}

/** A subject with verdicts to be judged again. */
export interface AgainSubject {
  readonly ref: ThreadRef
  /** The oldest of their decisions, ms since 1970. */
  readonly decidedAt: number
  readonly asked: readonly AgainRequest[]
  /** The last revisions of all protocols, as if they had seen all of the thread. */
  readonly last: readonly Pick<LastRevision, 'protocol' | 'revision' | 'final'>[]
  /** Comments that the largest of the verdicts counted. */
  readonly comments: number
}

/** What a run would ask for. */
export interface AgainPlan {
  readonly subjects: readonly AgainSubject[]
  readonly verdicts: number
  readonly byProtocol: readonly {
    readonly protocol: string
    readonly verdicts: number
    /** By the mean of the protocol's verdicts that decided something; null if there is none to go by. */
    readonly costUsd: number | null
  }[]
  /** Why they have no label, or none but `unverified`: the commonest first. */
  readonly byReason: readonly { readonly reason: string; readonly verdicts: number }[]
  /** Verdicts that fit, of protocols that are off, or compare with no list where lists are asked for: they stay as they are. */
  readonly off: number
  /** Subjects on the topic, of the tenant that is asked for. */
  readonly looked: number
}

/** The last verdicts of their subjects that the filter fits, the oldest decision first. */
export function againPlan(
  published: {
    readonly subjects: ReadonlyMap<string, PublishedSubject>
    meanCostDecided(protocol: string): number | null
  },
  protocols: readonly Pick<Protocol, 'name' | 'subject' | 'faithful'>[],
  filter: AgainFilter,
  onLists: ListedVerdicts['lists'] = new Map(),
): AgainPlan {
  // Whoever asks as a paper did compares with no list: models would be asked, and decide the same again.
  const comparing = filter.listed === true ? protocols.filter(({ faithful }) => faithful !== true) : protocols
  const on = new Map(comparing.map(({ name, subject }) => [name, subject]))
  const subjects: AgainSubject[] = []
  const counts = new Map<string, number>()
  const reasons = new Map<string, number>()
  let [off, looked] = [0, 0]
  for (const { ref, last } of published.subjects.values()) {
    if (filter.tenant !== null && ref.tenant !== filter.tenant) continue
    looked++
    // A deletion retracts every protocol's verdict: one that is not read yet must not bring the others back.
    if ([...last.values()].some(({ deleted }) => deleted)) continue
    const fitting = [...last.values()].filter((one) => fits(one, filter, onLists))
    const wanted = fitting.filter(({ protocol }) => on.has(protocol))
    off += fitting.length - wanted.length
    if (wanted.length === 0) continue
    for (const { protocol, undecided, sawBy } of wanted) {
      counts.set(protocol, (counts.get(protocol) ?? 0) + 1)
      const list = onLists.get(sawBy)
      const why = list === undefined ? undecided?.degraded : [`on the list ${list}`]
      for (const reason of new Set(why)) reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
    }
    subjects.push({
      ref,
      decidedAt: Math.min(...wanted.map(({ decidedAt }) => decidedAt)),
      asked: wanted.map(({ protocol, revision }) => ({
        protocol,
        revision,
        readsComments: on.get(protocol) === 'thread',
      })),
      last: [...last.values()].map(({ protocol, revision, final }) => ({ protocol, revision, final })),
      comments: Math.max(...wanted.map(({ undecided }) => undecided?.comments ?? 0)),
    })
  }
  const byProtocol = [...counts].map(([protocol, verdicts]) => {
    // No model is asked about what is on a list.
    const mean = filter.listed === true ? 0 : published.meanCostDecided(protocol)
    return { protocol, verdicts, costUsd: mean === null ? null : mean * verdicts }
  })
  return {
    subjects: subjects.sort((a, b) => a.decidedAt - b.decidedAt),
    verdicts: byProtocol.reduce((sum, { verdicts }) => sum + verdicts, 0),
    byProtocol: byProtocol.sort((a, b) => a.protocol.localeCompare(b.protocol)),
    byReason: [...reasons]
      .map(([reason, verdicts]) => ({ reason, verdicts }))
      .sort((a, b) => b.verdicts - a.verdicts || a.reason.localeCompare(b.reason)),
    off,
    looked,
  }
}

/** The last verdicts that may be of what is on a list, each by the id of the verdict that saw the subject. */
export function comparableVerdicts(
  { subjects }: { readonly subjects: ReadonlyMap<string, PublishedSubject> },
  filter: AgainFilter,
): Map<string, ThreadRef> {
  const all = [...subjects.values()].filter(({ ref }) => filter.tenant === null || ref.tenant === filter.tenant)
  return new Map(
    all.flatMap(({ ref, last }) =>
      [...last.values()]
        .filter((one) => isWithin(one, filter) && !one.deleted && !['human', 'veto'].includes(one.decidedBy))
        .map(({ sawBy }) => [sawBy, ref] as const),
    ),
  )
}

function isWithin({ decidedAt, protocol }: LastRevision, { since, until, protocol: wanted }: AgainFilter): boolean {
  if (since !== null && !(decidedAt >= since)) return false
  if (until !== null && !(decidedAt <= until)) return false
  return wanted === null || protocol === wanted
}

function fits(one: LastRevision, filter: AgainFilter, onLists: ListedVerdicts['lists']): boolean {
  const { undecided, sawBy } = one
  if (!isWithin(one, filter)) return false
  if (filter.listed === true) return onLists.has(sawBy)
  if (undecided === null || undecided.isUnverified !== (filter.unverified === true)) return false
  const { fault, reason } = filter
  if (fault !== null && !undecided.faults.includes(fault)) return false
  const part = reason?.toLowerCase()
  return part === undefined || undecided.degraded.some((sentence) => sentence.toLowerCase().includes(part))
}

/** A name for runs with these filters, whenever they begin. */
export function nameOfRun({ until: _, ...filter }: AgainFilter): string {
  return createHash('sha256').update(JSON.stringify(filter)).digest('base64url').slice(0, 22)
}

/** Last revisions as a thread that is brought back notes them: none of them has anything new to judge. */
export function knownRevisions(
  { last }: Pick<AgainSubject, 'last'>,
  protocols: readonly Pick<Protocol, 'name' | 'subject'>[],
  { version, postVersion }: { readonly version: number; readonly postVersion: number },
): KnownRevision[] {
  const published = new Map(last.map((one) => [one.protocol, one]))
  const names = new Set([...published.keys(), ...protocols.map(({ name }) => name)])
  return [...names].map((protocol) => {
    const { revision = 0, final = true } = published.get(protocol) ?? {}
    const ofThreads = protocols.find(({ name }) => name === protocol)?.subject === 'thread'
    return { protocol, revision, final, seen: ofThreads ? version : postVersion }
  })
}
