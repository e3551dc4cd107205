import type { Answer } from './page.ts'
import { TEXTS } from './texts.ts'
import { html } from './view.ts'

/** What a person may neither read nor decide on now, since they give a second opinion on it. */
export const CLOSED: Answer = {
  title: TEXTS.review.closed,
  body: html`<h1>${TEXTS.review.closed}</h1><p>${TEXTS.review.closedSays}</p><p><a href="/review">${TEXTS.review.title}</a></p>`,
  status: 409,
}
