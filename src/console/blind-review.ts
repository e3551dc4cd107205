import type { ThreadRef } from '../contracts/facts/thread.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { PageAnswer } from './page.ts'
import { TEXTS } from './texts.ts'
import { html } from './view.ts'

/** Most subjects that are closed at a time; the oldest opens. */
const MOST = 10_000

/** Subjects whose verdicts a person may not read, while they give a second opinion without having seen the first. In this process. */
export class BlindReviews {
  readonly #clock: Clock
  readonly #until = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  close(by: string, subject: ThreadRef, until: number): void {
    this.#until.set(nameOf(by, subject), until)
    for (const name of this.#until.keys()) if (this.#until.size > MOST) this.#until.delete(name)
  }

  open(by: string, subject: ThreadRef): void {
    this.#until.delete(nameOf(by, subject))
  }

  isClosed(by: string, subject: ThreadRef): boolean {
    return (this.#until.get(nameOf(by, subject)) ?? 0) > this.#clock()
  }

  /** The rows that this person may read. */
  openTo<Row extends { readonly subject: ThreadRef }>(by: string, rows: readonly Row[]): Row[] {
    return rows.filter(({ subject }) => !this.isClosed(by, subject))
  }
}

function nameOf(by: string, { tenant, kind, postId }: ThreadRef): string {
  return JSON.stringify([by, tenant, kind, postId])
}

/** What a person may neither read nor decide on now, since they give a second opinion on it. */
export const CLOSED: PageAnswer = {
  title: TEXTS.review.closed,
  body: html`<h1>${TEXTS.review.closed}</h1><p>${TEXTS.review.closedSays}</p><p><a href="/review">${TEXTS.review.title}</a></p>`,
  status: 409,
}
