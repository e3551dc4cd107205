import { Counter, Gauge, Histogram } from 'prom-client'
import { classOf } from '../../contracts/facts/service-class.ts'
import { duration, type MetricGroup } from './group.ts'

/** Few: each bound is a series of every stage. */
const STAGE_WAIT_SECONDS = [0.01, 0.1, 1, 10, 100]
const STAGE_RUN_SECONDS = [0.1, 1, 10, 60]

/** Asks in their stages' queues. */
export const stageMetrics: MetricGroup = (registry, { protocols }) => {
  const registers = [registry]
  const stageWait = new Histogram({
    name: 'gavel_stage_wait_seconds',
    help: 'Time that asks spent in their stage queue before a worker took them.',
    labelNames: ['stage', 'protocol'],
    buckets: STAGE_WAIT_SECONDS,
    registers,
  })
  const classWait = new Histogram({
    name: 'gavel_class_wait_seconds',
    help: 'Time that asks spent in a queue before a worker took them, by class: waiting (somebody waits on HTTP) or rest.',
    labelNames: ['class'],
    buckets: STAGE_WAIT_SECONDS,
    registers,
  })
  const stageRun = new Histogram({
    name: 'gavel_stage_run_seconds',
    help: 'Time that a worker spent on one attempt at an ask.',
    labelNames: ['stage', 'protocol', 'outcome'],
    buckets: STAGE_RUN_SECONDS,
    registers,
  })
  const stageJobs = new Gauge({
    name: 'gavel_stage_jobs',
    help: 'Asks in each stage queue by state. Shared.',
    labelNames: ['stage', 'protocol', 'state'],
    registers,
  })
  const stageOldest = new Gauge({
    name: 'gavel_stage_oldest_waiting_seconds',
    help: 'For how long the oldest waiting ask of each stage could have been taken; grows while a stage is stuck. Shared.',
    labelNames: ['stage', 'protocol'],
    registers,
  })
  const stalled = new Counter({
    name: 'gavel_stalled_jobs_total',
    help: 'Jobs given to another worker because theirs died or sent no heartbeat for too long.',
    labelNames: ['queue'],
    registers,
  })
  const lapsed = new Counter({
    name: 'gavel_lapsed_locks_total',
    help: 'Jobs whose lock their worker could not renew in time, so that another may have run them as well.',
    labelNames: ['queue'],
    registers,
  })

  const share = new Gauge({
    name: 'gavel_slots_share',
    help: 'The part of its slots that this process takes; below 1 while its event loop lags, so that locks are renewed in time.',
    registers,
  })
  share.set(1)

  for (const queue of ['cases', 'waiting.cases', 'waiting.asks'])
    for (const counter of [stalled, lapsed]) counter.inc({ queue }, 0)
  for (const { name: protocol, stages } of protocols)
    for (const stage of stages) lapsed.inc({ queue: `${protocol}.${stage}` }, 0)

  return {
    'ask:started': ({ stage, protocol, waitSeconds, caseId }) => {
      stageWait.observe({ stage, protocol }, duration(waitSeconds))
      classWait.observe({ class: classOf(caseId ?? '') }, duration(waitSeconds))
    },
    'ask:ended': ({ stage, protocol, outcome, seconds }) =>
      stageRun.observe({ stage, protocol, outcome }, duration(seconds)),
    'state:exported': ({ here }) => {
      if (!here) for (const gauge of [stageJobs, stageOldest]) gauge.reset()
    },
    'job:stalled': ({ queue }) => stalled.inc({ queue }),
    'slots:shared': (taken) => share.set(taken.share),
    'job:lapsed': ({ queue, jobs }) => lapsed.inc({ queue }, jobs),
    'stage:backlog': ({ stage, protocol, states, oldestWaitingSeconds }) => {
      for (const [state, jobs] of Object.entries(states)) stageJobs.set({ stage, protocol, state }, jobs)
      stageOldest.set({ stage, protocol }, oldestWaitingSeconds)
    },
  }
}
