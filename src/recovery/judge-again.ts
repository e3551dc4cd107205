import { setTimeout as sleep } from 'node:timers/promises'
import { writtenIn } from '../../consumers/authors.ts'
import type { IntakeContext, IntakeInput } from '../../consumers/intake.ts'
import type { ThreadRef } from '../contracts/facts/thread.ts'
import { postOfComment } from '../contracts/facts/verdict-id.ts'
import type { CaseStore } from '../contracts/ports/cases.ts'
import type { AgainOutcome, JudgeAgainStore } from '../contracts/ports/judge-again.ts'
import type { RememberedThread, ThreadStore } from '../contracts/ports/threads.ts'
import type { Vetoes } from '../contracts/ports/vetoes.ts'
import {
  type AgainFilter,
  type AgainPlan,
  type AgainSubject,
  againPlan,
  comparableVerdicts,
  knownRevisions,
  nameOfRun,
} from './again-plan.ts'
import { type AcceptedRanges, eachBatch, inputsOf } from './input-topics.ts'
import { verdictsOnLists } from './on-lists.ts'
import { readVerdicts } from './own-topics.ts'
import { subjectKey } from './published.ts'
import type { RecoveryParts, RecoveryRun } from './run.ts'

/** Threads that only this process has, made from their messages by the rules of a thread. */
export interface StagedThreads {
  readonly input: IntakeInput
  /** Null if nothing of the thread is judged: its post is missing, or was deleted, or no protocol reads it. */
  remembered(ref: ThreadRef): RememberedThread | null
}

/** The parts of `gavel judge-again`. */
export interface AgainParts extends Pick<RecoveryParts, 'topics' | 'history' | 'protocols' | 'clock'> {
  readonly threads: Pick<ThreadStore, 'head' | 'countDue' | 'linkReply'>
  readonly cases: Pick<CaseStore, 'unansweredUntil'>
  readonly store: JudgeAgainStore
  readonly staging: () => StagedThreads
  /** The lists that are set; undefined where none are, or they are not asked for. */
  readonly vetoes?: Vetoes | undefined
}

/** One run of it. */
export interface AgainRun extends AgainParts, Pick<RecoveryRun, 'dryRun' | 'signal' | 'told' | 'say'> {
  readonly filter: AgainFilter
  /** Verdicts asked for a second, at most. */
  readonly rate: number
  /** Called with what was found, before anything is asked for. */
  readonly planned: (plan: AgainPlan, since: BegunRun) => void
  /** Called with the number of verdicts that have been looked at. */
  readonly progress: (done: number, of: number) => void
}

export interface BegunRun {
  /** Verdicts decided after this, ms since 1970, are left out. */
  readonly begun: number
  /** An earlier run with the same filters began then, and has not ended. */
  readonly isContinued: boolean
  /** Verdicts that fit and are left out for having been decided since. */
  readonly decidedSince: number
}

/**
 * How many verdicts came to what; `gone`: neither store nor topics hold the subject any more, or no route leads it to a protocol.
 */
export type AgainOutcomes = Readonly<Partial<Record<Exclude<AgainOutcome, 'forgotten'> | 'gone', number>>>

export interface AgainReport {
  readonly dryRun: boolean
  readonly decidedSince: number
  readonly plan: Omit<AgainPlan, 'subjects'> & { readonly subjects: number }
  readonly outcomes: AgainOutcomes
  /** Threads that came back without comments that their verdicts had counted: these had expired from their topic. */
  readonly shortened: { readonly subjects: number; readonly comments: number }
  /** Of how many verdicts, where those on a list are asked for, a picture could not be compared. */
  readonly unchecked: number
}

/**
 * With more threads due at once than this, it waits: live posts go first, intake does not pause on its account, and no case opens
 * as overloaded.
 */
const MOST_DUE = 200
/** It looks at that, and at what waits for a model, after this time, in ms, and after so many verdicts. */
const LOOK_AGAIN_MS = 1_000
const LOOK_AGAIN_AFTER = 50
/** Asks of a protocol are taken to wait for a model for this long after they last did, in ms. */
const AWAITING_MS = 60_000

/**
 * Has subjects judged again whose last verdict has no label, each under its next revision: what the store still has is due at
 * once, what it has forgotten comes back from the topics first. Running it again, or several at a time, asks for nothing twice:
 * the store decides by the revision's number. A run that was stopped or killed is gone on with by the next with the same
 * filters, which leaves out what has been decided since it began. Rejects when the signal is aborted.
 */
