/** How far the group had come in one partition when somebody looked. */
interface Look {
  /** ms since 1970 */
  readonly at: number
  /** The next offset that it will read; -1: it has committed none. */
  readonly committed: number
}

/**
 * What was seen of the group's commits while the service ran. A message was taken before the first look that finds its offset
 * committed: under load that may be long after it was sent.
 */
export class Progress {
  readonly #looks = new Map<string, Look[]>()

  note(at: number, topic: string, partition: number, committed: number): void {
    const name = `${topic}/${partition}`
    const looks = this.#looks.get(name) ?? []
    this.#looks.set(name, looks)
    if ((looks.at(-1)?.committed ?? -1) < committed) looks.push({ at, committed })
  }

  /** When the message had been taken for sure; undefined where no look was that late. */
  takenBefore(topic: string, partition: number, offset: string): number | undefined {
    return this.#looks.get(`${topic}/${partition}`)?.find(({ committed }) => committed > Number(offset))?.at
  }
}
