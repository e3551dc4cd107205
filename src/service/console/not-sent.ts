import type { Session } from './sessions.ts'
import { TEXTS } from './texts.ts'
import { html, NOTHING, type Safe, words } from './view.ts'

/** What was to be sent when the session had ended: all of it stands in the page, to be sent again after signing in elsewhere. */
export function notSent(path: string, form: URLSearchParams, session: Session | null): Safe {
  const fields = [...form].filter(([name]) => name !== 'token')
  return html`<h1>${TEXTS.notSent.title}</h1>
    <p>${session === null ? TEXTS.notSent.ended : TEXTS.notSent.other}</p>
    <dl class="fields">${fields.map(([name, value]) => html`<dt>${words(name, { most: 60 })}</dt><dd>${words(value, { most: 2_000 })}</dd>`)}</dl>
    <form method="post" action="${path}">
      ${fields.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
      <input type="hidden" name="token" value="${session?.token ?? form.get('token') ?? ''}">
      ${session === null ? html`<a class="button" href="/sign-in" target="_blank" rel="noopener">${TEXTS.signIn.title}</a> ` : NOTHING}
      <button class="main">${TEXTS.notSent.again}</button>
    </form>`
}
