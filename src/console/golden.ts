import type { Clock } from '../contracts/ports/clock.ts'
import type { DecisionDesk } from '../contracts/ports/decisions.ts'
import type { RecordedRow, RecordReader } from '../contracts/ports/record.ts'
import { type BlindReviews, CLOSED } from './blind-review.ts'
import type { CaseFile } from './case-file.ts'
import { notSeenPlace, onceField, type SubmittedForms } from './decision-form.ts'
import { doneOf, refusalOf, sendDecision } from './decision-page.ts'
import { sentFields } from './golden-answers.ts'
import { GOLDEN_TEXTS as TEXTS } from './golden-texts.ts'
import { type Page, type PageAnswer, type PageCall, refusal } from './page.ts'
import type { Session } from './sessions.ts'
import { carriedId, html, idIn, link, type SafeMarkup, words } from './view.ts'

interface GoldenParts {
  readonly record: Pick<RecordReader, 'verdict'>
  readonly decisionDesk: DecisionDesk
  readonly blinds: BlindReviews
  readonly clock: Clock
}

/** Makes a golden item of a verdict that a person decided: the label in force is its key. */
export function goldenPage({ record, blinds, ...parts }: GoldenParts, once: SubmittedForms): Page {
  const make = async ({ form, session, signal }: PageCall): Promise<PageAnswer> => {
    const id = idIn(form)
    const row = await record.verdict(id, session.tenants)
    if (row === null || !canBeKey(row)) return refused(id, TEXTS.notNow)
    const { verdict, subject } = row
    if (blinds.isClosed(session.by, subject)) return CLOSED
    const { protocol, revision: against, label } = verdict
    const said = { subject, protocol, against, by: session.by, why: TEXTS.why, opinion: true, golden: 'key' } as const
    const outcome = await sendDecision({ ...said, label: label ?? '' }, parts, signal)
    if (outcome === 'invalid') return refused(id, TEXTS.notNow)
    const done = doneOf(outcome)
    return done === null ? refused(id, refusalOf(outcome)) : { to: link('/verdict', { id, done: 'golden' }) }
  }
  return {
    method: 'POST',
    path: '/golden',
    right: 'overrule',
    answer: (asked) => once.take(asked.form, asked.session, () => make(asked)),
  }
}

function refused(id: string, says: string): PageAnswer {
  return refusal(TEXTS.title, says, { to: link('/verdict', { id }), says: words(id, { most: 200 }) })
}

function canBeKey({ verdict, standing }: RecordedRow): boolean {
  const { decidedBy, label, decision } = verdict
  return standing && decidedBy === 'human' && label !== null && decision?.unseen !== true
}

/** The form by which a lead makes one of a verdict; nothing where none can be made. */
export function goldenForm({ row, subjectRecord }: CaseFile, session: Session): SafeMarkup {
  const { id, protocol, revision } = row.verdict
  if (!canBeKey(row)) return html``
  const isMade = subjectRecord.said.some((one) => {
    const { golden, against } = sentFields(one)
    return one.protocol === protocol && one.by === session.by && golden === 'key' && against === revision
  })
  if (isMade) return html`<p class="faint">${TEXTS.made}</p>`
  return html`<details><summary>${TEXTS.title}</summary><p>${TEXTS.says}</p><form method="post" action="/golden"><input type="hidden" name="token" value="${session.token}"><input type="hidden" name="carried" value="${carriedId(id)}">${onceField()}<button>${TEXTS.make}</button>${notSeenPlace()}</form></details>`
}
