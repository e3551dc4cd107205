import type { Asker } from '../platform/who-asks.ts'

/** Whence a request comes, as the server has seen it. */
export interface ConsoleClient {
  /** The Host header, where there is one. */
  readonly host: string
  readonly isKnownHost: boolean
  /** The address that is connected. */
  readonly address: string
  readonly asker: Asker
  /** Counts the request as theirs until it is answered; false if the person already holds half of the connections. */
  countFor(asker: Asker): boolean
  /** Every value of a header, as it was sent. */
  header(name: string): readonly string[]
}

/** Where browsers have the console; empty: where it is asked. */
export type PublicUrl = string

/**
 * How the console is served: the longest time in which a request must have arrived, and that an idle connection is kept, in ms;
 * most connections at a time, beyond which one without a whole request gives way. Proxies ask by the name of the public URL.
 */
export function servedAs(settings: { host: string; hosts: readonly string[]; port: number; publicUrl: PublicUrl }) {
  const { host, hosts, port, publicUrl } = settings
  return {
    host,
    port,
    requestTime: 30_000,
    keepAlive: 75_000,
    connections: 1_000,
    hosts: publicUrl === '' ? hosts : [...hosts, new URL(publicUrl).hostname],
  }
}

function isSecure(publicUrl: PublicUrl): boolean {
  return publicUrl.startsWith('https:')
}

/**
 * Nothing but what the console itself serves: no script or style in a page, no request to anywhere else, in no frame. A page of an
 * outside name gets no answer to read (`cross-origin-*`), and nothing is kept by a cache or sent to another site.
 */
export const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'",
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'; report-uri /csp",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  // Not no-referrer: Chromium then sends `Origin: null` when it posts a form.
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'cache-control': 'no-store',
}

/** Longest body of a form, in bytes: a reason of 2,000 characters, escaped. */
const FORM_BYTES = 65_536
/** Most fields of a form: a decision has nine, one for each of 10 clauses and of 15 copies. One that is shown again costs by the field. */
const MOST_FIELDS = 40

/** A session, a sign-in at a provider that is under way, and the page that was asked for before. */
type CookieKind = 'console' | 'sign-in' | 'wanted'

/** A cookie of the console. Off TLS its name holds the port: on one machine ports share cookies. */
function cookieName(kind: CookieKind, host: string, publicUrl: PublicUrl): string {
  if (isSecure(publicUrl)) return `__Host-gavel-${kind}`
  return `gavel-${kind}-${/:(\d+)$/.exec(host)?.[1] ?? '80'}`
}

/** Sets a cookie that goes with who comes from elsewhere by a link, too: a provider sends people back so. Empty: it ends. */
export function cookieOf(
  kind: CookieKind,
  value: string,
  { host, publicUrl, seconds }: { host: string; publicUrl: PublicUrl; seconds?: number },
): string {
  const ends = value === '' ? '; Max-Age=0' : seconds === undefined ? '' : `; Max-Age=${seconds}`
  const secure = isSecure(publicUrl) ? '; Secure' : ''
  return `${cookieName(kind, host, publicUrl)}=${value}; Path=/; HttpOnly; SameSite=Lax${secure}${ends}`
}

/** What stands in such a cookie; empty where there is none. */
export function cookieIn(
  kind: CookieKind,
  headers: Headers,
  { host, publicUrl }: { host: string; publicUrl: PublicUrl },
): string {
  const name = `${cookieName(kind, host, publicUrl)}=`
  const all = (headers.get('cookie') ?? '').split('; ')
  return all.find((one) => one.startsWith(name))?.slice(name.length) ?? ''
}

/** Whether a form was sent by a page of the console itself, as the browser reports. */
export function isOwnPage(headers: Headers, host: string, publicUrl: PublicUrl): boolean {
  const site = headers.get('sec-fetch-site')
  if (site !== null) return site === 'same-origin'
  return [publicUrl, `http://${host}`].includes(headers.get('origin') ?? 'none')
}

/** Whether a page of another site began this, as the browser reports. */
export function isFromElsewhere(headers: Headers): boolean {
  return ['cross-site', 'same-site'].includes(headers.get('sec-fetch-site') ?? '')
}

/**
 * The fields of a form; null if it is none, too long, or has too many. A browser sends each line's end as two characters, and counts it
 * as one while somebody writes.
 */
export async function formOf(request: Request): Promise<URLSearchParams | null> {
  const type = request.headers.get('content-type') ?? ''
  if (!/^application\/x-www-form-urlencoded(;|$)/i.test(type)) return null
  if (Number(request.headers.get('content-length') ?? 0) > FORM_BYTES) return null
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of request.body ?? []) {
    bytes += chunk.length
    if (bytes > FORM_BYTES) return null
    chunks.push(chunk)
  }
  const text = Buffer.concat(chunks).toString('utf8')
  return text.split('&', MOST_FIELDS + 1).length > MOST_FIELDS
    ? null
    : new URLSearchParams(text.replace(/%0D%0A/gi, '%0A'))
}
