import { hash, randomUUID } from 'node:crypto'
import type { Answer } from './page.ts'
import type { Session } from './sessions.ts'
import { html, type Safe } from './view.ts'

/** Most forms whose answers are known; the oldest is forgotten. */
const MOST = 1_000

/**
 * A form that arrives twice, by a double click or the way back, is carried out once: both times it has the same answer. Whoever went
 * back and wrote something else has sent another form.
 */
export class Once {
  readonly #answers = new Map<string, Promise<Answer>>()

  take(form: URLSearchParams, { name }: Session, work: () => Promise<Answer>): Promise<Answer> {
    const once = form.get('once') ?? ''
    if (once === '') return work()
    const key = `${name} ${hash('sha256', String(form), 'base64url')}`
    const known = this.#answers.get(key)
    if (known !== undefined) return known
    const answer = work()
    this.#answers.set(key, answer)
    // A page shows what may be deleted by the next time, and says that nothing was carried out.
    const forget = () => this.#answers.delete(key)
    answer.then((made) => 'body' in made && forget(), forget)
    for (const oldest of this.#answers.keys()) if (this.#answers.size > MOST) this.#answers.delete(oldest)
    return answer
  }
}

/** What tells this form from every other. */
export function onceField(): Safe {
  return html`<input type="hidden" name="once" value="${randomUUID()}">`
}
