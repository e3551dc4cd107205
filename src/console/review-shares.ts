import type { QueueFilter, QueueReason } from '../contracts/ports/review.ts'

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
/** Most tenants of which it is known when a person took something of theirs. */
const MOST_TENANTS = 8

/**
 * Which kind of item each person's next is: what only chance brought is never the costliest mistake, and would wait for ever behind
 * what is. Each kind's share adds up until an item is owed; it begins anywhere, so that also who takes one item alone has its chance.
 */
export class ReviewTurns {
  readonly #shares: readonly (readonly [QueueReason, number])[]
  readonly #random: () => number
  readonly #owed = new Map<string, number[]>()
  readonly #took = new Map<string, readonly string[]>()

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

  /** Notes of which tenant this person took something. */
  took(person: string, tenant: string): void {
    const before = this.#took.get(person) ?? []
    this.#took.delete(person)
    this.#took.set(person, [tenant, ...before.filter((one) => one !== tenant)].slice(0, MOST_TENANTS))
    for (const first of this.#took.keys()) if (this.#took.size > MOST_PEOPLE) this.#took.delete(first)
  }

  /** What to look through for this person's next item. */
  filters(person: string, filter: QueueFilter): QueueFilter[] {
    return inTurn(filter, this.#took.get(person) ?? [])
  }
}

/**
 * Filters to look through one after the other, so that tenants take turns, as one whose threads are long would have all costliest
 * mistakes: first what is of none of the tenants that had their turn, then what is of the one that had it longest ago, and so on.
 * `turns` names them, the last first.
 */
export function inTurn<Filter extends QueueFilter>(filter: Filter, turns: readonly string[]): Filter[] {
  if (filter.tenants?.length === 1) return [filter]
  const had = [...new Set(turns)].slice(0, MOST_TENANTS)
  return [...had.map((_, at) => ({ ...filter, exceptTenants: had.slice(0, had.length - at) })), filter]
}
