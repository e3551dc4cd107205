import { dot, gridY, link, type PlotOptions, ruleX, text } from '@observablehq/plot'
import { printable } from '../../../contracts/facts/printable.ts'
import { type EvaluationCell, estimateOf } from '../evaluation.ts'
import type { Measure } from '../presets/preset.ts'
import { figure, logTicks } from './drawing.ts'
import { foreign, html, type Markup } from './markup.ts'

/** A row in the picture. Quality is in points; where there is no interval its ends are the quality itself. */
interface Point {
  readonly name: string
  readonly cost: number
  readonly quality: number
  readonly low: number
  readonly high: number
  readonly first: boolean
}

/** What a row costs: how it is called, and how much of it an item of the row costs. US dollars are of 1,000 items, to be legible. */
const COSTS: readonly { readonly unit: string; readonly of: (cell: EvaluationCell) => number }[] = [
  { unit: 'tokens an item', of: ({ perItem }: EvaluationCell) => perItem.tokens },
  { unit: 'US dollars for 1,000 items', of: ({ perItem }: EvaluationCell) => perItem.costUsd * 1_000 },
]
const SEQUENCE = { unit: 'calls in sequence', of: ({ perItem }: EvaluationCell) => perItem.sequence }
type Cost = (typeof COSTS)[number]

const MARGIN = { top: 26, right: 172, bottom: 40, left: 38 }
/** Height of a name beside the picture, in the drawing's units. */
const LINE = 16
/** Longest name of a row, and longest that has room beside the picture; the former is shown where a pointer rests on the latter. */
const LONGEST_NAME = 120
const NAME = 24
/** About so many ticks has an axis. Of more on that of cost only those of 1 and 5, or of 1, are shown. */
const MOST_TICKS = 5

/**
 * The first picture: how good each row of one data set is, against the tokens and the US dollars that an item costs; with `curve`
 * its macro-F1, and against its calls in sequence too. Rows that
 * cost nothing, or have no such figure, have no place on the axis and are named below.
 */
export function qualityAgainstCost(cells: readonly EvaluationCell[], { curve = false } = {}): Markup {
  const measure = measureOf(cells, curve)
  const judged = cells.filter(({ why }) => why === null)
  if (measure === null || judged.length === 0)
    return html`<p>No row has labels or ratings to be compared with people’s.</p>`
  return html`<div class="pair">${(curve ? [...COSTS, SEQUENCE] : COSTS).map((cost) => picture(judged, measure, cost))}</div>`
}

function measureOf(cells: readonly EvaluationCell[], curve: boolean): Measure | null {
  if (curve && cells.some(({ labels }) => labels?.macroF1.value != null)) return 'macroF1'
  if (cells.some(({ labels }) => labels !== null)) return 'accuracy'
  const aspect = cells.flatMap(({ aspects }) => aspects)[0]?.aspect
  return aspect === undefined ? null : `spearman:${aspect}`
}

function picture(cells: readonly EvaluationCell[], measure: Measure, cost: Cost): Markup {
  const all = cells.map((cell, at) => pointOf(cell, measure, cost, at === 0))
  // The first row is drawn last, above the others.
  const shown = all
    .flatMap((point) => (point.cost > 0 && point.quality !== null ? [point as Point] : []))
    .sort((one, other) => Number(one.first) - Number(other.first))
  const absent = all.filter(({ cost, quality }) => cost <= 0 || quality === null)
  const quality =
    measure === 'macroF1'
      ? 'Macro-F1 in points'
      : measure === 'accuracy'
        ? 'Accuracy in points'
        : `Spearman’s ρ × 100 of ${measure.slice('spearman:'.length)}`
  const below = absent.map(({ name, quality, cost: paid }, at) => {
    const figures = quality === null ? `no ${measure}` : `${quality.toFixed(1)} for ${costText(paid)}`
    return html`${at === 0 ? '' : ', '}${foreign(name, 80)} (${figures})`
  })
  const note = absent.length === 0 ? html`` : html`<p class="note">Not in the picture, which has no zero: ${below}.</p>`
  if (shown.length === 0)
    return html`<div><p class="note">No row has a quality and a cost in ${cost.unit}.</p>${note}</div>`
  const title = `${quality} against ${cost.unit}`
  const pointTexts = shown.map((point) => `${point.name} ${point.quality.toFixed(1)} for ${costText(point.cost)}`)
  return html`<div>${figure(title, `${title}: ${pointTexts.join('; ')}`, options(shown, cost.unit))}${note}</div>`
}

function pointOf(cell: EvaluationCell, measure: Measure, cost: Cost, first: boolean) {
  const { value = null, interval = null } = estimateOf(cell, measure) ?? {}
  const quality = value === null ? null : value * 100
  return {
    name: printable(cell.row, LONGEST_NAME),
    cost: cost.of(cell),
    first,
    quality,

    low: interval === null ? quality : interval.low * 100,
    high: interval === null ? quality : interval.high * 100,
  }
}

