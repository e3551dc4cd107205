import { existsSync } from 'node:fs'
import type { Settings } from '../../../config/schema.ts'
import type { Topics } from '../../../config/topics.ts'
import { groupReader } from '../../../consumers/group-reader.ts'
import { groupAdmin } from '../adapters/kafka/group-admin.ts'
import { groupProgress } from '../adapters/kafka/offsets.ts'
import type { Address } from '../adapters/postgres/connection.ts'
import { postgresRecord, postgresRecordReader, postgresReviewQueue } from '../adapters/postgres/record.ts'
import { NoRecord } from '../adapters/postgres/schema.ts'
import { sqliteRecord, sqliteRecordReader, sqliteReviewQueue } from '../adapters/sqlite/record.ts'
import { OperatorError } from '../domain/errors.ts'
import { labelsForPeople } from '../engine/script.ts'
import { closable, type Keep } from '../operations/closable.ts'
import type { Loops } from '../operations/loop.ts'
import type { Clock } from '../ports/clock.ts'
import {
  RECORDED_TOPICS,
  RecordDamaged,
  type RecordedTopic,
  RecordFull,
  type RecordReader,
  type RecordStore,
} from '../ports/record.ts'
import type { Report } from '../ports/report.ts'
import type { ReviewQueue } from '../ports/review.ts'
import type { HandleBatch, TopicReader } from '../ports/topic.ts'
import { weighed } from '../protocols/weighed.ts'
import { recording } from '../record/follow.ts'
import type { ProjectContext } from '../record/project.ts'
import type { KafkaClient } from './kafka.ts'
import { protocolsOf } from './protocols.ts'
import { besideIntake } from './reader-report.ts'

/** How often what is due without a message is done, what the record holds is counted, and what it has to read, in ms. */
const [TIDY_MS, COUNT_MS, LAG_MS] = [1_000, 30_000, 5_000]
/** Longer than the topics keep what a deletion concerns, in ms. */
const BEYOND_RETENTION_MS = 86_400_000

/** The record of the settings, opened to be written. Throws an `OperatorError` if it is damaged. `from`: what a rebuilt one is made by. */
export async function recordStoreOf(settings: Settings, from: Rebuilt = {}): Promise<RecordStore> {
  const { record, review, kafka } = settings
  const [{ keep, maxBytes }, { auditShare, blindShare }] = [record, review]
  const sourceKeep = kafka.retention + BEYOND_RETENTION_MS
  const { place, drawKey } = from
  const common = {
    ...{ keep, maxBytes, sourceKeep, auditShare, blindShare },
    ...(drawKey === undefined ? {} : { drawKey }),
  }
  return asked(settings, () =>
    record.store === 'sqlite'
      ? sqliteRecord({ path: place ?? record.path, ...common })
      : postgresRecord({ address: addressOf(record, place), vacuumWithin: record.postgres.vacuumWithin, ...common }),
  )
}

interface Rebuilt {
  /** Another file, or schema, than that of the settings. */
  readonly place?: string
  readonly drawKey?: string
}

/** The same, opened to be read. Throws an `OperatorError` if there is none, or it is damaged. */
export function recordReaderOf(settings: Settings): Promise<RecordReader> {
  return asked(settings, () => readerOf(settings))
}

/** The queue of what people should look at, over the same record. Throws as `recordReaderOf` does. */
export function reviewQueueOf(settings: Settings): Promise<ReviewQueue> {
  const { record, review } = settings
  const { costs } = review
  return asked(settings, () =>
    record.store === 'sqlite'
      ? sqliteReviewQueue({ path: record.path, costs })
      : postgresReviewQueue({ address: addressOf(record), costs }),
  )
}

/** The record of the settings once it is there, for those who read it beside other work; null until then. */
export function recordAt(settings: Settings, keep: Keep): () => Promise<RecordReader | null> {
  let open: Promise<RecordReader> | null = null
  keep({ close: async () => void (await (await open?.catch(() => null))?.close()) })
  return async () => {
    if (open === null && settings.record.store === 'sqlite' && !existsSync(settings.record.path)) return null
    open ??= readerOf(settings)
    const own = open
    return own.catch((error: unknown) => {
      if (open === own) open = null
      if (error instanceof NoRecord) return null
      throw error
    })
  }
}

