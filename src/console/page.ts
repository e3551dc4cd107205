import { type PersonRight, tenantsOf } from '../contracts/facts/person-roles.ts'
import type { PersonAsking } from '../platform/who-asks.ts'
import { AGREEMENT_TEXTS } from './agreement-texts.ts'
import { AUDIT_TEXTS } from './audit-texts.ts'
import { DECISIONS_TEXTS } from './decisions-texts.ts'
import { QUALITY_TEXTS } from './quality-texts.ts'
import type { Session } from './sessions.ts'
import { STORIES_TEXTS } from './stories-texts.ts'
import { TEXTS } from './texts.ts'
import { TRIALS_TEXTS } from './trials-texts.ts'
import { html, NOTHING, type SafeMarkup, type TemplatePart, words } from './view.ts'

/** What a page is made of. */
export interface PageCall {
  readonly query: URLSearchParams
  /** The fields of a form; empty for a GET. */
  readonly form: URLSearchParams
  readonly session: Session
  readonly asker: PersonAsking
  /** Which event a stream goes on after. */
  readonly lastEventId: string | null
  /** Aborts when the client has gone, or the console closes. */
  readonly signal: AbortSignal
  /** Notes which verdicts a stream has sent; false if the note can't be kept. */
  told(verdicts: readonly string[]): Promise<boolean>
}

/** What a page answers: itself, another address, or a stream. */
export type PageAnswer =
  /** `hides`: verdicts that were read for it, and that it does not show. */
  | {
      readonly title: string
      readonly body: SafeMarkup
      readonly status?: 200 | 400 | 403 | 404 | 409 | 503
      readonly hides?: readonly string[]
    }
  /** `about`: verdicts that a form was about, beside those that it names. */
  | { readonly to: string; readonly about?: readonly string[] }
  /** What has become of a page that somebody has open, in a few words; null: nothing. `uncovered`: the verdict of which they uncovered the words. */
  | { readonly news: string | null; readonly uncovered?: readonly [string] }
  /** `type`: HTML where nothing is said. */
  | { readonly file: string; readonly name: string; readonly type?: string }
  /** A JPEG; a cover shows nothing that its page has not noted. */
  | { readonly image: Uint8Array<ArrayBuffer>; readonly isCover?: true }
  | { readonly stream: ReadableStream<Uint8Array> }

/** A page of the console, behind all checks. */
export interface Page {
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** Who may ask for it. */
  readonly right: PersonRight
  /** What it does costs so much that no other site may begin it. */
  readonly isCostly?: true
  /** Why it is answered beside all others. Without it people take turns, and nothing is made for who has gone. */
  readonly withoutTurn?: string
  /** It shows what verdicts say: who has read it judges none of them blindly. */
  readonly showsLabels?: true
  /** A page's script asks for it again and again: that keeps no session from being idle. */
  readonly isByItself?: true
  answer(asked: PageCall): Promise<PageAnswer> | PageAnswer
}

const PLACES = [
  ['/live', TEXTS.live.title],
  ['/stories', STORIES_TEXTS.title],
  ['/review', TEXTS.review.title],
  ['/decisions', DECISIONS_TEXTS.title],
  ['/quality', QUALITY_TEXTS.title],
  ['/agreement', AGREEMENT_TEXTS.title],
  ['/trials', TRIALS_TEXTS.title],
  ['/audit', AUDIT_TEXTS.title],
  ['/search', TEXTS.search.title],
  ['/health', TEXTS.health.title],
] as const

/** Nothing was carried out: why, and the way back. */
export function refusal(title: string, says: string, back: { to: string; says: TemplatePart }): PageAnswer {
  return {
    title,
    status: 409,
    body: html`<h1>${title}</h1><p class="notice" role="alert">${words(says, { most: 400 })}</p><p><a href="${back.to}">${back.says}</a></p>`,
  }
}

/** A whole page around its body. */
export function layout(of: {
  title: string
  body: SafeMarkup
  session: Session | null
  path: string
  /** Whether there is such a page here. */
  has: (path: string) => boolean
  asset: (name: string) => string
  isUnderstudy: boolean
}): SafeMarkup {
  const { title, body, session, path, has, asset, isUnderstudy } = of
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Gavel</title>
<link rel="icon" href="${asset('icon.svg')}">
<link rel="stylesheet" href="${asset('console.css')}">
<link rel="stylesheet" href="${asset('lists.css')}">
<link rel="stylesheet" href="${asset('verdict.css')}">
<link rel="stylesheet" href="${asset('evidence.css')}">
<link rel="stylesheet" href="${asset('review.css')}">
<link rel="stylesheet" href="${asset('covers.css')}">
<script type="module" src="${asset('console.js')}"></script>
<script type="module" src="${asset('keys.js')}"></script>
<script type="module" src="${asset('covers.js')}"></script>
</head>
<body>
<a class="skip" href="#main">${TEXTS.skip}</a>
<header><div class="bar"><a class="mark" href="/">Gavel</a>${session === null ? NOTHING : menu(session, { path, has })}</div>${isUnderstudy && session !== null ? html`<p class="stand-in">${TEXTS.standIn}</p>` : NOTHING}</header>
<main id="main" tabindex="-1">${body}</main>
${session === null ? NOTHING : help()}
</body>
</html>
`
}

function menu(
  { by, token, grants }: Session,
  { path, has }: { path: string; has: (path: string) => boolean },
): SafeMarkup {
  const current = (place: string) => (place === path ? html` aria-current="page"` : NOTHING)
  const mayDecide = has('/review') && tenantsOf(grants, 'decide')?.length !== 0
  return html`<nav aria-label="${TEXTS.pages}">${PLACES.filter(([place]) => has(place)).map(([place, name]) => html`<a href="${place}"${current(place)}>${name}</a>`)}</nav>
<details class="who"><summary>${words(by, { most: 60 })}</summary><div class="menu">
<form method="post" action="/sign-out"><input type="hidden" name="token" value="${token}"><button>${TEXTS.signOut}</button><button name="all" value="yes">${TEXTS.signOutAll}</button></form><a href="/covers">${TEXTS.covers.title}</a>${mayDecide ? html`<a href="/review/mine">${TEXTS.review.mine}</a><form method="post" action="/review/undo"><input type="hidden" name="token" value="${token}"><button data-press="u">${TEXTS.review.undo}</button></form>` : NOTHING}<button type="button" data-keys="${TEXTS.keys.on}" data-no-keys="${TEXTS.keys.off}" hidden>${TEXTS.keys.on}</button></div></details>`
}

/** What a page's script shows for `?`. */
function help(): SafeMarkup {
  return html`<dialog class="help" aria-labelledby="keys"><h2 id="keys">${TEXTS.keys.title}</h2>
<dl class="fields">${TEXTS.keys.all.map(([key, does]) => html`<dt><kbd>${key}</kbd></dt><dd>${does}</dd>`)}</dl>
<button type="button" data-close="yes">${TEXTS.keys.close}</button></dialog>`
}
