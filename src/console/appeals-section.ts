import { z } from 'zod'
import { MOST_APPEALS } from '../contracts/facts/decision-messages.ts'
import type { RecordedVerdict, RecordReader, SubjectRecord } from '../contracts/ports/record.ts'
import type { ReviewItem } from '../contracts/ports/review.ts'
import type { CaseFile } from './case-file.ts'
import { covered } from './covers.ts'
import { badge, howDecided, type ProtocolGuides } from './kinds.ts'
import { REVIEW_TEXTS } from './review-texts.ts'
import { TEXTS as ALL_TEXTS } from './texts.ts'
import { html, link, moment, NOTHING, type SafeMarkup, type TemplatePart, when, words } from './view.ts'

const { appeals: TEXTS } = REVIEW_TEXTS.review

/** So many are shown at once, the oldest first; the others unfolded. */
const SHOWN = 20
/** Most characters of an appeal, and of a ruling's reasons, that are shown. */
const [MOST_CHARS, MOST_REASONS] = [10_000, 1_000]

const appeal = z.object({
  id: z.string(),
  by: z.enum(['author', 'notifier']),
  text: z.string(),
  ground: z.string().optional(),
  verdictId: z.string().optional(),
  actionId: z.string().optional(),
  objectsTo: z.string().optional(),
  contact: z.string(),
})

/** An appeal that waits for an answer, as people read it. */
interface OpenAppeal extends z.infer<typeof appeal> {
  readonly at: number
  /** What the same party has said of it since, as further appeals. */
  readonly further: readonly { readonly id: string; readonly text: string; readonly at: number }[]
}

/** What a decision on this item answers: the author's, then the oldest first. */
export function openAppeals(
  { protocol, reasons }: Pick<ReviewItem, 'protocol' | 'reasons'>,
  of: SubjectRecord,
): OpenAppeal[] {
  if (!reasons.includes('appealed')) return []
  const all = of.said
    .filter((one) => one.said === 'appeal' && one.protocol === protocol)
    .flatMap(({ message, at, label }) => {
      const read = appeal.safeParse(message)
      return read.success ? [{ ...read.data, at, label }] : []
    })
  const isOfParty = (one: OpenAppeal['by'], contact: string) => (other: (typeof all)[number]) =>
    other.by === one && (one === 'author' || other.contact === contact)
  return all
    .filter(({ label }) => label === null)
    .map((one) => ({
      ...one,
      further: all
        .filter(isOfParty(one.by, one.contact))
        .filter(({ label, at }) => label === 'repeated' && at >= one.at)
        .toSorted((a, b) => a.at - b.at),
    }))
    .toSorted((a, b) => Number(b.by === 'author') - Number(a.by === 'author') || a.at - b.at)
    .slice(0, MOST_APPEALS)
}

/** Their words, until when they are to be answered, and the rulings side by side. Not where these are still to be hidden. */
export function appealsSection(
  item: ReviewItem,
  { subjectRecord }: Pick<CaseFile, 'subjectRecord'>,
  of: { kinds: ProtocolGuides; dueMs: number; now: number; name: string; cover: string | null },
): TemplatePart {
  const { dueMs, now, name } = of
  const open = openAppeals(item, subjectRecord)
  const [first] = open
  if (first === undefined) return NOTHING
  return html`<section aria-labelledby="appeals${name}"><h3 id="appeals${name}">${TEXTS.title(open.length)}</h3>
<p class="faint">${TEXTS.says}</p>
${listed(open.slice(0, SHOWN), { dueMs, now })}${open.length > SHOWN ? html`<details><summary>${TEXTS.others(open.length - SHOWN)}</summary>${listed(open.slice(SHOWN), { dueMs, now })}</details>` : NOTHING}
<div class="side-by-side">${rulingsOf(item, first, subjectRecord).map(({ title, one }) => ruling(title, one, of))}</div></section>`
}

