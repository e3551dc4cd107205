import { Webhook } from 'standardwebhooks'
import { describeError } from '../contracts/facts/error-line.ts'
import { printable } from '../contracts/facts/printable.ts'
import type { SendWebhook, TryResult } from '../contracts/ports/webhooks.ts'
import { AddressUnreachable, isPublic, pinnedRequest, type Reach } from '../models/images/pinned-request.ts'

/** Of an answer so much is read, in bytes: a receiver has nothing to say but its status. */
const READ_BYTES = 4_096

/**
 * Sends to receivers as Standard Webhooks has it, signed by each of the receiver's secrets. It follows no redirect, and reaches
 * public addresses over https alone, unless the receiver may be private.
 */
export function webhookSender(settings: { readonly timeout: number } & Omit<Reach, 'mayReach'>): SendWebhook {
  return async ({ url: address, secrets, allowPrivate }, { id, body, at }) => {
    const url = new URL(address)
    if (!allowPrivate && url.protocol !== 'https:')
      return refused('its address is not https (webhooks.to: allowPrivate)')
    const headers = {
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
      'user-agent': 'gavel',
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(at / 1000)),
      'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, new Date(at), body)).join(' '),
    }
    const mayReach = (where: string) => allowPrivate || isPublic(where)
    const signal = AbortSignal.timeout(settings.timeout)
    try {
      const response = await pinnedRequest(url, { ...settings, mayReach, headers, method: 'POST', body }, signal)
      let bytes = 0
      try {
        for await (const chunk of response as AsyncIterable<Buffer>) {
          bytes += chunk.length
          if (bytes > READ_BYTES) break
        }
      } catch {
        // The status is what counts.
      }
      response.destroy()
      const status = response.statusCode ?? 0
      const { location, 'retry-after': later } = response.headers
      const redirectsTo = status >= 300 && status < 400 ? redirectIn(location, url) : undefined
      const why = `status ${status}`
      return { status, why, retryAfterMs: retryAfter(later, at), ...(redirectsTo === undefined ? {} : { redirectsTo }) }
    } catch (error) {
      if (error instanceof AddressUnreachable && error.why === 'not-allowed')
        return refused('its name leads to an address that is not public (webhooks.to: allowPrivate)')
      // The code names what to mend: a certificate, a name, a port.
      const { code = 'its name has no address' } = describeError(error)
      const why = signal.aborted ? `no answer within ${settings.timeout} ms` : `it could not be reached (${code})`
      return { status: null, why, retryAfterMs: null }
    }
  }
}

/** Trying again would change nothing. */
function refused(why: string): TryResult {
  return { status: 'refused', why, retryAfterMs: null }
}

/** Longest URL that is told, in characters. */
const MAX_URL_CHARS = 200

/** What a URL has beside host and path may be a secret. */
function redirectIn(location: string | undefined, from: URL): string | undefined {
  const to = location === undefined ? null : URL.parse(location, from.href)
  if (to === null || !/^https?:$/.test(to.protocol)) return undefined
  return printable(`${to.protocol}//${to.host}${to.pathname}`, MAX_URL_CHARS)
}

/** In seconds, or as a date; null if there is none. */
function retryAfter(header: string | undefined, now: number): number | null {
  if (header === undefined) return null
  const seconds = /^\d{1,9}$/.test(header) ? Number(header) : (Date.parse(header) - now) / 1000
  return Number.isFinite(seconds) ? Math.max(0, seconds * 1000) : null
}
