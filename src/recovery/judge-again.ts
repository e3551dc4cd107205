import { setTimeout as sleep } from 'node:timers/promises'
import type { TopicIntake } from '../../consumers/intake.ts'
import type { ThreadRef } from '../domain/thread.ts'
import type { JudgeAgainStore, JudgedAgain, RememberedThread } from '../ports/judge-again.ts'
import type { ThreadStore } from '../ports/threads.ts'
import { type Accepted, eachBatch, inputsOf } from './input-topics.ts'
import { readVerdicts } from './own-topics.ts'
import { subjectKey } from './published.ts'
import type { RecoveryParts, Run } from './run.ts'
import {
  type AgainFilter,
  type AgainPlan,
  type AgainSubject,
  againPlan,
  knownRevisions,
  nameOfRun,
} from './undecided.ts'

/** Threads that only this process has, made from their messages by the rules of a thread. */
export interface Staging {
  readonly intakes: ReadonlyMap<string, TopicIntake>
  /** Null if nothing of the thread is judged: its post is missing, or was deleted, or no protocol reads it. */
  remembered(ref: ThreadRef): RememberedThread | null
}

/** The parts of `gavel judge-again`. */
export interface AgainParts extends Pick<RecoveryParts, 'topics' | 'history' | 'protocols' | 'clock'> {
  readonly threads: Pick<ThreadStore, 'read' | 'countDue'>
  readonly store: JudgeAgainStore
  readonly staging: () => Staging
  readonly settings: Pick<RecoveryParts['settings'], 'limits'>
}

/** One run of it. */
export interface AgainRun extends AgainParts, Pick<Run, 'dryRun' | 'signal' | 'told' | 'say'> {
  readonly filter: AgainFilter
  /** Verdicts asked for a second, at most. */
  readonly rate: number
  /** Told what was found, before anything is asked for. */
  readonly planned: (plan: AgainPlan, since: { readonly begun: number; readonly isContinued: boolean }) => void
  /** Told how many of the verdicts have been looked at. */
  readonly progress: (done: number, of: number) => void
}

/**
 * How many verdicts came to what; `gone`: neither store nor topics hold the subject any more, or no route leads it to a protocol.
 */
export type AgainOutcomes = Readonly<Partial<Record<Exclude<JudgedAgain, 'forgotten'> | 'gone', number>>>

export interface AskedForAgain {
  readonly dryRun: boolean
  readonly plan: Omit<AgainPlan, 'subjects'> & { readonly subjects: number }
  readonly outcomes: AgainOutcomes
}

/**
 * With more threads due at once than this, it waits: live posts go first, intake does not pause on its account, and no case opens
 * as overloaded.
 */
const MOST_DUE = 200
const LOOK_AGAIN_MS = 1_000

/**
 * Has subjects judged again whose last verdict has no label, each under its next revision: what the store still has is due at
 * once, what it has forgotten comes back from the topics first. Running it again, or several at a time, asks for nothing twice:
 * the store decides by the revision's number. A run that was stopped or killed is gone on with by the next with the same
 * filters, which leaves out what has been decided since it began. Rejects when the signal is aborted.
 */
export async function judgeAgain(run: AgainRun): Promise<AskedForAgain> {
  const { filter, store, clock, dryRun } = run
  const name = nameOfRun(filter)
  const now = clock()
  const begun = filter.until ?? (dryRun ? now : await store.begin(name, now))
  const plan = againPlan(await readVerdicts(run), run.protocols, { ...filter, until: begun })
  run.planned(plan, { begun, isContinued: filter.until === null && begun !== now })
  const outcomes = new Map<keyof AgainOutcomes, number>()
  if (!dryRun) {
    await askForAll(run, plan, (outcome) => outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1))
    await store.finish(name)
  }
  const { subjects, ...counts } = plan
  return { dryRun, plan: { ...counts, subjects: subjects.length }, outcomes: Object.fromEntries(outcomes) }
}

async function askForAll(
  run: AgainRun,
  { subjects, verdicts }: AgainPlan,
  note: (outcome: keyof AgainOutcomes) => void,
): Promise<void> {
  const pace = paced(run)
  let looked = 0
  const noted = (outcomes: readonly (keyof AgainOutcomes)[]) => {
    for (const outcome of outcomes) note(outcome)
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
  for (const some of portions(forgotten, run.rate)) await bringBack(run, some, pace, noted)
}

/** What has its outcome, and what has to come back from the topics; null if nothing has. */
function split(
  subject: AgainSubject,
  outcomes: readonly JudgedAgain[],
): { left: AgainSubject | null; settled: Exclude<JudgedAgain, 'forgotten'>[] } {
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
  noted: (outcomes: readonly (keyof AgainOutcomes)[]) => void,
): Promise<void> {
  let left = subjects
  for (let attempt = 1; left.length > 0; attempt++) {
    const changed: AgainSubject[] = []
    const { remembered, versions } = await readMessages(run, left)
    for (const subject of left) {
      const { ref, asked } = subject
      const thread = remembered(ref)
      if (thread === null) {
        noted(asked.map(() => 'gone' as const))
        continue
      }
      await pace(asked.length)
      const known = knownRevisions(subject, run.protocols, thread)
      const again = { asked, known, readVersion: versions.get(subjectKey(ref)) ?? null }
      const outcomes = await run.store.revive(thread, again, run.clock())
      if (!outcomes.includes('changed')) noted(split(subject, outcomes).settled)
      else {
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

/** Makes these subjects' threads from all of their messages on the topics. */
async function readMessages(run: AgainRun, subjects: readonly AgainSubject[]) {
  const { history, store, threads, topics } = run
  const wanted = new Set(subjects.map(({ ref }) => subjectKey(ref)))
  // From here on the store knows of what is deleted from them: it may be accepted before it is read here.
  await store.watch(subjects.map(({ ref }) => ref))
  const versions = new Map<string, number | null>()
  for (const { ref } of subjects) versions.set(subjectKey(ref), (await threads.read(ref))?.version ?? null)
  const whole: Accepted = new Map(
    await Promise.all(inputsOf({ topics }).map(async (topic) => [topic, await history.rangesOf(topic, null)] as const)),
  )
  const { intakes, remembered } = run.staging()
  await eachBatch({ ...run, intakes }, whole, 'looked through', async ({ take }) => {
    await take((one) => wanted.has(subjectKey(one.subject())))
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

/** Waits for the turn of the next verdicts, and while many threads are due. */
function paced({ rate, threads, signal, say }: AgainRun): (verdicts: number) => Promise<void> {
  let next = performance.now()
  let looked = Number.NEGATIVE_INFINITY
  return async (verdicts) => {
    signal.throwIfAborted()
    if (next > performance.now()) await sleep(next - performance.now(), undefined, { signal })
    next = Math.max(next, performance.now() - LOOK_AGAIN_MS) + (verdicts * 1_000) / rate
    if (performance.now() - looked < LOOK_AGAIN_MS) return
    let isTold = false
    for (let due = await threads.countDue(0); due > MOST_DUE; due = await threads.countDue(0)) {
      if (!isTold) say(`${due} subjects are due: waiting until at most ${MOST_DUE} are …`)
      isTold = true
      await sleep(LOOK_AGAIN_MS, undefined, { signal })
    }
    looked = performance.now()
  }
}
