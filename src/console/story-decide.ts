import { MAX_WHY_CHARS } from '../contracts/facts/decision-messages.ts'
import { entryOf } from '../contracts/facts/entry-of.ts'
import { may } from '../contracts/facts/person-roles.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { DecisionDesk, DecisionResult } from '../contracts/ports/decisions.ts'
import type { RecordedRow, RecordReader } from '../contracts/ports/record.ts'
import type { BlindReviews } from './blind-review.ts'
import { mayWithdraw, onceField, SubmittedForms } from './decision-form.ts'
import { doneOf, refusalOf, sendDecision, shownAfter } from './decision-page.ts'
import type { ProtocolGuides } from './kinds.ts'
import type { IsOwnCase } from './own-case.ts'
import type { JustDecided, LastDecision } from './own-decisions.ts'
import type { Page, PageAnswer, PageCall } from './page.ts'
import type { Session } from './sessions.ts'
import { STORIES_TEXTS as TEXTS } from './stories-texts.ts'
import { TEXTS as ALL_TEXTS } from './texts.ts'
import { carriedId, html, idOf, link, NOTHING, type TemplatePart, when, words } from './view.ts'

/** Most posts that are ticked one by one: as many fields as a form may have. */
const MOST_TICKED = 25
/** Most that are decided together with these, as many as one person may at once; among so many verdicts; and so many at a time. */
const [MOST_TOGETHER, MOST_LOOKED_AT, AT_ONCE] = [200, 1_000, 10]

interface DecidingParts {
  readonly record: Pick<RecordReader, 'verdict' | 'find'>
  readonly kinds: ProtocolGuides
  readonly blinds: BlindReviews
  readonly isOwnCase: IsOwnCase
  readonly decisionDesk: DecisionDesk
  /** How many decisions a person may make now. */
  readonly leftOf: (by: string) => number
  readonly decided: JustDecided
  readonly clock: Clock
}

/** The form by which a person decides on several posts of a story at once, those first that nobody has decided. */
export function storyForm(
  protocol: string,
  standing: readonly RecordedRow[],
  { session, kinds }: { session: Session; kinds: ProtocolGuides },
): TemplatePart {
  const labels = kinds.get(protocol)?.labels ?? []
  const [first] = standing
  if (first === undefined || labels.length === 0 || !may(session.grants, 'decide', first.subject.tenant)) return NOTHING
  const open = standing.filter(({ verdict }) => verdict.decidedBy !== 'human' || mayWithdraw(verdict, session))
  const rows = open.toSorted((a, b) => Number(isHuman(a)) - Number(isHuman(b))).slice(0, MOST_TICKED)
  if (rows.length === 0) return NOTHING
  const undecidedLeft = open.filter((row) => !isHuman(row) && !rows.includes(row)).length
  const hidden = (name: string, value: string) => html`<input type="hidden" name="${name}" value="${value}">`
  const { story } = first.verdict
  return html`<form class="decide" method="post" action="/stories/decide">${hidden('token', session.token)}${onceField()}${hidden('id', story?.id ?? '')}${hidden('tenant', first.subject.tenant)}
<fieldset><legend>${TEXTS.decideOn(protocol)}</legend>${labels.map((label) => html`<label class="box"><input type="radio" name="label" value="${label}" required> ${label}${when(entryOf(kinds.get(protocol)?.reading?.labels ?? {}, label), (says) => html` <span class="faint">${says}</span>`)}</label>`)}</fieldset>
<fieldset><legend>${TEXTS.ticked}</legend>${open.length > rows.length ? html`<p>${TEXTS.tickedCut(rows.length, open.length)}</p>` : NOTHING}<ul class="copies">${rows.map(({ verdict, subject }) => html`<li><label class="box"><input type="checkbox" name="copy" value="${carriedId(verdict.id)}"${verdict.decidedBy === 'human' ? NOTHING : html` checked`}> ${words(subject.postId, { most: 60 })}: ${words(verdict.label ?? TEXTS.noLabel, { most: 64 })}${verdict.decidedBy === 'human' ? ` (${TEXTS.byPerson})` : ''}</label></li>`)}</ul>${undecidedLeft === 0 ? NOTHING : html`<label class="box"><input type="checkbox" name="all" value="${protocol}"> ${TEXTS.others}</label>`}</fieldset>
<label class="wide">${ALL_TEXTS.decide.why} <textarea name="why" rows="2" maxlength="${MAX_WHY_CHARS}" required dir="auto"></textarea></label>
<p class="faint">${ALL_TEXTS.decide.whyNote} ${words(ALL_TEXTS.decide.asYou(session.by), { most: 160 })}</p><button class="main">${ALL_TEXTS.decide.send}</button></form>`
}

const isHuman = ({ verdict }: RecordedRow) => verdict.decidedBy === 'human'

/** Decides on each post that is ticked, against its own revision: what is in the way of one leaves the others. */
export function storyDecisionPage(parts: DecidingParts): Page {
  const once = new SubmittedForms()
  return {
    method: 'POST',
    path: '/stories/decide',
    right: 'decide',
    answer: (asked) => once.take(asked.form, asked.session, () => decideAll(asked, parts)),
  }
}

