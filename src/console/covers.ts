import { tenantsOf } from '../contracts/facts/person-roles.ts'
import type { Verdict } from '../contracts/facts/verdict.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import { COVERED, COVERS, type CoverChoice, type Exposure, type ReviewPictures } from '../contracts/ports/pictures.ts'
import type { CaseFile } from './case-file.ts'
import type { ProtocolGuides } from './kinds.ts'
import type { Page, PageAnswer } from './page.ts'
import type { Session } from './sessions.ts'
import { TEXTS } from './texts.ts'
import { html, link, NOTHING, type SafeMarkup, type TemplatePart, words } from './view.ts'

/** Why something may harm who sees it, and under which label that counts. */
export interface Harm {
  readonly why: string
  readonly label: string
}

const COVERS_BY_DEFAULT: CoverChoice = { covered: 'harmful', cover: 'blur', hover: false }
const UNDECIDED = 'undecided'

/** How a person wants things covered. */
export async function coversOf(people: Pick<ReviewPictures, 'coversOf'>, by: string): Promise<CoverChoice> {
  return (await people.coversOf(by)) ?? COVERS_BY_DEFAULT
}

/** Why the subject of a verdict may harm who sees it, by what the verdict says; null if it may not. */
export function harmIn(
  { label, filtered = [], protocol, decidedBy }: Pick<Verdict, 'label' | 'filtered' | 'protocol' | 'decidedBy'>,
  kinds: ProtocolGuides,
): Harm | null {
  const disturbing = kinds.get(protocol)?.reading?.disturbing ?? []
  if (label !== null && disturbing.includes(label)) return { why: TEXTS.live.hidden(label), label }
  const isOpen = label === null && decidedBy !== 'scores' && disturbing.length > 0
  if (filtered.length > 0) return { why: TEXTS.live.hiddenFiltered, label: UNDECIDED }
  return isOpen ? { why: TEXTS.live.hiddenUndecided, label: UNDECIDED } : null
}

/** The same for a case: any of the subject's current verdicts may say so. */
export function harmOf({ row, subjectRecord }: CaseFile, kinds: ProtocolGuides): Harm | null {
  const current = subjectRecord.verdicts.filter(({ standing }) => standing)
  return worstOf([row, ...current].flatMap(({ verdict }) => harmIn(verdict, kinds) ?? []))
}

/** Of several reasons a label, which says more than that nothing was decided; null of none. */
export function worstOf(harms: readonly Harm[]): Harm | null {
  return harms.find(({ label }) => label !== UNDECIDED) ?? harms[0] ?? null
}

/**
 * Why the words of a case are covered for who chose this; null if they are not. A cover tells what was decided, as its reason does: who
 * must not know it (`isBlind`) has one whatever that is.
 */
export function coverOf(
  file: CaseFile,
  { kinds, choice, isBlind = false }: { kinds: ProtocolGuides; choice: CoverChoice; isBlind?: boolean },
): string | null {
  if (choice.covered === 'none') return null
  const harm = harmOf(file, kinds)
  const protocols = file.subjectRecord.verdicts
    .filter(({ standing }) => standing)
    .map(({ verdict }) => verdict.protocol)
  if (isBlind && (harm !== null || mayHarm(protocols, kinds))) return TEXTS.pictures.mayHarm
  return harm?.why ?? null
}

/** Whether verdicts of these protocols may say that something harms who sees it: known without knowing what they say. */
export function mayHarm(protocols: readonly string[], kinds: ProtocolGuides): boolean {
  return protocols.some((name) => (kinds.get(name)?.reading?.disturbing ?? []).length > 0)
}

/**
 * Something that is covered until somebody uncovers it. Of all covers of a page one is open at a time, and the post's own words beside it
 * (`isBeside`); `instead`: what stands in its place while it is closed; `uncovered`: where it is said that it was uncovered, for words that
 * count as exposure then.
 */
export function covered(
  why: string,
  inside: TemplatePart,
  {
    instead = NOTHING,
    uncovered = '',
    isBeside = false,
  }: { instead?: TemplatePart; uncovered?: string; isBeside?: boolean } = {},
): SafeMarkup {
  return html`<details class="covered"${isBeside ? NOTHING : html` name="covered"`}${uncovered === '' ? NOTHING : html` data-counts="${uncovered}"`}><summary>${instead}<span>${why}</span></summary>${inside}</details>`
}

/** What is uncovered of a case beside pictures: the post's own words, what was said of it, or its comments. */
const PARTS = ['words', 'reasons', 'comments'] as const
type UncoveredPart = (typeof PARTS)[number]

