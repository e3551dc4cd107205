import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { type Grant, grantsOf, type NamedGrant, type Person } from '../contracts/facts/person-roles.ts'
import type { OpenIdProvider, SignInChecks } from '../contracts/ports/openid.ts'
import { atOnce } from '../platform/at-once.ts'
import type { PersonAsking } from '../platform/who-asks.ts'
import { type ConsoleClient, cookieIn, cookieOf, type PublicUrl } from './request-guard.ts'
import { newSecret, type Sessions } from './sessions.ts'
import { TEXTS } from './texts.ts'
import { html, link, NOTHING, type SafeMarkup, words } from './view.ts'
import { wantedPage } from './wanted-page.ts'

/** How people sign in. */
export type Way =
  /** By a link; `print` prints another where only the operator sees it, null where others would; `opensOn`: the page that it leads to. */
  | { readonly way: 'link'; readonly print: (() => void) | null; readonly opensOn?: string | undefined }
  | { readonly way: 'oidc'; readonly provider: OpenIdProvider }
  /** A proxy before the console has done it, and names the person with each request. */
  | {
      readonly way: 'proxy'
      readonly isPeer: (address: string) => boolean
      readonly person: string
      readonly groups: string
    }

interface SignInParts {
  readonly way: Way
  readonly people: readonly NamedGrant[]
  readonly publicUrl: PublicUrl
  readonly sessions: Sessions
  readonly page: (status: number, title: string, body: SafeMarkup) => Response
  /** Counts a try that may be a guess: null while its network may make more, else in how many seconds it may. */
  readonly guess: (network: string) => number | null
  /** Whether this is the path of a page that can be opened. */
  readonly isPage: (path: string) => boolean
  /** Called when somebody has come in. */
  readonly entered: (asker: PersonAsking) => void
  /** Called when a provider did not sign somebody in. */
  readonly failed: (error: unknown) => void
}

/** A link is printed at most once in so many ms. */
const PRINT_MS = 10_000
/** How long a provider may take to send somebody back, in seconds. */
const BACK_SECONDS = 600
/** Most sign-ins of which the provider is asked at a time, and of one network. */
const [MOST_ASKED, MOST_OF_ONE] = [20, 5]
/** Longest name of a person that decisions can hold. */
const MOST_NAME = 200

/** The way in: what is answered beneath `/sign-in`, to anybody. It reads no body: a client that sends one slowly holds nothing. */
export function signIn(parts: SignInParts) {
  const { way, page } = parts
  if (way.way === 'link') return byLink({ ...parts, print: way.print, opensOn: way.opensOn })
  if (way.way === 'oidc') return atProvider({ ...parts, provider: way.provider })
  return async (): Promise<Response> => page(200, TEXTS.signIn.title, paragraph(TEXTS.signIn.proxy))
}

/**
 * By a link that was printed where the console runs. Opening it shows a button, and the button uses it up: what only looks at
 * addresses, as previews do, signs nobody in.
 */
function byLink({
  sessions,
  publicUrl,
  page,
  print,
  opensOn,
  isPage,
  guess,
  entered,
}: SignInParts & { print: (() => void) | null; opensOn: string | undefined }) {
  const { title } = TEXTS.signIn
  let printedAt = Number.NEGATIVE_INFINITY
  return async (request: Request, from: ConsoleClient, address: URL): Promise<Response> => {
    const { host } = from
    const isForm = request.method === 'POST'
    // Good links are found before this: nobody is shut out by another who guesses.
    const isNoLink = () =>
      tooMany(guess(from.asker.network), page) ?? page(410, title, explained(TEXTS.signIn.used, print))
    if (address.pathname === '/sign-in/link') {
      const secret = address.searchParams.get('t') ?? ''
      if (!isForm) return sessions.isGood(secret) ? page(200, title, button(secret)) : isNoLink()
      const who = sessions.used(secret)
      if (who === null) return isNoLink()
      entered({ ...from.asker, person: who.by, session: '' })
      return opened(request, { host, publicUrl, sessions, isPage, ...who, opensOn })
    }
    if (address.pathname === '/sign-in/print' && isForm && print !== null) {
      const isSoon = performance.now() - printedAt < PRINT_MS
      if (!isSoon) {
        printedAt = performance.now()
        print()
      }
      return page(200, title, explained(TEXTS.signIn.printed, print))
    }
    return page(address.pathname === '/sign-in' ? 200 : 404, title, explained(TEXTS.signIn.how, print))
  }
}

