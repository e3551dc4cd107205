import { hash } from 'node:crypto'
import { type NamedGrant, type PersonRight, tenantsOf } from '../contracts/facts/person-roles.ts'
import type { Audit } from '../contracts/ports/audit.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { Report } from '../contracts/ports/report.ts'
import { answerTurns, turnsByPart } from '../platform/answer-turns.ts'
import { forAsker } from '../platform/asked-for.ts'
import { wrongGuesses } from '../platform/rates.ts'
import { staticAnswer } from '../platform/static-answer.ts'
import type { PersonAsking } from '../platform/who-asks.ts'
import { askedFields } from './asked-fields.ts'
import { noter, seldom } from './noter.ts'
import type { Page, PageAnswer, PageCall } from './page.ts'
import { layout } from './page.ts'
import { auditReads, shownBy } from './read-audit.ts'
import {
  type ConsoleClient,
  cookieIn,
  cookieOf,
  formOf,
  HEADERS,
  isFromElsewhere,
  isOwnPage,
  type PublicUrl,
} from './request-guard.ts'
import type { SeenLabels } from './seen-by.ts'
import { isFormOf, type Session, type Sessions } from './sessions.ts'
import { saidByProxy, signIn, type Way } from './sign-in.ts'
import { TEXTS } from './texts.ts'
import { html, idIn, idOf, type SafeMarkup, words } from './view.ts'
import { wantedCookie } from './wanted-page.ts'

export interface Asset {
  readonly name: string
  readonly type: string
  readonly bytes: Uint8Array<ArrayBuffer>
}

export interface ConsoleParts {
  readonly pages: readonly Page[]
  readonly assets: readonly Asset[]
  readonly sessions: Sessions
  readonly way: Way
  /** Who has which role. */
  readonly people: readonly NamedGrant[]
  readonly publicUrl: PublicUrl
  /** Aborts when the console is about to close. */
  readonly closing: AbortSignal
  readonly report: Report
  /** Keeps who saw and did what; null where there is nothing to keep it. */
  readonly audit: Audit | null
  /** Learns whose labels people were shown. */
  readonly seenLabels: SeenLabels
  readonly clock: Clock
  /** No language model answers, but the understudy: every page shows that. */
  readonly isUnderstudy: boolean
}

/**
 * The console as a function of requests. Whatever is not an asset or the way in needs a session; a form also needs to come from one
 * of its own pages.
 */