function readerOf({ record }: Settings): Promise<RecordReader> {
  return record.store === 'sqlite' ? sqliteRecordReader(record.path) : postgresRecordReader(addressOf(record))
}

/** Where the record is in PostgreSQL. Throws an `OperatorError` if the settings do not say. */
export function addressOf({ postgres }: Settings['record'], schema = postgres.schema): Address {
  if (postgres.url === '')
    throw new OperatorError(
      'record.store is postgres, and record.postgres.url (GAVEL_RECORD_POSTGRES_URL) is empty: set postgresql://user@host:5432/database.',
    )
  return { ...postgres, schema }
}

/** Does this with the record; what an operator can do something about is told as such. */
async function asked<Result>({ record }: Settings, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw record.store === 'sqlite' ? ofFile(error, record.path) : ofDatabase(error)
  }
}

function ofFile(error: unknown, path: string): unknown {
  if (error instanceof RecordDamaged) return new OperatorError(error.message, { cause: error })
  if (error instanceof Error && /unable to open/.test(error.message))
    return new OperatorError(
      `There is no record at ${path} (record.path). It is kept by "gavel run --roles intake,judge,publish,record", on this machine.`,
      { cause: error },
    )
  return error
}

function ofDatabase(error: unknown): unknown {
  if (error instanceof OperatorError || !(error instanceof Error)) return error
  if (error instanceof RecordDamaged) return new OperatorError(error.message, { cause: error })
  if (error instanceof NoRecord)
    return new OperatorError(
      `There is no record in PostgreSQL: ${error.message} (record.postgres). It is kept by "gavel run --roles intake,judge,publish,record".`,
      { cause: error },
    )
  return new OperatorError(
    `PostgreSQL, where the record is (record.postgres.url), can't be asked: ${error.message || String('code' in error ? error.code : error)}. See docs/connections.md.`,
    { cause: error },
  )
}

/** How the record reads messages, also of protocols that are switched off now. */
export function projectOf(settings: Settings): ProjectContext {
  const { record, intake } = settings
  const on = Object.entries(settings.protocols).map(([name, own]) => [name, { ...own, enabled: true }])
  const { protocols } = protocolsOf({ ...settings, protocols: Object.fromEntries(on) }, '')
  return {
    ofReplies: new Set(protocols.filter(({ subject }) => subject === 'reply').map(({ name }) => name)),
    labels: new Map(protocols.map((one) => [one.name, new Set(labelsForPeople(one))])),
    weigh: weighed,
    indexChars: record.indexChars,
    maxBytes: Math.max(intake.maxMessageBytes, LONGEST_OWN),
  }
}
/** No message of Gavel's own is longer, in bytes. */
const LONGEST_OWN = 16 * 2 ** 20

/** The Kafka group of the processes that write the record of this name. */
export function recordGroup({ kafka }: Settings, name: string): string {
  return `${kafka.group}-record-${name}`
}

/** The recorded topics, by their names in Kafka. */
export function recordedTopics(topics: Topics): ReadonlyMap<string, RecordedTopic> {
  return new Map(RECORDED_TOPICS.map((topic) => [topics[topic], topic]))
}

