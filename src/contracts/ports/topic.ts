/** One Kafka message. */
export interface IncomingMessage {
  readonly topic: string
  readonly partition: number
  readonly offset: string
  readonly key: string | null
  readonly value: Buffer | null
  readonly headers: Readonly<Record<string, string>>
  /** Why `headers` has only the first of its headers, without their words: a message with so many is not taken. */
  readonly headersCut?: string | undefined
  /** The broker's timestamp, ms since 1970. */
  readonly timestamp: number
}

/** Offsets of a partition: from the first up to, but not including, the second. */
export interface Range {
  readonly from: bigint
  readonly to: bigint
}

/** Consecutive messages of one partition; empty if its offsets hold no messages, such as transaction markers. */
export interface MessageBatch {
  readonly topic: string
  readonly partition: number
  readonly messages: readonly IncomingMessage[]
  /** The offset that was asked for; what lies before its first message holds none. Absent where that is not known. */
  readonly from?: string
  /** The offset to commit once they are handled: after the last of them, and after any transaction markers. */
  readonly next: string
  /** The partition ends after the last of these. */
  readonly atEnd: boolean
  /** Whether this reader goes on with it; once it was told not to, its offset is not committed. Absent: it always does. */
  readonly isOurs?: () => boolean
}

/** A group's position in one partition that this process reads. */
export interface Position {
  readonly topic: string
  readonly partition: number
  readonly lag: number
}

/**
 * Begins work that a message means beyond its own step. The offset of its batch is committed only after it; no other batch
 * waits for it. It may be begun again if it rejects. With `holdsPartition` nothing more of its partition is read until it has ended.
 */
export type BackgroundRunner = (work: () => Promise<unknown>, options?: { readonly holdsPartition: boolean }) => void

/** Reports that work on messages continues: one message may mean any amount of it. Rejects if this reader is no longer the one to do it. */
export type Heartbeat = () => Promise<void>

/** Handles a batch; sends a heartbeat between the steps of a long one. */
export type HandleBatch = (
  batch: MessageBatch,
  heartbeat: Heartbeat,
  runInBackground: BackgroundRunner,
) => Promise<void>

/**
 * Reads topics as one member of a group. A batch's offset is committed only after `handle` has resolved, and the work that it
 * began `runInBackground`; if one of them rejects, or the process dies, the batch is read again. A reader that has died replaces itself.
 */
export interface TopicReader {
  start(handle: HandleBatch): Promise<void>
  /** Partitions that this process reads now, with what is left in each. */
  positions(): Promise<Position[]>
  /** Stops or resumes fetching; survives rebalances. */
  setPaused(paused: boolean): void
  /** Since when (wall ms) this reader has been without a working consumer; null while it has one. */
  readonly downSince: number | null
  close(): Promise<void>
}

/** Reads topics between offsets, without a group, and ends. */
export interface TopicHistory {
  /** Each partition's range, from the first message of `since` (ms since 1970; null: from the beginning) to the end. */
  rangesOf(topic: string, since: number | null): Promise<ReadonlyMap<number, Range>>
  /** Passes on the messages in these ranges, in the order of each partition. Rejects with what `take` rejected with. */
  read(
    topic: string,
    ranges: ReadonlyMap<number, Range>,
    take: (messages: readonly IncomingMessage[]) => Promise<void> | void,
  ): Promise<void>
}

/** How far a group has read. */
export interface GroupProgress {
  /** The next offset to read, by topic and partition; only for partitions where the group has committed one. */
  readonly committed: ReadonlyMap<string, ReadonlyMap<number, bigint>>
  /** The group has no members now, according to the brokers. */
  readonly alone: boolean
}

export interface OutgoingMessage {
  readonly topic: string
  readonly key: string | Buffer | null
  readonly value: string | Buffer
  readonly headers?: Readonly<Record<string, string | Buffer | (string | Buffer)[]>>
}

/** A broker permanently refuses one of these records, because it is too large. Others may have been written. */
export class RefusedRecord extends Error {
  override readonly name = 'RefusedRecord'
}

/**
 * Resolves when every record has been acknowledged by all in-sync replicas; rejects if that is not known, with a
 * `RefusedRecord` if one of them never will be, or with a `BrokerRefused` if none will before a setting is changed.
 */
export interface TopicWriter {
  send(records: readonly OutgoingMessage[]): Promise<void>
  close(): Promise<void>
}

/** Writes one record, and tells where it stands. After a lost acknowledgement it may stand there once more, before that. */
export interface PlacingWriter {
  place(record: OutgoingMessage): Promise<Pick<IncomingMessage, 'partition' | 'offset'>>
}

export const COMPRESSIONS = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const
export type Compression = (typeof COMPRESSIONS)[number]
