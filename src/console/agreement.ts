import {
  type AgreementFigure,
  type AgreementPart,
  type AgreementQuery,
  agreementOfGroups,
  type ConfusionCell,
  REACH_BANDS,
  WORD_SIGHTS,
  WORD_SOURCES,
} from '../contracts/facts/agreement.ts'
import { csvTable } from '../contracts/facts/csv-table.ts'
import { entryOf } from '../contracts/facts/entry-of.ts'
import { scoreInterval } from '../contracts/facts/score-interval.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { ReviewQueue } from '../contracts/ports/review.ts'
import { AGREEMENT_TEXTS as TEXTS } from './agreement-texts.ts'
import { smallFigure } from './figures.ts'
import { badge, type ProtocolGuides } from './kinds.ts'
import { knownFor } from './known-for.ts'
import type { Page, PageAnswer, PageCall } from './page.ts'
import { percent, SUMS_MS, tableOf } from './quality.ts'
import { html, link, moment, NOTHING, type SafeMarkup, type TemplatePart, words } from './view.ts'

const DAY_MS = 86_400_000
const WEEK_MS = 7 * DAY_MS
/** Days that may be asked for; the first where none is. */
const DAYS = [14, 7, 30, 90, 400] as const
/** Of fewer verdicts no share is told: it would speak of single posts. */
const FEWEST_TOLD = 10
/** Values of a part that the page shows; files have all. */
const MOST_VALUES = 20

/** What an address asks for, as its links carry it on. */
interface AskedAgreement {
  readonly query: AgreementQuery
  readonly carried: Readonly<Record<string, string | undefined>>
}

export function agreementAsked({ query, session }: Pick<PageCall, 'query' | 'session'>, now: number): AskedAgreement {
  const days = DAYS.find((one) => String(one) === query.get('days')) ?? DAYS[0]
  const source = WORD_SOURCES.find((one) => one === query.get('source'))
  const seen = WORD_SIGHTS.find((one) => one === query.get('seen'))
  // By the minute: what was counted of it stands as long.
  const since = Math.floor(now / SUMS_MS) * SUMS_MS - days * DAY_MS
  return { query: { since, tenants: session.tenants, source, seen }, carried: { days: String(days), source, seen } }
}

interface Agreement extends ReturnType<typeof agreementOfGroups> {
  /** The figures of what people judged without Gavel's label: people follow what they are shown. */
  readonly blind: readonly AgreementFigure[]
  readonly at: number
}

/** How far verdicts agree with people's words, as a page and as files: for leads, of their tenants. */
export function agreementPages({
  queue,
  kinds,
  clock,
}: {
  readonly queue: Pick<ReviewQueue, 'comparedGroups'>
  readonly kinds: ProtocolGuides
  readonly clock: Clock
}): Page[] {
  const known = knownFor(SUMS_MS, clock, async (query: AgreementQuery): Promise<Agreement> => {
    const groups = await queue.comparedGroups(query)
    const blind = agreementOfGroups(groups.filter(({ seen }) => seen === 'blind')).figures
    return { ...agreementOfGroups(groups), blind, at: clock() }
  })
  const made = (path: string, answer: (of: Agreement, asked: AskedAgreement) => PageAnswer): Page => ({
    method: 'GET',
    path,
    right: 'overrule',
    async answer(call) {
      const asked = agreementAsked(call, clock())
      return answer(await known(asked.query), asked)
    },
  })
  return [
    made('/agreement', (agreement, asked) => ({ title: TEXTS.title, body: pageOf(agreement, asked, kinds) })),
    made('/agreement.json', ({ at, figures, cells }, { carried, query: { since } }) => ({
      file: `${JSON.stringify({ at: isoOf(at), since: isoOf(since), ...carried, figures, confusion: cells }, null, 1)}\n`,
      name: 'agreement.json',
      type: 'application/json',
    })),
    made('/agreement.csv', ({ figures }) => ({
      file: csvTable({ head: CSV_HEAD, rows: figures.map(csvRow) }),
      name: 'agreement.csv',
      type: 'text/csv; charset=utf-8',
    })),
  ]
}