/** Takes what was judged, said and deleted from the topics into the record. When closed, it has written what it has read. */
export function recordPart(
  settings: Settings,
  deps: { kafka: KafkaClient; topics: Topics; loops: Loops; clock: Clock; report: Report },
) {
  const { kafka, topics, loops, clock, report } = deps
  return closable(async (keep) => {
    const store = keep(await recordStoreOf(settings))
    const queue = keep(await reviewQueueOf(settings))
    const admin = keep(groupAdmin(kafka))
    const named = recordedTopics(topics)
    const state = writing(report)
    let reader: TopicReader | null = null
    let changing = Promise.resolve()
    const bounds = async (topic: string, partition: number) => {
      const all = await admin.ask((asked) => asked.fetchTopicOffsets(topic))
      const { low = '0', high = '0' } = all.find((one) => one.partition === partition) ?? {}
      return { low: Number(low), high: Number(high) }
    }
    /** A group that nobody is in goes on where the record is, and not where it was itself. */
    async function alignGroup(group: string): Promise<void> {
      const { alone } = await groupProgress(kafka, group, [...named.keys()])
      if (!alone) return
      const positions = await store.positions()
      for (const [name, topic] of named) {
        const partitions = [...positions].flatMap(([key, next]) => {
          const [of, partition] = key.split('/')
          return of === topic ? [{ partition: Number(partition), offset: String(next) }] : []
        })
        if (partitions.length > 0)
          await admin.ask((asked) => asked.setOffsets({ groupId: group, topic: name, partitions }))
      }
    }
    const record = recording({ store, topics: named, bounds, project: projectOf(settings), renamed })
    const handle: HandleBatch = async (batch, heartbeat, later) => {
      if (state.damaged()) throw new Error(state.problem() ?? '')
      await record(batch, heartbeat, later).catch((error: unknown) => {
        state.failed(error)
        throw error
      })
      state.succeeded()
    }
    /** Reads as the group of the store's name. */
    async function read(): Promise<void> {
      await reader?.close()
      const group = recordGroup(settings, await store.name())
      // If it fails, the record skips what it has.
      await alignGroup(group).catch((error: unknown) => report('error', { where: 'record', error }))
      const reading = { ...settings.kafka, group, topics: [...named.keys()] }
      reader = groupReader({ kafka, settings: reading, clock, report: besideIntake(report) })
      await reader.start(handle)
    }
    function renamed(): void {
      changing = changing.then(read).catch((error: unknown) => report('error', { where: 'record', error }))
    }
    renamed()
    await changing
    keep({
      async close() {
        await changing
        await reader?.close()
      },
    })
    loops.start('record', TIDY_MS, async () => {
      if (!state.damaged()) await store.tidy(clock())
    })
    let holes = 0
    loops.start('record size', COUNT_MS, async () => {
      const size = await store.size()
      report('record:counted', { size })
      if (size.holes > holes) report('record:holes', { holes: size.holes, advice: HOLES })
      holes = size.holes
    })
    loops.start('record lag', LAG_MS, async () => {
      report('review:counted', { state: await queue.state(), now: clock() })
      const positions = await store.positions()
      const behind = new Map<string, number>()
      for (const [name, topic] of named) {
        const all = await admin.ask((asked) => asked.fetchTopicOffsets(name))
        const left = all.map(({ partition, low, high }) =>
          Math.max(0, Number(high) - Math.max(Number(low), positions.get(`${topic}/${partition}`) ?? 0)),
        )
        behind.set(
          name,
          left.reduce((sum, one) => sum + one, 0),
        )
      }
      report('record:lag', { topics: behind })
    })
    return { problem: state.problem, store: store as RecordReader }
  })
}

const HOLES =
  'Topics had lost messages before the record read them, so it lacks them. Keep the role running, or raise kafka.retention.'

/** Whether the record can be written, and who is told. */
function writing(report: Report) {
  let problem: string | null = null
  let damaged = false
  return {
    problem: () => problem,
    damaged: () => damaged,
    failed(error: unknown) {
      if (!(error instanceof RecordDamaged || error instanceof RecordFull)) return
      damaged = error instanceof RecordDamaged
      const advice = damaged
        ? 'Stop this role and run "gavel record rebuild", which rebuilds the file from the topics.'
        : 'Free space on its disk, or raise record.maxBytes. Gavel retries until there is room.'
      if (problem === null) report('record:stopped', { why: error.message, advice })
      problem = error.message
    },
    succeeded() {
      if (problem !== null) report('record:resumed', {})
      problem = null
    },
  }
}