export async function judgeAgain(run: AgainRun): Promise<AgainReport> {
  const { filter, store, clock, dryRun } = run
  const name = nameOfRun(filter)
  const now = clock()
  const begun = filter.until ?? (dryRun ? ((await store.begun(name)) ?? now) : await store.begin(name, now))
  const isContinued = filter.until === null && begun !== now
  const published = await readVerdicts(run)
  const { lists, unchecked } =
    run.vetoes === undefined
      ? { lists: new Map<string, string>(), unchecked: 0 }
      : await verdictsOnLists(run, comparableVerdicts(published, filter), run.vetoes)
  const planned = (of: AgainFilter) => againPlan(published, run.protocols, of, lists)
  const plan = planned({ ...filter, until: begun })
  const decidedSince = isContinued ? planned(filter).verdicts - plan.verdicts : 0
  run.planned(plan, { begun, isContinued, decidedSince })
  const outcomes = new Map<keyof AgainOutcomes, number>()
  const shortened = { subjects: 0, comments: 0 }
  if (!dryRun) {
    await askForAll(run, plan, {
      of: (outcome) => outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1),
      missing(comments) {
        shortened.subjects++
        shortened.comments += comments
      },
    })
    // One that was given its end has no beginning that the next one could go on from.
    if (filter.until === null) await store.finish(name)
  }
  const { subjects, ...counts } = plan
  return {
    dryRun,
    decidedSince,
    plan: { ...counts, subjects: subjects.length },
    outcomes: Object.fromEntries(outcomes),
    shortened,
    unchecked,
  }
}

/** Called with what comes of the run: each verdict's outcome, and each thread that came back without so many comments. */
interface Notes {
  of(outcome: keyof AgainOutcomes): void
  missing(comments: number): void
}

async function askForAll(run: AgainRun, { subjects, verdicts, byProtocol }: AgainPlan, notes: Notes): Promise<void> {
  const pace = paced(
    run,
    byProtocol.map(({ protocol }) => protocol),
  )
  let looked = 0
  const noted = (outcomes: readonly (keyof AgainOutcomes)[]) => {
    for (const outcome of outcomes) notes.of(outcome)
    looked += outcomes.length
    run.progress(looked, verdicts)
  }
  const forgotten: AgainSubject[] = []
  for (const subject of subjects) {
    await pace(subject.asked.length)
    const { left, settled } = split(subject, await run.store.ask(subject.ref, subject.asked, run.clock()))
    noted(settled)
    if (left !== null) forgotten.push(left)
  }
  for (const some of portions(forgotten, run.rate)) await bringBack(run, some, pace, { noted, missing: notes.missing })
}

/** What has its outcome, and what has to come back from the topics; null if nothing has. */
function split(
  subject: AgainSubject,
  outcomes: readonly AgainOutcome[],
): { left: AgainSubject | null; settled: Exclude<AgainOutcome, 'forgotten'>[] } {
  const asked = subject.asked.filter((_, at) => outcomes[at] === 'forgotten')
  return {
    left: asked.length === 0 ? null : { ...subject, asked },
    settled: outcomes.filter((outcome) => outcome !== 'forgotten'),
  }
}

/** Tries for a subject whose thread changes while its messages are read. */
const TRIES = 3

async function bringBack(
  run: AgainRun,
  subjects: readonly AgainSubject[],
  pace: (verdicts: number) => Promise<void>,
  {
    noted,
    missing,
  }: { noted: (outcomes: readonly (keyof AgainOutcomes)[]) => void; missing: (comments: number) => void },
): Promise<void> {
  let left = subjects
  for (let attempt = 1; left.length > 0; attempt++) {
    const changed: AgainSubject[] = []
    const { remembered, versions } = await readMessages(run, left)
    for (const subject of left) {
      const { ref, asked } = subject
      const found = remembered(ref)
      if (found === null) {
        noted(asked.map(() => 'gone' as const))
        continue
      }
      const thread = { ...found, missing: missingFrom(found, subject) }
      await pace(asked.length)
      const known = knownRevisions(subject, run.protocols, thread)
      const again = { asked, known, readVersion: versions.get(subjectKey(ref)) ?? null }
      const outcomes = await run.store.revive(thread, again, run.clock())
      if (!outcomes.includes('changed')) {
        noted(split(subject, outcomes).settled)
        if (thread.missing > 0 && outcomes.includes('due')) missing(thread.missing)
      } else {
        // Another run may have brought it back, or its post came again: then the store has it.
        const now = split(subject, await run.store.ask(ref, asked, run.clock()))
        noted(now.settled)
        if (now.left !== null && attempt < TRIES) changed.push(now.left)
        else if (now.left !== null) noted(now.left.asked.map(() => 'changed' as const))
      }
    }
    left = changed
  }
}

