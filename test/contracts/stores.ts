import type { CaseRecord } from '../../src/contracts/facts/case.ts'
import type { ThreadRef } from '../../src/contracts/facts/thread.ts'
import type { Answers } from '../../src/contracts/ports/answers.ts'
import type { CaseStore, Outbox, OutboxEntry, TakenCase } from '../../src/contracts/ports/cases.ts'
import type { DecisionStore } from '../../src/contracts/ports/decisions.ts'
import type { Erasures } from '../../src/contracts/ports/erasures.ts'
import type { JudgeAgainStore } from '../../src/contracts/ports/judge-again.ts'
import type { StreamMarks, ThreadState, ThreadStore } from '../../src/contracts/ports/threads.ts'
import type { Webhooks } from '../../src/contracts/ports/webhooks.ts'
import { endOf, recordOf } from './samples.ts'

/** The stores of one Gavel: they share their state, and a contract of one needs the others. */
export interface Stores {
  readonly threads: ThreadStore
  readonly cases: CaseStore
  readonly outbox: Outbox
  readonly marks: StreamMarks
  readonly erasures: Erasures
  readonly judgeAgain: JudgeAgainStore
  readonly answers: Answers
  readonly webhooks: Webhooks
  readonly decisions: DecisionStore
  /** Lets this much time pass, for the clock that was handed in and for the server's own. */
  pass(ms: number): Promise<void>
  /** Where in the store this text stands: names of places, of whatever kind. Undefined where nobody can look. */
  readonly traces?: (text: string) => Promise<string[]>
  close(): Promise<void>
}

/** Empty stores, apart from those of every other test. */
export type MakeStores = () => Promise<Stores>

export async function readThread({ threads }: Stores, ref: ThreadRef): Promise<ThreadState> {
  const state = await threads.read(ref)
  if (state === null) throw new Error(`there is no thread ${ref.postId}`)
  return state
}

/** Opens one case on a thread as it stands, and gives its record. */
export async function openCase(
  stores: Stores,
  ref: ThreadRef,
  how: { protocol?: string; nextDue?: number | null; final?: boolean } = {},
): Promise<CaseRecord> {
  const { protocol = 'rumor', nextDue = null, final = false } = how
  const state = await readThread(stores, ref)
  const record = recordOf(state, protocol, { final })
  const opened = await stores.threads.open(state, {
    cases: [{ record, seen: state.version }],
    waiting: [],
    dormant: [],
    nextDue,
    final,
  })
  if (opened[0] !== record.id) throw new Error(`${record.id} was not opened`)
  return record
}

export async function takeCase({ cases }: Stores, caseId: string): Promise<TakenCase> {
  const taken = await cases.take(caseId)
  if (taken === null) throw new Error(`${caseId} is not open`)
  return taken
}

export async function concludeCase(stores: Stores, record: CaseRecord, carry: string | null = null): Promise<void> {
  const { epoch } = await takeCase(stores, record.id)
  if (!(await stores.cases.conclude(record, epoch, endOf(record, 'so it is', carry)))) throw new Error('fenced')
}

/** Publishes whatever waits. */
export async function publishAll({ outbox }: Stores): Promise<void> {
  while ((await outbox.size()) > 0) await outbox.done(await outbox.next('the publisher', 100, 10))
}

/** Queues verdicts on a subject for a receiver, as the publisher does that has them in hand; what they hold are these words. */
export async function hookVerdicts(
  { webhooks }: Stores,
  ref: ThreadRef,
  entries: readonly OutboxEntry[],
  words: string,
): Promise<void> {
  for (const entry of entries) {
    if (entry.kind !== 'verdict') continue
    const { id, caseId, verdict } = entry
    const { revision, degraded = [] } = JSON.parse(verdict) as { revision: number; degraded?: string[] }
    const retracts = degraded.includes('deleted')
    const [body, bare] = retracts ? ['retracted', 'retracted'] : [`${revision}: ${words}`, `${revision}: bare`]
    const of = { hook: 'shop', protocol: 'rumor', ref, from: { entry: id, caseId }, verdictId: caseId }
    await webhooks.put([{ ...of, revision, follows: false, retracts, body, bare }])
  }
}

/** What is sent to the receiver, in order. */
export async function sentToReceiver({ webhooks }: Stores): Promise<string[]> {
  const sent: string[] = []
  for (;;) {
    const claims = await webhooks.take('shop', 9, 60_000)
    if (claims.length === 0) return sent
    for (const claim of claims) {
      sent.push(claim.body)
      await webhooks.settle(claim, 'sent')
    }
  }
}

/** A case from its opening to its publication. */
export async function judgeOnce(
  stores: Stores,
  ref: ThreadRef,
  how: Parameters<typeof openCase>[2] = {},
): Promise<CaseRecord> {
  const record = await openCase(stores, ref, how)
  await concludeCase(stores, record)
  await publishAll(stores)
  return record
}
