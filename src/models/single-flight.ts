import type { ThreadRef } from '../contracts/facts/thread.ts'
import type { MemoEntry } from '../contracts/ports/memo.ts'

/** One piece of work by one caller in this process, shared by everyone here who waits for its result. */
export interface Flight<Owner, Result> {
  /** The caller that started it. */
  readonly owner: Owner
  /** Resolves when it ends, to null if there is no result. Never rejects. */
  readonly ended: Promise<Result | null>
  /** How many are waiting for it now, the owner included. */
  readonly waiters: number
  /** Ends it for everyone who waits. After null the next caller may start it again. */
  resolve(result: Result | null): void
}

/** One caller's view: the flights that it has started, and those of others that it has joined. */
export interface Waiter<Owner, Result> {
  /** Joins the flights of these keys, and starts missing ones, or with `anew` all of them. Returns the started keys. */
  join(keys: Iterable<string>, anew?: boolean): ReadonlySet<string>
  /** The flight of a key that this caller has joined. */
  flightOf(key: string): Flight<Owner, Result> | undefined
  /** Stops waiting for all of them; those that it started continue until they are resolved. */
  leave(): void
}

/** Single flight: of many callers in one process that need the same thing, the first starts it and the others wait. */
export function singleFlight<Owner, Result>(): { waiter(owner: Owner): Waiter<Owner, Result> } {
  const flights = new Map<string, EndedFlight<Owner, Result>>()

  function start(key: string, owner: Owner) {
    const flight = new EndedFlight<Owner, Result>(owner, () => {
      if (flights.get(key) === flight) flights.delete(key)
    })
    flights.set(key, flight)
    return flight
  }

  return {
    waiter(owner) {
      const joined = new Map<string, EndedFlight<Owner, Result>>()
      return {
        join(keys, anew = false) {
          const started = new Set<string>()
          for (const key of keys) {
            const known = anew ? undefined : flights.get(key)
            const flight = known ?? start(key, owner)
            if (known === undefined) started.add(key)
            flight.waiters++
            joined.set(key, flight)
          }
          return started
        },
        flightOf: (key) => joined.get(key),
        leave() {
          for (const flight of joined.values()) flight.waiters--
          joined.clear()
        },
      }
    },
  }
}

/** Of who asks questions, by their keys: the subject that it asks about, and the answers. */
export type QuestionFlights = ReturnType<typeof singleFlight<ThreadRef, MemoEntry>>

/** A flight. Of most nobody waits for the end, so the promise of it is made when it is asked for. */
class EndedFlight<Owner, Result> implements Flight<Owner, Result> {
  readonly owner: Owner
  waiters = 0
  readonly #gone: () => void
  #result: Result | null | undefined
  #waiting: PromiseWithResolvers<Result | null> | undefined

  constructor(owner: Owner, gone: () => void) {
    this.owner = owner
    this.#gone = gone
  }

  get ended(): Promise<Result | null> {
    if (this.#result !== undefined) return Promise.resolve(this.#result)
    this.#waiting ??= Promise.withResolvers()
    return this.#waiting.promise
  }

  resolve(result: Result | null): void {
    if (this.#result !== undefined) return
    this.#result = result
    this.#waiting?.resolve(result)
    this.#gone()
  }
}
