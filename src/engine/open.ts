import type { CaseRecord } from '../domain/case.ts'
import type { Snapshot, ThreadRef } from '../domain/thread.ts'
import { verdictId } from '../domain/verdict.ts'
import type { CaseStore } from '../ports/cases.ts'
import type { Clock } from '../ports/clock.ts'
import type { StageQueues } from '../ports/queues.ts'
import type { Report } from '../ports/report.ts'
import type { Origin, StreamMarks, ThreadState, ThreadStore } from '../ports/threads.ts'
import { type CheckpointSettings, dueAt } from '../threads/checkpoints.ts'
import { type StreamClockSettings, streamTime } from '../threads/stream-clock.ts'
import { versionsOf } from './judge.ts'
import type { Protocol } from './script.ts'

export interface OpenerSettings {
  readonly checkpoints: CheckpointSettings
  /** Most comments a thread keeps. */
  readonly threadCap: number
  readonly clock: StreamClockSettings
  /** Cases open at once; what is due beyond that waits in the thread store. */
  readonly maxOpen: number
  /** How long a case may take, in ms. */
  readonly caseDeadlineMs: number
  /** Partitions of the topics that drive the stream's clock; until each has been seen, the clock stands still. */
  readonly partitions: () => number
}

/** Threads looked at in one go. */
const BATCH = 64

/** Opens a case for every thread that has come due. Any number of openers may run: each opening is one atomic step. */
export function opener(deps: {
  protocols: readonly Protocol[]
  threads: ThreadStore
  marks: StreamMarks
  cases: CaseStore
  queues: StageQueues
  clock: Clock
  report: Report
  settings: OpenerSettings
  orphanLetter: (origin: Origin) => { key: string; letter: string }
}) {
  const { protocols, threads, marks, cases, queues, clock, report, settings, orphanLetter } = deps

  async function now(): Promise<number> {
    const known = [...(await marks.read()).values()]
    if (known.length < settings.partitions()) return Number.NEGATIVE_INFINITY
    return streamTime(known, clock(), settings.clock)
  }

  async function openThread(ref: ThreadRef, streamNow: number): Promise<string[]> {
    const state = await threads.read(ref)
    if (state === null) return []
    if (state.post === null) {
      await threads.expireOrphans(ref, orphanLetter)
      return []
    }
    const { final, nextDue } = dueAt(state.post.createdAt, streamNow, settings.checkpoints)
    const snapshot = snapshotOf(state, state.post, settings)
    const wanted = protocols.filter((protocol) => wants(protocol, state, final))
    const [waiting, ready] = [
      wanted.filter(({ name }) => state.revisions.get(name)?.open === true),
      wanted.filter(({ name }) => state.revisions.get(name)?.open !== true),
    ]
    const records = ready.map((protocol) => recordOf(protocol, state, snapshot, final))
    const opened = await threads.open(state, {
      cases: records,
      waiting: waiting.map(({ name }) => name),
      nextDue,
      final: final && waiting.length === 0,
    })
    for (const caseId of opened) report('case:opened', { caseId, protocol: caseId.split(/[~@]/, 1)[0] ?? '', final })
    return opened
  }

  function recordOf(protocol: Protocol, state: ThreadState, subject: Snapshot, final: boolean): CaseRecord {
    const { tenant, postId } = state.ref
    const before = state.revisions.get(protocol.name)
    const revision = (before?.revision ?? 0) + 1
    const id = (number: number) => verdictId({ protocol: protocol.name, tenant, subjectId: postId, revision: number })
    const openedAt = clock()
    return {
      id: id(revision),
      protocol: protocol.name,
      tenant,
      subjectId: postId,
      revision,
      final,
      supersedes: revision === 1 ? null : id(revision - 1),
      subject,
      carry: before?.carry ?? null,
      versions: versionsOf(protocol),
      createdAt: subject.post.createdAt,
      receivedAt: state.dueSince ?? openedAt,
      openedAt,
      deadline: openedAt + settings.caseDeadlineMs,
    }
  }

  return {
    now,
    /** How many threads are due and wait to be opened. */
    countDue: async () => threads.countDue(Math.max(await now(), 0)),
    /** Opens what is due now; returns how many cases that were. */
    async openDue(): Promise<number> {
      const room = settings.maxOpen - (await cases.countOpen())
      if (room <= 0) return 0
      const streamNow = await now()
      // Due times of 0 are "at once" whatever the stream's clock says.
      const refs = await threads.due(Math.max(streamNow, 0), Math.min(room, BATCH))
      const opened = (await Promise.all(refs.map((ref) => openThread(ref, streamNow)))).flat()
      await queues.push(opened)
      return opened.length
    },
  }
}

/** A protocol judges again what changed since its last revision, and judges a final snapshot once. */
function wants(protocol: Protocol, state: ThreadState, final: boolean): boolean {
  const before = state.revisions.get(protocol.name)
  if (before === undefined || before.seen !== state.version) return true
  return final && !state.final
}

function snapshotOf(state: ThreadState, post: Snapshot['post'], { checkpoints, threadCap }: OpenerSettings): Snapshot {
  const comments = state.comments.filter((comment) => comment.createdAt <= post.createdAt + checkpoints.finalAge)
  return { post, comments, leftOut: state.accepted > threadCap ? state.accepted - state.comments.length : 0 }
}
