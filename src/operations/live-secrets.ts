import type { Settings } from '../../config/schema.ts'
import { entryOf } from '../contracts/facts/entry-of.ts'

/**
 * What a running process can present or check anew: passwords and the users that they belong to, keys, tokens. The key of fences
 * is not among them: it draws the samples.
 */
const LIVE = new RegExp(
  `^(?:${[
    String.raw`redis\.(?:username|password|sentinelUsername|sentinelPassword)`,
    String.raw`kafka\.sasl\.(?:username|password)`,
    String.raw`openai\.apiKey`,
    String.raw`endpoints\.[^.]+\.(?:apiKey|headers\..+)`,
    String.raw`http\.token`,
    String.raw`record\.postgres\.password`,
    String.raw`webhooks\.to\.[^.]+\.secrets`,
    String.raw`traces\.headers\..+`,
  ].join('|')})$`,
)
/** Addresses that may hold a user and a password: the rest of them needs a restart. */
const ADDRESSES: ReadonlySet<string> = new Set(['redis.url', 'record.postgres.url'])

const mayChange = (path: string) => LIVE.test(path) || ADDRESSES.has(path)

/** Whether the setting at this path is a secret that a running process takes anew. */
export function isLiveSecret(path: string, one: Settings, other: Settings): boolean {
  if (LIVE.test(path)) return true
  if (!ADDRESSES.has(path)) return false
  const [before, after] = [one, other].map((settings) => withoutUser(String(valueAt(settings, path.split('.')))))
  return before !== null && before === after
}

/** An address without user and password; null for none. */
function withoutUser(address: string): string | null {
  if (!URL.canParse(address)) return null
  const url = new URL(address)
  url.username = ''
  url.password = ''
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
      if (mayChange(at.join('.')))
        Object.defineProperty(own, name, { enumerable: true, get: () => valueAt(current, at) })
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