export function consoleOf(parts: ConsoleParts) {
  const { sessions, way, people, publicUrl, closing, report } = parts
  const files = new Map(parts.assets.map((asset) => [addressOf(asset), assetAnswer(asset)]))
  const addresses = new Map(parts.assets.map((asset) => [asset.name, addressOf(asset)]))
  const [inTurn, ofOne, paths] = [pageTurns(), turnsByPart(AT_ONCE), Map.groupBy(parts.pages, ({ path }) => path)]

  const [blocked, notSignedIn] = [seldom(), seldom()]
  const { noted, hasRoom } = noter(parts)
  const { whole, page, told } = drawn(paths, {
    asset: (name) => addresses.get(name) ?? '',
    isUnderstudy: parts.isUnderstudy,
  })

  const entry = signIn({
    way,
    people,
    publicUrl,
    sessions,
    page,
    isPage: opens(paths),
    guess: wrongGuesses(parts.clock),
    entered: (asker) => void noted({ asker, what: 'signed-in', page: '/sign-in', verdicts: [] }),
    failed: (error) => notSignedIn(() => report('error', { where: 'console', error })),
  })

  async function checked(request: Request, from: ConsoleClient): Promise<Response> {
    if (!from.isKnownHost)
      return new Response(`${TEXTS.wrong.host}\n`, { status: 421, headers: { 'content-type': TEXT } })
    const address = new URL(request.url, `http://${from.host}`)
    const file = files.get(address.pathname)
    if (file !== undefined) return file(request.headers)
    if (address.pathname === '/csp') {
      if (request.method === 'POST' && request.headers.get('sec-fetch-site') === 'same-origin')
        blocked(() => report('console:blocked', {}))
      return new Response(null, { status: 204 })
    }
    const isForm = request.method === 'POST'
    if (!isForm && request.method !== 'GET' && request.method !== 'HEAD') return told(405, TEXTS.wrong.method)
    if (isForm && !isOwnPage(request.headers, from.host, publicUrl)) return told(403, TEXTS.wrong.foreign)
    const named = way.way === 'proxy' ? saidByProxy(from, way, people) : null
    if (named !== null && 'refused' in named) return page(403, TEXTS.signIn.title, named.refused)
    if (address.pathname.startsWith('/sign-in')) return entry(request, from, address)
    const ofPath = paths.get(address.pathname) ?? []
    const found = ofPath.find(({ method }) => (method === 'POST') === isForm)
    // Before the session is asked for, which keeps it from being idle.
    if (found?.isCostly === true && isFromElsewhere(request.headers))
      return page(403, TEXTS.wrong.elsewhere.title, fromElsewhere(address))
    const where = { host: from.host, publicUrl }
    const id = () => cookieIn('console', request.headers, where)
    const session = named === null ? sessions.read(id(), { renews: found?.isByItself !== true }) : sessions.of(named)
    // No byte of a form is waited for before it is known that its sender is signed in.
    if (session === null && isForm && found !== undefined) return page(401, TEXTS.notSent.title, notSentYet())
    if (session === null) return redirect('/sign-in', found && wantedCookie(request.headers, address, where))
    const asker = { ...from.asker, person: session.by, session: session.name }
    if (!hasRoom(session.by)) return tooMany(told(429, TEXTS.wrong.many, session))
    if (!from.countFor(asker)) return tooMany(told(429, TEXTS.wrong.busy, session))
    const form = isForm ? await formOf(request) : new URLSearchParams()
    if (form === null) return told(400, TEXTS.wrong.form, session)
    if (isForm && form.get('token') !== session.token) {
      // What one person wrote is not offered to be sent by another.
      if (found !== undefined && isFormOf(form.get('token'), session.by))
        return page(403, TEXTS.notSent.title, notSent(found.path, form, session), session)
      return told(403, TEXTS.wrong.foreign, session)
    }
    if (address.pathname === '/') return redirect('/live')
    if (address.pathname === '/sign-out' && isForm) return signedOut(request, from.host, asker, form.has('all'))
    if (found === undefined) return told(404, TEXTS.wrong.nothing, session)
    const work = () =>
      answered(request, found, {
        asker,
        query: address.searchParams,
        form,
        session,
        lastEventId: request.headers.get('last-event-id'),
        signal: AbortSignal.any([request.signal, closing]),
        told: (verdicts) => noted({ asker, what: 'streamed', page: address.pathname, verdicts }),
      })
    return ofOne({ name: asker.person, part: found.path }, request.signal, work)
  }

  function signedOut(request: Request, host: string, asker: PersonAsking, all: boolean): Response {
    const where = { host, publicUrl }
    if (all || way.way === 'proxy') sessions.endAll(asker.person)
    else sessions.end(cookieIn('console', request.headers, where))
    void noted({ asker, what: 'signed-out', page: '/sign-out', verdicts: [] })
    const response = redirect('/sign-in')
    response.headers.append('set-cookie', cookieOf('console', '', where))
    return response
  }

  /**
   * The one place where it is asked who may: a page sees the tenants over which the person has its right, and no others. What they
   * see and send is noted before they have it; what can't be noted is neither shown nor done.
   */
  async function answered(request: Request, found: Page, { session: signedIn, ...rest }: PageCall): Promise<Response> {
    const [{ path, method, right }, { asker }, asked] = [found, rest, askedFields(rest)]
    if (!holds(signedIn, right)) {
      await noted({ asker, what: 'refused', page: path, verdicts: [] })
      return told(403, TEXTS.wrong.role, signedIn)
    }
    const [call, isForm] = [{ ...rest, session: within(signedIn, right) }, method === 'POST']
    const about = isForm ? [idIn(rest.form), ...rest.form.getAll('copy').map(idOf)].filter((id) => id !== '') : []
    if (isForm && !(await noted({ asker, what: 'did', page: path, verdicts: about, ...asked })))
      return told(503, TEXTS.wrong.undone, signedIn)
    const { answer, verdicts } = await inTurn(request.signal, found, call)
    if ('about' in answer && !(await noted({ asker, what: 'did', page: path, verdicts: answer.about ?? [] })))
      return told(503, TEXTS.wrong.untold, signedIn)
    const shown = shownBy(answer, verdicts, about)
    const ofFile = 'file' in answer ? { sha256: hash('sha256', answer.file, 'hex') } : {}
    const saw = { asker, what: 'saw', page: path, verdicts: [...shown], ...(isForm ? {} : asked), ...ofFile } as const
    if (shown.size > 0 && !(await noted(saw)))
      return isForm ? told(503, TEXTS.wrong.untold, signedIn) : unnoted(request, signedIn)
    if (found.showsLabels === true) parts.seenLabels.note(asker.person, shown)
    if (!('body' in answer)) return otherAnswer(request, answer)
    const { title, body, status = 200 } = answer
    return new Response(whole(title, body, call.session, found.path), { status, headers: { 'content-type': HTML } })
  }

  /** A page that is asked for again as soon as it can be noted. */
  function unnoted(request: Request, session: Session): Response {
    const { title, says } = TEXTS.wrong.unnoted
    const { pathname, search } = new URL(request.url)
    const again = html`<p><a class="button" href="${pathname}${search}">${TEXTS.again}</a></p>`
    return page(503, title, html`<h1>${title}</h1><p>${says}</p>${again}`, session)
  }

  return {
    async fetch(request: Request, from: ConsoleClient): Promise<Response> {
      const response = await checked(request, from).catch((error: unknown) => {
        if (!request.signal.aborted) report('error', { where: 'console', error })
        return told(500, TEXTS.wrong.failed)
      })
      for (const [name, value] of Object.entries(HEADERS))
        if (!response.headers.has(name)) response.headers.set(name, value)
      if (closing.aborted) response.headers.set('connection', 'close')
      return response
    },
  }
}

