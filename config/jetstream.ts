import { z } from 'zod'
import { tenantName } from '../src/contracts/facts/messages.ts'
import { relayGeneration, WITHDRAWN_ACCOUNTS } from '../src/contracts/facts/relay-address.ts'
import { duration } from './values.ts'

/** A relay by the address of its stream, which tells its generation. */
const relay = z
  .url({ protocol: /^wss?$/, error: 'is no address such as wss://jetstream2.us-east.bsky.network/subscribe' })
  .refine(
    (url) => !URL.canParse(url) || relayGeneration(url) !== null,
    'ends with neither /subscribe nor /xrpc/network.bsky.jetstream.subscribeEvents',
  )
  .refine(
    (url) => !URL.canParse(url) || new URL(url).search === '',
    'takes no parameters: the settings beside it are sent',
  )

const did = z
  .string()
  .regex(/^did:[a-z]+:[A-Za-z0-9._:%-]{1,200}$/, 'is no DID such as did:plc:ewvi7nxzyoun6zhxrhs64oiz')

/** The role `jetstream`: what of Bluesky is read, and what is made of it. */
export const jetstream = z.strictObject({
  urls: z.array(relay).max(20),
  ca: z.string(),
  compress: z.boolean(),
  tenant: tenantName,
  langs: z.array(z.string().regex(/^[A-Za-z0-9-]{1,35}$/, 'a language tag such as en, or und')),
  dids: z.array(did).max(100),
  sample: z.number().gt(0).max(1),
  replies: z.boolean(),
  cdn: z.union([z.literal(''), z.url({ protocol: /^https$/, error: 'is no address such as https://cdn.bsky.app' })]),
  erase: z.array(z.enum(WITHDRAWN_ACCOUNTS)),
  since: duration,
  rewind: duration.refine((ms) => ms <= 3_600_000, 'at most 1h'),
  follow: duration.refine((ms) => ms >= 60_000, 'at least 1m'),
})
