import { z } from 'zod'
import { tenantName } from '../src/contracts/facts/messages.ts'
import { PROTOCOLS } from '../src/protocols/registry.ts'
import { byName, count, duration, wait } from './values.ts'

/** Within this a shutdown, a proxy and a client all agree that nothing more will come. */
const LONGEST_REQUEST = 600_000
/** Idle connections give way to new ones, so the bound is there for proxies that forget theirs. */
const LONGEST_IDLE = 3_600_000

export const hostName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$/, 'a host name or IPv4 address, without a port')
const origin = z.string().refine((text) => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url !== undefined && /^https?:$/.test(url.protocol) && url.origin === text
}, 'an origin, as in https://app.example: no path, no slash at its end, and never *')

/** The HTTP door: who may ask, for how much, and how long it waits. */
export const door = z
  .strictObject({
    host: z.string().min(1),
    port: z.int().min(0).max(65_535),
    hosts: z.array(hostName),
    publicUrl: z.union([z.literal(''), z.url({ protocol: /^https?$/ })]),
    origins: z.array(origin),
    keys: z.string().min(1),
    openOnLoopback: z.boolean(),
    bodyBytes: z
      .int()
      .min(1_024)
      .max(64 * 2 ** 20, 'at most 64 MiB: it is held in memory'),
    bodies: z.int().min(65_536),
    items: z.int().min(1).max(100_000),
    requestTime: wait.refine((ms) => ms >= 1_000 && ms <= LONGEST_REQUEST, '1s to 10m'),
    connections: count,
    keepAlive: wait.refine((ms) => ms >= 1_000 && ms <= LONGEST_IDLE, '1s to 1h'),
    waiting: count,
    waitingPerTenant: count,
    keepAnswers: duration.refine((ms) => ms >= 60_000, 'at least 1m'),
    produceTimeout: wait.refine((ms) => ms >= 100, 'at least 100ms'),
    rate: z.strictObject({ perSecond: z.number().positive().max(1e6), burst: z.int().min(1).max(1e7) }),
    scores: z.strictObject({
      by: z.enum(['moderator', 'decider']),
      timeout: wait,
      atOnce: count,
      languages: z.array(z.string().regex(/^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$/, 'a language, as in en')).min(1),
      flagAt: z.number().min(0).max(1),
    }),
  })
  .refine(({ bodies, bodyBytes }) => bodies >= 2 * bodyBytes, {
    path: ['bodies'],
    error: 'is less than twice bodyBytes: half of it is for one tenant',
  })
  .refine(({ waitingPerTenant, waiting }) => waitingPerTenant <= waiting, {
    path: ['waitingPerTenant'],
    error: 'is more than waiting',
  })

/** A secret as Standard Webhooks has it: whsec_ and 24 to 64 bytes in base64. */
const secret = z
  .string()
  .regex(/^whsec_[A-Za-z0-9+/]+={0,2}$/, 'whsec_ and base64')
  .refine((text) => {
    const bytes = Buffer.from(text.slice('whsec_'.length), 'base64').length
    return bytes >= 24 && bytes <= 64
  }, 'whsec_ and 24 to 64 bytes in base64')

const webhook = z.strictObject({
  url: z.url({ protocol: /^https?$/ }),
  tenant: tenantName,
  protocols: z
    .array(z.enum(PROTOCOLS.map(({ name }) => name)))
    .min(1)
    .optional(),
  labels: z.array(z.string().min(1).max(64)).min(1).optional(),
  final: z.boolean().optional(),
  appeals: z.boolean().optional(),
  actions: z.boolean().optional(),
  secrets: z.array(secret).min(1),
  allowPrivate: z.boolean().default(false),
})

/** To whom verdicts are sent. */
export const webhooks = z.strictObject({
  atOnce: count,
  timeout: wait,
  retries: z.array(wait).max(20),
  to: byName(
    webhook,
    z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, '1 to 64 letters, digits, dots, dashes or underscores'),
  ),
})
