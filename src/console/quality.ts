import type { Clock } from '../contracts/ports/clock.ts'
import type { Exposure, ReviewPictures } from '../contracts/ports/pictures.ts'
import type { DrawnRate, DrawSum, LaneAudit, LaneInUse, PersonQuality, ReviewQueue } from '../contracts/ports/review.ts'
import { knownFor } from './known-for.ts'
import type { Page } from './page.ts'
import { QUALITY_TEXTS as TEXTS } from './quality-texts.ts'
import { html, link, NOTHING, type SafeMarkup, type TemplatePart, words } from './view.ts'

const DAY_MS = 86_400_000
/** Periods that may be asked for, in days; the first where none is. */
const PERIODS = [7, 30, 90] as const
/** How long sums of draws are taken to be the same, in ms: all verdicts are counted for them. */
export const SUMS_MS = 60_000

/** How often machines are wrong, by what chance drew, and how people decide: for leads, of their tenants. */
export function qualityPage({
  queue,
  exposed,
  lanes,
  laneShare,
  clock,
}: {
  readonly queue: Pick<ReviewQueue, 'drawnRates' | 'drawSums' | 'peopleQuality' | 'laneAudit'>
  /** The first lanes in use, and the share of what they settle that is drawn. */
  readonly lanes: () => readonly LaneInUse[]
  readonly laneShare: number
  readonly exposed: Pick<ReviewPictures, 'exposures'>
  readonly clock: Clock
}): Page {
  const sumsOf = knownFor(SUMS_MS, clock, (of: readonly string[] | undefined) => queue.drawSums(of))
  const peopleOf = knownFor(SUMS_MS, clock, ({ days, tenants }: Asked) => {
    const until = clock()
    return queue.peopleQuality({ since: until - days * DAY_MS, until }, tenants)
  })
  const auditOf = knownFor(SUMS_MS, clock, async (one: LaneInUse) => ({
    ...one,
    ...(await queue.laneAudit(one.lane, one)),
  }))
  return {
    method: 'GET',
    path: '/quality',
    right: 'overrule',
    async answer({ query, session: { tenants } }) {
      const days = PERIODS.find((one) => String(one) === query.get('days')) ?? PERIODS[0]
      const since = clock() - days * DAY_MS
      // What is settled of all tenants together is for who sees all.
      const own = lanes().filter(({ tenant }) => tenants === undefined || (tenant !== null && tenants.includes(tenant)))
      const [rates, sums, people, exposures, ...audits] = await Promise.all([
        queue.drawnRates(tenants),
        sumsOf(tenants),
        peopleOf({ days, tenants }),
        exposed.exposures({ since, tenants }),
        ...own.map(auditOf),
      ])
      return {
        title: TEXTS.title,
        body: html`<h1>${TEXTS.title}</h1>${ratesSection(rates, sums)}${audits.length === 0 ? NOTHING : lanesSection(audits, laneShare)}${peopleSection(people, exposures, days)}`,
      }
    },
  }
}

/** How people decided in the last days. */
interface Asked {
  readonly days: number
  readonly tenants: readonly string[] | undefined
}

function ratesSection(rates: readonly DrawnRate[], sums: readonly DrawSum[]): SafeMarkup {
  const parts = rates.filter(({ part }) => part !== 'all')
  return html`<section aria-labelledby="rates"><h2 id="rates">${TEXTS.rates}</h2><p>${TEXTS.ratesSay}</p>
${
  rates.length === 0
    ? html`<p>${TEXTS.noRates}</p>`
    : ratesTable(
        rates.filter(({ part }) => part === 'all'),
        sums,
      )
}<p><a href="/quality/draws">${TEXTS.draws}</a></p>${parts.length === 0 ? NOTHING : html`<details><summary>${TEXTS.byPart}</summary>${ratesTable(parts)}</details>`}</section>`
}

