import { didYouMean } from '../contracts/facts/did-you-mean.ts'
import { RequestRefused } from './problem.ts'
import type { DoorRoute, Schema } from './route.ts'

/** So many are named, and so much of each. */
const [MOST, LONGEST] = [20, 64]

/** The fields of an object that nobody reads, `under` the name of where it stands. */
export function unknownIn(given: object, known: readonly string[], under = ''): string[] {
  const unknown: string[] = []
  for (const name in given) {
    if (unknown.length === MOST) break
    if (!known.includes(name)) unknown.push(`${under}${shown(name)}`)
  }
  return unknown
}

/** The part of an answer about them. */
export function ignoredIn(names: readonly string[]): { ignored?: readonly string[] } {
  return names.length === 0 ? {} : { ignored: names.slice(0, MOST) }
}

export const IGNORED: Schema = {
  type: 'array',
  items: { type: 'string' },
  description: `Fields that were sent and that nobody reads; of many the first ${MOST}.`,
}

/** Throws the problem of a field that a body of the door's own form has not. */
export function checkKnown(names: Iterable<string>, known: readonly string[]): void {
  for (const name of names)
    if (!known.includes(name)) {
      const message = `is no field here.${didYouMean(shown(name), known)} There are ${known.join(', ')}.`
      throw new RequestRefused('invalid', `${shown(name)}: ${message}`, { errors: [{ path: shown(name), message }] })
    }
}

/**
 * These parameters of an address. Throws the problem of one that the route has not: it would be dropped unsaid. Routes in a form
 * that others have laid down look at theirs themselves.
 */
export function knownParameters(route: DoorRoute, given: URLSearchParams): URLSearchParams {
  const { scope, refuse, operation } = route
  if (scope === null || refuse !== undefined) return given
  const known = (operation.parameters ?? []).flatMap(({ name, in: place }) => (place === 'query' ? [name] : []))
  for (const name of given.keys())
    if (!known.includes(name)) {
      const there = known.length === 0 ? 'It takes none.' : `There are ${known.join(', ')}.`
      const message = `is no parameter of this address.${didYouMean(shown(name), known)} ${there}`
      throw new RequestRefused('invalid', `${shown(name)}: ${message}`, { errors: [{ path: shown(name), message }] })
    }
  return given
}

/** A name that was sent, as it may stand in an answer. */
export function shown(name: string): string {
  return /^[\w.$@-]+$/.test(name) ? name.slice(0, LONGEST) : '(odd)'
}
