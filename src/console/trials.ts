import { type ComparedSides, gateStates, inPercent, shareInWords } from '../contracts/facts/variant-comparison.ts'
import { interval, named, percent } from '../contracts/facts/what-if-words.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { Report } from '../contracts/ports/report.ts'
import type {
  KeptWhatIf,
  RampTrial,
  ShadowTrial,
  TrialDesk,
  TrialFilter,
  TrialList,
} from '../contracts/ports/trials.ts'
import type { Page } from './page.ts'
import { TRIALS_TEXTS as TEXTS } from './trials-texts.ts'
import { html, link, moment, NOTHING, type SafeMarkup, shown, type TemplatePart, words } from './view.ts'

const DAY_MS = 86_400_000
/** Days that may be asked for, and how many where none are. */
const DAYS = ['1', '7', '30'] as const
const USUAL_DAYS = '7'
/** The gate of flips where none is given, in percent. */
const USUAL_FLIPS = 5

/** What the page of trials is made of. */
export interface TrialParts {
  readonly desk: TrialDesk
  readonly clock: Clock
  readonly report: Report
}

/** Variants beside the live settings, with their gates, and reports of `gavel what-if`: for leads, of their tenants. */
export function trialsPage({ desk, clock, report }: TrialParts): Page {
  return {
    method: 'GET',
    path: '/trials',
    right: 'overrule',
    isCostly: true,
    async answer({ query, session: { tenants, by }, signal }) {
      const days = DAYS.find((one) => one === query.get('days')) ?? USUAL_DAYS
      const flips = percentIn(query.get('flips'))
      const until = clock() + 1
      const filter = { since: until - Number(days) * DAY_MS, until, tenants }
      const [ramps, shadows, reports] = await Promise.all([
        desk.ramps(filter),
        shadowsOf(desk, filter, { signal, report }),
        desk.whatIfs(tenants),
      ])
      const asked = { by, mostFlips: flips / 100 }
      return {
        title: TEXTS.title,
        body: html`<h1>${TEXTS.title}</h1><p>${TEXTS.says}</p>
<section aria-labelledby="variants"><h2 id="variants">${TEXTS.variants}</h2>${formOf(days, flips)}
${typeof shadows === 'string' ? html`<p class="notice" role="alert">${shadows}</p>` : NOTHING}
${ramps.isCut || (typeof shadows !== 'string' && shadows.isCut) ? html`<p class="notice">${TEXTS.cut}</p>` : NOTHING}
${ramps.trials.map((one) => rampMarkup(one, asked))}
${typeof shadows === 'string' ? NOTHING : shadows.trials.map((one) => shadowMarkup(one, asked))}
${ramps.trials.length === 0 && typeof shadows !== 'string' && shadows.trials.length === 0 ? html`<p>${TEXTS.none}</p>${commands(SHADOW)}` : NOTHING}</section>
<section aria-labelledby="what-ifs"><h2 id="what-ifs">${TEXTS.whatIfs}</h2>
${reports.length === 0 ? html`<p>${TEXTS.noReports}</p>${commands(WHAT_IF)}` : reportsTable(reports)}</section>`,
      }
    },
  }
}

const SHADOW = 'npx gavel variant shadow stricter --protocol hate --settings stricter.yaml --share 10% --budget 5'
const WHAT_IF = 'npx gavel what-if --policy policies/hate.md --protocol hate --since 7d'

/** What variants in the shadow say; in words why that is not known. */
async function shadowsOf(
  desk: TrialDesk,
  filter: TrialFilter,
  { signal, report }: { readonly signal: AbortSignal; readonly report: Report },
): Promise<TrialList<ShadowTrial> | string> {
  if (desk.shadows === null) return TEXTS.noShadow
  try {
    return await desk.shadows(filter, signal)
  } catch (error) {
    if (!signal.aborted) report('error', { where: 'console', error })
    return TEXTS.away
  }
}

function percentIn(text: string | null): number {
  const given = text === null || text.trim() === '' ? Number.NaN : Number(text)
  return given >= 0 && given <= 100 ? given : USUAL_FLIPS
}

function formOf(days: string, flips: number): SafeMarkup {
  return html`<form class="search" method="get" action="/trials">
<label>${TEXTS.days} <select name="days">${DAYS.map((one) => html`<option value="${one}"${one === days ? html` selected` : NOTHING}>${one}</option>`)}</select></label>
<label>${TEXTS.flips} <input name="flips" type="number" min="0" max="100" step="any" value="${flips}"></label>
<button>${TEXTS.show}</button></form>`
}

interface AskedGates {
  readonly by: string
  /** A share. */
  readonly mostFlips: number
}

function rampMarkup({ protocol, variant, ramp, begun, sides }: RampTrial, { by }: AskedGates): SafeMarkup {
  const share = inPercent(ramp, 1)
  const { cases } = sides
  return html`<article class="judged"><h3>${words(`${protocol}: ${variant}`, { most: 120 })}</h3>
<p>${begun === null ? TEXTS.idle(share) : html`${TEXTS.ramp(share, cases.variant, cases.variant + cases.live)} ${moment(begun)}`}</p>
${begun === null ? NOTHING : html`${sidesTable(sides, { live: TEXTS.others, variant })}${gatesList(sides, { people: true })}<p class="faint">${TEXTS.noFlips}</p>`}
${folded(commands(...changes(variant, protocol, by)))}</article>`
}

