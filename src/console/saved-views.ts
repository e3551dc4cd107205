import type { ReviewPictures, SavedView } from '../contracts/ports/pictures.ts'
import { DESK_TEXTS as TEXTS } from './desk-texts.ts'
import type { Page, PageAnswer } from './page.ts'
import type { Session } from './sessions.ts'
import { html, link, NOTHING, type SafeMarkup, shown, words } from './view.ts'

/** Longest name of a list and longest query, in characters; most lists of one person. */
const [MOST_NAME, MOST_QUERY, MOST_VIEWS] = [60, 2_000, 20]

/** Where a list's query says whose tenants it was named for; without it, nobody knows. */
const OF_TENANTS = 'tenants'
/** Named by who sees all of them. */
const ALL = '*'

/** A list as it is kept. */
function keptQuery(query: URLSearchParams, { tenants }: Session): string {
  const kept = new URLSearchParams(query)
  kept.delete(OF_TENANTS)
  kept.set(OF_TENANTS, tenants?.toSorted().join(' ') ?? ALL)
  return String(kept)
}

/** What its address asks for. */
function askedBy({ query }: SavedView): string {
  const asked = new URLSearchParams(query)
  asked.delete(OF_TENANTS)
  return String(asked)
}

/** Whether this person sees all that it was named for, its words among it: a list is its tenants'. */
function isOpenTo({ query }: SavedView, { tenants }: Session): boolean {
  const kept = new URLSearchParams(query)
  const [of, about] = [kept.get(OF_TENANTS)?.split(' '), kept.get('tenant') ?? '']
  if (tenants === undefined) return true
  return of?.every((one) => one === ALL || tenants.includes(one)) === true && (about === '' || tenants.includes(about))
}

/** A person's lists, each with a way to forget it; and where the list that is shown is named. */
export function viewsSection(views: readonly SavedView[], only: string, session: Session): SafeMarkup {
  const hidden = (name: string, value: string) => html`<input type="hidden" name="${name}" value="${value}">`
  if (views.length === 0 && only === '') return NOTHING
  return html`<details><summary>${TEXTS.views}</summary>
${views.map(({ name, query }) => html`<form class="search" method="post" action="/review/views"><a href="/review?${askedBy({ name, query })}">${words(name, { most: MOST_NAME })}</a> <button type="button" data-copy="${link('/review/list', { of: session.by, name })}" data-done="${TEXTS.copied}" hidden>${TEXTS.copyView(shown(name, MOST_NAME))}</button> ${hidden('token', session.token)}${hidden('name', name)}<details><summary>${TEXTS.dropView(shown(name, MOST_NAME))}</summary><button name="drop" value="yes">${TEXTS.dropForGood}</button></details></form>`)}
${only === '' ? NOTHING : html`<form class="search" method="post" action="/review/views">${hidden('token', session.token)}${hidden('only', only)}<label>${TEXTS.viewName} <input name="name" maxlength="${MOST_NAME}" required dir="auto" autocomplete="off"></label><button>${TEXTS.saveView}</button></form>`}</details>`
}

/** Where people name lists of the queue, and forget them; and where others open one by its name, as it is then. */
export function viewPages(people: Pick<ReviewPictures, 'viewsOf' | 'saveView' | 'dropView'>): Page[] {
  const open: Page = {
    method: 'GET',
    path: '/review/list',
    right: 'decide',
    async answer({ query, session }): Promise<PageAnswer> {
      const [of, wanted] = [query.get('of') ?? '', query.get('name') ?? '']
      const view = (await people.viewsOf(of)).find(({ name }) => name === wanted)
      if (view !== undefined && (of === session.by || isOpenTo(view, session)))
        return { to: `/review?${askedBy(view)}` }
      return {
        title: TEXTS.noView,
        status: 404,
        body: html`<h1>${TEXTS.noView}</h1><p><a href="/review">${TEXTS.back}</a></p>`,
      }
    },
  }
  const save: Page = {
    method: 'POST',
    path: '/review/views',
    right: 'decide',
    async answer({ form, session }): Promise<PageAnswer> {
      const name = (form.get('name') ?? '').toWellFormed().trim().slice(0, MOST_NAME)
      const asked = new URLSearchParams(form.get('only') ?? '')
      const query = keptQuery(asked, session)
      if (form.has('drop')) {
        await people.dropView(session.by, name)
        return { to: link('/review', { said: 'forgotten' }) }
      }
      const isKept =
        name !== '' && query.length <= MOST_QUERY && (await people.saveView(session.by, { name, query }, MOST_VIEWS))
      if (isKept) return { to: link('/review', { ...Object.fromEntries(asked), said: 'saved' }) }
      return {
        title: TEXTS.notSaved,
        status: 409,
        body: html`<h1>${TEXTS.notSaved}</h1><p class="notice" role="alert">${TEXTS.tooManyViews(MOST_VIEWS)}</p><p><a href="/review">${TEXTS.back}</a></p>`,
      }
    },
  }
  return [open, save]
}
