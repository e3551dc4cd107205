/**
 * The two generations of Jetstream, by the path of the stream. `v1` sends bare events and resumes by time, `v2` sends frames of
 * `xrpc.v1.json` and resumes by the number of an event.
 */
export type RelayGeneration = 'v1' | 'v2'

/** The generation of the stream at this address; null if it is none. */
export function relayGeneration(url: string): RelayGeneration | null {
  const { pathname } = new URL(url)
  if (pathname.endsWith('/xrpc/network.bsky.jetstream.subscribeEvents')) return 'v2'
  return pathname.endsWith('/subscribe') ? 'v1' : null
}

/** States of an account in which its posts are shown no more, as the AT Protocol names them. */
export const WITHDRAWN_ACCOUNTS = ['deleted', 'takendown', 'suspended', 'deactivated'] as const
export type WithdrawnAccount = (typeof WITHDRAWN_ACCOUNTS)[number]
