import type { ThreadRef } from '../domain/thread.ts'
import type { RecordedRow } from '../ports/record.ts'
import type { Kinds } from './kinds.ts'
import { TEXTS } from './texts.ts'

/** Most subjects that are remembered; the oldest is forgotten. */
const MOST = 10_000

/**
 * Why the words of subjects are hidden in lists, until somebody asks for them: by the verdict that a list shows, or by what another
 * protocol was seen to say of the same subject.
 */
export class Disturbing {
  readonly #kinds: Kinds
  /** By subject, and by protocol, why. */
  readonly #why = new Map<string, Map<string, string>>()

  constructor(kinds: Kinds) {
    this.#kinds = kinds
  }

  /** Takes note of rows, before any of them is shown. */
  see(rows: readonly RecordedRow[]): void {
    for (const { verdict, subject, standing } of rows) {
      if (!standing) continue
      const name = nameOf(subject)
      const known = this.#why.get(name) ?? new Map<string, string>()
      const why = this.#whyOf(verdict)
      if (why === null) known.delete(verdict.protocol)
      else known.set(verdict.protocol, why)
      this.#why.delete(name)
      if (known.size > 0) this.#why.set(name, known)
    }
    for (const name of this.#why.keys()) if (this.#why.size > MOST) this.#why.delete(name)
  }

  /** Why a row's words are hidden; null if they are not. */
  because({ verdict, subject }: RecordedRow): string | null {
    const known = this.#why.get(nameOf(subject))
    return this.#whyOf(verdict) ?? [...(known?.values() ?? [])][0] ?? null
  }

  #whyOf({ label, filtered = [], protocol, decidedBy }: RecordedRow['verdict']): string | null {
    const disturbing = this.#kinds.get(protocol)?.reading?.disturbing ?? []
    if (label !== null && disturbing.includes(label)) return TEXTS.live.hidden(label)
    const isOpen = label === null && decidedBy !== 'scores' && disturbing.length > 0
    return isOpen || filtered.length > 0 ? TEXTS.live.hiddenUndecided : null
  }
}

function nameOf({ tenant, kind, postId }: ThreadRef): string {
  return JSON.stringify([tenant, kind, postId])
}
