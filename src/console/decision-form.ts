import { hash, randomUUID } from 'node:crypto'
import { MAX_WHY_CHARS } from '../contracts/facts/decision-messages.ts'
import { entryOf } from '../contracts/facts/entry-of.ts'
import { may } from '../contracts/facts/person-roles.ts'
import type { Verdict } from '../contracts/facts/verdict.ts'
import { leaveTurn } from '../platform/answer-turns.ts'
import { answeredBy, openAppeals } from './appeals-section.ts'
import type { CaseFile } from './case-file.ts'
import { clausesField } from './clauses-field.ts'
import { GOLDEN_TEXTS } from './golden-texts.ts'
import type { PageAnswer } from './page.ts'
import type { Session } from './sessions.ts'
import { TEXTS } from './texts.ts'
import { carriedId, html, link, NOTHING, type SafeMarkup, type TemplatePart, when, words } from './view.ts'

/** The outcome of a decision, as an address names it. */
export const DONE = {
  stands: TEXTS.decide.done,
  withdrawn: TEXTS.decide.withdrawn,
  anew: TEXTS.decide.anew,
  noted: TEXTS.decide.noted,
  unconfirmed: TEXTS.decide.unconfirmed,
  golden: GOLDEN_TEXTS.made,
} as const

/** What came of the decision that led to this page; nothing where none did. */
export function decisionNotice(done: string | null, ago = ''): TemplatePart {
  const said = Object.entries(DONE).find(([name]) => name === done)?.[1]
  return said === undefined
    ? NOTHING
    : html`<p class="notice done" role="status" tabindex="-1" autofocus>${said} ${ago}</p>`
}

/** The form by which the person who is signed in decides in place of the machines, or takes that back. */
export function decisionSection(
  { row, subjectRecord, kind }: CaseFile,
  session: Session,
  isOwnCase: boolean,
): TemplatePart {
  const { verdict, standing } = row
  const { token } = session
  if (subjectRecord.deletedAt !== null || kind === undefined || !standing) return NOTHING
  const isHuman = verdict.decidedBy === 'human'
  const clauses = clausesField(kind, row.subject, [])
  const fields = {
    id: verdict.id,
    token,
    labels: kind.labels,
    means: kind.reading?.labels,
    chosen: '',
    why: '',
    clauses,
  }
  const answered = answeredBy(verdict.decision?.of, subjectRecord).length
  const withdraw = withdrawForm({ id: verdict.id, token, answered })
  const waits = openAppeals({ protocol: verdict.protocol, reasons: ['appealed'] }, subjectRecord).length > 0
  if (isHuman && !mayWithdraw(verdict, session))
    return html`<section aria-labelledby="decide" class="decide"><h2 id="decide">${TEXTS.decide.title}</h2>${besideAppeals(
      waits,
      html`<p>${TEXTS.decide.object}</p>
${decisionForm({ ...fields, standing: verdict.label, by: session.by, opinion: true })}`,
    )}</section>`
  if (isHuman && isOwnCase)
    return html`<section aria-labelledby="decide" class="decide"><h2 id="decide">${TEXTS.decide.title}</h2><p>${TEXTS.decide.ownCase}</p>
${verdict.decision?.by === session.by ? withdraw : NOTHING}</section>`
  return html`<section aria-labelledby="decide" class="decide"><h2 id="decide">${TEXTS.decide.title}</h2>
${besideAppeals(waits, decisionForm({ ...fields, standing: verdict.label, by: session.by }))}
${isHuman ? withdraw : NOTHING}</section>`
}

/** Where an appeal waits, a form that does not answer it stands folded, behind the way to what does. */
function besideAppeals(waits: boolean, form: SafeMarkup): SafeMarkup {
  if (!waits) return form
  return html`<p class="notice">${TEXTS.decide.appealWaits} <a href="${APPEALS_AT}">${TEXTS.decide.toReview}</a></p><details><summary>${TEXTS.decide.beside}</summary>${form}</details>`
}
/** Where those are listed that wait. */
export const APPEALS_AT = link('/review', { reason: 'appealed', order: 'oldest' })

/** Whether this person may take back or replace what a person decided: their own decision, or, as a lead, anybody's. */
export function mayWithdraw({ decision, tenant }: Verdict, { by, grants }: Session): boolean {
  return decision?.by === by || may(grants, 'overrule', tenant)
}

