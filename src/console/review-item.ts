import { hash } from 'node:crypto'
import type { CoverChoice } from '../contracts/ports/pictures.ts'
import type { RecordReader } from '../contracts/ports/record.ts'
import type { PostItem, ReviewItem, ReviewPost } from '../contracts/ports/review.ts'
import { actionsSection, wasSomethingDone } from './actions-note.ts'
import { type AppealsHeard, type HearingResult, heardSection } from './appeals-heard.ts'
import { appealsSection, openAppeals } from './appeals-section.ts'
import { type CaseFile, caseFile } from './case-file.ts'
import { coverOf, coversOf, uncoveredAt } from './covers.ts'
import { badge, findingOf, howDecided, type ProtocolGuides } from './kinds.ts'
import { isDebated, missingSection, sideCounts } from './notes.ts'
import { mediaOf } from './pictures.ts'
import { notesSection } from './post-notes.ts'
import { type PostViewParts, postCard } from './post-view.ts'
import type { ReasonCodes } from './reason-codes.ts'
import { type FilledForm, judgeForm, NOT_FILLED } from './review-form.ts'
import { assigneeOf, assignForm, button, isBlind, reasonsOf, takenBy } from './review-list.ts'
import type { KnownReviewers } from './reviewers.ts'
import type { SeenLabels } from './seen-by.ts'
import type { Session } from './sessions.ts'
import { storyNote } from './story-facts.ts'
import { TEXTS } from './texts.ts'
import { commentsSection, shownComments } from './thread.ts'
import { html, link, moment, NOTHING, type SafeMarkup, type TemplatePart, when, words } from './view.ts'
import { whySection } from './why.ts'

/** What was not carried out: what was written for the item of this id, when that was first shown, and why; or what the models say first. */
interface RefusedForm {
  readonly id: string
  readonly says: string | HearingResult
  readonly filled: FilledForm
  readonly since: string
}

/** With what an item is shown. */
export interface ItemParts {
  readonly record: Pick<RecordReader, 'verdict' | 'subject' | 'transcript'>
  readonly kinds: ProtocolGuides
  readonly codes: ReasonCodes
  /** Of the machines' verdicts so many show their label only after the person's own. */
  readonly labelAfter: number
  /** Within which time appeals are to be answered, in ms. */
  readonly appealsDue: number
  /** Has the models heard on appeals; null: they never are. */
  readonly heard: Pick<AppealsHeard, 'when'> | null
  readonly session: Session
  readonly only: string
  readonly canAssign: boolean
  readonly reviewers: Pick<KnownReviewers, 'namesOf'>
  /** Items in the same words as this one, which the same person may take. */
  readonly copiesOf: (item: ReviewItem) => Promise<readonly ReviewItem[]>
  readonly view: PostViewParts
  /** Learns whose labels the page shows. */
  readonly seenLabels: Pick<SeenLabels, 'has' | 'note'>
}

/**
 * Whether this person is asked before they see the machines' label, to measure how much it sways them: the same at each look, on
 * each page and in each process, until they have seen it elsewhere.
 */
export function isLabelAfter(
  item: ReviewItem,
  person: string,
  { labelAfter: share, seenLabels }: { readonly labelAfter: number; readonly seenLabels: Pick<SeenLabels, 'has'> },
): boolean {
  if (isBlind(item) || item.reasons.includes('appealed') || item.label === null || seenLabels.has(person, item.verdict))
    return false
  const drawn = Number.parseInt(hash('sha256', JSON.stringify([person, item.verdict]), 'hex').slice(0, 8), 16)
  return drawn / 2 ** 32 < share
}

/** One's own items of a post, in its order, but what somebody appeals against first: keys are for the first. */
export function ownItems({ items }: ReviewPost, person: string): PostItem[] {
  const isAppealed = ({ reasons }: PostItem) => Number(reasons.includes('appealed'))
  return items
    .filter(({ may, reservation }) => may === 'yes' && reservation?.by === person)
    .toSorted((one, other) => isAppealed(other) - isAppealed(one))
}

/**
 * A post with all that waits of it: the post first, then, for each protocol, why it is here, what the machines said and the form
 * that decides. `filled`: what was written for the item of this id, and why it was not carried out.
 */
