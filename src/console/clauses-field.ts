import type { ThreadRef } from '../contracts/facts/thread.ts'
import type { CitedClause } from '../contracts/facts/verdict-fields.ts'
import type { ProtocolGuide } from './kinds.ts'
import { TEXTS } from './texts.ts'
import { html, NOTHING, type TemplatePart, words } from './view.ts'

/** The clauses of the policy that the subject is judged by, to be ticked beside the label that rests on them; nothing where it has no policy. */
export function clausesField(
  kind: ProtocolGuide | undefined,
  subject: ThreadRef,
  ticked: readonly CitedClause[],
): TemplatePart {
  const clauses = kind?.clausesFor?.(subject) ?? []
  if (clauses.length === 0) return NOTHING
  const isTicked = (id: string) => ticked.some((one) => one.id === id)
  return html`<details${ticked.length === 0 ? NOTHING : html` open`}><summary>${TEXTS.decide.clauses}</summary><fieldset class="codes"><legend>${TEXTS.decide.clausesOf(kind?.harmful ?? '')}</legend>${clauses.map(({ id, title }) => html`<label class="box"><input type="checkbox" name="clause" value="${id}"${isTicked(id) ? html` checked` : NOTHING}> ${words(id, { most: 40 })} ${words(title, { most: 100 })}</label>`)}</fieldset></details>`
}

/** The clauses that were ticked. */
export function clausesTicked(form: URLSearchParams): readonly CitedClause[] {
  return form.getAll('clause').map((id) => ({ id }))
}

/** They as a decision has them: without any it has no such field. */
export function citing(clauses: readonly CitedClause[]): { readonly clauses?: readonly CitedClause[] } {
  return clauses.length === 0 ? {} : { clauses }
}