function options(shown: readonly Point[], unit: string): PlotOptions {
  const ticks = logTicks(Math.min(...shown.map(({ cost }) => cost)), Math.max(...shown.map(({ cost }) => cost)))
  const [from, to] = [ticks[0] as number, ticks.at(-1) as number]
  const inside = Math.max(230, LINE * shown.length)
  const lowest = Math.min(...shown.map((point) => point.low))
  const low = Math.max(lowest < 0 ? -100 : 0, Math.floor((lowest - 1) / 10) * 10)
  const high = Math.min(100, Math.ceil((Math.max(...shown.map((point) => point.high)) + 1) / 10) * 10)
  const names = placed(shown, (quality) => (inside * (high - quality)) / (high - low), inside)
  const heights = names.map((point) => ({ ...point, at: high - (point.top / inside) * (high - low) }))
  const color = ({ first }: Point) => (first ? 'var(--accent)' : 'currentColor')
  const sparse = sparser(ticks)
  return {
    height: inside + MARGIN.top + MARGIN.bottom,
    marginTop: MARGIN.top,
    marginRight: MARGIN.right,
    marginBottom: MARGIN.bottom,
    marginLeft: MARGIN.left,
    x: {
      type: 'log',
      domain: [from, to],
      ticks: sparse,
      tickFormat: costText,
      label: `${unit}, log scale`,
      labelAnchor: 'left',
    },
    y: { domain: [low, high], label: 'points', ticks: MOST_TICKS },
    marks: [
      gridY({ ticks: MOST_TICKS, stroke: 'var(--rule)', strokeOpacity: 1 }),
      link(heights, {
        x1: 'cost',
        x2: to,
        y1: 'quality',
        y2: 'at',
        stroke: 'var(--faint)',
        strokeWidth: 0.75,
        strokeOpacity: 0.6,
      }),
      ruleX(shown, { x: 'cost', y1: 'low', y2: 'high', stroke: color, strokeWidth: 1.5, strokeOpacity: 0.7 }),
      dot(shown, { x: 'cost', y: 'quality', r: 4, fill: color }),
      text(heights, {
        frameAnchor: 'right',
        textAnchor: 'start',
        dx: 5,
        y: 'at',
        fill: color,
        title: 'name',
        text: ({ name }: Point) => short(name),
        fontWeight: 'normal',
      }),
    ],
  } as PlotOptions
}

/**
 * Where the names stand, from the top of the picture: each as near its point's height as the others let it, in such an order
 * that the lines to points of equal height don't cross. Names that would overlap stand one below the other, around the mean of
 * their points' heights.
 */
export function placed<One extends { readonly quality: number; readonly cost: number }>(
  shown: readonly One[],
  topOf: (quality: number) => number,
  height: number,
): (One & { readonly top: number })[] {
  const ordered = [...Map.groupBy(shown, ({ quality }) => quality)]
    .sort(([one], [other]) => other - one)
    .flatMap(([, level]) => fanned(level))
  const blocks: { wanted: number[]; top: number }[] = []
  for (const { quality } of ordered) {
    let block = { wanted: [topOf(quality)], top: topOf(quality) }
    for (let above = blocks.at(-1); above !== undefined && bottomOf(above) > block.top; above = blocks.at(-1)) {
      blocks.pop()
      const wanted = [...above.wanted, ...block.wanted]
      const mean = wanted.reduce((sum, top) => sum + top, 0) / wanted.length
      const free = mean - (LINE * (wanted.length - 1)) / 2
      block = { wanted, top: Math.max(0, Math.min(free, height - LINE * (wanted.length - 1))) }
    }
    blocks.push(block)
  }
  const tops = blocks.flatMap(({ wanted, top }) => wanted.map((_, at) => top + LINE * at))
  return ordered.map((one, at) => ({ ...one, top: tops[at] ?? 0 }))
}

function bottomOf({ wanted, top }: { readonly wanted: readonly number[]; readonly top: number }): number {
  return top + LINE * wanted.length
}

/** Of points on one level the leftmost take the outermost places, by turns above and below. */
function fanned<One extends { readonly cost: number }>(level: readonly One[]): One[] {
  const byCost = level.toSorted((one, other) => one.cost - other.cost)
  return [...byCost.filter((_, at) => at % 2 === 0), ...byCost.filter((_, at) => at % 2 === 1).reverse()]
}

function sparser(ticks: readonly number[]): number[] {
  const ending = (digits: string) => ticks.filter((tick) => digits.includes(tick.toExponential()[0] ?? ''))
  return [ticks.slice(), ending('15'), ending('1')].find(({ length }) => length <= MOST_TICKS) ?? ending('1')
}

/** `200`, `5k`, `0.0001`. */
function costText(cost: number): string {
  if (cost >= 1_000_000) return `${Number((cost / 1_000_000).toPrecision(3))}M`
  if (cost >= 1_000) return `${Number((cost / 1_000).toPrecision(3))}k`
  return String(Number(cost.toPrecision(cost >= 1 ? 3 : 2)))
}

function short(name: string): string {
  const characters = [...name]
  return characters.length <= NAME ? name : `${characters.slice(0, NAME - 1).join('')}…`
}