const isoOf = (ms: number) => new Date(ms).toISOString()

const CSV_HEAD = ['protocol', 'part', 'value', 'agreeing', 'of', 'share', 'low', 'high', 'without label']

function csvRow({ protocol, part, value, agreeing, of, interval, undecided }: AgreementFigure): string[] {
  const shares = interval === null ? ['', '', ''] : [agreeing / of, interval.low, interval.high].map(String)
  return [protocol, part, value, String(agreeing), String(of), ...shares, String(undecided)]
}

function pageOf(
  { at, figures, cells, blind }: Agreement,
  { carried }: AskedAgreement,
  kinds: ProtocolGuides,
): SafeMarkup {
  const protocols = [...Map.groupBy(figures, ({ protocol }) => protocol)]
  return html`<h1>${TEXTS.title}</h1><p>${TEXTS.says}</p>${formOf(carried)}
<p class="faint">${TEXTS.asOf} ${moment(at)}, ${TEXTS.kept} <a href="${link('/agreement.json', carried)}">${TEXTS.json}</a> <a href="${link('/agreement.csv', carried)}">${TEXTS.csv}</a></p>
${
  protocols.length === 0
    ? html`<p role="status">${TEXTS.none}</p>`
    : protocols.map(([protocol, own], nth) => {
        const confused = cells.filter((cell) => cell.protocol === protocol)
        return protocolSection({
          protocol,
          figures: own,
          cells: confused,
          blind,
          carried,
          kinds,
          id: `protocol-${nth}`,
        })
      })
}`
}

function formOf(carried: AskedAgreement['carried']): SafeMarkup {
  const choice = <One extends string>(name: string, all: readonly One[], says: (one: One) => string) =>
    html`<select name="${name}"><option value="">${TEXTS.any}</option>${all.map((one) => html`<option value="${one}"${one === entryOf(carried, name) ? html` selected` : NOTHING}>${says(one)}</option>`)}</select>`
  return html`<form class="search" role="search" method="get" action="/agreement">
<label>${TEXTS.days} <select name="days">${DAYS.map((one) => html`<option value="${one}"${String(one) === carried.days ? html` selected` : NOTHING}>${one}</option>`)}</select></label>
<label>${TEXTS.source} ${choice('source', WORD_SOURCES, (one) => TEXTS.sources[one])}</label>
<label>${TEXTS.seen} ${choice('seen', WORD_SIGHTS, (one) => TEXTS.sights[one])}</label>
<button>${TEXTS.show}</button></form>`
}

interface Shown {
  readonly protocol: string
  readonly figures: readonly AgreementFigure[]
  readonly cells: readonly ConfusionCell[]
  readonly blind: readonly AgreementFigure[]
  readonly carried: AskedAgreement['carried']
  readonly kinds: ProtocolGuides
  readonly id: string
}

function protocolSection(of: Shown): SafeMarkup {
  const { protocol, figures, id } = of
  const whole = figures.find(({ part }) => part === 'all')
  const values = (of: AgreementPart) => figures.filter(({ part }) => part === of).length
  // Of one value alone it says what all say, and of one language what labels say.
  const parts = (['week', 'language', 'label-language', 'clause', 'reach', 'seen', 'source'] as const).filter(
    (one) => values(one === 'label-language' ? 'language' : one) > (one === 'clause' ? 0 : 1),
  )
  return html`<section aria-labelledby="${id}"><h2 id="${id}">${words(protocol, { most: 64 })}</h2>
${whole === undefined ? NOTHING : html`<p>${TEXTS.whole(whole.agreeing, whole.of)} (${shareOf(whole)}).${whole.undecided === 0 ? NOTHING : html` ${TEXTS.undecided(whole.undecided)}`}</p>`}
${labelTable(of)}${aloneTable(of)}${confusionTable(of)}
${parts.map((part) => html`<details><summary>${TEXTS.parts[part]}</summary>${partTable(of, part)}</details>`)}</section>`
}

