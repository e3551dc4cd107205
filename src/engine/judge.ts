import type { Lookup } from '../domain/ask.ts'
import { type Call, type CaseRecord, type JournalEntry, usageOf } from '../domain/case.ts'
import { type FailureCode, PermanentError, RetryLaterError } from '../domain/errors.ts'
import { type ChatMessage, noUsage, undecided, type Verdict, type Versions } from '../domain/verdict.ts'
import { withFormat } from '../gateway/format.ts'
import type { Gateway, Settled } from '../gateway/gateway.ts'
import { type CaseStore, type LostCall, StoreSuspended, type TakenCase } from '../ports/cases.ts'
import type { Clock } from '../ports/clock.ts'
import type { Library } from '../ports/library.ts'
import type { Advance, Attempt, AttemptEnd, StagedAsk, Work } from '../ports/queues.ts'
import type { Report } from '../ports/report.ts'
import { type Ended, transcriptOf, verdictOf } from './conclude.ts'
import { begin, type KeyedAsk, type Progress, proceed, type ReplayState, scriptOf } from './replay.ts'
import type { Protocol } from './script.ts'

export interface JudgeSettings {
  /** A case that was taken over this often without an end is concluded without a label: it may be what kills workers. */
  readonly maxTakeovers: number
  /** How long a worker hands back cases of other versions before it restarts one, in ms. */
  readonly handBackMs: number
  /** Longest transcript, in bytes. */
  readonly transcriptBytes: number
}

/**
 * Scripts that wait in memory for their answers, so that this process need not replay them; the journal has it all. Bounded
 * by the characters of their questions, for a thread may be a hundred times another.
 */
const KEPT_CHARACTERS = 16_000_000

/**
 * The engine's work on cases: `advance` replays a case's script over its journal, to the next round or the end, and
 * `answer` has one ask of a round answered and journaled. Every step may be repeated, anywhere, at any time.
 */
