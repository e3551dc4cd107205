import type { Settings } from '../../config/schema.ts'
import { entryOf } from '../contracts/facts/entry-of.ts'

/**
 * What a running process can present or check anew: passwords and the users that they belong to, keys, tokens. The key of fences
 * is not among them: it draws the samples.
 */
const LIVE = [
  'redis.username',
  'redis.password',
  'redis.sentinelUsername',
  'redis.sentinelPassword',
  'kafka.sasl.username',
  'kafka.sasl.password',
  'openai.apiKey',
  'endpoints.*.apiKey',
  'endpoints.*.headers.*',
  'http.token',
  'record.postgres.password',
  'webhooks.to.*.secrets',
  'traces.headers.*',
].map((path) => path.split('.'))
/** Addresses that may hold a user and a password, by the parts that are taken anew: the rest of them needs a restart. */
const ADDRESSES: ReadonlyMap<string, readonly ('username' | 'password')[]> = new Map([
  ['redis.url', ['username', 'password']],
  // PostgreSQL's client asks for the password alone when it connects again.
  ['record.postgres.url', ['password']],
])

/** A name may hold dots, so a path is compared name by name. */
const isSecret = (path: readonly string[]) =>
  LIVE.some((one) => one.length === path.length && one.every((name, at) => name === '*' || name === path[at]))
const mayChange = (path: readonly string[]) => isSecret(path) || ADDRESSES.has(path.join('.'))

/** Whether the setting at this path is a secret that a running process takes anew. */
export function isLiveSecret(path: readonly string[], one: Settings, other: Settings): boolean {
  const values = [one, other].map((settings) => valueAt(settings, path))
  // What was not there at the start is read by nobody, and what is there no more would be missed.
  if (values.includes(undefined)) return false
  // A port without a token asks nobody for one: it is closed and opened by a restart alone.
  if (path.join('.') === 'http.token') return !values.includes('')
  if (isSecret(path)) return true
  const parts = ADDRESSES.get(path.join('.'))
  if (parts === undefined) return false
  const [before, after] = values.map((address) => without(parts, String(address)))
  return before !== null && before === after
}

/** An address without these parts; null for none. */
function without(parts: readonly ('username' | 'password')[], address: string): string | null {
  if (!URL.canParse(address)) return null
  const url = new URL(address)
  for (const part of parts) url[part] = ''
  return url.href
}

/**
 * The settings, in which secrets are read at the moment when they are used, so that a connection that is made later presents
 * those that were taken last. Whoever copies a secret keeps the old one.
 */
export function liveSecrets(first: Settings): { readonly settings: Settings; take(next: Settings): void } {
  let current: object = first
  const copy = (tree: object, path: readonly string[]): object => {
    const own = {}
    for (const [name, value] of Object.entries(tree)) {
      const at = [...path, name]
      if (mayChange(at)) Object.defineProperty(own, name, { enumerable: true, get: () => valueAt(current, at) })
      else Object.defineProperty(own, name, { enumerable: true, value: isMapping(value) ? copy(value, at) : value })
    }
    return own
  }
  // Each name has the kind of value that it had.
  const settings = copy(first, []) as Settings
  return {
    settings,
    take(next) {
      current = next
    },
  }
}

function valueAt(settings: object, path: readonly string[]): unknown {
  return path.reduce<unknown>((tree, name) => entryOf(Object(tree), name), settings)
}

function isMapping(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
