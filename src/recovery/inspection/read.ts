import type { IncomingMessage, TopicHistory } from '../../contracts/ports/topic.ts'

/** How much of the topics is read again. */
export interface ReadBound {
  /** Only what was sent at or after this, ms since 1970; null: from the oldest that is kept. */
  readonly since: number | null
  /** Most records of one partition, the newest. */
  readonly most: number
  /** All partitions, for producers that do not key their records by the subject's id. */
  readonly everywhere: boolean
}

/** A part of a topic that was read. */
export interface ReadPart {
  readonly topic: string
  readonly partition: number
  readonly records: number
  /** Nothing that the topic keeps lies before it. */
  readonly fromBeginning: boolean
}

export interface ReadDeps {
  readonly history: TopicHistory
  /** The partition to which a producer's default partitioner sends records with this key. */
  readonly partitionOf: (key: string, partitions: number) => number
  readonly progress: (topic: string, records: number) => void
}

/**
 * Reads the partition of a topic that holds the records of this key, within the bound. `take` is given every record of it, in
 * order, also those with other keys.
 */
export async function readOwn(
  { history, partitionOf, progress }: ReadDeps,
  topic: string,
  key: string,
  bound: ReadBound,
  take: (records: readonly IncomingMessage[]) => void,
): Promise<ReadPart[]> {
  const [whole, wanted] = await Promise.all([
    history.rangesOf(topic, null),
    bound.since === null ? null : history.rangesOf(topic, bound.since),
  ])
  const own = partitionOf(key, whole.size)
  const most = BigInt(bound.most)
  const ranges = new Map(
    [...(wanted ?? whole)].flatMap(([partition, { from, to }]) =>
      bound.everywhere || partition === own ? [[partition, { from: to - most > from ? to - most : from, to }]] : [],
    ),
  )
  await history.read(topic, ranges, (records) => {
    take(records)
    progress(topic, records.length)
  })
  return [...ranges].map(([partition, { from, to }]) => ({
    topic,
    partition,
    records: Number(to - from),
    fromBeginning: from === whole.get(partition)?.from,
  }))
}
