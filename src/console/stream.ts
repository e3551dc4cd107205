import type { ThreadRef } from '../contracts/facts/thread.ts'
import type { RecordedRow, RecordFilter, RecordReader } from '../contracts/ports/record.ts'
import { nameOf } from './lists.ts'

// This decides what a live page hears, and in which order; live.ts sends it.

/** What a page that is kept up to date hears; `at`: the place in the record that it goes on from if it hears nothing more. */
export type StreamEvent =
  | { readonly event: 'row'; readonly at: string; readonly row: RecordedRow }
  /** What came does not fit, but the words of its subject, which the page may show, are to be covered from now on. */
  | { readonly event: 'cover'; readonly at: string; readonly row: RecordedRow }
  /** So many came that they are not sent one by one. */
  | { readonly event: 'far'; readonly at: string; readonly left: number }
  /** So much was deleted that deletions are not sent one by one: what the page shows must be loaded anew. */
  | { readonly event: 'anew'; readonly at: string }
  | { readonly event: 'erase'; readonly at: string; readonly subject: ThreadRef }

export interface StreamListener {
  /** Rows that fit are heard. */
  readonly filter: RecordFilter
  /** Whether the words of a row's subject are to be covered; without it no row that does not fit is heard of. */
  covers?(row: RecordedRow): boolean
  hear(told: StreamEvent): void
}

/** Most rows that are read in one poll; beyond them a page gets only their number. */
const MOST_BEHIND = 150

/**
 * Sends what comes into the record to every page that listens: one poll of the record serves all. A page that comes back names the
 * last place that it heard of, and goes on there.
 */
export class RecordStream {
  readonly #record: Pick<RecordReader, 'arrivals'>
  readonly #look: (rows: readonly RecordedRow[]) => Promise<unknown>
  readonly #listening = new Set<StreamListener>()
  #at: string | null = null
  /** Reads one after the other: what comes while a page begins to listen is sent to it as well. */
  #reading: Promise<unknown> = Promise.resolve()

  /** `look`: what is done with rows before anybody hears of them. */
  constructor(
    record: Pick<RecordReader, 'arrivals'>,
    look: (rows: readonly RecordedRow[]) => Promise<unknown> = async () => {},
  ) {
    this.#record = record
    this.#look = look
  }

  /** Polls once, if anybody listens. */
  poll(): Promise<void> {
    return this.#alone(async () => {
      if (this.#listening.size === 0) this.#at = null
      else this.#at = await this.#tell(this.#at, [...this.#listening])
    })
  }

  /** Listens from the place `after`, or from now on; the function that is returned ends it. */
  async listen(one: StreamListener, after: string | null): Promise<() => void> {
    // What came long before is read beside the polls for all others, of whom nobody waits for it.
    const heard = after === null ? null : await this.#tell(after, [one])
    return this.#alone(async () => {
      this.#at ??= (await this.#record.arrivals(null, 0)).at
      if (heard !== null && heard !== this.#at) {
        // The others are told first what it has heard already: no poll tells it again.
        this.#at = await this.#tell(this.#at, [...this.#listening])
        if (heard !== this.#at) await this.#tell(heard, [one])
      }
      this.#listening.add(one)
      return () => void this.#listening.delete(one)
    })
  }

  #alone<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = this.#reading.then(work)
    this.#reading = done.catch(() => {})
    return done
  }

  get listening(): number {
    return this.#listening.size
  }

  async #tell(after: string | null, to: readonly StreamListener[]): Promise<string> {
    const { rows, erased, at, left } = await this.#record.arrivals(after, MOST_BEHIND)
    // Further rows are not sent one by one: the next poll begins behind them. Erasures of that time are sent all the same.
    const rest = left > 0 ? await this.#record.arrivals(at, 0) : { erased: [], at }
    const gone = erased === null || rest.erased === null ? null : [...erased, ...rest.erased]
    const isGone = new Set(rest.erased?.map(nameOf))
    const still = rows.filter(({ subject }) => !isGone.has(nameOf(subject)))
    await this.#look(still)
    for (const one of to) {
      const all = gone === null ? [{ event: 'anew' } as const] : [...eventsOf(gone, still, left, one)]
      // Who is cut off before the last of them hears all of them again.
      for (const [nth, told] of all.entries())
        one.hear({ ...told, at: nth === all.length - 1 ? rest.at : (after ?? rest.at) })
    }
    return rest.at
  }
}

/** The events of one poll for a page: deletions first. */
function* eventsOf(gone: readonly ThreadRef[], rows: readonly RecordedRow[], left: number, to: StreamListener) {
  const { filter } = to
  for (const one of gone) if (allows(filter, one.tenant)) yield { event: 'erase', subject: one } as const
  for (const row of rows) {
    if (fits(row, filter)) yield { event: 'row', row } as const
    else if (allows(filter, row.verdict.tenant) && to.covers?.(row) === true) yield { event: 'cover', row } as const
  }
  if (left > 0) yield { event: 'far', left } as const
}

function allows({ tenants }: RecordFilter, tenant: string): boolean {
  return tenants === undefined || tenants.includes(tenant)
}

/** The fields of a filter that a list in an address can set, by the rules of the record. */
function fits({ verdict, contested, author, lang }: RecordedRow, filter: RecordFilter): boolean {
  const { protocol, label } = filter
  return (
    allows(filter, verdict.tenant) &&
    (protocol === undefined || protocol === verdict.protocol) &&
    (label === undefined || label === verdict.label) &&
    (filter.author === undefined || filter.author === author) &&
    (filter.lang === undefined || filter.lang === lang) &&
    (filter.contested === undefined || contested) &&
    (filter.opposed === undefined || verdict.opposed !== undefined) &&
    (filter.degraded === undefined || verdict.degraded.length > 0)
  )
}
