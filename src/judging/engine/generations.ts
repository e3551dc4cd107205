import type { Protocol } from './script.ts'
import { pinned, versionsOf } from './versions.ts'

/**
 * Most earlier prompts and settings of a protocol that are kept for open cases. A case that is older still is handed back and then
 * restarts, as one of another process does.
 */
const MOST_EARLIER = 4

/** Protocols of which prompts and settings can be replaced while cases are open. */
export interface Generations {
  /** Each is always current for its holders; `earlier` knows how it was. */
  readonly protocols: readonly Protocol[]
  /** Replaces them; there must be one of each name, with the same stages, labels and shelves (`otherShape`). */
  replace(next: readonly Protocol[]): void
}

export function generations(first: readonly Protocol[]): Generations {
  /** By name, the newest first. */
  const all = new Map(first.map((protocol) => [protocol.name, [protocol]]))
  const protocols = first.map((protocol) => {
    const known = () => all.get(protocol.name) ?? [protocol]
    const earlier: Protocol['earlier'] = (versions) => {
      for (const one of known()) {
        const found = pinned(one, versions)
        if (found !== undefined) return found
      }
      return undefined
    }
    // What holds it reads a property at a time: those that a script needs are read when it begins, of one generation.
    return new Proxy(protocol, {
      get: (_, property) => (property === 'earlier' ? earlier : Reflect.get(known()[0] ?? protocol, property)),
    })
  })
  return {
    protocols,
    replace(next) {
      for (const protocol of next) {
        const others = (all.get(protocol.name) ?? []).filter((one) =>
          [one, ...(one.variants ?? [])].some((own) => pinned(protocol, versionsOf(own)) === undefined),
        )
        all.set(protocol.name, [protocol, ...others.slice(0, MOST_EARLIER)])
      }
    },
  }
}

/** What a protocol has that queues, metrics and stores were made for: the first of these in which the two differ. */
export function otherShape(one: Protocol, other: Protocol): string | undefined {
  return SHAPE.find((what) => JSON.stringify(one[what]) !== JSON.stringify(other[what]))
}
const SHAPE = [
  'version',
  'stages',
  'subject',
  'labels',
  'peopleLabels',
  'decides',
  'scales',
  'shelves',
  'shelfLabels',
  'learns',
] satisfies (keyof Protocol)[]