/** Where a page's script says that the words of a verdict's subject were uncovered, what was said of it, or its comments. */
export function uncoveredAt(verdict: string, part: UncoveredPart = 'words'): string {
  return link('/uncovered', part === 'words' ? { id: verdict } : { id: verdict, part })
}

/** Which of them an address names. */
export function uncoveredPart(query: URLSearchParams): UncoveredPart {
  return PARTS.find((part) => part === query.get('part')) ?? 'words'
}

interface CoverParts {
  readonly people: Pick<ReviewPictures, 'coversOf' | 'chooseCovers' | 'exposures'>
  readonly clock: Clock
}

const [HOUR_MS, WEEK_MS] = [3_600_000, 604_800_000]

/** What a person wants to have covered; and what they, and those whom they lead, uncovered. */
export function coverPages({ people, clock }: CoverParts): Page[] {
  const page = async (session: Session, saved: boolean): Promise<PageAnswer> => {
    const { by, grants } = session
    const led = tenantsOf(grants, 'overrule')
    const since = clock() - WEEK_MS
    const own = await people.exposures({ since, person: by })
    const others = led?.length === 0 ? [] : await people.exposures({ since, tenants: led })
    const rows = [...own, ...others.filter(({ person }) => person !== by)]
    const choice = await coversOf(people, by)
    return { title: TEXTS.covers.title, body: coversBody(choice, rows, { session, saved }) }
  }
  return [
    { method: 'GET', path: '/covers', right: 'see', answer: ({ session, query }) => page(session, query.has('saved')) },
    {
      method: 'POST',
      path: '/covers',
      right: 'see',
      async answer({ form, session }) {
        const covered = COVERED.find((one) => one === form.get('covered')) ?? COVERS_BY_DEFAULT.covered
        const cover = COVERS.find((one) => one === form.get('cover')) ?? COVERS_BY_DEFAULT.cover
        await people.chooseCovers(session.by, { covered, cover, hover: form.has('hover') })
        return { to: '/covers?saved=yes' }
      },
    },
  ]
}

function coversBody(
  choice: CoverChoice,
  rows: readonly Exposure[],
  { session, saved }: { session: Session; saved: boolean },
): SafeMarkup {
  const { covers } = TEXTS
  const radio = (name: string, value: string, says: string, isOn: boolean) =>
    html`<label class="box"><input type="radio" name="${name}" value="${value}"${isOn ? html` checked` : NOTHING}> ${says}</label>`
  return html`<h1>${covers.title}</h1>${saved ? html`<p class="notice" role="status">${covers.saved}</p>` : NOTHING}<p>${covers.says}</p>
<form method="post" action="/covers"><input type="hidden" name="token" value="${session.token}">
<fieldset><legend>${covers.covered}</legend>${COVERED.map((one) => radio('covered', one, covers.choices[one], one === choice.covered))}</fieldset>
<fieldset><legend>${covers.cover}</legend>${COVERS.map((one) => radio('cover', one, covers.kinds[one], one === choice.cover))}</fieldset>
<label class="box"><input type="checkbox" name="hover" value="yes"${choice.hover ? html` checked` : NOTHING}> ${covers.hover}</label>
<p><button class="main">${covers.save}</button></p></form>
<section aria-labelledby="exposure"><h2 id="exposure">${covers.exposure}</h2>
${rows.length === 0 ? html`<p>${covers.none}</p>` : exposureTable(rows)}
<p class="faint">${covers.counted}</p></section>`
}

function exposureTable(rows: readonly Exposure[]): SafeMarkup {
  const { heads } = TEXTS.covers
  return html`<div class="scrolls" tabindex="0"><table><thead><tr>${heads.map((head, at) => html`<th scope="col"${at > 1 ? html` class="number"` : NOTHING}>${head}</th>`)}</tr></thead>
<tbody>${rows.map(({ person, label, uncovered, minutes }) => html`<tr><td>${words(person, { most: 60 })}</td><td>${words(label, { most: 64 })}</td><td class="number">${uncovered}</td><td class="number">${minutes}</td></tr>`)}</tbody></table></div>`
}

/** Offers a break to who has looked at what may harm in so many minutes of the last hour. */
export async function breakNotice(
  by: string,
  {
    people,
    clock,
    breakAfter,
  }: Pick<CoverParts, 'clock'> & {
    readonly people: Pick<ReviewPictures, 'minutesUncovered'>
    readonly breakAfter: number
  },
): Promise<TemplatePart> {
  const minutes = await people.minutesUncovered(by, clock() - HOUR_MS)
  if (minutes === 0 || minutes * 60_000 < breakAfter) return NOTHING
  return html`<p class="notice" role="status">${TEXTS.covers.pause(minutes)}</p>`
}