/** The share with its interval; of few verdicts that they are few. */
function shareOf({ agreeing, of, interval }: Pick<AgreementFigure, 'agreeing' | 'of' | 'interval'>): string {
  if (interval === null || !isTold({ of })) return TEXTS.tooFew
  return `${percent(agreeing / of)}, ${percent(interval.low)}–${percent(interval.high)}`
}

function labelTable({ protocol, figures, blind, carried, kinds }: Shown): SafeMarkup {
  const labels = figures.filter(({ part }) => part === 'label')
  if (labels.length === 0) return NOTHING
  return html`<h3>${TEXTS.label}</h3><p>${TEXTS.labelSays}</p>${tableOf(
    TEXTS.labelHeads,
    labels.map((one) => [
      badge({ protocol, label: one.value, decidedBy: '', scores: {} }, kinds),
      TEXTS.ratio(one.agreeing, one.of),
      shareOf(one),
      blindly(blind.find((own) => own.protocol === protocol && own.part === 'label' && own.value === one.value)),
      postLinks(one, carried),
    ]),
  )}`
}

function blindly(figure: AgreementFigure | undefined): string {
  return figure === undefined ? '–' : `${TEXTS.ratio(figure.agreeing, figure.of)}: ${shareOf(figure)}`
}

function postLinks({ protocol, part, value, agreeing, of }: AgreementFigure, carried: Shown['carried']): TemplatePart {
  const to = (agrees: string) =>
    link('/agreement/posts', { protocol, part, value: carriedValue(value), agrees, ...carried })
  return [
    agreeing === 0 ? NOTHING : html`<a href="${to('yes')}">${agreeing} ${TEXTS.same}</a> `,
    agreeing === of ? NOTHING : html`<a href="${to('no')}">${of - agreeing} ${TEXTS.differ}</a>`,
  ]
}

/** An empty value would be left out of an address. */
const carriedValue = (value: string) => `=${value}`

/** What would have been caught, missed and wrongly caught, had nobody but Gavel looked; of a protocol that finds harm. */
function aloneTable({ protocol, cells, carried, kinds }: Shown): SafeMarkup {
  const harmful = kinds.get(protocol)?.harmful
  if (harmful === undefined) return NOTHING
  const count = (fits: (cell: ConfusionCell) => boolean) =>
    cells.filter(fits).reduce((sum, cell) => sum + cell.count, 0)
  const caught = count(({ people, machine }) => people === harmful && machine === harmful)
  const found = count(({ people }) => people === harmful)
  const left = count(({ people, machine }) => people === harmful && machine === null)
  const others = count(({ people }) => people !== harmful)
  const wrong = count(({ people, machine }) => people !== harmful && machine === harmful)
  const row = (says: string, times: number, of: number, query: Record<string, string>) => [
    says,
    times === 0
      ? TEXTS.ratio(times, of)
      : html`<a href="${link('/agreement/posts', { protocol, ...query, ...carried })}">${TEXTS.ratio(times, of)}</a>`,
    shareOf({ agreeing: times, of, interval: of === 0 ? null : scoreInterval(times / of, of) }),
  ]
  return html`<h3>${TEXTS.alone}</h3>${tableOf(TEXTS.aloneHeads, [
    row(TEXTS.caught(harmful), caught, found, { people: harmful, agrees: 'yes' }),
    row(TEXTS.missed(harmful), found - caught - left, found, { people: harmful, agrees: 'no' }),
    row(TEXTS.left(harmful), left, found, { people: harmful, machine: carriedValue('') }),
    row(TEXTS.wrong(harmful), wrong, others, { machine: carriedValue(harmful), agrees: 'no' }),
    row(TEXTS.mistaken(harmful), wrong, caught + wrong, { machine: carriedValue(harmful), agrees: 'no' }),
  ])}`
}

