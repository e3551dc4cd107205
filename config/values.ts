import { isIP } from 'node:net'
import { z } from 'zod'
import { TEXT_PATH } from '../src/contracts/facts/text-fields.ts'

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

const DURATION = 'a duration is a number and ms, s, m, h or d, as in "90s"'

/** A duration as people write it, in ms inside. */
export const duration = z
  .string(DURATION)
  .regex(/^\d+(\.\d+)?(ms|s|m|h|d)$/, DURATION)
  .transform((text) => {
    const [, number = '', unit = 'ms'] = /^([\d.]+)(\D+)$/.exec(text) ?? []
    return Number(number) * UNITS[unit as keyof typeof UNITS]
  })

/** A duration that something waits for: Node's timers fire at once beyond their longest. */
export const wait = duration.refine((ms) => ms < 2 ** 31, 'at most 24d')

/**
 * Values by a name that somebody else chose: a tenant, a model, a role. Zod's own record passes over `__proto__`, which is a
 * name for a tenant like any other: a limit set for it must not be lost.
 */
export function byName<Value>(value: z.ZodType<Value>, name: z.ZodType<string> = z.string()) {
  return z
    .preprocess(
      (given) => (isMapping(given) ? new Map(Object.entries(given)) : given),
      z.map(name, value, 'must be a mapping of names'),
    )
    .transform((values): Readonly<Record<string, Value>> => Object.fromEntries(values))
}

function isMapping(given: unknown): given is object {
  return typeof given === 'object' && given !== null && !Array.isArray(given)
}

/** Where requests come from. */
export const network = z.string().refine((text) => {
  const [address = '', bits] = text.split('/')
  if (isIP(address) === 0) return false
  if (bits === undefined) return true
  return /^\d{1,3}$/.test(bits) && Number(bits) <= (isIP(address) === 4 ? 32 : 128)
}, 'an address, or a network as in 10.1.0.0/16')

export const count = z.int().min(1)
export const ascending = (values: readonly number[]) =>
  values.every((value, at) => at === 0 || value > (values[at - 1] ?? 0))

export const tls = z
  .strictObject({
    enabled: z.boolean(),
    ca: z.string(),
    cert: z.string(),
    key: z.string(),
    serverName: z.string(),
  })
  .refine(({ cert, key }) => (cert === '') === (key === ''), { path: ['key'], error: 'cert and key go together' })

/** What is set for TLS and would be passed over without it. */
export const tlsFiles = ({ ca, cert, serverName }: z.infer<typeof tls>) => ca !== '' || cert !== '' || serverName !== ''

export const TLS_IS_OFF = 'is false, and ca, cert or serverName is set: they would be passed over'

/** Fields that are read as what they are: a path into one of them would take it away. */
const OWN_FIELDS =
  /^(?:id|postId|parentId|subjectId|tenant|hateSpeech|author|authorSince|lang|createdAt|media|reach|deleted|type)\b/

/** A path to words in a message. */
export const textPath = z
  .string()
  .regex(TEXT_PATH, 'must be a path such as title, or poll.options[].title')
  .refine((path) => !OWN_FIELDS.test(path), 'is a field that is read already')
