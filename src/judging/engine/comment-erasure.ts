import { hash } from 'node:crypto'
import { setImmediate as others } from 'node:timers/promises'
import type { z } from 'zod'
import type { Ask } from '../../contracts/facts/ask.ts'
import { authorOf } from '../../contracts/facts/author.ts'
import type { CaseRecord, Journal, JournalEntry } from '../../contracts/facts/case.ts'
import { fairSlots } from '../../contracts/facts/slots.ts'
import { judgedPart, type Snapshot, type ThreadRef } from '../../contracts/facts/thread.ts'
import { noUsage } from '../../contracts/facts/verdict.ts'
import { namedIn, verdictId } from '../../contracts/facts/verdict-id.ts'
import type { CaseStore, LostCall, UnpublishedCase } from '../../contracts/ports/cases.ts'
import type { Clock } from '../../contracts/ports/clock.ts'
import type { Memo } from '../../contracts/ports/memo.ts'
import type { StageQueues } from '../../contracts/ports/stage-queues.ts'
import type { ThreadState, ThreadStore } from '../../contracts/ports/threads.ts'
import { withFormat } from '../../models/format.ts'
import { MOST_DEADLINES } from './deadline.ts'
import { callsIn } from './lost-calls.ts'
import { type CaseTimes, snapshotOf, versionSeenBy } from './new-case.ts'
import { COMMENTS_AT_ONCE } from './open.ts'
import { prepared } from './prepared.ts'
import { begin, type KeyedAsk, proceed, replay, scriptOf } from './replay.ts'
import { kindNamed } from './routes.ts'
import type { Protocol } from './script.ts'
import { protocolOf, versionsOf } from './versions.ts'

/**
 * The erasure is retried if the thread or a case has changed meanwhile. If this many tries fail, something else is
 * wrong.
 */
const TRIES = 100
/**
 * A case that changes while it is erased from is withheld for so long, in ms, or until it restarts: each answer changes it, and
 * a giant thread's takes a second to restart. Several tries need less.
 */
export const ERASED_WITHIN_MS = 20_000
/** Comments that one author may take back of a case that is open. With the next the author is left out of it. */
const MOST_TAKEN_BACK = 3
/**
 * So many restarts begin at once; before each further one the case waits, in ms, twice as long each time, and for half of the
 * time that it has left at most. What is taken back while it waits is no further restart: nothing has been asked since.
 */
const [RESTARTS_AT_ONCE, FIRST_WAIT_MS] = [3, 2_000]
/**
 * With the next restart a case ends without a label, and its thread is due again. The waits come first, some minutes in all:
 * otherwise somebody with a few accounts could put an empty verdict in the place of one that stands within seconds, and an
 * honest thread that is being cleared of many comments would be given one, too.
 */
const MOST_RESTARTS = 12

/**
 * Erases deleted comments from what the engine keeps, and what was asked about their post from the memo. Cases that are
 * open, or whose verdict waits for Kafka, restart on their own snapshot without these comments and keep the answers that are
 * unrelated to them, so that an author who comments and deletes again and again brings nothing new into a case; of published cases
 * nothing is kept. The comments must already be gone from the thread itself.
 * Repeatable.
 */
