import type { ThreadRef } from '../contracts/facts/thread.ts'
import { type BlindReviews, CLOSED } from './blind-review.ts'
import type { Page } from './page.ts'
import { TEXTS } from './texts.ts'
import { html, link, NOTHING, words } from './view.ts'

const LANGUAGES = ['en', 'de'] as const

/** A statement of reasons as a page shows it: in words, or what is missing for one. */
export interface ShownStatement {
  /** Null where the record no longer has its subject. */
  readonly subject: ThreadRef | null
  readonly isWithdrawn: boolean
  /** The verdict with another label that is in force in place of the one that it rests on. */
  readonly replacedBy: string | null
  readonly says: string | readonly string[]
}

/** The statement for an action, by a tenant and its id; null if there is no such action of these tenants. */
export type ReadStatement = (
  of: { readonly tenant: string; readonly id: string; readonly lang: (typeof LANGUAGES)[number] },
  tenants: readonly string[] | undefined,
) => Promise<ShownStatement | null>

interface StatementPageParts {
  readonly read: ReadStatement
  readonly blinds: BlindReviews
}

/** The statement of reasons for an action, in the words of one language. */
export const statementPage = (parts: StatementPageParts) => textPage('/reasons', TEXTS.statement, parts)

/** A person's answer to an appeal, in the same way. */
export const answerPage = (parts: StatementPageParts) => textPage('/appeal-answer', TEXTS.answer, parts)

function textPage(
  path: string,
  texts: typeof TEXTS.statement | typeof TEXTS.answer,
  { read, blinds }: StatementPageParts,
): Page {
  return {
    method: 'GET',
    path,
    right: 'see',
    showsLabels: true,
    async answer({ query, session }) {
      const [tenant, id] = [query.get('tenant') ?? '', query.get('id') ?? '']
      const lang = LANGUAGES.find((one) => one === query.get('lang')) ?? 'en'
      const { title, none, withdrawn, lacks } = texts
      const found = await read({ tenant, id, lang }, session.tenants)
      if (found === null) return { title, body: html`<h1>${title}</h1><p>${none}</p>`, status: 404 }
      const { subject, isWithdrawn, replacedBy, says } = found
      if (subject !== null && blinds.isClosed(session.by, subject)) return CLOSED
      const others = LANGUAGES.filter((one) => one !== lang).map(
        (one) =>
          html` <a href="${link(path, { tenant, id, lang: one })}" lang="${one}">${TEXTS.statement.languages[one]}</a>`,
      )
      const shown =
        typeof says === 'string'
          ? html`<pre lang="${lang}" tabindex="0">${words(says, { most: 4_000 })}</pre>`
          : html`<p>${lacks}</p><ul>${says.map((one) => html`<li>${words(one, { most: 400 })}</li>`)}</ul>`
      return {
        title,
        body: html`<h1>${title}</h1>
<p>${words(id, { most: 200 })}${isWithdrawn ? html` <strong>${withdrawn}</strong>` : NOTHING}${others}</p>
${replacedBy === null ? NOTHING : html`<p class="notice">${TEXTS.statement.replaced} <a href="${link('/verdict', { id: replacedBy })}">${TEXTS.statement.inForce}</a></p>`}
${shown}`,
      }
    },
  }
}