function listed(open: readonly OpenAppeal[], { dueMs, now }: { dueMs: number; now: number }): SafeMarkup {
  return html`<ol class="timeline">${open.map(({ id, by, text, ground, actionId, objectsTo, at, further }) => html`<li><p>${TEXTS.by[by]} (${words([id, ground].filter((one) => one !== undefined).join(', '), { most: 300 })}) ${moment(at)}; ${at + dueMs < now ? html`<strong>${TEXTS.overdue}</strong>` : TEXTS.due} ${moment(at + dueMs)}</p>${objectsTo === 'measure' ? html`<p><strong>${TEXTS.objects}</strong> (${words(actionId ?? '', { most: 60 })})</p>` : NOTHING}<blockquote>${words(text, { most: MOST_CHARS })}</blockquote>${further.slice(-SHOWN).map((more) => html`<p>${TEXTS.further} (${words(more.id, { most: 60 })}) ${moment(more.at)}</p><blockquote>${words(more.text, { most: MOST_CHARS })}</blockquote>`)}</li>`)}</ol>`
}

/** The ruling that was appealed against, the one in force, and the machines' beneath a person's, each once. */
function rulingsOf(
  { protocol, verdict: id }: ReviewItem,
  { verdictId, at }: OpenAppeal,
  { verdicts }: SubjectRecord,
): { title: string; one: RecordedVerdict }[] {
  const own = verdicts.filter(({ verdict }) => verdict.protocol === protocol && verdict.decidedBy !== 'deleted')
  const before = (ms: number) => own.filter(({ verdict }) => Date.parse(verdict.timing.decidedAt) <= ms)
  const against = own.find(({ verdict }) => verdict.id === verdictId) ?? before(at).at(-1)
  const current = own.find(({ verdict }) => verdict.id === id)
  const machine = own.findLast(({ verdict }) => verdict.decidedBy !== 'human')
  const titled = [
    { title: TEXTS.against, one: against },
    { title: TEXTS.inForce, one: current },
    { title: TEXTS.machine, one: machine },
  ]
  const shown = new Set<string>()
  return titled.flatMap(({ title, one }) => {
    if (one === undefined || shown.has(one.verdict.id)) return []
    shown.add(one.verdict.id)
    return [{ title, one }]
  })
}

function ruling(
  title: string,
  { verdict }: RecordedVerdict,
  { kinds, cover }: { kinds: ProtocolGuides; cover: string | null },
): SafeMarkup {
  const { decision, rationale, timing } = verdict
  const reasons = html`<blockquote>${words(rationale, { most: MOST_REASONS })}</blockquote>`
  return html`<div><h4>${title}</h4><p class="how">${badge(verdict, kinds)} ${words(howDecided(verdict))}${when(decision?.by, (by) => html` ${words(by, { most: 60 })}.`)} <a href="${link('/verdict', { id: verdict.id })}">${moment(Date.parse(timing.decidedAt))}</a></p>${cover === null ? reasons : covered(ALL_TEXTS.verdict.reasonsCovered(cover), reasons, { isBeside: true })}</div>`
}

/** Of what is appealed against, by its verdict: who appealed, and until when the first of them is to be answered. */
export async function appealedOf(
  items: readonly ReviewItem[],
  { record, dueMs, now }: { record: Pick<RecordReader, 'subject'>; dueMs: number; now: number },
): Promise<ReadonlyMap<string, TemplatePart>> {
  const appealed = items.filter(({ reasons }) => reasons.includes('appealed'))
  const found = await Promise.all(
    appealed.map(async (item): Promise<[string, TemplatePart]> => {
      const { tenant, postId: id, kind } = item.subject
      const of = await record.subject({ tenant, id, kind })
      const open = of === null ? [] : openAppeals(item, of)
      const due = Math.min(...open.map(({ at }) => at)) + dueMs
      const sides = [...new Set(open.map(({ by }) => TEXTS.by[by]))].join(', ')
      return [item.verdict, html`${sides}; ${due < now ? TEXTS.overdue : TEXTS.due} ${moment(due)}`]
    }),
  )
  return new Map(found)
}

const answering = z.object({ appeals: z.array(z.string()) })

/** The appeals that a person's decision answered. */
export function answeredBy(of: string | undefined, { said }: Pick<SubjectRecord, 'said'>): readonly string[] {
  const decision = said.find((one) => one.said === 'decision' && one.id === `decision ${of}`)
  return answering.safeParse(decision?.message).data?.appeals ?? []
}
