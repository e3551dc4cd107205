import { randomUUID } from 'node:crypto'
import { MAX_WHY_CHARS, MEASURES } from '../contracts/facts/decision-messages.ts'
import { entryOf } from '../contracts/facts/entry-of.ts'
import type { CitedClause } from '../contracts/facts/verdict-fields.ts'
import { nameIn } from '../contracts/facts/verdict-id.ts'
import type { CoverChoice } from '../contracts/ports/pictures.ts'
import type { PostItem, ReviewItem } from '../contracts/ports/review.ts'
import { clausesField } from './clauses-field.ts'
import { covered, uncoveredAt } from './covers.ts'
import { onceField } from './decision-form.ts'
import type { ProtocolGuide } from './kinds.ts'
import { CODE_KEYS, type ReasonCodes } from './reason-codes.ts'
import type { Session } from './sessions.ts'
import { TEXTS } from './texts.ts'
import { listedPictures, thumbnails } from './thumbnails.ts'
import { carriedId, html, NOTHING, type SafeMarkup, type TemplatePart, when, words } from './view.ts'

/** What somebody has filled in already. */
export interface FilledForm {
  readonly label: string
  readonly code: string
  readonly why: string
  readonly clauses: readonly CitedClause[]
  /** Which hearing of appeals it was shown; empty: none. */
  readonly heard: string
  /** What is to become of the actions that are appealed against; empty: not chosen. */
  readonly measure: string
}
export const NOT_FILLED: FilledForm = { label: '', code: '', why: '', clauses: [], heard: '', measure: '' }

export interface JudgeForm {
  readonly session: Session
  readonly kind: ProtocolGuide | undefined
  readonly codes: ReasonCodes
  /** The machines' label as it is shown; null where there is none, or it is not shown. */
  readonly shown: string | null
  readonly isBlind: boolean
  /** The label is shown only afterwards. */
  readonly isLabelAfter: boolean
  /** What of the queue is worked through, as its address has it. */
  readonly only: string
  readonly filled: FilledForm
  /** When it was first shown, ms since 1970, as the form carries it. */
  readonly since: string
  /** Items in the same words, which the same decision may count for. */
  readonly copies: readonly ReviewItem[]
  /** What this person wants to have covered. */
  readonly choice: CoverChoice
  /** Why the post's words are covered, and so those of its copies; null if they are not. */
  readonly cover: string | null
  /** The appeals that it answers, by their ids. */
  readonly appeals: readonly string[]
  /** Some of them are against what was done. */
  readonly asksMeasure: boolean
  /** When the models are heard on them; null: never. */
  readonly hearing: 'by-person' | 'always' | null
}

/** The form by which a person decides on one item of a post; one button confirms the label that is shown. */
export function judgeForm(item: PostItem, of: JudgeForm): SafeMarkup {
  const { session, kind, codes, shown, isBlind, isLabelAfter, only, filled, since, copies, choice, cover } = of
  const name = randomUUID()
  const hidden = (field: string, value: string) => html`<input type="hidden" name="${field}" value="${value}">`
  const labels = kind?.labels ?? []
  return html`<form method="post" action="/review/decide">${hidden('token', session.token)}${hidden('carried', carriedId(item.verdict))}${onceField()}${hidden('since', since)}${only === '' ? NOTHING : hidden('only', only)}${isBlind ? hidden('opinion', 'yes') : NOTHING}${isLabelAfter ? hidden('unseen', 'yes') : NOTHING}${of.appeals.map((id) => hidden('appeal', carriedId(id)))}${filled.heard === '' ? NOTHING : hidden('heard', filled.heard)}
<fieldset><legend>${TEXTS.decide.label}</legend>${labels.map((label, at) => html`<label class="box"><input type="radio" name="label" value="${label}" data-key="${at + 1}" required${label === filled.label ? html` checked` : NOTHING}> <kbd>${at + 1}</kbd> ${label}${label === shown ? html` <span class="faint">(${TEXTS.decide.stands})</span>` : NOTHING}${when(entryOf(kind?.reading?.labels ?? {}, label), (says) => html` <span class="faint">${says}</span>`)}</label>`)}</fieldset>
<fieldset class="codes"><legend>${TEXTS.review.code}</legend>${codes.map(({ code, says, confirms }, at) => (confirms && shown === null ? NOTHING : html`<label class="box"><input type="radio" name="code" value="${code}" data-key="${CODE_KEYS[at] ?? ''}"${code === filled.code ? html` checked` : NOTHING}> <kbd>${CODE_KEYS[at] ?? ''}</kbd> ${says}</label>`))}</fieldset>
${of.asksMeasure ? measureField(filled.measure) : NOTHING}${clausesField(kind, item.subject, filled.clauses)}<label class="wide">${TEXTS.review.ownWords} <textarea name="why" rows="2" maxlength="${MAX_WHY_CHARS}" dir="auto" aria-describedby="${name}">${filled.why}</textarea></label>
<p class="faint" id="${name}">${TEXTS.review.ownWordsNote} ${isBlind ? NOTHING : words(TEXTS.decide.asYou(session.by), { most: 160 })}</p>
${copies.length === 0 ? NOTHING : copiesField(copies, { shown, choice, cover })}
<p><button class="main">${TEXTS.decide.send}</button> ${confirmButton(shown)} ${hearButton(of)}</p><p class="state bad" role="status" data-not-seen="${TEXTS.review.notSeen}" data-not-looked="${TEXTS.review.notLooked}" data-not-shown="${TEXTS.review.notShown}"></p></form>`
}

