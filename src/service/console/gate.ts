import type { Session, Sessions } from './sessions.ts'

/** Whence a request comes, as the server has seen it. */
export interface From {
  /** The Host header, where there is one. */
  readonly host: string
  readonly isKnownHost: boolean
}

/**
 * Nothing but what the console itself serves: no script or style in a page, no request to anywhere else, in no frame. A page of an
 * outside name gets no answer to read (`cross-origin-*`), and nothing is kept by a cache or told to another site.
 */
export const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'",
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'; report-uri /csp",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  // Not no-referrer: Chromium then says `Origin: null` when it posts a form.
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'cache-control': 'no-store',
}

/** Longest body of a form, in bytes: a reason of 2,000 characters, escaped. */
const FORM_BYTES = 65_536

/** The cookie's name holds the port: on one machine ports share cookies. */
function cookieName(host: string): string {
  return `gavel-console-${/:(\d+)$/.exec(host)?.[1] ?? '80'}`
}

export function sessionCookie(host: string, id: string): string {
  const ends = id === '' ? '; Max-Age=0' : ''
  return `${cookieName(host)}=${id}; Path=/; HttpOnly; SameSite=Lax${ends}`
}

/** The id in the session's cookie; empty where there is none. */
export function sessionIn(headers: Headers, host: string): string {
  const name = `${cookieName(host)}=`
  const all = (headers.get('cookie') ?? '').split('; ')
  return all.find((one) => one.startsWith(name))?.slice(name.length) ?? ''
}

/** Whether a form was sent by a page of the console itself, as the browser says. */
export function isOwnPage(headers: Headers, host: string): boolean {
  const site = headers.get('sec-fetch-site')
  if (site !== null) return site === 'same-origin'
  return headers.get('origin') === `http://${host}`
}

/** The fields of a form; null if it is none, or too long. */
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
  return new URLSearchParams(Buffer.concat(chunks).toString('utf8'))
}

/** Who asks; null if nobody is signed in. */
export function whoAsks(sessions: Sessions, headers: Headers, host: string): Session | null {
  return sessions.read(sessionIn(headers, host))
}
