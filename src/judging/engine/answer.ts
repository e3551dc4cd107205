import type { Ask, Lookup } from '../../contracts/facts/ask.ts'
import { type CaseRecord, type JournalEntry, type ModelCall, usageOf } from '../../contracts/facts/case.ts'
import { RetryLaterError } from '../../contracts/facts/errors.ts'
import { noUsage } from '../../contracts/facts/verdict.ts'
import { requestIn } from '../../contracts/facts/verdict-id.ts'
import type { Answers } from '../../contracts/ports/answers.ts'
import type { CaseStore } from '../../contracts/ports/cases.ts'
import { msSince } from '../../contracts/ports/clock.ts'
import type { Library } from '../../contracts/ports/library.ts'
import type { Attempt, AttemptEnd, StagedAsk } from '../../contracts/ports/stage-queues.ts'
import { type AskContext, type AskResult, askContext, type GivenAsk, leaveLine } from '../../models/context.ts'
import type { Gateway } from '../../models/gateway.ts'
import type { Lookups } from '../../models/lookups.ts'
import type { Deadlines } from './deadline.ts'
import { failedAttempt } from './failed-attempt.ts'
import { type FindQuestionParts, findQuestion, type OpenQuestion, QuestionClosed, withheld } from './find-question.ts'
import type { LargeCases, LargeCaseTurn } from './large-cases.ts'
import { callsFor } from './lost-calls.ts'
import type { Pacing } from './pacing.ts'

export interface AnswerParts extends FindQuestionParts {
  readonly cases: Pick<CaseStore, 'peek' | 'isOpen' | 'isWithheld' | 'answer' | 'loseCalls'>
  readonly gateway: Pick<Gateway, 'ask'>
  readonly library: Pick<Library, 'find' | 'embedder'>
  /** Absent where nobody asks apart from the stream. */
  readonly answers?: Pick<Answers, 'onDropped'>
  /** Absent where lookups never wait. */
  readonly lookups?: Pick<Lookups, 'lookUp'>
  readonly pace: Pick<Pacing, 'countAsk'>
  readonly large: LargeCases
  readonly deadlines: Deadlines
  /** What is being answered here. A job whose lock has lapsed is run again, perhaps by the process that still runs it. */
  readonly answering: Set<string>
}

/** A second attempt at an ask that this process is answering at the moment is made after this time, in ms. */
const ANSWERING_MS = 1_000
/** An ask of a large case for which others leave no room is tried again after this time, in ms, or up to twice as long. */
const LARGE_MS = 2_000

/**
 * One attempt at an ask: finds its question, sends it to a model or to the library, and journals the result. Calls that
 * were paid for but left no answer in the journal are recorded as lost.
 */
export async function answer(parts: AnswerParts, attempt: Attempt): Promise<AttemptEnd> {
  const { answering, large, scripts, clock, report } = parts
  const { protocol, stage, caseId, run, key } = attempt
  const id = `${caseId}/${run}/${key}`
  if (answering.has(id))
    return { end: 'deferred', delayMs: ANSWERING_MS, why: 'an earlier attempt at it is still running' }
  answering.add(id)
  const startedAt = clock()
  report('ask:started', { protocol, stage, waitSeconds: attempt.waitSeconds, caseId, key })
  let turn: LargeCaseTurn | null = null
  const { cancelled, end: endWatch } = cancellationOf(parts, caseId)
  try {
    turn = await large.takeTurn(caseId, scripts.of(caseId)?.subjectCharacters)
    let end = turn === null ? noRoom() : null
    while (end === null) end = await answerFound(parts, attempt, startedAt, cancelled)
    const outcome = end.end === 'done' ? end.outcome : 'retry'
    report('ask:ended', { protocol, stage, seconds: (clock() - startedAt) / 1000, outcome, caseId, key })
    return end
  } finally {
    turn?.end()
    endWatch()
    answering.delete(id)
  }
}

function noRoom(): AttemptEnd {
  const delayMs = LARGE_MS * (1 + Math.random())
  return { end: 'deferred', delayMs, why: 'other large threads are being judged' }
}

/** For an ask of a request apart from the stream: aborts when that was dropped. */
function cancellationOf(
  { answers }: Pick<AnswerParts, 'answers'>,
  caseId: string,
): { readonly cancelled?: AbortSignal; end(): void } {
  const asked = requestIn(caseId)
  if (asked === null || answers === undefined) return { end() {} }
  const dropped = new AbortController()
  return { cancelled: dropped.signal, end: answers.onDropped(asked.request, () => dropped.abort()) }
}

