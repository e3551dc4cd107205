import type { Settings } from '../config/schema.ts'
import { comments } from '../consumers/comments.ts'
import { counterspeech } from '../consumers/counterspeech.ts'
import { type TopicIntake, topicIntake } from '../consumers/intake.ts'
import { posts } from '../consumers/posts.ts'
import { deadLetterOf } from '../producers/dead-letter.ts'
import { makeEmbedder } from './adapters/embedders/make.ts'
import { lanceLibrary } from './adapters/lancedb/library.ts'
import { memoryBudgets } from './adapters/memory/budgets.ts'
import { memoryLimits } from './adapters/memory/limits.ts'
import { memoryMemo } from './adapters/memory/memo.ts'
import { drawOf, type Lot } from './domain/lot.ts'
import type { ThreadRef } from './domain/thread.ts'
import { verdictId } from './domain/verdict.ts'
import { commentEraser, MOST_DEADLINES } from './engine/erase.ts'
import { farewell, type JudgeSettings, versionsOf } from './engine/judge.ts'
import type { OpenerSettings } from './engine/open.ts'
import { judgesBesides, type Router } from './engine/routes.ts'
import type { Protocol } from './engine/script.ts'
import type { GatewayParts, GatewaySettings } from './gateway/gateway.ts'
import type { BudgetSettings } from './ports/budgets.ts'
import type { CaseStore } from './ports/cases.ts'
import type { Clock } from './ports/clock.ts'
import type { Library } from './ports/library.ts'
import type { LimitsOf } from './ports/limits.ts'
import type { Memo } from './ports/memo.ts'
import type { StageQueues } from './ports/queues.ts'
import type { Report } from './ports/report.ts'
import type { Origin, ThreadRules, ThreadStore } from './ports/threads.ts'

// What the parts are given, out of the settings: the same for the service and for judging a file.

export function topicsOf(settings: Settings) {
  const named = (name: string) => `${settings.kafka.topicPrefix}${name}`
  return {
    posts: named('posts'),
    comments: named('comments'),
    counterspeech: named('counterspeech'),
    feedback: named('feedback'),
    verdicts: named('verdicts'),
    transcripts: named('transcripts'),
    deadLetters: named('dead-letters'),
  }
}

export function gatewaySettings(settings: Settings, secret: string): GatewaySettings {
  const { models, memo, limits, budgets, breaker } = settings
  const { coolDown, maxCoolDown, ...breaking } = breaker
  const { slots, roles, prices, latencyTolerance, imageTokens } = models
  return {
    ...{ slots, roles, prices, latencyTolerance, imageTokens },
    callTimeoutMs: models.callTimeout,
    minTimeoutMs: models.minTimeout,
    limits: { models: mapped(limits.models, given), tenants: mapped(limits.tenants, given) },
    whenSpent: budgets.whenSpent,
    breaker: { ...breaking, coolDownMs: coolDown, maxCoolDownMs: maxCoolDown },
    memo: memo.enabled
      ? { keepMs: memo.keep, leaseMs: memo.lease, patienceMs: memo.patience, maxBytes: memo.maxBytes }
      : null,
    images: { keepMs: settings.images.keepFor, maxBytes: settings.images.keepBytes },
    secret,
  }
}

/** A call's place is its own until it must have ended. */
export function limitLeaseMs({ models }: Settings): number {
  return models.callTimeout + 30_000
}

export function budgetSettings({ budgets, cases }: Settings): BudgetSettings {
  const { verdict, tenants } = budgets
  const { per: tenantPer, ...tenant } = budgets.tenant
  const { per: totalPer, ...total } = budgets.total
  return {
    ...{ verdict, tenants },
    tenant: { ...tenant, perMs: tenantPer },
    total: { ...total, perMs: totalPer },
    keepVerdictMs: (MOST_DEADLINES + 1) * cases.deadline,
  }
}

/** Without what is not set: absent and undefined are not the same. */
function given({ callsPerMinute, tokensPerMinute, inFlight }: Settings['limits']['models'][string]): LimitsOf {
  return {
    ...(callsPerMinute === undefined ? {} : { callsPerMinute }),
    ...(tokensPerMinute === undefined ? {} : { tokensPerMinute }),
    ...(inFlight === undefined ? {} : { inFlight }),
  }
}

function mapped<From, To>(values: Readonly<Record<string, From>>, to: (value: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, to(value)]))
}

/** The gateway's stores in memory, for one process that judges by itself. */
export function memoryGatewayParts(
  settings: Settings,
  clock: Clock,
): Pick<GatewayParts, 'memo' | 'limits' | 'budgets'> {
  return {
    memo: memoryMemo(clock),
    limits: memoryLimits(clock, { leaseMs: limitLeaseMs(settings) }),
    budgets: memoryBudgets(budgetSettings(settings), clock),
  }
}