export async function itemBody(
  post: ReviewPost,
  parts: ItemParts,
  of: { notice: TemplatePart; refused?: RefusedForm },
): Promise<SafeMarkup> {
  const { session, record, kinds } = parts
  const own = ownItems(post, session.by)
  const shown = [...own, ...post.items.filter((item) => !own.includes(item))]
  const all = await Promise.all(
    shown.map(async (item) => ({
      item,
      file: await caseFile(item.verdict, { record, kinds, session }),
      copies: own.includes(item) ? await parts.copiesOf(item) : [],
    })),
  )
  const first = all.find(({ file }) => file?.thread != null) ?? all[0]
  const thread = first?.file?.thread ?? null
  const choice = await coversOf(parts.view.people, session.by)
  const hides = own.some((item) => isBlind(item) || isLabelAfter(item, session.by, parts))
  const cover = first?.file == null ? null : coverOf(first.file, { kinds, choice, isBlind: hides })
  // Before they decide: who opens it again as a second opinion has seen what it says.
  parts.seenLabels.note(
    session.by,
    shown.filter((item) => !isBlind(item) && !isLabelAfter(item, session.by, parts)).map(({ verdict }) => verdict),
  )
  const pressed = { session, id: own[0]?.verdict ?? '', only: parts.only }
  return html`<h1>${own.some(isBlind) ? TEXTS.review.second : TEXTS.review.title}</h1>
${of.notice}
${own.some(({ isOwnCase }) => isOwnCase) ? html`<p class="notice">${TEXTS.review.ownCase}</p>` : NOTHING}
${first?.file == null || thread === null ? html`<p class="notice">${TEXTS.verdict.noTranscript}</p>` : await postCard(first.file, session, { isBlind: hides, isItem: true, below: button('/review/unseen', TEXTS.pictures.couldNotSee, pressed) }, parts.view)}
<div class="actions">${button('/review/skip', TEXTS.review.skip, { ...pressed, press: 's' })}${button('/review/release', TEXTS.review.release, { ...pressed, press: 'r' })}${thread === null || mediaOf({ thread }).length > 0 ? NOTHING : button('/review/unseen', TEXTS.review.couldNotRead, pressed)}<span class="faint">${TEXTS.review.yours} ${moment(own[0]?.reservation?.until)}</span></div>
${all.map(({ item, file, copies }, at) => itemSection(item, { file, copies, at, isOwn: own.includes(item), refused: of.refused, choice, cover }, parts))}
${parts.canAssign ? assigning(post, await parts.reviewers.namesOf(post.subject.tenant), parts) : assigneeOf(post)}
${hides || own.length === 0 || first?.file == null ? NOTHING : await notesSection(first.file.row, session, { people: parts.view.people, only: parts.only })}
${alsoJudged(post, first?.file ?? null, parts)}
${comments(
  await withComments(
    all.flatMap(({ file }) => file ?? []),
    parts,
  ),
  hides,
)}
<p class="faint">${TEXTS.review.keys}</p>`
}

function itemSection(
  item: PostItem,
  of: {
    file: CaseFile | null
    copies: readonly ReviewItem[]
    at: number
    isOwn: boolean
    refused: RefusedForm | undefined
    choice: CoverChoice
    cover: string | null
  },
  { session, kinds, codes, only, view, ...seen }: ItemParts,
): SafeMarkup {
  const { file, copies, at, isOwn, refused, choice, cover } = of
  const kind = kinds.get(item.protocol)
  const blind = isBlind(item)
  const after = isLabelAfter(item, session.by, seen)
  const isShown = !blind && !after && file !== null
  const decidedBy = file?.row.verdict.decidedBy
  const toldOf = item.reasons.filter((reason) => ['appealed', 'reversal', 'measure'].includes(reason))
  const open = isShown ? openAppeals(item, file.subjectRecord) : []
  const { filled, since } = refused?.id === item.verdict ? refused : { filled: NOT_FILLED, since: String(view.clock()) }
  const form = {
    session,
    kind,
    codes,
    isBlind: blind,
    isLabelAfter: after,
    only,
    filled,
    since,
    copies: isShown ? copies : [],
    choice,
    cover,
    appeals: open.map((one) => one.id),
    asksMeasure: open.some(({ actionId }) => file !== null && wasSomethingDone(file.subjectRecord, actionId)),
    hearing: seen.heard?.when ?? null,
  }
  const lacks = refused?.id === item.verdict ? sayingBefore(refused.says, item.protocol, kinds) : NOTHING
  return html`<section class="${isOwn ? 'judged decide' : 'judged'}" aria-labelledby="judged${at}" tabindex="-1"${lacks === NOTHING ? NOTHING : html` data-refused="yes"`}><h2 id="judged${at}">${TEXTS.verdict.by(item.protocol)}</h2>
<p class="why-here">${reasonsOf(item, isShown ? file.ruled.degraded : [])}</p>
${blind ? html`<p class="notice">${seen.seenLabels.has(session.by, item.verdict) ? TEXTS.review.seenBefore : TEXTS.review.blind}</p>` : NOTHING}${after ? html`<p class="notice">${TEXTS.review.labelAfter}</p>` : NOTHING}
${isShown ? html`${storyNote(file)}<div><h3>${decidedBy === 'human' ? TEXTS.review.personSaid : TEXTS.review.machineSaid}</h3><p class="how">${badge(file.row.verdict, kinds)} ${findingOf(file.row.verdict, kind)} ${words(howDecided(file.row.verdict))}${when(file.row.verdict.decision?.by, (by) => html` ${TEXTS.row.by} ${words(by, { most: 60 })}.`)} <a href="${link('/verdict', { id: item.verdict })}">${TEXTS.review.argument}</a></p><details><summary>${TEXTS.verdict.why}</summary>${whySection(file, { most: 2_000, name: `${at}`, cover })}${decidedBy === 'human' ? NOTHING : missingSection(file, `${at}`)}</details></div>` : NOTHING}
${isShown ? appealsSection(item, file, { kinds, dueMs: seen.appealsDue, now: view.clock(), name: `${at}`, cover }) : NOTHING}${isShown && toldOf.length > 0 ? actionsSection(file.subjectRecord, { protocol: item.protocol, name: `${at}`, now: view.clock(), asks: toldOf.includes('reversal') ? 'reversal' : toldOf.includes('measure') ? 'measure' : null }) : NOTHING}${lacks}${isOwn ? judgeForm(item, { ...form, shown: isShown ? item.label : null }) : takenBy(item, session, only)}</section>`
}