function confusionTable({ protocol, cells, carried }: Shown): SafeMarkup {
  const machines = [...new Set(cells.map(({ machine }) => machine))].sort((a, b) => ((a ?? '~') < (b ?? '~') ? -1 : 1))
  const byPeople = Map.groupBy(cells, (cell) => cell.people)
  const countOf = ([, own]: readonly [string, readonly ConfusionCell[]]) =>
    own.reduce((sum, { count }) => sum + count, 0)
  // A label of feedback may be any text: the commonest stand here, all in the files.
  const rows = [...byPeople].toSorted((a, b) => countOf(b) - countOf(a))
  const people = rows.slice(0, MOST_VALUES).toSorted(([a], [b]) => (a < b ? -1 : 1))
  const cellOf = (said: string, all: readonly ConfusionCell[], machine: string | null): TemplatePart => {
    const own = all.find((cell) => cell.machine === machine)
    if (own === undefined) return 0
    const query = { protocol, people: said, machine: carriedValue(machine ?? ''), ...carried }
    return html`<a href="${link('/agreement/posts', query)}">${own.count}</a>`
  }
  return html`<h3>${TEXTS.confusion}</h3><div class="scrolls" tabindex="0"><table><thead><tr><th scope="col">${TEXTS.people}</th>${machines.map((one) => html`<th scope="col">${words(one ?? TEXTS.noLabel, { most: 64 })}</th>`)}</tr></thead><tbody>
${people.map(([said, all]) => html`<tr><th scope="row">${words(said, { most: 64 })}</th>${machines.map((machine) => html`<td>${cellOf(said, all, machine)}</td>`)}</tr>`)}</tbody></table></div>${rows.length <= MOST_VALUES ? NOTHING : html`<p>${TEXTS.more(rows.length - MOST_VALUES)}</p>`}`
}

function partTable({ figures, carried }: Shown, part: keyof typeof TEXTS.parts): SafeMarkup {
  const all = figures.filter((one) => one.part === part)
  // The newest weeks stand first; of label and language few posts would be in most pairs.
  const own = part === 'week' ? all.toReversed() : part === 'label-language' ? all.filter(isTold) : all
  return html`${part === 'week' ? weekFigure(all) : NOTHING}${tableOf(
    TEXTS.partHeads,
    own
      .slice(0, MOST_VALUES)
      .map((one) => [
        valueSays(part, one.value),
        TEXTS.ratio(one.agreeing, one.of),
        shareOf(one),
        one.undecided,
        postLinks(one, carried),
      ]),
  )}${own.length <= MOST_VALUES ? NOTHING : html`<p>${TEXTS.more(own.length - MOST_VALUES)}</p>`}${own.length === all.length ? NOTHING : html`<p>${TEXTS.few(all.length - own.length)}</p>`}`
}

const isTold = ({ of }: Pick<AgreementFigure, 'of'>) => of >= FEWEST_TOLD

/** Each week's share as a bar, also of weeks without posts; of few posts none is drawn. */
function weekFigure(weeks: readonly AgreementFigure[]): SafeMarkup {
  const [from, to] = [weeks[0], weeks.at(-1)].map((one) => Date.parse(one?.value ?? ''))
  const values: number[] = []
  for (let at = from ?? 0; at <= (to ?? 0); at += WEEK_MS) {
    const week = weeks.find(({ value }) => Date.parse(value) === at)
    values.push(week !== undefined && isTold(week) ? week.agreeing / week.of : 0)
  }
  const told = weeks.findLast(isTold)
  const value = told === undefined ? TEXTS.tooFew : percent(told.agreeing / told.of)
  return smallFigure({
    name: TEXTS.shareByWeek,
    value,
    values,
    full: 1,
    most: told === undefined ? '' : TEXTS.lastWeek,
  })
}

/** A part's value in words. */
function valueSays(part: AgreementPart, value: string): TemplatePart {
  if (part === 'seen') return TEXTS.sights[WORD_SIGHTS.find((one) => one === value) ?? 'unknown']
  if (part === 'source') return TEXTS.sources[WORD_SOURCES.find((one) => one === value) ?? 'feedback']
  if (part === 'reach') return reachSays(Number(value))
  if (part === 'week') return TEXTS.week(value)
  if (part === 'label-language') return words(value.replace(/\/$/, `/${TEXTS.noLanguage}`), { most: 140 })
  return value === '' ? TEXTS.noLanguage : words(value, { most: 100 })
}

/** A band of reach in words. */
export function reachSays(from: number): string {
  return TEXTS.from(
    from,
    REACH_BANDS.find((one) => one > from),
  )
}