const NEVER = new AbortController().signal

/** Makes the answers of pages in the turns of who asks, and tells what was read for each. */
function pageTurns() {
  const turn = answerTurns()
  return async (signal: AbortSignal, page: Page, call: PageCall) => {
    // What somebody sends is carried out, also where they have gone: a second press of a button takes the place of the first.
    const gone = () => (page.method === 'POST' ? NEVER : signal)
    const work = () => auditReads(() => forAsker(call.asker, { gone }, () => page.answer(call)))
    const { made, verdicts } = await (page.withoutTurn === undefined ? turn(call.asker, signal, work) : work())
    return { answer: made, verdicts }
  }
}

/** Requests of one person to one page that are answered at a time; a browser has six in all. */
const AT_ONCE = 4

function holds({ grants }: Session, right: PersonRight): boolean {
  return tenantsOf(grants, right)?.length !== 0
}

/** The session as a page of this right sees it. */
function within({ tenants: _, ...session }: Session, right: PersonRight): Session {
  const tenants = tenantsOf(session.grants, right)
  return tenants === undefined ? session : { ...session, tenants }
}

const HTML = 'text/html; charset=utf-8'
const TEXT = 'text/plain; charset=utf-8'

/** Nothing more is read of a connection whose form is not. */
function tooMany(response: Response): Response {
  response.headers.set('connection', 'close')
  return response
}

/** The address of an asset, which another content has not: a browser may keep it for ever. */
function addressOf({ name, bytes }: Asset): string {
  return `/assets/${hash('sha256', bytes, 'hex').slice(0, 16)}/${name}`
}

function assetAnswer({ bytes, type }: Asset): (headers: Headers) => Response {
  return staticAnswer(type, () => bytes, 'public, max-age=31536000, immutable')
}