export function commentEraser(deps: {
  threads: ThreadStore
  cases: CaseStore
  memo: Pick<Memo, 'forget'>
  /** Gives a job to cases that restart; null if that is left to the reconciler. */
  queues: Pick<StageQueues, 'push'> | null
  protocols: readonly Protocol[]
  clock: Clock
  settings: CaseTimes
}): (ref: ThreadRef, deleted: ReadonlySet<string>) => Promise<void> {
  const { threads, cases, memo, queues, clock, settings } = deps
  const protocols = new Map(deps.protocols.map((protocol) => [protocol.name, protocol]))

  const without = (name: string, carry: unknown, deleted: ReadonlySet<string>): unknown =>
    carry === null ? null : (protocols.get(name)?.withoutComments?.(carry, deleted) ?? null)

  /** What the case restarts with, without the comments; null if it never contained one. */
  async function restartOf(found: UnpublishedCase, state: ThreadState, deleted: ReadonlySet<string>) {
    const { record } = found
    const carry = without(record.protocol, record.carry, deleted)
    if (!holds(record.subject, deleted) && JSON.stringify(carry) === JSON.stringify(record.carry)) return null
    const protocol = protocolOf(protocols, record)
    const current = protocol !== undefined && sameVersions(record, protocol) ? protocol : null
    const now = clock()
    const left = filtered(record, deleted, now)
    const deadline = deadlineAnew(record, now, settings.cases.deadline)
    const { resumeAt: _, ...before } = record
    const restarted: CaseRecord = {
      ...before,
      ...left,
      ...(isOver(left) ? {} : resumption(record, left.takenBack.restarts, { now, deadline })),
      carry,
      restartedAtEpoch: found.epoch + 1,
      deadline,
    }
    const kept =
      current === null || isOver(restarted)
        ? { journal: new Map(), lostCalls: callsIn(found.journal) }
        : await journalOfRestart(current, found, restarted, deleted)
    await others()
    return {
      record: restarted,
      ...kept,
      version: state.version,
      // What has come to the thread meanwhile falls due as it would have.
      seen: current !== null && isCurrent(restarted, current, state) ? versionSeenBy(current, state) : null,
    }
  }

  /** Whether the thread holds nothing now that the case does not. */
  function isCurrent({ subject, kind }: CaseRecord, protocol: Protocol, state: ThreadState): boolean {
    if (state.post === null) return false
    const now: unknown = snapshotOf(protocol, state, state.post, settings).subject
    // What a comment is shown with is not the comment.
    const [held, known] = kind === 'comment' ? [aloneIn(now), aloneIn(subject)] : [now, subject]
    return judgedOf(held) === judgedOf(known)
  }

  async function eraseOpen(state: ThreadState, deleted: ReadonlySet<string>): Promise<boolean> {
    for (const { openId } of state.revisions.values()) {
      const found = openId === null ? null : await cases.unpublished(openId)
      await others()
      const restart = found === null ? null : await restartOf(found, state, deleted)
      if (found === null || restart === null) continue
      const done = await cases.restartUnpublished(found, restart)
      if (done === 'changed') {
        await cases.withhold(found.record.id, found.run, ERASED_WITHIN_MS)
        return false
      }
      if (done === 'restarted') await queues?.push([found.record.id])
    }
    return true
  }

  const slots = fairSlots({ all: () => COMMENTS_AT_ONCE })

  async function erase(ref: ThreadRef, deleted: ReadonlySet<string>): Promise<void> {
    // Before the cases restart and ask again: an answer from a batch with a deleted comment may quote it. As long as a
    // call whose question quotes it may be in flight, no answer about the post is kept.
    await memo.forget(ref, settings.cases.deadline)
    for (let tries = 0; tries < TRIES; tries++) {
      const state = await threads.read(ref)
      if (state !== null && !(await eraseOpen(state, deleted))) continue
      // A thread may still have cases after it has been forgotten.
      const openIds = [...(state?.revisions.values() ?? [])].flatMap(({ openId }) => openId ?? [])
      const left = {
        openIds,
        without: (name: string, carry: unknown) => without(name, carry, deleted),
        caseId: caseIdsOf(ref, protocols),
        now: clock(),
      }
      if (await threads.eraseLeft(ref, left)) return
    }
    throw new Error(
      `cases of ${ref.postId} of ${ref.tenant} kept changing during erasure; gave up after ${TRIES} tries`,
    )
  }

  return async (ref, deleted) => {
    const size = 1 + (await threads.weigh(ref)).weight
    return slots.run({ name: ref.tenant, part: '' }, new AbortController().signal, () => erase(ref, deleted), size)
  }
}

/** The deadline of a case that restarts now. */
export function deadlineAnew({ deadline, openedAt }: CaseRecord, now: number, longest: number): number {
  return Math.max(deadline, Math.min(now + longest, openedAt + MOST_DEADLINES * longest))
}

/** The ids of a thread's cases, by protocol and revision. */
export function caseIdsOf(ref: ThreadRef, protocols: ReadonlyMap<string, Protocol>) {
  return (name: string, revision: number): string => {
    const named = kindNamed(protocols.get(name), ref.kind)
    return verdictId({ protocol: name, tenant: ref.tenant, ...namedIn(ref), revision, ...named })
  }
}

/** When the case goes on: as it was going to where it waits already. */
function resumption(
  { resumeAt = 0 }: CaseRecord,
  restarts: number,
  { now, deadline }: { readonly now: number; readonly deadline: number },
): Pick<CaseRecord, 'resumeAt'> {
  if (resumeAt > now) return { resumeAt }
  const waitMs = Math.min(FIRST_WAIT_MS * 2 ** (restarts - RESTARTS_AT_ONCE - 1), (deadline - now) / 2)
  return restarts <= RESTARTS_AT_ONCE || waitMs <= 0 ? {} : { resumeAt: now + waitMs }
}

