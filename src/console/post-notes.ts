import type { Clock } from '../contracts/ports/clock.ts'
import type { ReviewPictures } from '../contracts/ports/pictures.ts'
import type { RecordedRow, RecordReader } from '../contracts/ports/record.ts'
import { type BlindReviews, CLOSED } from './blind-review.ts'
import { onceField, type SubmittedForms } from './decision-form.ts'
import { DESK_TEXTS as TEXTS } from './desk-texts.ts'
import { type Page, type PageAnswer, type PageCall, refusal } from './page.ts'
import type { Session } from './sessions.ts'
import { carriedId, html, idIn, link, moment, NOTHING, type SafeMarkup, words } from './view.ts'

/** Longest note, in characters, and most notes of one post. */
const [MOST_CHARS, MOST_NOTES] = [2_000, 50]

interface NoteParts {
  readonly record: Pick<RecordReader, 'verdict'>
  readonly people: Pick<ReviewPictures, 'addNote'>
  readonly blinds: BlindReviews
  readonly clock: Clock
}

/** What people noted on a post, and the form that adds to it. `only`: on an item's page, which list is worked through. */
export async function notesSection(
  { verdict, subject }: RecordedRow,
  session: Session,
  { people, only }: { readonly people: Pick<ReviewPictures, 'notesOf'>; readonly only?: string },
): Promise<SafeMarkup> {
  const notes = await people.notesOf(subject)
  const hidden = (name: string, value: string) => html`<input type="hidden" name="${name}" value="${value}">`
  return html`<section aria-labelledby="notes"><h2 id="notes">${TEXTS.notes}</h2>
${notes.length === 0 ? NOTHING : html`<ol class="timeline">${notes.map(({ by, at, text }) => html`<li>${moment(at)} ${words(by, { most: 60 })}: ${words(text)}</li>`)}</ol>`}
<details><summary>${TEXTS.addNote}</summary><p class="faint">${TEXTS.notesSay}</p><form method="post" action="/note">${hidden('token', session.token)}${hidden('carried', carriedId(verdict.id))}${onceField()}${only === undefined ? NOTHING : html`${hidden('item', 'yes')}${hidden('only', only)}`}
<label class="wide">${TEXTS.note} <textarea name="text" rows="2" maxlength="${MOST_CHARS}" required dir="auto"></textarea></label><button>${TEXTS.addNote}</button></form></details></section>`
}

/** Where notes are added. */
export function notePage({ record, people, blinds, clock }: NoteParts, once: SubmittedForms): Page {
  const add = async ({ form, session }: PageCall): Promise<PageAnswer> => {
    const id = idIn(form)
    const row = await record.verdict(id, session.tenants)
    const only = form.get('only') ?? ''
    const back = form.has('item') ? link('/review/item', { id, only }) : link('/verdict', { id })
    if (row === null) return notNoted(TEXTS.tooMany, back)
    if (blinds.isClosed(session.by, row.subject)) return CLOSED
    const text = (form.get('text') ?? '').toWellFormed().trim()
    if (text === '' || text.length > MOST_CHARS) return notNoted(TEXTS.tooLong(MOST_CHARS), back)
    const isKept = await people.addNote({ verdict: id, by: session.by, at: clock(), text, most: MOST_NOTES })
    return isKept ? { to: back } : notNoted(TEXTS.tooMany, back)
  }
  return {
    method: 'POST',
    path: '/note',
    right: 'decide',
    answer: (asked) => once.take(asked.form, asked.session, () => add(asked)),
  }
}

function notNoted(says: string, to: string): PageAnswer {
  return refusal(TEXTS.notNoted, says, { to, says: TEXTS.back })
}