export function judge(deps: {
  protocols: ReadonlyMap<string, Protocol>
  cases: CaseStore
  gateway: Gateway
  library: Pick<Library, 'find' | 'embedder'>
  clock: Clock
  report: Report
  settings: JudgeSettings
}): Work {
  const { protocols, cases, gateway, library, clock, report, settings } = deps
  const kept = new Map<string, Kept>()
  let keptCharacters = 0

  async function advance(caseId: string): Promise<Advance> {
    try {
      return await advanceNow(caseId)
    } catch (error) {
      if (error instanceof StoreSuspended) return { next: 'later', delayMs: 1_000 }
      throw error
    }
  }

  async function advanceNow(caseId: string): Promise<Advance> {
    const waiting = kept.get(caseId)
    // Looked at before it is taken over: to hand it back must not count as a take-over, however long a roll-out lasts.
    const seen = waiting ?? (await cases.peek(caseId))
    if (seen === null) return { next: 'done' }
    const protocol = protocols.get(seen.record.protocol)
    if (protocol === undefined) return { next: 'later', delayMs: 5_000 }
    const other = otherVersion(seen.record.versions, protocol)
    if (other === 'newer' || (other === 'different' && clock() - pinnedAt(seen.record) < settings.handBackMs))
      return { next: 'later', delayMs: 1_000 }
    const taken = await cases.take(caseId, seen)
    if (taken === null) return { next: 'done' }
    if (otherVersion(taken.record.versions, protocol) !== other) {
      // Another worker restarted it meanwhile.
      forget(caseId)
      return advance(caseId)
    }
    if (other !== undefined) {
      // The journal goes; the calls in it were made all the same.
      const made = [...taken.journal].flatMap(([key, { calls }]) => named(calls, key))
      await cases.loseCalls(caseId, made)
      const record = { ...taken.record, versions: versionsOf(protocol), restartedAt: clock(), carry: null }
      const won = await cases.restart(caseId, taken.epoch, record)
      return won || (await cases.peek(caseId))?.run !== taken.run ? advance(caseId) : { next: 'done' }
    }
    const { replayState, progress } = replayCase(
      protocol,
      taken,
      waiting?.record === taken.record ? waiting.progress : undefined,
      settings,
      report,
    )
    if (replayState.at === 'end') {
      forget(caseId)
      return (await conclude(taken, protocol, replayState)) ? { next: 'done' } : { next: 'later', delayMs: 1_000 }
    }
    keep(taken, progress, replayState.open)
    const { protocol: name } = taken.record
    return {
      next: 'asks',
      asks: replayState.open.map(({ key, ask }) => ({ protocol: name, stage: ask.stage, caseId, run: taken.run, key })),
    }
  }

  /** False where the case is to be come back to: the store concludes nothing just now, or it has been restarted. */
  async function conclude(
    taken: TakenCase,
    protocol: Protocol,
    replayState: Extract<ReplayState, { at: 'end' }>,
  ): Promise<boolean> {
    const { record, journal, lostCalls } = taken
    const { ruling, carry } = replayState.conclusion
    const told = new Set(replayState.asked.map(({ key }) => key))
    // Of a case that is given up no turns are told: their calls were made all the same.
    const untold = [...journal].flatMap(([key, { calls }]) => (told.has(key) ? [] : named(calls, key)))
    const all = [...lostCalls, ...untold]
    const ended: Ended = { record, ruling, asked: replayState.asked, journal, lostCalls: all, decidedAt: clock() }
    const won = await cases.conclude(record, taken.epoch, {
      verdict: JSON.stringify(verdictOf(ended)),
      transcript: transcriptOf(ended, sentAs, settings.transcriptBytes),
      carry: carry === undefined ? null : JSON.stringify(carry),
    })
    if (won) {
      report('case:concluded', { caseId: record.id, protocol: protocol.name, rounds: ruling.rounds })
      return true
    }
    const now = await cases.peek(record.id)
    if (now?.epoch !== taken.epoch) report('case:fenced', { caseId: record.id })
    // Who begins a case over has no job for it: this one is.
    return now === null || (now.epoch !== taken.epoch && now.run === taken.run)
  }

  function keep(taken: TakenCase, progress: Progress | null, open: readonly KeyedAsk[]): void {
    const { record, run } = taken
    forget(record.id)
    if (progress === null) return
    const characters = progress.asked.reduce((sum, { ask }) => sum + lengthOf(ask), 0)
    kept.set(record.id, { run, record, progress, characters, open: new Map(open.map((asked) => [asked.key, asked])) })
    keptCharacters += characters
    for (const oldest of kept.keys()) {
      if (keptCharacters <= KEPT_CHARACTERS) break
      forget(oldest)
    }
  }

  function forget(caseId: string): void {
    keptCharacters -= kept.get(caseId)?.characters ?? 0
    kept.delete(caseId)
  }

  /** The question that a job points to; null if it has been answered or its case has gone. */
  async function locate(staged: StagedAsk): Promise<{ asked: KeyedAsk; record: CaseRecord } | null> {
    const waiting = kept.get(staged.caseId)
    const known = waiting?.open.get(staged.key)
    if (waiting?.run === staged.run && known !== undefined) {
      // Its subject may have been deleted, or the case restarted without a deleted comment: nobody is shown those words any more.
      if (await cases.isCurrent(staged.caseId, staged.run)) return { asked: known, record: waiting.record }
      forget(staged.caseId)
      return null
    }
    const taken = await cases.peek(staged.caseId)
    const protocol = protocols.get(staged.protocol)
    if (taken === null || protocol === undefined || taken.run !== staged.run) return null
    if (otherVersion(taken.record.versions, protocol) !== undefined) throw new OtherVersion()
    const { replayState, progress } = replayCase(protocol, taken, undefined, settings, report)
    if (replayState.at === 'end') return null
    keep(taken, progress, replayState.open)
    const asked = replayState.open.find(({ key }) => key === staged.key)
    return asked === undefined ? null : { asked, record: taken.record }
  }

  async function answer(staged: StagedAsk, attempt: Attempt): Promise<AttemptEnd> {
    const { protocol, stage, caseId, run, key } = staged
    const started = clock()
    report('ask:started', { protocol, stage, waitSeconds: attempt.waitSeconds })
    const ended = (outcome: 'answered' | 'failed' | 'retry' | 'stale') =>
      report('ask:ended', { protocol, stage, seconds: (clock() - started) / 1000, outcome })
    let located: Awaited<ReturnType<typeof locate>>
    try {
      located = await locate(staged)
    } catch (error) {
      if (!(error instanceof OtherVersion)) throw error
      ended('retry')
      return { end: 'held', delayMs: 1_000 }
    }
    if (located === null) {
      ended('stale')
      return { end: 'done' }
    }
    const { asked, record } = located
    const calls: Call[] = []
    const write = async (settled: Settled) => {
      const entry = journalled(asked, settled, { calls, startedAt: started, heldMs: attempt.heldMs })
      const written = await cases.answer(caseId, run, key, entry)
      // A job that comes again after this finds nothing open, and looks into the journal.
      kept.get(caseId)?.open.delete(key)
      if (written !== 'stored') await cases.loseCalls(caseId, named(calls, key))
      ended(written !== 'stored' ? 'stale' : settled.failed === undefined ? 'answered' : 'failed')
      return { end: 'done' } as const
    }
    try {
      const { signal } = attempt
      if (asked.ask.lookup !== undefined) return await write(await look(asked.ask.lookup, record, signal))
      const subject = { tenant: record.tenant, postId: record.subjectId, kind: record.kind }
      return await write(
        await gateway.ask(asked.ask, {
          protocol,
          subject,
          caseId,
          askId: `${caseId}/${run}/${key}`,
          attempt: attempt.number,
          last: attempt.last,
          remember: protocols.get(protocol)?.faithful !== true,
          signal,
          deadline: record.deadline,
          calls,
        }),
      )
    } catch (error) {
      if (error instanceof PermanentError) return write(failed(error.code, error.message))
      if (attempt.signal.aborted || error instanceof RetryLaterError) {
        const retry =
          error instanceof RetryLaterError ? error : new RetryLaterError('aborted', 'stopped', { costsAttempt: false })
        const delayMs = waitOf(retry, attempt.heldMs)
        if (clock() + delayMs >= record.deadline)
          return write(failed('deadline', `the case's deadline passes before the next try; last: ${retry.code}`))
        if (retry.costsAttempt && attempt.last) return write(failed(retry.code, retry.message))
        await cases.loseCalls(caseId, named(calls, key))
        ended('retry')
        return retry.costsAttempt ? { end: 'again' } : { end: 'held', delayMs }
      }
      throw error
    }
  }

  async function look(wanted: Lookup, { tenant, subjectId }: CaseRecord, signal: AbortSignal): Promise<Settled> {
    const started = clock()
    const { tokens, ...answer } = await library.find(wanted, { tenant, id: subjectId }, signal)
    const usage = { ...noUsage(), promptTokens: tokens }
    return { answer, raw: null, model: library.embedder, usage, ms: clock() - started, memo: false }
  }

  return { advance, answer }
}

