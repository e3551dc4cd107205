import { Counter, Gauge } from 'prom-client'
import { DEAD_LETTER_REASONS, OUTCOMES } from '../../contracts/facts/messages.ts'
import { PRESSURE_KINDS, SOURCE_OUTCOMES } from '../../contracts/ports/report.ts'
import type { MetricGroup } from './group.ts'

/** Input messages: their outcomes, how far behind their readers are, and when intake is paused. */
export const intakeMetrics: MetricGroup = (registry, { topics, sources = [] }) => {
  const registers = [registry]
  const messages = new Counter({
    name: 'gavel_messages_total',
    help: 'Input messages by outcome.',
    labelNames: ['topic', 'outcome'],
    registers,
  })
  const deadLetters = new Counter({
    name: 'gavel_dead_letters_total',
    help: 'Messages that could not be read or judged.',
    labelNames: ['reason'],
    registers,
  })
  const sourceRecords = new Counter({
    name: 'gavel_source_records_total',
    help: 'Records of the topics of sources: mapped to messages, meant by no entry, or not to be mapped.',
    labelNames: ['topic', 'outcome'],
    registers,
  })
  const lagMessages = new Gauge({
    name: 'gavel_kafka_lag_messages',
    help: 'Messages beyond what the group has committed; absent while unknown. Shared.',
    labelNames: ['topic', 'partition'],
    registers,
  })
  const lagSeconds = new Gauge({
    name: 'gavel_kafka_lag_seconds',
    help: "For how long a partition's end has been beyond what the group has committed; absent while unknown. Shared.",
    labelNames: ['topic', 'partition'],
    registers,
  })
  const assigned = new Gauge({
    name: 'gavel_partition_assigned',
    help: '1 for each partition that the group has given to this process to read.',
    labelNames: ['topic', 'partition'],
    registers,
  })
  const consumerDown = new Gauge({
    name: 'gavel_consumer_down_seconds',
    help: 'How long this process has been without a working Kafka consumer.',
    registers,
  })
  const paused = new Gauge({ name: 'gavel_intake_paused', help: '1 while intake is paused by the backlog.', registers })
  const openingPaused = new Gauge({
    name: 'gavel_opening_paused',
    help: '1 while no case opens, because verdicts pile up in the outbox.',
    registers,
  })
  const overload = new Gauge({
    name: 'gavel_overload_step',
    help: 'The step of cases.overload that is in force: 0 none, 1 single, 2 sample, 3 hold.',
    registers,
  })
  const pausedBy = new Gauge({
    name: 'gavel_intake_paused_by',
    help: '1 while intake is paused, for each of the reasons for which it was.',
    labelNames: ['reason'],
    registers,
  })
  const pauses = new Counter({
    name: 'gavel_intake_pauses_total',
    help: 'How often intake paused, by what was too deep, too old or too full.',
    labelNames: ['reason'],
    registers,
  })

  for (const topic of topics) for (const outcome of OUTCOMES) messages.inc({ topic, outcome }, 0)
  for (const reason of DEAD_LETTER_REASONS) deadLetters.inc({ reason }, 0)
  for (const topic of sources) for (const outcome of SOURCE_OUTCOMES) sourceRecords.inc({ topic, outcome }, 0)
  const resume = () => {
    for (const reason of PRESSURE_KINDS) pausedBy.set({ reason }, 0)
  }
  resume()
  for (const reason of PRESSURE_KINDS) pauses.inc({ reason }, 0)

  return {
    'messages:settled': ({ topic, outcome, count }) => messages.inc({ topic, outcome }, count),
    'message:dead': ({ reason }) => deadLetters.inc({ reason }),
    'source:read': ({ topic, outcome, count }) => sourceRecords.inc({ topic, outcome }, count),
    'intake:paused': ({ signals }) => {
      paused.set(1)
      for (const reason of signals) pauses.inc({ reason })
      for (const reason of signals) pausedBy.set({ reason }, 1)
    },
    'intake:resumed': () => {
      paused.set(0)
      resume()
    },
    'opening:paused': () => openingPaused.set(1),
    'opening:resumed': () => openingPaused.set(0),
    'overload:step': ({ step }) => overload.set(step),
    'kafka:lag': ({ partitions }) => {
      for (const gauge of [lagMessages, lagSeconds]) gauge.reset()
      for (const { topic, partition, messages: behind, seconds } of partitions ?? []) {
        lagMessages.set({ topic, partition }, behind)
        if (seconds !== null) lagSeconds.set({ topic, partition }, seconds)
      }
    },
    'partitions:assigned': ({ partitions }) => {
      assigned.reset()
      for (const one of partitions) assigned.set(one, 1)
    },
    'consumer:watched': ({ downSeconds }) => consumerDown.set(downSeconds),
  }
}
