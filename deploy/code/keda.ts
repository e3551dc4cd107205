import { ScaledObject } from '@kubernetes-models/keda/keda.sh/v1alpha1/ScaledObject'
import { GAVEL, labelsOf, shipped } from './names.ts'

// Own queries in place of the lag: while intake is paused the lag grows by itself, and more intake would read nothing sooner.

const PROMETHEUS = 'http://prometheus-operated.monitoring.svc:9090'
const only = `gavel="${GAVEL}"`

/** Seconds that what waits may take: with more, replicas are added. */
const BACKLOG_SECONDS = 30
/** Of a replica's slots so many may be in use. */
const BUSY_SLOTS = Math.floor(0.7 * shipped.models.slots)
/** Messages a second that an intake is taken to read at the least, so that a stream that has just begun adds none. */
const LEAST_INTAKE = 100

/** Nothing where Gavel has no series at all: KEDA then keeps the replicas that there are, and does not take it for no load. */
const NOTHING = `0 * count(gavel_build_info{${only}})`

const intakes = `count(gavel_build_info{${only},roles=~"(.*,)?intake(,.*)?"})`

/** Each is divided by its threshold: so many replicas are wanted. */
export const QUERIES = {
  /** Slots of all judges that are busy. What waits does not count: where the endpoint is slow, more judges would make it slower. */
  slots: `sum(avg_over_time(gavel_model_slots{${only},state="busy"}[2m])) or ${NOTHING}`,
  /** In how many seconds one judge would answer what waits for a worker; 0 while nobody answers, for then no judge helps. */
  backlog: `(sum(max by (protocol, stage) (gavel_stage_jobs{${only},state="waiting"})) * count(count by (instance) (rate(gavel_stage_run_seconds_count{${only},outcome="answered"}[5m]) > 0)) / (sum(rate(gavel_stage_run_seconds_count{${only},outcome="answered"}[5m])) > 0)) or ${NOTHING}`,
  /** In how many seconds one intake would read what is unread; while intake is paused, as many as there are stay. */
  lag: `(${BACKLOG_SECONDS} * ${intakes} and on () (max(gavel_intake_paused{${only}}) == 1)) or (sum(max by (topic, partition) (gavel_kafka_lag_messages{${only}})) / clamp_min((sum(rate(gavel_messages_total{${only}}[5m])) or vector(0)) / ${intakes}, ${LEAST_INTAKE})) or ${NOTHING}`,
}

function scaled(role: string, max: number, triggers: readonly (readonly [query: string, threshold: number])[]) {
  return new ScaledObject({
    metadata: { name: `gavel-${role}`, labels: labelsOf(role) },
    spec: {
      scaleTargetRef: { name: `gavel-${role}` },
      minReplicaCount: 2,
      maxReplicaCount: max,
      pollingInterval: 30,
      cooldownPeriod: 600,
      // A Prometheus that is away, or has no series of Gavel, takes no replica away.
      fallback: { failureThreshold: 3, replicas: 2, behavior: 'currentReplicasIfHigher' },
      advanced: {
        horizontalPodAutoscalerConfig: {
          behavior: {
            // Each change has the group share out its partitions anew.
            scaleDown: { stabilizationWindowSeconds: 600, policies: [{ type: 'Pods', value: 1, periodSeconds: 120 }] },
            scaleUp: { stabilizationWindowSeconds: 30, policies: [{ type: 'Pods', value: 4, periodSeconds: 60 }] },
          },
        },
      },
      triggers: triggers.map(([query, threshold]) => ({
        type: 'prometheus',
        metricType: 'AverageValue',
        metadata: { serverAddress: PROMETHEUS, query, threshold: String(threshold), ignoreNullValues: 'false' },
      })),
    },
  })
}

export const judges = scaled('judge', 20, [
  [QUERIES.slots, BUSY_SLOTS],
  [QUERIES.backlog, BACKLOG_SECONDS],
])
/** More than there are partitions would stand by. */
export const intakesScaled = scaled('intake', shipped.kafka.partitions, [[QUERIES.lag, BACKLOG_SECONDS]])
