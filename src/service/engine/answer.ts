import type { Lookup } from '../domain/ask.ts'
import { type Call, type CaseRecord, type JournalEntry, usageOf } from '../domain/case.ts'
import { RetryLaterError } from '../domain/errors.ts'
import { noUsage } from '../domain/verdict.ts'
import type { Gateway, Settled } from '../gateway/gateway.ts'
import type { Lookups } from '../gateway/lookups.ts'
import type { CaseStore } from '../ports/cases.ts'
import type { Clock } from '../ports/clock.ts'
import type { Library } from '../ports/library.ts'
import type { Attempt, AttemptEnd, StagedAsk, Work } from '../ports/queues.ts'
import type { AskOutcome, Report } from '../ports/report.ts'
import type { Deadlines } from './deadline.ts'
import { failedAttempt } from './failed-attempt.ts'
import type { LargeCases } from './large-cases.ts'
import { type Located, locator } from './locate.ts'
import { callsFor } from './lost-calls.ts'
import type { Pacing } from './pacing.ts'
import type { KeyedAsk } from './replay.ts'
import type { Protocol } from './script.ts'
import { isLeftToOthers } from './versions.ts'
import type { WaitingScripts } from './waiting-scripts.ts'

type Open = Extract<Located, { at: 'open' }>
type Asking = Open & { readonly attempt: Attempt; readonly calls: Call[]; readonly deadline: number }

/** The question is not asked: its case has ended or restarted, or another worker has answered it. */
class Closed extends Error {}

/** What is to be shown or sent is deleted content: the lookup, or the whole case, is soon made again without it. */
function withheld(): RetryLaterError {
  return new RetryLaterError('library', 'it was shown content that has been deleted since', {
    delayMs: WITHHELD_MS,
    costsAttempt: false,
  })
}
const WITHHELD_MS = 500

function isHeld(error: unknown): boolean {
  return error instanceof RetryLaterError && error.awaits !== undefined
}

/** A second attempt at an ask that this process is answering at the moment is made after this time, in ms. */
const ANSWERING_MS = 1_000
/** An ask whose case has versions that this process does not have is retried after this time, in ms. */
const OTHER_VERSION_MS = 1_000
/** An ask of a large case for which others leave no room is tried again after this time, in ms, or up to twice as long. */
const LARGE_MS = 2_000

/**
 * One attempt at an ask: finds its question, sends it to a model or to the library, and journals the result. Calls that
 * were paid for but left no answer in the journal are recorded as lost.
 */
