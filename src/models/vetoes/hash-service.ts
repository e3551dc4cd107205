import { z } from 'zod'

/** What a service answers to a hash. */
const answer = z.union([
  z.object({ match: z.literal(false) }),
  z.object({ match: z.literal(true), entry: z.string().min(1).max(200).optional() }),
])
/** Longest answer, in bytes. */
const MOST_BYTES = 65_536

/**
 * Asks a service of the platform's whether a hash is on its list; null if it is not. Rejects where it gives no such answer in time. It
 * is sent the hash and nothing else.
 */
export async function askHashService(
  address: string,
  wanted: { readonly kind: 'sha256' | 'pdq'; readonly hash: string; readonly distance?: number },
  timeoutMs: number,
): Promise<string | null> {
  const response = await fetch(address, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(wanted),
    redirect: 'error',
    signal: AbortSignal.timeout(timeoutMs),
  })
  if (!response.ok || response.body === null) throw new Error(`it answered with status ${response.status}`)
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body) {
    bytes += chunk.length
    if (bytes > MOST_BYTES) throw new Error(`its answer is longer than ${MOST_BYTES} bytes`)
    chunks.push(chunk)
  }
  const found = answer.parse(JSON.parse(Buffer.concat(chunks).toString('utf8')))
  return found.match ? (found.entry ?? wanted.hash) : null
}