/**
 * At an OpenID Connect provider. It is reached by a link and not by a form, since a browser holds what a form leads to against the
 * policy of its page. What binds the answer to the browser stands in a cookie of that browser, and nowhere here; this process has sealed it, so
 * that nobody makes it ask the provider who has not begun here.
 */
function atProvider(parts: SignInParts & { provider: OpenIdProvider }) {
  const { provider, people, sessions, publicUrl, page, isPage, guess, entered, failed } = parts
  const { title } = TEXTS.signIn
  const seal = sealer(randomBytes(32))
  const asking = atOnce(MOST_ASKED, MOST_OF_ONE)
  const back = (host: string) => `${publicUrl === '' ? `http://${host}` : publicUrl}/sign-in/back`
  return async (request: Request, from: ConsoleClient, address: URL): Promise<Response> => {
    const { host } = from
    const where = { host, publicUrl }
    if (address.pathname === '/sign-in/start' && request.method === 'GET') {
      const waits = tooMany(guess(from.asker.network), page)
      if (waits !== null) return waits
      const checks: SignInChecks = { state: newSecret(), nonce: newSecret(), verifier: newSecret() }
      try {
        const to = await provider.begin(checks, back(host))
        return sent(to, cookieOf('sign-in', seal.closed(checks), { ...where, seconds: BACK_SECONDS }))
      } catch (error) {
        failed(error)
        return page(503, title, again(TEXTS.signIn.away))
      }
    }
    if (address.pathname === '/sign-in/back' && request.method === 'GET') {
      const checks = seal.opened(cookieIn('sign-in', request.headers, where))
      const used = cookieOf('sign-in', '', where)
      if (checks === null || address.searchParams.get('state') !== checks.state)
        return withCookie(page(400, title, again(TEXTS.signIn.notBack)), used)
      const waits = tooMany(guess(from.asker.network), page)
      if (waits !== null) return waits
      const end = asking(from.asker.network)
      if (end === null) return page(503, title, again(TEXTS.signIn.busy))
      let person: Person
      try {
        person = await provider.finish(new URL(`${back(host)}${address.search}`), checks)
      } catch (error) {
        failed(error)
        return withCookie(page(403, title, again(TEXTS.signIn.failed)), used)
      } finally {
        end()
      }
      const grants = grantsOf(person, people)
      if (!isAllowed(person, grants)) return withCookie(page(403, title, nobody(person.by)), used)
      entered({ ...from.asker, person: person.by, session: '' })
      return withCookie(opened(request, { ...where, sessions, isPage, by: person.by, grants }), used)
    }
    return page(address.pathname === '/sign-in' ? 200 : 404, title, again(TEXTS.signIn.provider))
  }
}

/**
 * The person that a proxy names as asking. `refused`: it is not one of the proxies that are named, names nobody, names two people, or names
 * somebody who may not come in.
 */
export function saidByProxy(
  from: ConsoleClient,
  { isPeer, person, groups }: Extract<Way, { way: 'proxy' }>,
  people: readonly NamedGrant[],
): { readonly by: string; readonly grants: readonly Grant[] } | { readonly refused: SafeMarkup } {
  if (!isPeer(from.address)) return { refused: paragraph(TEXTS.signIn.notTheProxy) }
  const [named, ...others] = from.header(person)
  const listed = from.header(groups)
  const by = (named ?? '').trim()
  if (by === '' || others.length > 0 || listed.length > 1) return { refused: paragraph(TEXTS.signIn.proxySilent) }
  const who = { by, groups: (listed[0] ?? '').split(',').map((one) => one.trim()) }
  const grants = grantsOf(who, people)
  return isAllowed(who, grants) ? { by, grants } : { refused: nobody(by) }
}

function isAllowed({ by }: Person, grants: readonly Grant[]): boolean {
  return grants.length > 0 && by.length <= MOST_NAME && by.isWellFormed()
}