/** How many comments a verdict of the subject counted that its topic does not have any more: deleted ones are not missing. */
function missingFrom({ accepted, late, comments }: RememberedThread, subject: AgainSubject): number {
  const deleted = [...comments.values()].filter((comment) => comment === null).length
  return Math.max(0, subject.comments - accepted - late - deleted)
}

/** Makes these subjects' threads from all of their messages on the topics. */
async function readMessages(run: AgainRun, subjects: readonly AgainSubject[]) {
  const { history, store, threads, topics } = run
  const wanted = new Set(subjects.map(({ ref }) => subjectKey(ref)))
  // From here on the store knows of what is deleted from them: it may be accepted before it is read here.
  await store.watch(subjects.map(({ ref }) => ref))
  const versions = new Map<string, number | null>()
  for (const { ref } of subjects) versions.set(subjectKey(ref), (await threads.head(ref))?.version ?? null)
  const whole: AcceptedRanges = new Map(
    await Promise.all(inputsOf({ topics }).map(async (topic) => [topic, await history.rangesOf(topic, null)] as const)),
  )
  const { input, remembered } = run.staging()
  const postsOfComments = new Set(
    subjects.flatMap(({ ref }) => (ref.kind === 'comment' ? subjectKey(postOfComment(ref)) : [])),
  )
  await eachBatch({ ...run, input }, whole, 'looked through', async ({ valid }, handler, context) => {
    const own = valid.filter(({ message }) => {
      const key = subjectKey(handler.subjectOf(message))
      const comment = handler.commentOf?.(context, message).ref
      if (comment !== undefined) return wanted.has(key) || wanted.has(subjectKey(comment))
      return wanted.has(key) || (postsOfComments.has(key) && handler.postOf(context, message) === null)
    })
    const staged: IntakeContext = {
      ...context,
      // Linked where posts are, so that they go with them; the topic may know of a deletion that the store has forgotten.
      threads: {
        ...context.threads,
        linkReply: async (...link) =>
          (await context.threads.linkReply(...link)) === 'deleted' ? 'deleted' : threads.linkReply(...link),
      },
      endOf: (ref) => (wanted.has(subjectKey(ref)) ? undefined : Number.POSITIVE_INFINITY),
    }
    await context.noteAuthors?.(writtenIn(handler, context, own))
    await handler.handle(staged, own, async () => {})
  })
  return { remembered, versions }
}

/** How long the threads of one portion may wait in memory, in seconds, and how many comments may be in it. */
const PORTION_SECONDS = 60
const PORTION_COMMENTS = 200_000

/** Subjects whose messages are read together. */
function* portions(subjects: readonly AgainSubject[], rate: number): Generator<AgainSubject[]> {
  let [portion, comments]: [AgainSubject[], number] = [[], 0]
  for (const subject of subjects) {
    const isFull =
      portion.length >= Math.max(1, PORTION_SECONDS * rate) || comments + subject.comments > PORTION_COMMENTS
    if (portion.length > 0 && isFull) {
      yield portion
      ;[portion, comments] = [[], 0]
    }
    portion.push(subject)
    comments += subject.comments
  }
  if (portion.length > 0) yield portion
}

/**
 * Waits for the turn of the next verdicts, while many threads are due, and while asks of these protocols wait for a model: what no
 * model answers would only fill the places of cases.
 */
function paced(
  { rate, threads, cases, store, clock, signal, say }: AgainRun,
  protocols: readonly string[],
): (verdicts: number) => Promise<void> {
  let looked = Number.NEGATIVE_INFINITY
  let asked = 0

  async function whyWait(): Promise<{ what: string; line: string } | null> {
    const due = await threads.countDue(0)
    if (due > MOST_DUE) return { what: 'due', line: `${due} subjects are due: waiting until at most ${MOST_DUE} are …` }
    for (const protocol of protocols) {
      const until = await cases.unansweredUntil(protocol)
      if (until !== null && clock() - until < AWAITING_MS)
        return {
          what: protocol,
          line: `No model answers what ${protocol} asks ("gavel doctor" shows why): waiting until one has answered for a minute …`,
        }
    }
    return null
  }

  return async (verdicts) => {
    signal.throwIfAborted()
    const waitMs = await store.turn(verdicts, rate, clock())
    if (waitMs > 0) await sleep(waitMs, undefined, { signal })
    asked += verdicts
    if (performance.now() - looked < LOOK_AGAIN_MS && asked < LOOK_AGAIN_AFTER) return
    let lastWhy = ''
    for (let why = await whyWait(); why !== null; why = await whyWait()) {
      if (lastWhy !== why.what) say(why.line)
      lastWhy = why.what
      await sleep(LOOK_AGAIN_MS, undefined, { signal })
    }
    ;[looked, asked] = [performance.now(), 0]
  }
}
