import { type ConsoleClient, cookieIn, cookieOf, type PublicUrl } from './request-guard.ts'

/** How long a browser keeps which page was asked for, in seconds. */
const WANTED_SECONDS = 600
/** Longest address that is kept, in characters. */
const MOST_CHARS = 2_000

type CookiePlace = Pick<ConsoleClient, 'host'> & { readonly publicUrl: PublicUrl }

/** Keeps in the browser of somebody who is not signed in which page they asked for; null of what a page loads by itself. */
export function wantedCookie(headers: Headers, { pathname, search }: URL, where: CookiePlace): string | null {
  const kept = encodeURIComponent(`${pathname}${search}`)
  const isLoaded = (headers.get('sec-fetch-dest') ?? 'document') !== 'document'
  return isLoaded || kept.length > MOST_CHARS ? null : cookieOf('wanted', kept, { ...where, seconds: WANTED_SECONDS })
}

/** The page that this browser asked for before it was signed in: one of the console's own, whatever stands in its cookie; else null. */
export function wantedPage(headers: Headers, where: CookiePlace, isPage: (path: string) => boolean): string | null {
  const own = 'http://console.invalid'
  try {
    const { origin, pathname, search } = new URL(decodeURIComponent(cookieIn('wanted', headers, where)), own)
    return origin === own && isPage(pathname) ? `${pathname}${search}` : null
  } catch {
    return null
  }
}