function sayingBefore(says: string | HearingResult, protocol: string, kinds: ProtocolGuides): SafeMarkup {
  return typeof says === 'string'
    ? html`<p class="notice" role="alert">${words(says, { most: 400 })}</p>`
    : heardSection(says, protocol, kinds)
}

/** Most names that are offered. */
export const MOST_OFFERED = 100

/** Where a post is assigned, with the names that are offered. */
function assigning(post: ReviewPost, reviewers: readonly string[], { session, only }: ItemParts): SafeMarkup {
  return html`${assigneeOf(post)}${assignForm(post, { session, only, names: 'reviewers' })}<datalist id="reviewers">${reviewers.slice(0, MOST_OFFERED).map((name) => html`<option value="${name}">`)}</datalist>`
}

/** What other protocols say of the same post, of which nothing waits. */
function alsoJudged(
  { items }: ReviewPost,
  file: CaseFile | null,
  { kinds, seenLabels, session }: Pick<ItemParts, 'kinds' | 'seenLabels' | 'session'>,
): TemplatePart {
  const waiting = new Set(items.map(({ protocol }) => protocol))
  const others = (file?.subjectRecord.verdicts ?? []).filter(
    ({ standing, verdict }) => standing && !waiting.has(verdict.protocol) && verdict.decidedBy !== 'deleted',
  )
  if (others.length === 0) return NOTHING
  seenLabels.note(
    session.by,
    others.map(({ verdict }) => verdict.id),
  )
  return html`<p>${TEXTS.review.alsoJudged} ${others.map(({ verdict }) => html`<span class="faint">${TEXTS.verdict.by(verdict.protocol)}</span> <a href="${link('/verdict', { id: verdict.id })}">${badge(verdict, kinds)}</a> `)}</p>`
}

/** The case of a post that has its comments: some protocols judge a post without them. Null where none has any. */
async function withComments(
  files: readonly CaseFile[],
  { record, kinds, session }: Pick<ItemParts, 'record' | 'kinds' | 'session'>,
): Promise<CaseFile | null> {
  const isWhole = ({ thread }: CaseFile) => (thread?.comments.length ?? 0) > 0
  const own = files.find(isWhole)
  if (own !== undefined) return own
  const known = new Set(files.map(({ row }) => row.verdict.id))
  for (const { verdict, standing } of files[0]?.subjectRecord.verdicts ?? []) {
    if (!standing || known.has(verdict.id)) continue
    const file = await caseFile(verdict.id, { record, kinds, session })
    if (file !== null && isWhole(file)) return file
  }
  return null
}

/** The comments; with what the machines made of them only where their labels are shown. */
function comments(file: CaseFile | null, isHidden: boolean): TemplatePart {
  const thread = file?.thread ?? null
  if (file === null || thread === null) return NOTHING
  const { support, oppose } = file.ruled.evidence
  const weighed = isHidden
    ? { marks: new Map(), evidence: { support: [], oppose: [], precedents: [] }, counts: [0, 0] as const }
    : { marks: file.debate.marks, evidence: file.ruled.evidence, counts: sideCounts(file) }
  const shown = shownComments(thread, new Set(isHidden ? [] : [...support, ...oppose]))
  return commentsSection(thread, {
    verdictId: file.row.verdict.id,
    weighed,
    shown,
    isDebated: !isHidden && isDebated(file),
    uncovered: uncoveredAt(file.row.verdict.id, 'comments'),
  })
}
