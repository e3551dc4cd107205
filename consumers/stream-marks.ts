import type { Clock } from '../src/contracts/ports/clock.ts'
import type { StreamMark, StreamMarks } from '../src/contracts/ports/threads.ts'
import type { Position } from '../src/contracts/ports/topic.ts'
import { UNREAD } from '../src/judging/threads/stream-clock.ts'

/** In ms of event time. */
const LEFT_BEHIND_MS = 60_000
/** Who was at the end so long ago, in ms, has what was sent since and no backlog. */
const AT_END_MS = 3_000

/**
 * The marks by which the stream's clock goes, of the partitions that this process reads, as it last read or wrote them: how far
 * each has come by its messages' own times, and since when it has been read to its end.
 */
export class PartitionMarks {
  readonly #marks: StreamMarks
  readonly #known = new Map<string, StreamMark>()
  /** By partition: the sequence number of the last start or end of a batch. */
  readonly #handled = new Map<string, number>()
  #batches = 0
  #furthest = 0

  constructor(marks: StreamMarks) {
    this.#marks = marks
  }

  /** The furthest that a partition has come, ms of event time, as far as this process knows; 0 if none has come anywhere. */
  get furthest(): number {
    return this.#furthest
  }

  /**
   * Whether a partition that was read to its end is so far behind another one that the clock has long passed it: what still comes
   * there does not stop the clock, or one old message every few seconds would, for everybody.
   */
  isLeftBehind({ newest, second, endSince }: StreamMark): boolean {
    return endSince !== null && (second ?? newest ?? this.#furthest) < this.#furthest - LEFT_BEHIND_MS
  }

  /** A batch of the partition begins, or has ended. */
  noteBatch(partition: string): void {
    this.#handled.set(partition, ++this.#batches)
  }

  async of(partition: string): Promise<StreamMark> {
    const own = this.#known.get(partition)
    if (own !== undefined) return own
    const all = await this.#marks.read()
    this.#advance(all.values())
    const stored = all.get(partition) ?? UNREAD
    this.#known.set(partition, stored)
    return stored
  }

  async write(changed: ReadonlyMap<string, StreamMark>): Promise<void> {
    // The next write builds on these, so writes must reach the store in order.
    for (const [partition, mark] of changed) this.#known.set(partition, mark)
    this.#advance(changed.values())
    try {
      await this.#marks.write(changed)
    } catch (error) {
      // The write may still have succeeded: read the mark again next time.
      for (const partition of changed.keys()) this.#known.delete(partition)
      throw error
    }
  }

  #advance(marks: Iterable<StreamMark>): void {
    for (const { second } of marks) this.#furthest = Math.max(this.#furthest, second ?? 0)
  }

  /** Notes which partitions of clocked topics have been read to the end, empty ones included. */
  async noteEnds(ask: () => Promise<Position[]>, isClocked: (topic: string) => boolean, clock: Clock): Promise<void> {
    // Messages that arrive while Kafka is asked are not in its answer.
    const [asked, before] = [clock(), this.#batches]
    const positions = await ask()
    this.#advance((await this.#marks.read()).values())
    const changed = new Map<string, StreamMark>()
    // Other processes write the marks of the other partitions.
    const own = new Set(positions.map(partitionKey))
    for (const partition of this.#known.keys()) if (!own.has(partition)) this.#known.delete(partition)
    for (const position of positions) {
      if (!isClocked(position.topic)) continue
      const partition = partitionKey(position)
      const mark = await this.of(partition)
      if (position.lag === 0) changed.set(partition, { ...mark, endSince: mark.endSince ?? asked, seenAt: asked })
      const isLive = this.isLeftBehind(mark) && asked - mark.seenAt < AT_END_MS
      if (position.lag > 0 && mark.endSince !== null && !isLive) changed.set(partition, { ...mark, endSince: null })
    }
    for (const partition of changed.keys()) if ((this.#handled.get(partition) ?? 0) > before) changed.delete(partition)
    await this.write(changed)
  }
}

/** A partition's name among all topics'. */
export function partitionKey({ topic, partition }: { readonly topic: string; readonly partition: number }): string {
  return `${topic}/${partition}`
}