/** Opens a session in place of the one that this browser had, on the page that it asked for. */
function opened(
  request: Request,
  of: {
    host: string
    publicUrl: PublicUrl
    sessions: Sessions
    isPage: SignInParts['isPage']
    by: string
    grants: readonly Grant[]
    opensOn?: string | undefined
  },
): Response {
  const { host, publicUrl, sessions, isPage, by, grants, opensOn = '/live' } = of
  const where = { host, publicUrl }
  sessions.end(cookieIn('console', request.headers, where))
  const wanted = wantedPage(request.headers, where, isPage)
  const response = sent(wanted ?? opensOn, cookieOf('console', sessions.open({ by, grants }), where))
  return wanted === null ? response : withCookie(response, cookieOf('wanted', '', where))
}

function sent(to: string, cookie: string): Response {
  return new Response(null, { status: 303, headers: { location: to, 'set-cookie': cookie } })
}

function withCookie(response: Response, cookie: string): Response {
  response.headers.append('set-cookie', cookie)
  return response
}

/** Seals what a browser keeps of a sign-in, for this process and for as long as it may take. */
function sealer(key: Buffer) {
  const seconds = () => Math.floor(performance.now() / 1_000)
  const sealOf = (kept: string) => createHmac('sha256', key).update(kept).digest('base64url')
  return {
    closed({ state, nonce, verifier }: SignInChecks): string {
      const kept = [state, nonce, verifier, seconds()].join('.')
      return `${kept}.${sealOf(kept)}`
    },
    /** Null if this process has not sealed it, or too long ago. */
    opened(cookie: string): SignInChecks | null {
      const at = cookie.lastIndexOf('.')
      const [kept, given] = [cookie.slice(0, at), Buffer.from(cookie.slice(at + 1))]
      const own = Buffer.from(sealOf(kept))
      if (at === -1 || given.length !== own.length || !timingSafeEqual(given, own)) return null
      const [state = '', nonce = '', verifier = '', since = ''] = kept.split('.')
      return Number(since) + BACK_SECONDS < seconds() ? null : { state, nonce, verifier }
    },
  }
}

/** The answer to a network that has tried too often; null to any other. */
function tooMany(seconds: number | null, page: SignInParts['page']): Response | null {
  if (seconds === null) return null
  const response = page(429, TEXTS.signIn.title, paragraph(TEXTS.signIn.tooMany))
  response.headers.set('retry-after', String(Math.ceil(seconds)))
  return response
}

function button(secret: string): SafeMarkup {
  return html`<h1>${TEXTS.signIn.title}</h1><p>${TEXTS.signIn.what}</p>
    <form method="post" action="${link('/sign-in/link', { t: secret })}"><button class="main" autofocus>${TEXTS.signIn.enter}</button></form>`
}

function explained(says: string, print: (() => void) | null): SafeMarkup {
  return html`${paragraph(says)}
    ${print === null ? NOTHING : html`<form method="post" action="/sign-in/print"><button>${TEXTS.signIn.another}</button></form>`}`
}

function paragraph(says: string): SafeMarkup {
  return html`<h1>${TEXTS.signIn.title}</h1><p>${says}</p>`
}

function again(says: string): SafeMarkup {
  return html`${paragraph(says)}<p><a class="button" href="/sign-in/start">${TEXTS.signIn.atProvider}</a></p>`
}

function nobody(by: string): SafeMarkup {
  return html`<h1>${TEXTS.signIn.title}</h1><p>${TEXTS.signIn.nobody} ${words(by, { most: MOST_NAME })}</p>`
}

/** Why the console may not be reached from other machines; null if it may. */
export function whyLoopbackOnly({
  signIn,
  publicUrl,
}: {
  readonly signIn: Way['way']
  readonly publicUrl: string
}): string | null {
  if (signIn === 'link')
    return 'a printed link works only on this machine. Set it to 127.0.0.1 and use an SSH tunnel, or set console.signIn to oidc or proxy.'
  if (!publicUrl.startsWith('https:'))
    return 'what people see and who they are would go over the network unencrypted. Set console.publicUrl to the https:// address of the proxy that ends TLS.'
  return null
}