/** What came of the decision on one post. */
interface StoryDecision {
  readonly id: string
  /** Why it was not carried out; null if it was, or is on its way. */
  readonly says: string | null
  readonly outcome: DecisionResult | null
  readonly made: readonly LastDecision[]
}

async function decideAll({ form, session, signal }: PageCall, parts: DecidingParts): Promise<PageAnswer> {
  const [label, why, id] = [form.get('label') ?? '', (form.get('why') ?? '').trim(), form.get('id') ?? '']
  const back = { id, tenant: form.get('tenant') ?? '' }
  const protocol = form.get('all') ?? ''
  const ticked = form.getAll('copy').map(idOf)
  const others = protocol === '' ? [] : await undecided({ ...back, protocol }, new Set(ticked), { session, ...parts })
  const together = others.slice(0, Math.max(0, parts.leftOf(session.by) - ticked.length))
  const ids = [...new Set([...ticked, ...together])]
  const waits = others.length - together.length
  const all: StoryDecision[] = []
  for (let at = 0; at < ids.length; at += AT_ONCE)
    all.push(
      ...(await Promise.all(
        ids.slice(at, at + AT_ONCE).map((one) => decideOne(one, { label, why, story: id, session, signal }, parts)),
      )),
    )
  const made = all.flatMap((one) => one.made)
  if (made.length > 0) parts.decided.remember(session.by, made)
  const missed = all.filter(({ says }) => says !== null)
  const done = all.length - missed.length
  if (missed.length === 0 && done > 0) {
    const last = all.at(-1)
    const shown = last === undefined ? '' : await shownAfter(parts.record, last.outcome, last.id)
    return {
      to: link('/stories/story', { ...back, done: String(done), waits: waits === 0 ? '' : String(waits) }),
      about: [shown],
    }
  }
  return {
    title: TEXTS.notAll,
    status: 409,
    body: html`<h1>${TEXTS.notAll}</h1><p class="notice" role="alert">${TEXTS.done(done)}${waits === 0 ? '' : ` ${TEXTS.waits(waits)}`}</p>
<ul>${missed.slice(0, MOST_TICKED).map((one) => html`<li><a href="${link('/verdict', { id: one.id })}">${words(one.id, { most: 160 })}</a> ${words(one.says ?? '', { most: 400 })}</li>`)}</ul>
<p><a href="${link('/stories/story', back)}">${TEXTS.one}</a></p>`,
  }
}

/**
 * The verdicts of a story that nobody has decided, but for these: as many as one person may decide at once. What they have just decided is
 * none of them, though the record may not have it yet.
 */
async function undecided(
  { id, tenant, protocol }: { id: string; tenant: string; protocol: string },
  but: ReadonlySet<string>,
  { session, record, decided }: Pick<DecidingParts, 'record' | 'decided'> & { readonly session: Session },
): Promise<string[]> {
  if (session.tenants?.includes(tenant) === false || id === '') return []
  const rows = await record.find({ tenants: [tenant], story: id, protocol, standing: true }, MOST_LOOKED_AT)
  return rows
    .filter((row) => !isHuman(row) && row.verdict.decidedBy !== 'deleted')
    .filter(({ verdict }) => !but.has(verdict.id) && !decided.isRecent(session.by, verdict.id))
    .slice(0, MOST_TOGETHER)
    .map(({ verdict }) => verdict.id)
}

async function decideOne(
  id: string,
  of: { label: string; why: string; story: string; session: Session; signal: AbortSignal },
  parts: DecidingParts,
): Promise<StoryDecision> {
  const { label, why, story, session, signal } = of
  const { record, kinds, blinds, decided } = parts
  const missed = (says: string): StoryDecision => ({ id, says, outcome: null, made: [] })
  const row = await record.verdict(id, session.tenants)
  if (row === null || row.verdict.story?.id !== story || blinds.isClosed(session.by, row.subject))
    return missed(TEXTS.notHere)
  const { subject, verdict } = row
  const { protocol, revision: against } = verdict
  if (!may(session.grants, 'decide', subject.tenant)) return missed(TEXTS.notHere)
  if (isHuman(row) && !mayWithdraw(verdict, session)) return missed(ALL_TEXTS.decide.notYours)
  if (isHuman(row) && (await parts.isOwnCase(id, session))) return missed(ALL_TEXTS.decide.ownCase)
  if (!(kinds.get(protocol)?.labels ?? []).includes(label)) return missed(ALL_TEXTS.decide.missing)
  const said = { subject, protocol, against, by: session.by, label, why, sawLabel: verdict.label !== null }
  const outcome = await sendDecision(said, parts, signal)
  if (outcome === 'invalid') return missed(ALL_TEXTS.decide.missing)
  if (doneOf(outcome) === null) return missed(refusalOf(outcome))
  decided.note(session.by, id)
  const stands = outcome?.outcome === 'stands' ? outcome.verdict : null
  return { id, says: null, outcome, made: stands === null ? [] : [{ subject, protocol, verdict: stands }] }
}
