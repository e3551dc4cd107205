import type { Kafka } from 'kafkajs'
import type { Clock } from '../src/contracts/ports/clock.ts'
import { RecordDamaged, type RecordedTopic, RecordFull, type RecordStore } from '../src/contracts/ports/record.ts'
import type { Report } from '../src/contracts/ports/report.ts'
import type { HandleBatch, TopicReader } from '../src/contracts/ports/topic.ts'
import { recording } from '../src/record/follow.ts'
import type { ProjectContext } from '../src/record/project.ts'
import { groupAdmin } from '../src/stream/group-admin.ts'
import { groupProgress } from '../src/stream/offsets.ts'
import type { ReaderSettings } from './group-consumer.ts'
import { besideIntake, groupReader } from './group-reader.ts'

/** Takes what was judged, said and deleted from the topics into the record. When closed, it has written what it has read. */
export function recordConsumer(of: {
  readonly kafka: Kafka
  readonly settings: Omit<ReaderSettings, 'group' | 'topics'>
  /** The group of the processes that write the record of this name. */
  readonly groupOf: (name: string) => string
  /** The recorded topics, by their names in Kafka. */
  readonly topics: ReadonlyMap<string, RecordedTopic>
  readonly store: RecordStore
  readonly project: ProjectContext
  readonly clock: Clock
  readonly report: Report
}) {
  const { kafka, settings, groupOf, topics, store, project, clock, report } = of
  const admin = groupAdmin(kafka)
  const state = writing(report)
  let reader: TopicReader | null = null
  let changing = Promise.resolve()
  let holes = 0
  const reading = readingMark()

  const record = recording({ store, topics, bounds, project, renamed })
  const handle: HandleBatch = async (batch, heartbeat, runInBackground) => {
    if (state.damaged()) throw new Error(state.problem() ?? '')
    await record(batch, heartbeat, runInBackground).catch((error: unknown) => {
      state.failed(error)
      throw error
    })
    state.succeeded()
  }

  async function bounds(topic: string, partition: number) {
    const all = await admin.ask((asked) => asked.fetchTopicOffsets(topic))
    const { low = '0', high = '0' } = all.find((one) => one.partition === partition) ?? {}
    return { low: Number(low), high: Number(high) }
  }

  /** Reads as the group of the store's name. */
  async function read(): Promise<void> {
    await reader?.close()
    const group = groupOf(await store.name())
    // If it fails, the record skips what it has.
    await alignGroup(group).catch((error: unknown) => report('error', { where: 'record', error }))
    const own = { ...settings, group, topics: [...topics.keys()], turn: TURN_MS }
    reader = groupReader({ kafka, settings: own, clock, report: besideIntake(report) })
    await reader.start(handle)
  }

  /** A group that nobody is in goes on where the record is, and not where it was itself. */
  async function alignGroup(group: string): Promise<void> {
    const { alone } = await groupProgress(kafka, group, [...topics.keys()])
    if (!alone) return
    const positions = await store.positions()
    for (const [name, topic] of topics) {
      const partitions = [...positions].flatMap(([key, next]) => {
        const [of, partition] = key.split('/')
        return of === topic ? [{ partition: Number(partition), offset: String(next) }] : []
      })
      if (partitions.length > 0)
        await admin.ask((asked) => asked.setOffsets({ groupId: group, topic: name, partitions }))
    }
  }

  function renamed(): void {
    changing = changing.then(read).catch((error: unknown) => report('error', { where: 'record', error }))
  }

  return {
    /** Why nothing is written; null while it is. */
    problem: state.problem,
    /** The offset of the first message that a partition still has, and that behind its last. */
    bounds,
    /** All that was sent before this time is read. */
    readUntil: reading.until,
    async start() {
      renamed()
      await changing
    },
    /** Does what is due without a message. */
    async tidy() {
      if (!state.damaged()) await store.tidy(clock(), reading.until())
    },
    /** Tells how much the record holds. */
    async count() {
      const size = await store.size()
      report('record:counted', { size })
      if (size.holes > holes) report('record:holes', { holes: size.holes, advice: HOLES })
      holes = size.holes
    },
    /** Tells how much of each topic is still to be read. */
    async countUnread() {
      const begun = clock()
      const positions = await store.positions()
      const unread = new Map<string, number>()
      const ends = new Map<string, number>()
      const reached = new Map<string, number>()
      for (const [name, topic] of topics) {
        const all = await admin.ask((asked) => asked.fetchTopicOffsets(name))
        const left = all.map(({ partition, low, high }) => {
          const key = `${topic}/${partition}`
          const next = Math.max(Number(low), positions.get(key) ?? 0)
          reached.set(key, next)
          ends.set(key, Number(high))
          return Math.max(0, Number(high) - next)
        })
        unread.set(
          name,
          left.reduce((sum, one) => sum + one, 0),
        )
      }
      reading.note(begun, { ends, reached })
      report('record:lag', { topics: unread })
    },
    async close() {
      await changing
      try {
        await reader?.close()
      } finally {
        await admin.close()
      }
    },
  }
}

/** How long one partition's messages are written before others have their turn, in ms: one tenant's feedback holds up nobody's verdicts. */
const TURN_MS = 250

const HOLES =
  'Topics had lost messages before the record read them, so it lacks them. Keep the role running, or raise kafka.retention.'

/** Whether the record can be written, and the listener for changes of that. */
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

/** Up to which time all that was sent is read: since the reader has passed what were the topics' ends then. */
function readingMark() {
  let until = 0
  let mark: { at: number; ends: ReadonlyMap<string, number> } | null = null
  return {
    until: () => until,
    note(at: number, { ends, reached }: { ends: ReadonlyMap<string, number>; reached: ReadonlyMap<string, number> }) {
      if (mark !== null && [...mark.ends].every(([key, end]) => (reached.get(key) ?? 0) >= end)) {
        until = mark.at
        mark = null
      }
      mark ??= { at, ends }
    },
  }
}