function shadowMarkup({ protocol, comparison }: ShadowTrial, { by, mostFlips }: AskedGates): SafeMarkup {
  const { variant, subjects, flips, directions, clauses, ...sides } = comparison
  const cited = Object.entries(clauses)
  const compare = `npx gavel variant compare ${variant} --most-flips ${100 * mostFlips}% --people`
  return html`<article class="judged"><h3>${words(`${protocol}: ${variant}`, { most: 120 })}</h3>
<p>${TEXTS.shadow(subjects, shareInWords(flips))}</p>
${sidesTable({ ...sides, cases: { live: subjects, variant: subjects } }, { live: TEXTS.live, variant })}
${gatesList(comparison, { mostFlips, people: true })}
${
  directions.length === 0
    ? NOTHING
    : tableOf(
        [TEXTS.direction, TEXTS.verdicts],
        directions.map(({ from, to, count }) => [words(`${named(from)} → ${named(to)}`, { most: 140 }), count]),
      )
}
${
  cited.length === 0
    ? NOTHING
    : tableOf(
        [TEXTS.clause, TEXTS.verdicts],
        cited.map(([id, count]) => [words(id, { most: 40 }), count]),
      )
}
${folded(commands(compare, ...changes(variant, protocol, by)))}</article>`
}

/** The commands that act on a variant. Who gives them is in the audit. */
function changes(variant: string, protocol: string, by: string): string[] {
  const rest = `${variant} --protocol ${protocol} --config gavel.yaml --by ${inShell(by)}`
  return [
    `npx gavel variant ramp ${rest.replace(variant, `${variant} 10%`)}`,
    `npx gavel variant live ${rest}`,
    `npx gavel variant back ${rest}`,
  ]
}

/** One word of a shell. */
function inShell(text: string): string {
  return /^[\w.@+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

function sidesTable(
  { cases, labels, undecided, degraded, usdPerThousand, people }: ComparedSides,
  heads: { readonly live: string; readonly variant: string },
): SafeMarkup {
  const shareOf = (count: number, all: number) => `${count} (${inPercent(count, all)})`
  const usd = (amount: number | null) => (amount === null ? '–' : amount.toFixed(2))
  const row = (name: TemplatePart, of: (side: 'live' | 'variant') => string | number): TemplatePart[] => [
    name,
    of('live'),
    of('variant'),
  ]
  return tableOf(
    ['', heads.live, words(heads.variant, { most: 60 })],
    [
      row(TEXTS.cases, (side) => cases[side]),
      ...labels.map((one) => row(words(one.label, { most: 64 }), (side) => shareOf(one[side], cases[side]))),
      row(TEXTS.undecided, (side) => shareOf(undecided[side], cases[side])),
      row(TEXTS.degraded, (side) => shareOf(degraded[side], cases[side])),
      row(TEXTS.usd, (side) => usd(usdPerThousand[side])),
      row(TEXTS.overruled, (side) => TEXTS.times(people[side].of - people[side].count, people[side].of)),
      row(TEXTS.agree, (side) => shareInWords(people[side])),
    ],
  )
}

function gatesList(...of: Parameters<typeof gateStates>): SafeMarkup {
  return html`<h4>${TEXTS.gates}</h4><p class="faint">${TEXTS.gatesSay}</p><ul>${gateStates(...of).map(({ isKnown, isHeld, says }) => html`<li><strong class="label ${isKnown ? (isHeld ? 'good' : 'bad') : 'none'}">${isKnown ? (isHeld ? TEXTS.held : TEXTS.notHeld) : TEXTS.notKnown}</strong>: ${says}</li>`)}</ul>`
}

/** A table whose first column names its rows. */
export function tableOf(heads: readonly TemplatePart[], rows: readonly (readonly TemplatePart[])[]): SafeMarkup {
  return html`<div class="scrolls" tabindex="0"><table><thead><tr>${heads.map((head) => (head === '' ? html`<td></td>` : html`<th scope="col">${head}</th>`))}</tr></thead><tbody>
${rows.map(([name = '', ...cells]) => html`<tr><th scope="row">${name}</th>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody></table></div>`
}

function folded(inside: SafeMarkup): SafeMarkup {
  return html`<details><summary>${TEXTS.commands}</summary>${inside}</details>`
}

/** Commands to copy. */
function commands(...lines: readonly string[]): SafeMarkup {
  return html`<pre class="commands" tabindex="0"><code>${lines.map((line) => shown(line, 400)).join('\n')}</code></pre>`
}

function reportsTable(reports: readonly KeptWhatIf[]): SafeMarkup {
  const [written, ...heads] = TEXTS.heads
  return tableOf(
    [written, ...heads],
    reports.map(({ name, at, report: { protocol, tried, flips, cases, usd } }) => [
      html`<a href="${link('/what-if', { run: name })}">${moment(at)}</a>`,
      words(protocol, { most: 64 }),
      words(tried.join('; '), { most: 300 }),
      flips.all.share === null ? '–' : `${percent(flips.all.share)} (${interval(flips.all)})`,
      cases.replayed,
      usd.bill.toFixed(4),
    ]),
  )
}