export interface DecisionFields {
  /** The verdict that was seen. */
  readonly id: string
  readonly token: string
  readonly labels: readonly string[]
  /** What each means. */
  readonly means?: Readonly<Record<string, string>> | undefined
  readonly chosen: string
  readonly why: string
  /** The clauses that it may cite, as the form has them; left out where what is shown may be of any. */
  readonly clauses?: TemplatePart
  /** The current label, where it is shown. */
  readonly standing?: string | null
  readonly by: string
  /** It was shown without what was decided: what is sent is an opinion, whatever has become of the verdict when it arrives. */
  readonly opinion?: boolean
}

export function decisionForm(fields: DecisionFields): SafeMarkup {
  const { id, token, labels, means = {}, chosen, why, clauses = NOTHING, standing = null, by, opinion = false } = fields
  const name = randomUUID()
  return html`<form method="post" action="/decide"><input type="hidden" name="token" value="${token}"><input type="hidden" name="carried" value="${carriedId(id)}">${onceField()}${opinion ? html`<input type="hidden" name="opinion" value="yes">` : NOTHING}
<fieldset><legend>${TEXTS.decide.label}</legend>${labels.map((label, at) => html`<label class="box"><input type="radio" name="label" value="${label}" data-key="${at + 1}" required${label === chosen ? html` checked` : NOTHING}> ${label}${label === standing ? html` <span class="faint">(${TEXTS.decide.stands})</span>` : NOTHING}${when(entryOf(means, label), (says) => html` <span class="faint">${says}</span>`)}</label>`)}</fieldset>
${clauses}<label class="wide">${TEXTS.decide.why} <textarea name="why" rows="3" maxlength="${MAX_WHY_CHARS}" required dir="auto" aria-describedby="${name}">${why}</textarea></label>
<p class="faint" id="${name}">${TEXTS.decide.whyNote} ${opinion ? NOTHING : words(TEXTS.decide.asYou(by), { most: 160 })}</p><button class="main">${TEXTS.decide.send}</button>${notSeenPlace()}</form>`
}

/** Where a page's script says why it sends nothing: the post is covered yet. */
export function notSeenPlace(): SafeMarkup {
  return html`<p class="state bad" role="status" data-not-seen="${TEXTS.review.notSeen}" data-not-looked="${TEXTS.review.notLooked}"></p>`
}

function withdrawForm({ id, token, answered }: { id: string; token: string; answered: number }): SafeMarkup {
  return html`<details><summary>${TEXTS.decide.withdraw}</summary>${answered === 0 ? NOTHING : html`<p class="notice">${TEXTS.decide.answered(answered)}</p>`}<form method="post" action="/decide"><input type="hidden" name="token" value="${token}"><input type="hidden" name="carried" value="${carriedId(id)}">${onceField()}<input type="hidden" name="withdraw" value="yes">
<label class="wide">${TEXTS.decide.why} <textarea name="why" rows="2" maxlength="${MAX_WHY_CHARS}" required dir="auto"></textarea></label>
<button>${TEXTS.decide.withdrawTitle}</button></form></details>`
}

/** Most forms whose answers are known; the oldest is forgotten. */
const MOST = 1_000

/**
 * A form that arrives twice, by a double click or the way back, is carried out once: both times it has the same answer. A person who went
 * back and wrote something else has sent another form.
 */
export class SubmittedForms {
  readonly #answers = new Map<string, Promise<PageAnswer>>()

  take(form: URLSearchParams, { name }: Session, work: () => Promise<PageAnswer>): Promise<PageAnswer> {
    const once = form.get('once') ?? ''
    if (once === '') return work()
    const key = `${name} ${hash('sha256', String(form), 'base64url')}`
    const known = this.#answers.get(key)
    if (known !== undefined) {
      leaveTurn()
      return known
    }
    const answer = work()
    this.#answers.set(key, answer)
    // A page shows what may be deleted by the next time, and states that nothing was carried out.
    const forget = () => this.#answers.delete(key)
    answer.then((made) => 'body' in made && forget(), forget)
    for (const oldest of this.#answers.keys()) if (this.#answers.size > MOST) this.#answers.delete(oldest)
    return answer
  }
}

/** What tells this form from every other. */
export function onceField(): SafeMarkup {
  return html`<input type="hidden" name="once" value="${randomUUID()}">`
}
