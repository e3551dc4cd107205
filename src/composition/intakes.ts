import type { Settings } from '../../config/schema.ts'
import { comments } from '../../consumers/comments.ts'
import { counterspeech } from '../../consumers/counterspeech.ts'
import { type TopicIntake, topicIntake } from '../../consumers/intake.ts'
import { posts } from '../../consumers/posts.ts'
import type { ReadLimits } from '../../consumers/read-message.ts'
import { placeholders } from '../domain/placeholders.ts'
import { type SamplingRank, samplingKeyVersion } from '../domain/sampling-rank.ts'
import type { ThreadRef } from '../domain/thread.ts'
import { verdictId } from '../domain/verdict.ts'
import { commentEraser } from '../engine/erase.ts'
import { retraction } from '../engine/retraction.ts'
import { judgesCrossKind } from '../engine/routes.ts'
import type { Protocol } from '../engine/script.ts'
import { versionsOf } from '../engine/versions.ts'
import type { CaseStore, Outbox } from '../ports/cases.ts'
import type { Clock } from '../ports/clock.ts'
import type { Memo } from '../ports/memo.ts'
import type { StageQueues } from '../ports/queues.ts'
import type { Report } from '../ports/report.ts'
import type { Routes } from '../ports/routes.ts'
import type { ThreadRules, ThreadStore } from '../ports/threads.ts'
import type { Topics } from './topics.ts'

/** The limits on what is read of a message. */
export function readLimits({ intake }: Settings): ReadLimits {
  return { maxBytes: intake.maxMessageBytes, maxAheadMs: intake.maxAhead }
}

/** The stores that intakes write to and the parts that they ask. */
export interface IntakeParts {
  readonly threads: ThreadStore
  readonly protocols: readonly Protocol[]
  readonly routes: Routes
  readonly memo: Pick<Memo, 'forget'>
  readonly samplingRank: SamplingRank
  readonly clock: Clock
  readonly report: Report
  readonly cases: CaseStore
  readonly outbox: Pick<Outbox, 'putDeadLetters'>
  /** Null if giving a case its job is left to the reconciler. */
  readonly queues: Pick<StageQueues, 'push'> | null
  /** Only for posts from a data set: what a vision model saw in their images. */
  readonly descriptions?: (post: ThreadRef) => readonly string[]
}

/** The intake of each input topic, by topic name. */
export function intakesOf(
  settings: Settings,
  topics: Pick<Topics, 'posts' | 'comments' | 'counterspeech'>,
  parts: IntakeParts,
): ReadonlyMap<string, TopicIntake> {
  const {
    threads,
    cases,
    outbox,
    queues,
    protocols,
    routes,
    memo,
    samplingRank,
    clock,
    report,
    descriptions = () => [],
  } = parts
  const rules = threadRules(settings, samplingRank)
  const { checkpoints } = settings
  const { maxReplies } = settings.threads
  const retract = retractionOf(protocols, clock)
  const erase = async (ref: ThreadRef) => {
    // Also for a repeated deletion: the first may have been interrupted between the two steps.
    await memo.forget(ref, settings.memo.keep)
    return threads.deletePost(ref, (protocol, revision) => retract(ref, protocol, revision))
  }
  const eraseComments = commentEraser({
    ...{ threads, cases, memo, queues, protocols, clock },
    settings: { checkpoints, caseDeadlineMs: settings.cases.deadline },
  })
  return new Map([
    [topics.posts, topicIntake(posts({ threads, routes, erase, rules, checkpoints, clock, descriptions }))],
    [topics.comments, topicIntake(comments({ threads, rules, erase: eraseComments, clock }))],
    [
      topics.counterspeech,
      topicIntake(counterspeech({ threads, outbox, routes, erase, rules, checkpoints, clock, maxReplies, report })),
    ],
  ])
}

/** The retraction of a deleted post, by protocol. */
export function retractionOf(protocols: readonly Protocol[], clock: () => number) {
  return (ref: ThreadRef, name: string, revision: number) => {
    const protocol = protocols.find((one) => one.name === name)
    const id = (number: number) =>
      verdictId({
        protocol: name,
        tenant: ref.tenant,
        subjectId: ref.postId,
        revision: number,
        crossKind: protocol !== undefined && judgesCrossKind(protocol, ref.kind),
      })
    const now = clock()
    const { verdict, transcript } = retraction({
      id: id(revision),
      protocol: name,
      tenant: ref.tenant,
      subjectId: ref.postId,
      kind: ref.kind,
      revision,
      final: true,
      supersedes: id(revision - 1),
      versions: protocol === undefined ? { script: 0, prompts: '', settings: '' } : versionsOf(protocol),
      createdAt: now,
      receivedAt: now,
      openedAt: now,
    })
    return { caseId: verdict.id, verdict: JSON.stringify(verdict), transcript }
  }
}

function threadRules({ checkpoints, threads }: Settings, samplingRank: SamplingRank): ThreadRules {
  return {
    window: checkpoints.finalAge,
    counts: checkpoints.counts,
    cap: threads.maxComments,
    perAuthor: threads.maxPerAuthor,
    perUnnamed: threads.maxUnnamed,
    isPlaceholder: placeholders(threads.placeholders),
    samplingKeyVersion: samplingKeyVersion(samplingRank),
    rank: ({ tenant, kind, postId }, id) => samplingRank(`sample ${tenant}/${kind}:${postId}`, id),
    textChars: threads.maxTextChars,
    reopen: checkpoints.reopen,
    orphanWait: threads.orphanWait,
  }
}