/** A file to keep; where it is opened all the same, it may do nothing. */
function fileAnswer({ file, name, type = HTML }: Extract<PageAnswer, { file: string }>): Response {
  return new Response(file, {
    headers: { 'content-type': type, 'content-disposition': `attachment; filename="${name}"` },
  })
}

/** Pages as answers, each with the menu of who it is for. */
function drawn(
  paths: ReadonlyMap<string, readonly Page[]>,
  of: { asset: (name: string) => string; isUnderstudy: boolean },
) {
  const whole = (title: string, body: SafeMarkup, session: Session | null, path = ''): string => {
    const has = (place: string) =>
      session !== null && (paths.get(place) ?? []).some(({ right }) => holds(session, right))
    return String(layout({ title, body, session, path, has, ...of }))
  }
  const page = (status: number, title: string, body: SafeMarkup, session: Session | null = null) =>
    new Response(whole(title, body, session), { status, headers: { 'content-type': HTML } })
  const told = (status: number, { title, says }: { title: string; says: string }, session: Session | null = null) =>
    page(status, title, html`<h1>${title}</h1><p>${says}</p>`, session)
  return { whole, page, told }
}

/** The console does nothing costly on behalf of another site. */
function fromElsewhere({ pathname, search }: URL): SafeMarkup {
  const { title, says, open } = TEXTS.wrong.elsewhere
  return html`<h1>${title}</h1><p>${says}</p><p><a class="button" href="${pathname}${search}">${open}</a></p>`
}

/** Another address, a stream, a few words, a file or an image. */
async function otherAnswer(request: Request, answer: Exclude<PageAnswer, { body: SafeMarkup }>): Promise<Response> {
  if ('to' in answer) return redirect(answer.to)
  if ('news' in answer) return newsAnswer(answer.news)
  if ('file' in answer) return fileAnswer(answer)
  if ('image' in answer) return new Response(answer.image, { headers: { 'content-type': 'image/jpeg' } })
  const isHead = request.method === 'HEAD'
  if (isHead) await answer.stream.cancel()
  const headers = { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' }
  return new Response(isHead ? null : answer.stream, { headers })
}

function newsAnswer(news: string | null): Response {
  if (news === null) return new Response(null, { status: 204 })
  return new Response(news, { headers: { 'content-type': TEXT } })
}

function redirect(to: string, cookie: string | null = null): Response {
  const headers = { location: to, ...(cookie === null ? {} : { 'set-cookie': cookie }) }
  return new Response(null, { status: 303, headers })
}

/** Whether a path is that of a page that somebody can open. */
function opens(paths: ReadonlyMap<string, readonly Page[]>) {
  return (path: string): boolean =>
    paths.get(path)?.some(({ method, isByItself }) => method === 'GET' && isByItself !== true) === true
}

/** What was to be sent when the session had ended: the browser has it, and sends it again when the page is reloaded. */
function notSentYet(): SafeMarkup {
  return html`<h1>${TEXTS.notSent.title}</h1><p>${TEXTS.notSent.ended}</p>
    <p><a class="button" href="/sign-in" target="_blank" rel="noopener">${TEXTS.signIn.title}</a></p>`
}

/** What was to be sent in an earlier session of the same person: all of it stands in the page, to be sent in this one. */
function notSent(path: string, form: URLSearchParams, session: Session): SafeMarkup {
  const fields = [...form].filter(([name]) => name !== 'token')
  return html`<h1>${TEXTS.notSent.title}</h1>
    <p>${TEXTS.notSent.other}</p>
    <dl class="fields">${fields.map(([name, value]) => html`<dt>${words(name, { most: 60 })}</dt><dd>${words(value, { most: 2_000 })}</dd>`)}</dl>
    <form method="post" action="${path}">
      ${fields.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
      <input type="hidden" name="token" value="${session.token}">
      <button class="main">${TEXTS.notSent.again}</button>
    </form>`
}
