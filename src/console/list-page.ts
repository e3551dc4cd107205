import type { ThreadRef } from '../contracts/facts/thread.ts'
import type { BlindReviews } from './blind-review.ts'
import { TEXTS } from './texts.ts'
import { html, link, NOTHING, type SafeMarkup } from './view.ts'

/** A page of a long list: what of the rows that were found a person may read, what is closed to them, and the way to older ones. */
export function listPage<Row extends { readonly subject: ThreadRef; readonly place: string }>(
  found: readonly Row[],
  of: {
    readonly blinds: BlindReviews
    readonly by: string
    readonly path: string
    readonly query: URLSearchParams
    readonly most: number
  },
): { readonly readable: readonly Row[]; readonly closed: readonly Row[]; readonly older: SafeMarkup } {
  const readable = of.blinds.openTo(of.by, found)
  const last = found.length === of.most ? found.at(-1)?.place : undefined
  const to = link(of.path, { ...Object.fromEntries(of.query), before: last })
  return {
    readable,
    closed: found.filter((one) => !readable.includes(one)),
    older: last === undefined ? NOTHING : html`<p><a rel="next" href="${to}">${TEXTS.older}</a></p>`,
  }
}