/** Whether comments of the case were taken back too often for it to go on: it ends without a label. */
export function isOver({ takenBack }: Pick<CaseRecord, 'takenBack'>): boolean {
  return (takenBack?.restarts ?? 0) > MOST_RESTARTS
}

/** Whether it has waited because comments were taken back again and again: a verdict that it lacks is owed. */
export function hasWaited({ takenBack }: Pick<CaseRecord, 'takenBack'>): boolean {
  return (takenBack?.restarts ?? 0) > RESTARTS_AT_ONCE
}

/** What of a snapshot is judged. */
function judgedOf(subject: unknown): string {
  const { elsewhere: _, ...own } = (subject ?? {}) as Partial<Snapshot>
  return JSON.stringify({ ...own, ...(own.post === undefined ? {} : { post: judgedPart(own.post) }) })
}

function aloneIn(subject: unknown): unknown {
  return { post: ((subject ?? {}) as Partial<Snapshot>).post }
}

function holds(subject: unknown, deleted: ReadonlySet<string>): boolean {
  return [...commentsOf(subject), ...elsewhereIn(subject)].some(({ id }) => deleted.has(id))
}

/** Comments of other posts that it is shown. */
function elsewhereIn(subject: unknown): readonly OfAuthor[] {
  const { elsewhere = [] } = (subject ?? {}) as { elsewhere?: readonly OfAuthor[] }
  return elsewhere
}

interface OfAuthor {
  readonly id: string
  readonly author?: string
}

function commentsOf(subject: unknown): readonly OfAuthor[] {
  const { comments = [] } = (subject ?? {}) as { comments?: readonly OfAuthor[] }
  return comments
}

/**
 * The case's own snapshot without the deleted comments, and without those of authors who took back too many others of it:
 * each restart may cost a debate.
 */
function filtered(
  { subject, comments, takenBack, resumeAt = 0 }: CaseRecord,
  deleted: ReadonlySet<string>,
  now: number,
): Pick<CaseRecord, 'subject' | 'comments'> & { takenBack: NonNullable<CaseRecord['takenBack']> } {
  const all = commentsOf(subject)
  const stay = all.filter(({ id }) => !deleted.has(id))
  const by = new Map(Object.entries(takenBack?.by ?? {}))
  for (const one of all) {
    const author = authorOf(one)
    if (author === undefined || !deleted.has(one.id)) continue
    const hashed = hashOf(author)
    by.set(hashed, (by.get(hashed) ?? 0) + 1)
  }
  const heard = stay.filter((one) => {
    const author = authorOf(one)
    return author === undefined || (by.get(hashOf(author)) ?? 0) <= MOST_TAKEN_BACK
  })
  const gone = all.length - stay.length
  const leftOut = stay.length - heard.length
  const { tookBack = 0 } = (subject ?? {}) as { tookBack?: number }
  // With one of them all go: whoever writes under other posts sends it back once.
  const { elsewhere, ...own } = (subject ?? {}) as Partial<Snapshot>
  const stays = elsewhere !== undefined && !elsewhere.some(({ id }) => deleted.has(id))
  return {
    subject: {
      ...own,
      ...(stays ? { elsewhere } : {}),
      comments: heard,
      ...(tookBack + leftOut === 0 ? {} : { tookBack: tookBack + leftOut }),
    },
    comments: {
      ...comments,
      accepted: Math.max(0, comments.accepted - gone),
      author: comments.author + leftOut,
    },
    takenBack: { restarts: (takenBack?.restarts ?? 0) + (resumeAt > now ? 0 : 1), by: Object.fromEntries(by) },
  }
}

function hashOf(author: string): string {
  return hash('sha256', author, 'hex').slice(0, 16)
}

export function sameVersions({ versions }: CaseRecord, protocol: Protocol): boolean {
  return JSON.stringify(versions) === JSON.stringify(versionsOf(protocol))
}

/**
 * The journal of a restarted case. An answer is kept if the same question is asked again; a batch is answered from
 * single items if each of them was answered before. Of those that were asked about together with a deleted comment only
 * what is no text is kept: a reason may quote it. A question that is asked again
 * unchanged can't contain deleted words, nor can its answer: neither the snapshot nor the kept answers contain any.
 * `answered` are the answers that may be kept, if not all. Others have their turn between two questions: a giant thread has
 * many, and each of its comments may be deleted by itself.
 */