export function answerer(deps: {
  protocols: ReadonlyMap<string, Protocol>
  cases: Pick<CaseStore, 'peek' | 'isOpen' | 'isWithheld' | 'answer' | 'loseCalls'>
  gateway: Gateway
  library: Pick<Library, 'find' | 'embedder'>
  /** Absent where no lookup is held. */
  lookups?: Pick<Lookups, 'look'>
  scripts: WaitingScripts
  pace: Pick<Pacing, 'during'>
  large: LargeCases
  deadlines: Deadlines
  clock: Clock
  report: Report
  settings: { readonly maxTakeovers: number; readonly handBack: number }
}): Work['answer'] {
  const { protocols, cases, gateway, library, lookups, scripts, pace, large, deadlines, clock, report, settings } = deps
  const locate = locator(deps)

  async function look(wanted: Lookup, record: CaseRecord, signal: AbortSignal): Promise<Settled> {
    const { tenant, subjectId, kind, protocol, id: caseId } = record
    const started = clock()
    const { tokens, shown, ...answer } = await library.find(wanted, { tenant, id: subjectId, kind }, signal)
    for (const { shelf, neighbours } of answer.shelves)
      report('shelf:searched', { protocol, shelf, found: neighbours.length > 0, caseId })
    const usage = { ...noUsage(), promptTokens: tokens }
    const settled = { answer, raw: null, model: library.embedder, usage, ms: clock() - started, memo: false }
    return shown === undefined ? settled : { ...settled, shown }
  }

  /** The answer or failure of a model or the library. Adds each call to `calls` when it ends, even if this throws. */
  function settle(
    { asked, record, isOpen, wasShown, attempt, calls, deadline }: Asking,
    { protocol, caseId, run, key }: StagedAsk,
  ): Promise<Settled> {
    const { signal } = attempt
    const mayAsk = async () => {
      if (isOpen !== undefined && !(await isOpen)) throw new Closed()
      // Looked at just before it is sent: until then what the case was shown may be deleted.
      if (wasShown && (await cases.isWithheld(caseId))) throw withheld()
    }
    const { lookup } = asked.ask
    const askId = `${caseId}/${run}/${key}`
    if (lookup !== undefined) {
      const find = () => look(lookup, record, signal)
      const context = { caseId, author: authorOf(record), tenant: record.tenant, askId, last: attempt.last, deadline }
      return mayAsk().then(() => (lookups === undefined ? find() : lookups.look(context, find)))
    }
    return gateway.ask(asked.ask, {
      mayAsk,
      protocol,
      subject: { tenant: record.tenant, postId: record.subjectId, kind: record.kind },
      author: authorOf(record),
      caseId,
      askId,
      attempt: attempt.number,
      last: attempt.last,
      remember: asked.ask.shared === true || protocols.get(protocol)?.faithful !== true,
      signal,
      deadline,
      calls,
    })
  }

  /** What is being answered here. A job whose lock has lapsed is run again, perhaps by the process that still runs it. */
  const answering = new Set<string>()

  return async function answer(staged, attempt) {
    const id = `${staged.caseId}/${staged.run}/${staged.key}`
    if (answering.has(id))
      return { end: 'held', delayMs: ANSWERING_MS, why: 'an earlier attempt at it is still running' }
    answering.add(id)
    try {
      return await answerOnce(staged, attempt)
    } finally {
      answering.delete(id)
    }
  }

  async function answerOnce(staged: StagedAsk, attempt: Attempt): Promise<AttemptEnd> {
    const { protocol, stage, caseId, key } = staged
    const startedAt = clock()
    report('ask:started', { protocol, stage, waitSeconds: attempt.waitSeconds, caseId, key })
    const use = await large.use(caseId, scripts.of(caseId)?.subjectCharacters)
    if (use === null) {
      report('ask:ended', { protocol, stage, seconds: (clock() - startedAt) / 1000, outcome: 'retry', caseId, key })
      return { end: 'held', delayMs: LARGE_MS * (1 + Math.random()), why: 'other large threads are being judged' }
    }
    try {
      return await answerLocated(staged, attempt, startedAt, await locate(staged))
    } finally {
      use.end()
    }
  }

  async function answerLocated(
    staged: StagedAsk,
    attempt: Attempt,
    startedAt: number,
    located: Located,
  ): Promise<AttemptEnd> {
    const { protocol, stage, caseId, run, key } = staged
    const ended = (outcome: AskOutcome) =>
      report('ask:ended', { protocol, stage, seconds: (clock() - startedAt) / 1000, outcome, caseId, key })
    if (located.at === 'other-version') {
      ended('retry')
      // For a while a process with the case's own versions may answer it; then the case restarts here.
      const waits = isLeftToOthers(located.record, located.protocol, clock(), settings.handBack)
      const why = 'its case has other versions than the process that took it'
      return waits ? { end: 'held', delayMs: OTHER_VERSION_MS, why } : { end: 'done', advance: true }
    }
    if (located.at === 'stale') {
      ended('stale')
      return { end: 'done', advance: located.roundEnded }
    }
    const { asked, answersInRound, record } = located
    const calls: Call[] = []
    const write = async (settled: Settled): Promise<AttemptEnd> => {
      const entry = journalEntryOf(asked, settled, { calls, startedAt, heldMs: attempt.heldMs })
      const known = scripts.of(caseId)
      const end = known?.run === run ? { endsAt: answersInRound, known } : undefined
      const { outcome, answers, taken } = await cases.answer(caseId, run, key, entry, end, record)
      if (outcome === 'deleted') throw withheld()
      scripts.answered(staged, outcome === 'stored' ? entry : null)
      if (taken !== undefined) scripts.noteTaken(taken)
      if (outcome !== 'stored') await cases.loseCalls(caseId, callsFor(calls, key))
      ended(outcome !== 'stored' ? 'stale' : settled.failed === undefined ? 'answered' : 'failed')
      // A case that has restarted meanwhile is not current: whoever restarted it gave it a job.
      return { end: 'done', advance: outcome !== 'stale' && answers >= answersInRound }
    }
    let deadline = record.deadline
    try {
      deadline = await deadlines.of(record)
      return await write(await pace.during(() => settle({ ...located, attempt, calls, deadline }, staged)))
    } catch (error) {
      if (error instanceof Closed) {
        // Read from the store, it is found as it stands.
        scripts.forget(caseId)
        return answerLocated(staged, attempt, startedAt, await locate(staged))
      }
      if (isHeld(error)) deadline = await deadlines.hold(record)
      const failure = failedAttempt(error, attempt, { deadline, now: clock() })
      if (failure.next === 'throw') throw error
      if (failure.next === 'fail') return write(failure.settled)
      await cases.loseCalls(caseId, callsFor(calls, key))
      ended('retry')
      return failure.end
    }
  }
}

function journalEntryOf(
  { ask }: KeyedAsk,
  settled: Settled,
  around: { calls: readonly Call[]; startedAt: number; heldMs: number },
): JournalEntry {
  const { answer, failed, raw, model, models, usage, ms, memo, sent, shown, remarks } = settled
  return {
    stage: ask.stage,
    role: ask.role,
    model,
    answer,
    ...(failed === undefined ? {} : { failed }),
    raw,
    calls: [...around.calls],
    usage: around.calls.length === 0 ? { ...usage, calls: 0 } : { ...usageOf(around.calls), memoHits: usage.memoHits },
    startedAt: around.startedAt,
    ms,
    heldMs: around.heldMs,
    memo,
    ...(remarks === undefined ? {} : { remarks: [...remarks] }),
    ...(models === undefined ? {} : { models: [...models] }),
    ...(shown === undefined ? {} : { shown: [...shown] }),
    ...(sent === undefined ? {} : { sent: sent.map((some) => [...some]) }),
  }
}

/** The author of the post that is judged, where the protocol's subject has one. */
function authorOf({ subject }: CaseRecord): string | undefined {
  const { post } = (subject ?? {}) as { post?: { author?: unknown } }
  return typeof post?.author === 'string' ? post.author : undefined
}