/** Null if the question turned out to be closed: then it is found anew. */
async function answerFound(
  parts: AnswerParts,
  attempt: Attempt,
  startedAt: number,
  cancelled: AbortSignal | undefined,
): Promise<AttemptEnd | null> {
  const { cases, gateway, scripts, pace, deadlines, clock } = parts
  const { caseId, key, heldMs } = attempt
  const found = await findQuestion(parts, attempt)
  if ('end' in found) return found
  const calls: ModelCall[] = []
  let deadline = found.record.deadline
  const write = (settled: AskResult) =>
    journal(parts, attempt, found, entryOf(found.ask, calls, settled, { startedAt, heldMs }))
  const isAnswered = pace.countAsk()
  try {
    deadline = await deadlines.of(found.record)
    const context = contextOf(attempt, found, { deadline, cancelled, calls })
    const { lookup } = context.ask
    return await write(lookup === undefined ? await gateway.ask(context) : await lookUp(parts, context, lookup))
  } catch (error) {
    if (error instanceof QuestionClosed) {
      // Read from the store, it is found as it stands.
      scripts.forget(caseId)
      return null
    }
    const spared = found.ask.spared === true
    if (waitsForModel(error) && !spared) deadline = await deadlines.extend(found.record)
    const failure = failedAttempt(error, attempt, { deadline, now: clock(), spared })
    if (failure.next !== 'retry' || cancelled?.aborted === true) leaveLine(error)
    if (failure.next === 'throw') throw error
    if (failure.next === 'fail') return await write(failure.settled)
    await cases.loseCalls(caseId, callsFor(calls, key))
    return failure.end
  } finally {
    isAnswered()
  }
}

/** The attempt's context, the same for everything between here and the model. */
function contextOf(
  { protocol, caseId, run, key, number, last, signal }: Attempt,
  { ask, record, remember, mayAsk }: OpenQuestion,
  around: Pick<GivenAsk, 'deadline' | 'cancelled' | 'calls'>,
): AskContext {
  return askContext({
    ask,
    protocol,
    caseId,
    askId: `${caseId}/${run}/${key}`,
    attempt: number,
    last,
    signal,
    subject: { tenant: record.tenant, postId: record.subjectId, kind: record.kind },
    author: authorOf(record),
    remember,
    mayAsk,
    ...around,
  })
}

/** The author of the post that is judged, where the protocol's subject has one. */
function authorOf({ subject }: CaseRecord): string | undefined {
  const { post } = (subject ?? {}) as { post?: { author?: unknown } }
  return typeof post?.author === 'string' ? post.author : undefined
}

/** The library's answer. */
async function lookUp(
  { library, lookups, clock, report }: AnswerParts,
  context: AskContext,
  wanted: Lookup,
): Promise<AskResult> {
  const { subject, protocol, caseId, signal } = context
  const { tenant, postId: id, kind } = subject
  await context.mayAsk?.()
  async function find(): Promise<AskResult> {
    const started = clock()
    const { tokens, shown, ...found } = await library.find(wanted, { tenant, id, kind }, signal)
    for (const { shelf, neighbours } of found.shelves)
      report('shelf:searched', { protocol, shelf, found: neighbours.length > 0, caseId })
    const usage = { ...noUsage(), promptTokens: tokens }
    const settled = {
      answer: found,
      raw: null,
      model: library.embedder,
      usage,
      ms: msSince(clock, started),
      memo: false,
    }
    return shown === undefined ? settled : { ...settled, shown: [...shown] }
  }
  return lookups === undefined ? find() : lookups.lookUp(context, find)
}

/** Writes how the ask ended into the case's journal. */
async function journal(
  { cases, scripts }: AnswerParts,
  staged: StagedAsk,
  { record, answersInRound }: OpenQuestion,
  entry: JournalEntry,
): Promise<AttemptEnd> {
  const { caseId, run, key } = staged
  const { outcome, answers } = await cases.answer(caseId, run, key, entry, record)
  if (outcome === 'deleted') throw withheld()
  scripts.answered(staged, outcome === 'stored' ? entry : null)
  if (outcome !== 'stored') await cases.loseCalls(caseId, callsFor(entry.calls, key))
  return {
    end: 'done',
    outcome: outcome !== 'stored' ? 'stale' : entry.failed === undefined ? 'answered' : 'failed',
    // A case that has restarted meanwhile is not current: the process that restarted it gave it a job.
    advance: outcome !== 'stale' && answers >= answersInRound,
  }
}

function entryOf(
  ask: Ask,
  calls: readonly ModelCall[],
  settled: AskResult,
  around: { readonly startedAt: number; readonly heldMs: number },
): JournalEntry {
  const { usage } = settled
  return {
    stage: ask.stage,
    role: ask.role,
    ...settled,
    calls: [...calls],
    usage: calls.length === 0 ? { ...usage, calls: 0 } : { ...usageOf(calls), memoHits: usage.memoHits },
    ...around,
  }
}

function waitsForModel(error: unknown): boolean {
  return error instanceof RetryLaterError && error.awaits !== undefined
}
