import { randomUUID } from 'node:crypto'
import type { Settings } from '../../../config/schema.ts'
import { type SamplingRank, samplingKeyVersion } from '../../contracts/facts/sampling-rank.ts'
import type { Answers } from '../../contracts/ports/answers.ts'
import type { Library } from '../../contracts/ports/library.ts'
import type { PublicationGate } from '../../contracts/ports/publication.ts'
import type { Vetoes } from '../../contracts/ports/vetoes.ts'
import type { DeadlineSettings } from '../../judging/engine/deadline.ts'
import { erasureLoop } from '../../judging/engine/erasure-loop.ts'
import { shownCaseCleaner } from '../../judging/engine/exposed-cases.ts'
import { judge } from '../../judging/engine/judge.ts'
import { reconciler } from '../../judging/engine/reconcile.ts'
import type { ReplayNotes } from '../../judging/engine/replay-notes.ts'
import { stagesOf } from '../../judging/engine/script.ts'
import { attendCases } from '../../judging/engine/unattended.ts'
import type { AskedModelCheck } from '../../judging/recorded/replay-recorded.ts'
import { chainOf } from '../../models/fallback.ts'
import type { Lookups } from '../../models/lookups.ts'
import { dialectLookup } from '../../models/openai/models-of-endpoints.ts'
import { callsDrain } from '../../operations/closable.ts'
import { bullQueues } from '../../store/queue/workers.ts'
import type { ServiceParts } from './parts.ts'
import { verdictForm } from './verdict-form.ts'

interface JudgingParts extends Pick<ServiceParts, 'protocols' | 'cases' | 'gateway' | 'clock' | 'report'> {
  readonly library: Pick<Library, 'find' | 'embedder'>
  readonly deadlineSettings?: DeadlineSettings
  readonly lookups?: Pick<Lookups, 'lookUp'>
  readonly answers?: Pick<Answers, 'onDropped'>
  readonly gate?: Pick<PublicationGate, 'closed'>
  readonly vetoes?: Vetoes | undefined
  /** By which draws are made; absent where nobody will replay the cases. */
  readonly samplingRank?: SamplingRank
}

/** How a case's worker processes its jobs. */
export function judgeOf(settings: Settings, { protocols, samplingRank, ...parts }: JudgingParts) {
  const byName = new Map(protocols.map((protocol) => [protocol.name, protocol]))
  const writes = verdictForm(settings)
  const noted = samplingRank === undefined ? undefined : replayNotes(settings, samplingRank)
  return judge({ protocols: byName, ...parts, settings: { ...settings.cases, writes, noted } })
}

/** What transcripts note of how these settings ask. */
export function replayNotes(settings: Settings, samplingRank: SamplingRank): ReplayNotes {
  const dialectOf = dialectLookup(settings)
  return {
    key: samplingKeyVersion(samplingRank),
    firstModel: (protocol, role) => chainOf(settings.models.roles, protocol, role)[0] ?? '',
    withThinking(model) {
      const { thinkingTokens: tokens, effort } = dialectOf(model)
      return tokens === 0 && effort === null ? model : `${model} (thinking ${effort ?? ''} ${tokens})`
    },
  }
}

/** An answer counts as that of any model of the role's chain: each may be asked in place of the others. */
export function askedModelCheck(settings: Settings, protocol: string, samplingRank: SamplingRank): AskedModelCheck {
  const { withThinking } = replayNotes(settings, samplingRank)
  const chains = new Map<string, ReadonlySet<string>>()
  return (role, asked) => {
    const known = chains.get(role) ?? new Set(chainOf(settings.models.roles, protocol, role).map(withThinking))
    chains.set(role, known)
    return known.has(asked)
  }
}

/** Judges cases in this process, gives jobs to cases that have none, and ends cases that no process works on. */
export function startJudging(settings: Settings, parts: JudgingParts & Pick<ServiceParts, 'queues' | 'loops'>): void {
  const { protocols, cases, queues, clock, report, loops } = parts
  const work = judgeOf(settings, { ...parts, deadlineSettings: settings.cases })
  queues.work(work)
  const { reconcileAfter } = settings.cases
  const everyMs = Math.max(500, reconcileAfter / 3)
  const { pending } = work
  loops.start('reconciler', everyMs, reconciler({ cases, queues, pending, report, idleMs: reconcileAfter }))
  const worked = protocols.map(({ name }) => name)
  const ending = { ...settings.cases, writes: verdictForm(settings) }
  const unworked = { protocols: worked, cases, queues, clock, report, settings: ending }
  loops.start('unworked cases', everyMs, attendCases(unworked))
}

/** The stage queues of these protocols. When closed, calls in flight have ended or were cut off in time. */
export function queuesPart(
  settings: Settings,
  {
    redis,
    protocols,
    stoppingSince,
    clock,
    report,
  }: Pick<ServiceParts, 'redis' | 'protocols' | 'clock' | 'report'> & {
    /** When the stop began, by the monotonic clock; null before. */
    stoppingSince: () => number | null
  },
) {
  const queues = bullQueues({
    connection: redis.working,
    stages: stagesOf(protocols),
    settings: {
      prefix: redis.keys.queues,
      cases: settings.cases,
      classes: settings.shares,
      stages: settings.stages,
      queues: settings.queues,
    },
    clock,
    report,
  })
  const stoppingFor = () => performance.now() - (stoppingSince() ?? performance.now())
  return { queues, close: () => queues.close(callsDrain(settings.drain, stoppingFor())) }
}

/** How often to look for what was deleted, in ms: it is gone from shelves and cases within two seconds. */
const LOOK_MS = 250

/** Erases what was deleted from the shelves, and from cases that were shown it. For processes that have the library. */
export function startErasing(
  settings: Settings,
  parts: Pick<
    ServiceParts,
    'threads' | 'cases' | 'memo' | 'erasures' | 'library' | 'protocols' | 'queues' | 'loops' | 'clock' | 'report'
  >,
): void {
  const { threads, cases, memo, erasures, library, protocols, queues, loops, clock, report } = parts
  const clean = shownCaseCleaner({ threads, cases, memo, owners: erasures, protocols, clock, settings })
  const erase = erasureLoop({
    erasures,
    library,
    clean,
    queues,
    report,
    settings: {
      name: randomUUID(),
      restartsPerSecond: settings.cases.restartsPerSecond,
      keepTombstone: settings.threads.keepTombstone,
    },
  })
  loops.start('erasure from shelves', LOOK_MS, erase.shelves)
  loops.start('erasure from cases', LOOK_MS, erase.cases)
}
