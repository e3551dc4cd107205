import type { QueueReason } from '../contracts/ports/review.ts'

/** Of what a person takes one after the other so much was not chosen for being doubtful, whatever else waits. */
export interface ReviewShares {
  /** To measure how often machines are wrong. */
  readonly audit: number
  /** To measure how often people agree. */
  readonly secondOpinion: number
  /** To measure how well people decide, by items that a lead made. */
  readonly golden: number
}

/** Most people whose turns are known; the one who took something longest ago is forgotten. */
const MOST_PEOPLE = 1_000

/**
 * Which kind of item each person's next is: what only chance brought is never the costliest mistake, and would wait for ever behind
 * what is. Each kind's share adds up until an item is owed; it begins anywhere, so that also who takes one item alone has its chance.
 */
export class ReviewTurns {
  readonly #shares: readonly (readonly [QueueReason, number])[]
  readonly #random: () => number
  readonly #owed = new Map<string, number[]>()

  constructor({ audit, secondOpinion, golden }: ReviewShares, random: () => number = Math.random) {
    this.#shares = [
      ['sampled', audit],
      ['second-opinion', secondOpinion],
      ['golden', golden],
    ]
    this.#random = random
  }

  /** The kind that is owed to this person; null: the costliest mistake. */
  next(person: string): QueueReason | null {
    const before = this.#owed.get(person) ?? this.#shares.map(() => this.#random())
    const owed = before.map((one, at) => one + (this.#shares[at]?.[1] ?? 0))
    const most = owed.indexOf(Math.max(...owed))
    const isOwed = (owed[most] ?? 0) >= 1
    this.#owed.delete(person)
    this.#owed.set(person, isOwed ? owed.map((one, at) => (at === most ? one - 1 : one)) : owed)
    for (const first of this.#owed.keys()) if (this.#owed.size > MOST_PEOPLE) this.#owed.delete(first)
    return isOwed ? (this.#shares[most]?.[0] ?? null) : null
  }
}