/** Least wait that an endpoint can impose, in ms. */
const LEAST_WAIT_MS = 100
const IMPOSED: ReadonlySet<string> = new Set<FailureCode>(['rate-limited', 'unavailable'])

/**
 * How long to wait before the next try, in ms. A wait that an endpoint imposes costs no attempt: at least half of the time
 * held so far, so that however short its waits are, the tries of an ask are some twenty and not millions.
 */
export function waitOf({ code, delayMs = 0, costsAttempt }: RetryLaterError, heldMs: number): number {
  return costsAttempt || !IMPOSED.has(code) ? delayMs : Math.max(delayMs, LEAST_WAIT_MS, heldMs / 2)
}

/** The messages of an ask as they went out; of a batch, only the items that were sent. What was known stands as it was asked. */
function sentAs({ ask }: KeyedAsk, { sent }: JournalEntry): ChatMessage[] {
  const { batch } = ask
  if (sent === undefined || sent.length === 0 || batch === undefined) return withFormat(ask)
  return sent.flatMap((some) => withFormat(batch.subset(some)))
}

/** A script that waits for the answers of its round. */
interface Kept {
  readonly run: number
  readonly record: CaseRecord
  readonly progress: Progress
  readonly characters: number
  readonly open: Map<string, KeyedAsk>
}