/** `sums`: what was looked at in all, whatever counts yet; none of parts. */
function ratesTable(rates: readonly DrawnRate[], sums: readonly DrawSum[] = []): SafeMarkup {
  const lookedAt = ({ protocol, purpose }: DrawnRate) => {
    const own = sums.find((one) => one.protocol === protocol && one.purpose === purpose)
    return own === undefined ? '' : ` ${TEXTS.lookedAt(own.differing, own.reviewed)}`
  }
  return tableOf(
    TEXTS.rateHeads,
    rates.map((one) => [
      words(one.protocol, { most: 64 }),
      TEXTS.purposes[one.purpose],
      one.part === 'all' ? TEXTS.all : html`${TEXTS.parts[one.part]} ${words(one.value, { most: 64 })}`,
      one.share === null
        ? TEXTS.nothingCounts
        : `${percent(one.share)} (${percent(one.interval.low)}–${percent(one.interval.high)})`,
      `${TEXTS.times(one.differing, one.counted)}${lookedAt(one)}`,
      one.next === null
        ? TEXTS.noneWaits
        : html`<a href="${link('/verdict', { id: one.next })}">${one.waiting}</a>${one.ahead === 0 ? NOTHING : html` ${TEXTS.ahead(one.ahead)}`}`,
    ]),
  )
}

function lanesSection(audits: readonly (LaneInUse & LaneAudit)[], laneShare: number): SafeMarkup {
  return html`<section aria-labelledby="lanes"><h2 id="lanes">${TEXTS.lanes}</h2><p>${TEXTS.lanesSay(percent(laneShare), laneShare === 0 ? null : Math.round(TEXTS.lanesNotice / laneShare))}</p>
${tableOf(
  TEXTS.laneHeads,
  audits.map(({ protocol, lane, tenant, risk, delta, audited, wrong, lost, share, interval, next, ...shown }) => [
    html`${words(protocol, { most: 64 })} ${tenant === null ? NOTHING : words(tenant, { most: 64 })} <code>${lane}</code>`,
    percent(risk),
    `${TEXTS.times(wrong, audited)}${lost === 0 ? '' : TEXTS.laneLost(lost)}`,
    share === null ? TEXTS.nothingCounts : `${percent(share)} (${percent(interval.low)}–${percent(interval.high)})`,
    `${shown.evidence.toFixed(1)} / ${Math.round(1 / delta)}`,
    standing(shown, 1 / delta),
    next === null ? TEXTS.noneWaits : html`<a href="${link('/verdict', { id: next })}">${TEXTS.show}</a>`,
  ]),
)}</section>`
}

function standing({ evidenceOfAll, tenants }: Pick<LaneAudit, 'evidenceOfAll' | 'tenants'>, closes: number) {
  if (evidenceOfAll >= closes) return TEXTS.laneClosed
  const only = tenants.flatMap(({ tenant, evidence }) => (evidence >= closes ? [tenant] : []))
  return only.length === 0 ? TEXTS.laneHolds : words(TEXTS.laneClosedFor(only), { most: 200 })
}

function peopleSection(people: readonly PersonQuality[], exposures: readonly Exposure[], days: number): SafeMarkup {
  const told = (share: PersonQuality['overturned']) =>
    share === null ? TEXTS.tooFew : TEXTS.times(share.times, share.of)
  const uncovered = (by: string) =>
    exposures.filter(({ person }) => person === by).reduce((sum, one) => sum + one.uncovered, 0)
  return html`<section aria-labelledby="people"><h2 id="people">${TEXTS.people(days)}</h2><p>${TEXTS.peopleSay}</p>
<p>${PERIODS.map((one) => html`<a href="${link('/quality', { days: String(one) })}"${one === days ? html` aria-current="page"` : NOTHING}>${TEXTS.days(one)}</a> `)}</p>
${
  people.length === 0
    ? html`<p>${TEXTS.noPeople}</p>`
    : tableOf(
        TEXTS.peopleHeads,
        people.map(({ by, decisions, opinions, blindAgreement, golden, overturned, seconds }) => [
          html`<a href="${link('/decisions', { person: by, days: '90' })}">${words(by, { most: 60 })}</a>`,
          decisions,
          opinions,
          told(blindAgreement),
          told(golden),
          told(overturned),
          seconds ?? TEXTS.tooFew,
          uncovered(by),
        ]),
      )
}</section>`
}

export function tableOf(heads: readonly string[], rows: readonly (readonly TemplatePart[])[]): SafeMarkup {
  return html`<div class="scrolls" tabindex="0"><table><thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead><tbody>
${rows.map((row) => html`<tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody></table></div>`
}

export function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`
}