/** The library that the settings name; nothing of it is loaded before it is needed. */
export function libraryOf({ library, openai }: Pick<Settings, 'library' | 'openai'>, clock: Clock): Library {
  const { path, proposalsPerAuthor, newProposals, shared } = library
  const embedder = makeEmbedder(library.embedder, openai)
  return lanceLibrary({
    path,
    embedder,
    now: clock,
    proposalsPerAuthor,
    newProposals: { perAuthor: newProposals.perAuthor, perTenant: newProposals.perTenant, perMs: newProposals.per },
    shared: new Set(shared),
  })
}

export function imageSettings({ images }: Settings) {
  return { maxBytes: images.maxBytes, timeoutMs: images.timeout, maxRedirects: images.maxRedirects }
}

export function judgeSettings({ cases }: Settings): JudgeSettings {
  return { maxTakeovers: cases.maxTakeovers, handBackMs: cases.handBack, transcriptBytes: cases.transcriptBytes }
}

function threadRules({ checkpoints, threads }: Settings, lot: Lot): ThreadRules {
  return {
    window: checkpoints.finalAge,
    counts: checkpoints.counts,
    cap: threads.maxComments,
    perAuthor: threads.maxPerAuthor,
    draw: drawOf(lot),
    rank: ({ tenant, kind, postId }, id) => lot(`sample ${tenant}/${kind}:${postId}`, id),
    textChars: threads.maxTextChars,
    reopen: checkpoints.reopen,
    orphanWait: threads.orphanWait,
  }
}

export function openerSettings(settings: Settings, partitions: OpenerSettings['partitions']): OpenerSettings {
  return {
    checkpoints: settings.checkpoints,
    clock: settings.clock,
    maxOpen: settings.cases.maxOpen,
    pressedAtDue: settings.cases.pressedAtDue,
    caseDeadlineMs: settings.cases.deadline,
    partitions,
  }
}

/** What becomes of the messages of each input topic. */
export function intakesOf(
  topics: Pick<ReturnType<typeof topicsOf>, 'posts' | 'comments' | 'counterspeech'>,
  deps: {
    settings: Settings
    threads: ThreadStore
    protocols: readonly Protocol[]
    routes: Router
    library: Pick<Library, 'forget'>
    memo: Pick<Memo, 'forget'>
    lot: Lot
    clock: Clock
    cases: CaseStore
    /** Null where the reconciler is left to give a case its job. */
    queues: Pick<StageQueues, 'push'> | null
    /** Of posts from a data set alone: what a vision model saw in their images. */
    descriptions?: (post: ThreadRef) => readonly string[]
  },
): ReadonlyMap<string, TopicIntake> {
  const {
    settings,
    threads,
    cases,
    queues,
    protocols,
    routes,
    library,
    memo,
    lot,
    clock,
    descriptions = () => [],
  } = deps
  const rules = threadRules(settings, lot)
  const { checkpoints } = settings
  const farewell = farewellOf(protocols, clock)
  const erase = async (ref: ThreadRef) => {
    // Also for a deletion that comes again: the first one may have been cut off between the two.
    await memo.forget(ref, settings.memo.keep)
    await library.forget({ tenant: ref.tenant, id: ref.postId })
    return threads.deletePost(ref, (protocol, revision) => farewell(ref, protocol, revision))
  }
  const eraseCase = commentEraser({
    ...{ threads, cases, queues, protocols, clock },
    settings: { checkpoints, caseDeadlineMs: settings.cases.deadline },
  })
  const eraseComments = async (ref: ThreadRef, deleted: ReadonlySet<string>) => {
    await eraseCase(ref, deleted)
    // As long as a call may be under way whose question holds the comment, no answer about the post is kept.
    await memo.forget(ref, settings.cases.deadline)
  }
  return new Map([
    [topics.posts, topicIntake(posts({ threads, routes, erase, rules, checkpoints, clock, descriptions }))],
    [topics.comments, topicIntake(comments({ threads, rules, erase: eraseComments, clock }))],
    [topics.counterspeech, topicIntake(counterspeech({ threads, routes, erase, rules, checkpoints, clock }))],
  ])
}

/** The dead letter of a comment whose post never came. */
export function orphanLetter(report: Report) {
  return ({ topic, partition, offset, timestamp, raw, bytes }: Origin) => {
    const detail =
      raw === '' ? 'no post came for this comment, one of more than are kept' : 'no post came for this comment'
    report('message:dead', { topic, partition, offset, reason: 'orphan-expired', detail })
    const value = Buffer.from(raw, 'base64')
    const from = { topic, partition, offset, timestamp, key: null, headers: {}, value }
    return deadLetterOf(from, { reason: 'orphan-expired', detail }, bytes)
  }
}

/** The last revision of a deleted post, by protocol. */
export function farewellOf(protocols: readonly Protocol[], clock: () => number) {
  return (ref: ThreadRef, name: string, revision: number) => {
    const protocol = protocols.find((one) => one.name === name)
    const id = (number: number) =>
      verdictId({
        protocol: name,
        tenant: ref.tenant,
        subjectId: ref.postId,
        revision: number,
        besides: protocol !== undefined && judgesBesides(protocol, ref.kind),
      })
    const now = clock()
    const { verdict, transcript } = farewell({
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