function lengthOf({ messages }: KeyedAsk['ask']): number {
  return messages.reduce((sum, { content, images = [] }) => sum + content.length + images.join('').length, 0)
}

class OtherVersion extends Error {}

/** Where the case stands. A script that throws, and a case that seems to kill its workers, end without a label. */
function replayCase(
  protocol: Protocol,
  taken: TakenCase,
  waiting: Progress | undefined,
  settings: JudgeSettings,
  report: Report,
): { replayState: ReplayState; progress: Progress | null } {
  const takeovers = taken.epoch - (taken.record.begunOverAt ?? 0)
  if (takeovers > settings.maxTakeovers)
    return givenUp(`taken over ${takeovers} times without an end; given up as unjudgeable`)
  let progress = waiting
  try {
    progress ??= begin(scriptOf(protocol, taken.record))
    return { replayState: proceed(progress, taken.journal), progress }
  } catch (error) {
    report('error', { where: `script ${protocol.name}`, error })
    const why = `the protocol's script failed on this subject (${error instanceof Error ? error.name : 'error'})`
    return givenUp(
      why,
      progress?.asked.filter(({ key }) => taken.journal.has(key)),
    )
  }
}

function givenUp(why: string, asked: readonly KeyedAsk[] = []): { replayState: ReplayState; progress: null } {
  return { replayState: { at: 'end', conclusion: { ruling: undecided(why) }, asked }, progress: null }
}

function otherVersion(pinned: Versions, protocol: Protocol): 'older' | 'newer' | 'different' | undefined {
  if (pinned.script < protocol.version) return 'older'
  if (pinned.script > protocol.version) return 'newer'
  const same = pinned.prompts === protocol.promptsHash && pinned.settings === protocol.settingsHash
  return same ? undefined : 'different'
}

/**
 * Since when the case has had its versions. Each restart counts anew: of two kinds of workers of which neither is newer,
 * both would else restart it in turn, and pay for it each time.
 */
function pinnedAt({ openedAt, restartedAt }: CaseRecord): number {
  return restartedAt ?? openedAt
}

export function versionsOf(protocol: Protocol): Versions {
  return { script: protocol.version, prompts: protocol.promptsHash, settings: protocol.settingsHash }
}

function journalled(
  { ask }: KeyedAsk,
  settled: Settled,
  around: { calls: readonly Call[]; startedAt: number; heldMs: number },
): JournalEntry {
  const { answer, failed, raw, model, models, usage, ms, memo, sent } = settled
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
    ...(models === undefined ? {} : { models: [...models] }),
    ...(sent === undefined ? {} : { sent: sent.map((some) => [...some]) }),
  }
}

function failed(code: string, detail: string): Settled {
  return { answer: null, failed: { code, detail }, raw: null, model: '', usage: noUsage(), ms: 0, memo: false }
}

/** Calls with the ask that they were made for. */
export function named(calls: readonly Call[], key: string): LostCall[] {
  return calls.map((call) => ({ key, ...call }))
}

/** A verdict that says that its subject was deleted: the last revision, without label or content. */
export function retraction(record: Omit<CaseRecord, 'subject' | 'comments' | 'carry' | 'deadline' | 'pressed'>): {
  verdict: Verdict
  transcript: string
} {
  const bare: CaseRecord = {
    ...record,
    comments: { accepted: 0, cap: 0, late: 0, author: 0 },
    pressed: false,
    subject: null,
    carry: null,
    deadline: 0,
  }
  const ruling = undecided('deleted')
  const ended: Ended = {
    record: bare,
    ruling,
    asked: [],
    journal: new Map(),
    lostCalls: [],
    decidedAt: record.openedAt,
  }
  return { verdict: verdictOf(ended), transcript: transcriptOf(ended, () => [], Number.POSITIVE_INFINITY) }
}
