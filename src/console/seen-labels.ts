/** Pages on which a person looks verdicts up by themselves, and sees what was decided. */
const PAGES: ReadonlySet<string> = new Set(['/verdict', '/verdict/file', '/search', '/decisions'])
/** Most verdicts of which it is known; the oldest is forgotten. */
const MOST = 100_000

/** Which verdicts people looked up: who judges one afterwards does not judge it blindly. In this process. */
export class SeenLabels {
  readonly #seen = new Set<string>()

  note(by: string, page: string, verdicts: Iterable<string>): void {
    if (!PAGES.has(page)) return
    for (const verdict of verdicts) this.#seen.add(nameOf(by, verdict))
    for (const oldest of this.#seen) {
      if (this.#seen.size <= MOST) break
      this.#seen.delete(oldest)
    }
  }

  has(by: string, verdict: string): boolean {
    return this.#seen.has(nameOf(by, verdict))
  }
}

function nameOf(by: string, verdict: string): string {
  return `${verdict} ${by}`
}