/** What is to become of the actions that are appealed against, where the label stays. */
function measureField(chosen: string): SafeMarkup {
  const { measure } = TEXTS.review.appeals
  return html`<fieldset class="codes"><legend>${measure.title}</legend><input type="hidden" name="measured" value="yes">${MEASURES.map((one) => html`<label class="box"><input type="radio" name="measure" value="${one}"${one === chosen ? html` checked` : NOTHING}> ${measure.says[one]}</label>`)}</fieldset>`
}

/** Copies side by side, ticked as soon as their words are seen; one whose label differs says so. */
function copiesField(
  copies: readonly ReviewItem[],
  { shown, choice, cover }: Pick<JudgeForm, 'shown' | 'choice' | 'cover'>,
): SafeMarkup {
  const text = ({ verdict, words: said, lang }: ReviewItem) => {
    const own = html`<p class="faint">${words(said ?? '', { most: 160, lang: lang ?? '' })}</p>`
    return cover === null ? own : covered(cover, own, { uncovered: uncoveredAt(verdict) })
  }
  return html`<fieldset><legend>${TEXTS.review.copies(copies.length)}. ${TEXTS.review.copiesSay}</legend><ul class="copies"${choice.hover ? html` data-hover="yes"` : NOTHING}>${copies.map(
    (copy) => {
      const { verdict, subject, label, pictures } = copy
      return html`<li><label class="box"><input type="checkbox" name="copy" value="${carriedId(verdict)}"${cover === null ? html` checked` : NOTHING}> ${words(nameIn(subject), { most: 60 })}</label>${label === shown ? NOTHING : html`<p><strong>${words(TEXTS.review.copyDiffers(label ?? TEXTS.row.noLabel), { most: 100 })}</strong></p>`}${text(copy)}${thumbnails(listedPictures(verdict, pictures), choice)}</li>`
    },
  )}</ul></fieldset>`
}

/** Asks for what the models say to the appeals, once a label is chosen. */
function hearButton({ appeals, hearing }: Pick<JudgeForm, 'appeals' | 'hearing'>): TemplatePart {
  if (appeals.length === 0 || hearing === null) return NOTHING
  return hearing === 'always'
    ? html`<span class="faint">${TEXTS.review.appeals.heard.always}</span>`
    : html`<button class="other" name="hear" value="yes">${TEXTS.review.appeals.heard.ask}</button>`
}

function confirmButton(shown: string | null): TemplatePart {
  return when(
    shown,
    (label) =>
      html`<button class="other" name="confirm" value="${label}" formnovalidate data-press="c"><kbd>c</kbd> ${TEXTS.review.confirm}</button>`,
  )
}
