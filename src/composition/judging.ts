import type { Settings } from '../../config/schema.ts'
import type { DeadlineSettings } from '../engine/deadline.ts'
import { type JudgeSettings, judge } from '../engine/judge.ts'
import type { OpenedCases } from '../engine/opened-cases.ts'
import { reconciler } from '../engine/reconcile.ts'
import type { Protocol } from '../engine/script.ts'
import { unworkedCases } from '../engine/unworked.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { Lookups } from '../gateway/lookups.ts'
import type { CaseStore } from '../ports/cases.ts'
import type { Clock } from '../ports/clock.ts'
import type { Library } from '../ports/library.ts'
import type { StageQueues } from '../ports/queues.ts'
import type { Report } from '../ports/report.ts'
import type { Loops } from './loop.ts'

interface JudgingParts {
  readonly protocols: readonly Protocol[]
  readonly cases: CaseStore
  readonly gateway: Gateway
  readonly library: Pick<Library, 'find' | 'embedder'>
  readonly clock: Clock
  readonly report: Report
  readonly opened?: Pick<OpenedCases, 'use'>
  readonly holding?: DeadlineSettings
  readonly lookups?: Pick<Lookups, 'look'>
}

/** How a case's worker processes its jobs. */
export function judgeOf(settings: Settings, { protocols, ...parts }: JudgingParts) {
  const byName = new Map(protocols.map((protocol) => [protocol.name, protocol]))
  return judge({ protocols: byName, ...parts, settings: judgeSettings(settings) })
}

/** The stages of these protocols; each has a queue. */
export function stagesOf(protocols: readonly Protocol[]) {
  return protocols.flatMap(({ name, stages }) => stages.map((stage) => ({ protocol: name, stage })))
}

/** Judges cases in this process, gives jobs to cases that have none, and ends cases that no process works on. */
export function startJudging(
  settings: Settings,
  parts: JudgingParts & { readonly queues: StageQueues; readonly loops: Loops },
): void {
  const { protocols, cases, queues, clock, report, loops } = parts
  const work = judgeOf(settings, { ...parts, holding: holdingSettings(settings) })
  queues.work(work)
  const { reconcileAfter } = settings.cases
  const everyMs = Math.max(500, reconcileAfter / 3)
  const { pending } = work
  loops.start('reconciler', everyMs, reconciler({ cases, queues, pending, report, idleMs: reconcileAfter }))
  const worked = protocols.map(({ name }) => name)
  const unworked = { protocols: worked, cases, queues, clock, report, settings: judgeSettings(settings) }
  loops.start('unworked cases', everyMs, unworkedCases(unworked))
}

/** Of a service; commands that judge a file hold nothing. */
export function holdingSettings({ cases }: Settings): DeadlineSettings {
  return { caseDeadlineMs: cases.deadline, mostHeldMs: cases.mostHeld }
}

function judgeSettings({ cases }: Settings): JudgeSettings {
  return { maxTakeovers: cases.maxTakeovers, handBackMs: cases.handBack, transcriptBytes: cases.transcriptBytes }
}