export async function journalOfRestart(
  protocol: Protocol,
  found: UnpublishedCase,
  restarted: CaseRecord,
  deleted: ReadonlySet<string>,
  answered: Journal = found.journal,
): Promise<{ journal: Journal; lostCalls: LostCall[] }> {
  const journal = new Map<string, JournalEntry>()
  const moved = new Set<string>()
  try {
    // Of the snapshot that restarts nothing else is read.
    await prepared(protocol, found.record.subject)
    const answers = await knownAnswers(replay(scriptOf(protocol, found.record), found.journal).asked, answered, deleted)
    const progress = begin(scriptOf(protocol, restarted))
    for (;;) {
      const replayState = proceed(progress, journal)
      if (replayState.at === 'end') break
      let kept = 0
      for (const { key, ask } of replayState.open) {
        await others()
        const known = answers.to(ask)
        if (known === null) continue
        kept++
        journal.set(key, known.entry)
        if (known.from !== null) moved.add(known.from)
      }
      if (kept < replayState.open.length) break
    }
  } catch {
    // A script that fails on its subject fails again when the case is advanced, and is reported there.
  }
  return { journal, lostCalls: callsIn(found.journal, moved) }
}

/** Reusable answers by question: to whole asks, and to single items of batches. */
async function knownAnswers(asked: readonly KeyedAsk[], journal: Journal, deleted: ReadonlySet<string>) {
  const whole = new Map<string, { from: string; entry: JournalEntry }[]>()
  const single = new Map<string, { answer: unknown; model: string; startedAt: number }>()
  for (const { key, ask } of asked) {
    await others()
    const entry = journal.get(key)
    if (entry === undefined || entry.failed !== undefined) continue
    const question = questionOf(ask)
    whole.set(question, [...(whole.get(question) ?? []), { from: key, entry }])
    const { batch, about } = ask
    if (batch === undefined || about === undefined) continue
    const besideDeleted = about.some((id) => deleted.has(id))
    for (let nth = 0; nth < batch.count; nth++) {
      if (deleted.has(about[nth] ?? '')) continue
      const picked = batch.pick(entry.answer, nth)
      const read = batch.single.safeParse(besideDeleted ? wordless(picked, batch.single) : picked)
      if (picked === undefined || !read.success) continue
      const model = entry.models?.[nth] || entry.model
      single.set(questionOf(batch.subset([nth])), { answer: read.data, model, startedAt: entry.startedAt })
    }
  }

  return {
    /** The entry that answers it, and the key that it had in the journal; null if it is merged from single items. */
    to(ask: Ask): { entry: JournalEntry; from: string | null } | null {
      // Each entry is used once: a question that was asked twice was also paid for twice.
      const same = whole.get(questionOf(ask))?.shift()
      if (same !== undefined) return same
      const { batch } = ask
      if (batch === undefined) return null
      const known = Array.from({ length: batch.count }, (_, nth) => single.get(questionOf(batch.subset([nth]))))
      const [first] = known
      if (first === undefined || known.includes(undefined)) return null
      const answer = batch.merge(new Map(known.flatMap((one, nth) => (one === undefined ? [] : [[nth, one.answer]]))))
      const models = known.map((one) => one?.model ?? '')
      const entry: JournalEntry = {
        stage: ask.stage,
        role: ask.role,
        model: first.model,
        answer,
        raw: null,
        // Its calls are recorded as lost, like those of the entries that it is merged from.
        calls: [],
        usage: noUsage(),
        startedAt: first.startedAt,
        ms: 0,
        heldMs: 0,
        memo: true,
        sent: [],
        ...(models.every((model) => model === first.model) ? {} : { models }),
      }
      return { entry, from: null }
    },
  }
}

/** The value with every text in it empty, but for words that its form chooses from: those are nobody's own. */
function wordless(value: unknown, form: z.ZodType): unknown {
  const refused = form.safeParse(emptied(value)).error?.issues ?? []
  return emptied(value, new Set(refused.flatMap(({ code, path }) => (code === 'invalid_value' ? [pathOf(path)] : []))))
}

/** The value with every text in it empty, but for those at these paths. */
function emptied(
  value: unknown,
  kept: ReadonlySet<string> = new Set(),
  path: readonly (string | number)[] = [],
): unknown {
  if (typeof value === 'string') return kept.has(pathOf(path)) ? value : ''
  if (Array.isArray(value)) return value.map((inner, at) => emptied(inner, kept, [...path, at]))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, emptied(inner, kept, [...path, key])]))
}

function pathOf(path: readonly PropertyKey[]): string {
  return JSON.stringify(path)
}

/** Equal for equal questions, whatever their keys are. */
function questionOf(ask: Ask): string {
  const { stage, role, temperature, maxTokens, lookup = null } = ask
  return JSON.stringify([stage, role, temperature, maxTokens, lookup, withFormat(ask)])
}
