import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { tenantName } from './messages.ts'

/** What a key may do: send messages, ask for verdicts and scores, read what is known, decide as a person, tell what was done, erase a person. */
export const SCOPES = ['send', 'judge', 'read', 'decide', 'act', 'erase'] as const
export type Scope = (typeof SCOPES)[number]

const time = z.iso.datetime({ offset: true })
const rate = z.strictObject({ perSecond: z.number().positive().max(1e6), burst: z.int().min(1).max(1e7) })

/** A key as the file of keys has it: nothing by which it could be used. */
const apiKey = z.object({
  id: z.string().regex(/^[a-z0-9]{8}$/),
  hash: z.string().regex(/^sha256:[0-9a-f]{64}$/),
  tenant: tenantName,
  scopes: z.array(z.enum(SCOPES)).min(1),
  /** Who acts by it, as decisions name them. */
  by: z.string().min(1).max(256),
  /** Absent: it counts in `door.rate` of the settings, with all keys of its tenant that have none. */
  rate: rate.optional(),
  createdAt: time,
  expiresAt: time.nullable(),
  revokedAt: time.nullable(),
})
export type ApiKey = z.infer<typeof apiKey>

/** The file of keys. */
export const apiKeys = z.object({
  schema: z.literal(1),
  keys: z
    .array(apiKey)
    .refine((keys) => new Set(keys.map(({ id }) => id)).size === keys.length, 'two keys have one id'),
})
export type ApiKeys = z.infer<typeof apiKeys>

const WRITTEN = /^gavel_([a-z0-9]{8})_[A-Za-z0-9_-]{43}$/
const ID_CHARS = 'abcdefghijklmnopqrstuvwxyz0123456789'

/** A new key, as its owner gets it once, and as it is kept. */
export function newApiKey(of: Omit<ApiKey, 'id' | 'hash' | 'revokedAt'>): {
  readonly key: string
  readonly kept: ApiKey
} {
  const id = [...randomBytes(8)].map((byte) => ID_CHARS[byte % ID_CHARS.length]).join('')
  const key = `gavel_${id}_${randomBytes(32).toString('base64url')}`
  return { key, kept: { id, hash: `sha256:${digest(key).toString('hex')}`, ...of, revokedAt: null } }
}

/** The kept key that this text is; null if it is none, or may not be used at this time. */
export function foundKey(keys: ReadonlyMap<string, ApiKey>, text: string, now: number): ApiKey | null {
  const kept = keys.get(WRITTEN.exec(text)?.[1] ?? '')
  if (kept === undefined) return null
  const isIt = timingSafeEqual(digest(text), Buffer.from(kept.hash.slice('sha256:'.length), 'hex'))
  return isIt && isUsable(kept, now) ? kept : null
}

/** Neither revoked nor expired. */
export function isUsable({ revokedAt, expiresAt }: ApiKey, now: number): boolean {
  return revokedAt === null && (expiresAt === null || Date.parse(expiresAt) > now)
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
