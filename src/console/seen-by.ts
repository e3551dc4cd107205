import type { ThreadRef } from '../contracts/facts/thread.ts'
import { readVerdictId } from '../contracts/facts/verdict-id.ts'

/** Most things of which it is known who saw them; what was seen longest ago is forgotten. */
const MOST = 100_000

/** Who saw what. In this process. */
class SeenBy {
  readonly #people = new Map<string, Set<string>>()

  note(thing: string, by: string): void {
    const people = this.#people.get(thing) ?? new Set()
    this.#people.delete(thing)
    this.#people.set(thing, people.add(by))
    for (const oldest of this.#people.keys()) if (this.#people.size > MOST) this.#people.delete(oldest)
  }

  has(thing: string, by: string): boolean {
    return this.#people.get(thing)?.has(by) === true
  }
}

/** Which verdicts' labels people were shown, on whichever page: who judges one afterwards does not judge it blindly. */
export class SeenLabels {
  readonly #seen = new SeenBy()

  note(by: string, verdicts: Iterable<string>): void {
    for (const verdict of verdicts) this.#seen.note(verdict, by)
  }

  /** They know what was found of this verdict, and so what all others of its subject and protocol say. */
  noteFound(by: string, verdict: string): void {
    this.#seen.note(scopeIn(verdict), by)
  }

  has(by: string, verdict: string): boolean {
    return this.#seen.has(verdict, by) || this.#seen.has(scopeIn(verdict), by)
  }
}

function scopeIn(verdict: string): string {
  return readVerdictId(verdict)?.scope ?? verdict
}

/** Its words, a picture by its number, or that they said that they could not see it. */
type PostPart = 'words' | number | 'not-seen'

/**
 * Of which posts people were shown the words and which pictures, in clear or uncovered: a decision on others rests on less than it seems
 * to.
 */
export class SeenPosts {
  readonly #seen = new SeenBy()

  note(by: string, subject: ThreadRef, part: PostPart): void {
    this.#seen.note(nameOf(subject, part), by)
  }

  has(by: string, subject: ThreadRef, part: PostPart): boolean {
    return this.#seen.has(nameOf(subject, part), by)
  }
}

function nameOf({ tenant, kind, postId }: ThreadRef, part: PostPart): string {
  return JSON.stringify([tenant, kind, postId, part])
}
