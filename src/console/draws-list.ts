import type { Clock } from '../contracts/ports/clock.ts'
import { DRAW_PURPOSES, type DrawEntry, type DrawSum, type ReviewQueue } from '../contracts/ports/review.ts'
import type { BlindReviews } from './blind-review.ts'
import type { ProtocolGuides } from './kinds.ts'
import { knownFor } from './known-for.ts'
import { listPage } from './list-page.ts'
import { options } from './lists.ts'
import type { Page } from './page.ts'
import { percent, SUMS_MS, tableOf } from './quality.ts'
import { QUALITY_TEXTS as TEXTS } from './quality-texts.ts'
import type { SeenLabels } from './seen-by.ts'
import { html, link, moment, NOTHING, type SafeMarkup, words } from './view.ts'

/** Draws of a page. */
const MOST = 100

/** What is drawn of what comes. */
export interface DrawnShares {
  readonly auditShare: number
  readonly laneShare: number
  readonly blindShare: number
}

/** What chance drew, one by one, with which chance, and what was found out: for leads, of their tenants. */
export function drawsPage({
  queue,
  kinds,
  shares,
  blinds,
  seenLabels,
  clock,
}: {
  readonly queue: Pick<ReviewQueue, 'draws' | 'drawSums'>
  readonly kinds: ProtocolGuides
  readonly shares: DrawnShares
  readonly blinds: BlindReviews
  readonly seenLabels: Pick<SeenLabels, 'noteFound'>
  readonly clock: Clock
}): Page {
  const sumsOf = knownFor(SUMS_MS, clock, (of: readonly string[] | undefined) => queue.drawSums(of))
  return {
    method: 'GET',
    path: '/quality/draws',
    right: 'overrule',
    async answer({ query, session: { by, tenants } }) {
      const given = (name: string) => (query.get(name) ?? '').slice(0, 2_000)
      const found = await queue.draws(
        {
          tenants,
          protocol: given('protocol') || undefined,
          purpose: DRAW_PURPOSES.find((one) => one === given('purpose')),
          before: given('before') || undefined,
        },
        MOST,
      )
      const sums = await sumsOf(tenants)
      const page = { blinds, by, path: '/quality/draws', query, most: MOST }
      const { readable, closed, older } = listPage(found, page)
      for (const { verdict, found: became } of readable)
        if (became === 'same' || became === 'differs') seenLabels.noteFound(by, verdict)
      return {
        title: TEXTS.draws,
        hides: closed.map(({ verdict }) => verdict),
        body: html`<h1>${TEXTS.draws}</h1><p>${TEXTS.drawsSay(percent(shares.auditShare), percent(Math.max(shares.auditShare, shares.laneShare)), percent(shares.blindShare))}</p>
${sums.length === 0 ? NOTHING : html`${tableOf(TEXTS.sumHeads, sums.map(sumCells))}<p class="faint">${TEXTS.sumsSay}</p>`}
${formOf(query, kinds)}
${found.length === 0 ? html`<p role="status">${sums.length === 0 ? TEXTS.noRates : TEXTS.noDrawFits}</p>` : tableOf(TEXTS.drawHeads, readable.map(cellsOf))}
${older}`,
      }
    },
  }
}

function sumCells({ protocol, purpose, eligible, drawn, reviewed, waiting, left, chance, since }: DrawSum) {
  const [low, high] = [percent(chance.low), percent(chance.high)]
  return [
    words(protocol, { most: 64 }),
    TEXTS.purposes[purpose],
    moment(since),
    eligible ?? TEXTS.notKnown,
    drawn,
    low === high ? low : TEXTS.between(low, high),
    reviewed,
    waiting,
    left,
  ]
}

function cellsOf({ at, purpose, protocol, verdict, chance, found }: DrawEntry) {
  return [
    moment(at),
    TEXTS.purposes[purpose],
    words(protocol, { most: 64 }),
    html`<a href="${link('/verdict', { id: verdict })}">${words(verdict, { most: 100 })}</a>`,
    percent(chance),
    TEXTS.found[found],
  ]
}

function formOf(query: URLSearchParams, kinds: ProtocolGuides): SafeMarkup {
  const chosen = query.get('purpose') ?? ''
  return html`<form class="search" role="search" method="get" action="/quality/draws">
<label>${TEXTS.rateHeads[0]} <select name="protocol">${options([...kinds.keys()], query.get('protocol') ?? '')}</select></label>
<label>${TEXTS.rateHeads[1]} <select name="purpose"><option value="">${TEXTS.all}</option>${DRAW_PURPOSES.map((one) => html`<option value="${one}"${one === chosen ? html` selected` : NOTHING}>${TEXTS.purposes[one]}</option>`)}</select></label>
<button>${TEXTS.show}</button></form>`
}
