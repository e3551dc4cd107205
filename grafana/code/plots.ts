import { axisX, barX, lineY, type Markish, plot } from '@observablehq/plot'
import { parseHTML } from 'linkedom'
import { printable } from '../../src/contracts/facts/printable.ts'

/** A series as Prometheus answers a range query: its labels, and values by time in s. */
export interface Series {
  readonly metric: Readonly<Record<string, string>>
  readonly values: readonly (readonly [number, string])[]
}

export type Named = Series & { readonly name: string }
export interface Size {
  readonly width: number
  readonly height: number
}
/** What a picture is of: from when to when, and how far its points are apart; all in s since 1970. */
export interface Range {
  readonly from: number
  readonly to: number
  readonly step: number
}

/** Series drawn in a panel: those with the greatest values. */
const MOST_SERIES = 8
const LEGEND_ROW = 12
const COLOURS = ['#1f77b4', '#ff7f0e', '#2ca02c', '#d62728', '#9467bd', '#8c564b', '#e377c2', '#7f7f7f']

const { document } = parseHTML('<!doctype html><html><body></body></html>')

/** How many values came into which bucket of a histogram, over time. */
export function drawHeat(all: readonly Named[], unit: string, size: Size, range: Range): string {
  const sorted = [...all].sort((a, b) => bound(a) - bound(b))
  const counts = sorted.map(({ values }) => new Map(values.map(([time, value]) => [time, Number(value)])))
  const cells = sorted.flatMap(({ metric, values }, at) =>
    values.map(([time, value]) => ({
      from: new Date((time - range.step) * 1000),
      to: new Date(time * 1000),
      le: metric.le ?? '',
      count: Math.max(0, Number(value) - (counts[at - 1]?.get(time) ?? 0)),
    })),
  )
  const seen = cells.filter(({ count }) => count > 0)
  if (seen.length === 0) return nothing(size)
  const buckets = new Set(seen.map(({ le }) => le))
  const order = sorted.map(({ metric }) => metric.le ?? '').filter((le) => buckets.has(le))
  return svgOf([timeAxis(range), barX(seen, { x1: 'from', x2: 'to', y: 'le', fill: 'count', inset: 0 })], size, {
    x: timeScale(range),
    y: { domain: order.reverse(), label: null, tickFormat: (le: string) => inUnit(Number(le), unit) },
    color: { scheme: 'oranges' },
    marginLeft: 62,
  })
}

/** The upper bound of a histogram's bucket. */
function bound({ metric: { le = '' } }: Series): number {
  return le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le)
}

/** From when to when each series had which value: a row each. */
export function drawTimeline(
  all: readonly Named[],
  colour: (value: number) => string,
  size: Size,
  range: Range,
): string {
  const spans = all.flatMap(({ name, values }) => {
    const joined: { name: string; from: Date; to: Date; value: number }[] = []
    for (const [time, text] of values) {
      const [last, to] = [joined.at(-1), new Date((time + range.step) * 1000)]
      const follows = last !== undefined && last.to.getTime() >= time * 1000 && last.value === Number(text)
      if (follows) last.to = to
      else joined.push({ name, from: new Date(time * 1000), to, value: Number(text) })
    }
    return joined
  })
  if (spans.length === 0) return nothing(size)
  const bars = spans.map((span) => ({ ...span, to: new Date(Math.min(span.to.getTime(), range.to * 1000)) }))
  const fill = ({ value }: { readonly value: number }) => colour(value)
  return svgOf([timeAxis(range), barX(bars, { x1: 'from', x2: 'to', y: 'name', fill, insetTop: 2 })], size, {
    x: timeScale(range),
    y: { label: null },
    marginLeft: 190,
  })
}

/** Lines over time, broken where there is no value. */
export function drawLines(all: readonly Named[], unit: string, size: Size, range: Range): string {
  const greatest = (one: Named) => Math.max(...one.values.map(([, value]) => Number(value)).filter(Number.isFinite), 0)
  const shown = [...all].sort((a, b) => greatest(b) - greatest(a)).slice(0, MOST_SERIES)
  const points = shown.flatMap(({ name, values }) =>
    values.flatMap(([time, value], at) => [
      ...(time - (values[at - 1]?.[0] ?? time) > 1.5 * range.step
        ? [{ time: new Date((time - range.step) * 1000), value: Number.NaN, name }]
        : []),
      { time: new Date(time * 1000), value: Number.isFinite(Number(value)) ? Number(value) : Number.NaN, name },
    ]),
  )
  if (!points.some(({ value }) => Number.isFinite(value))) return nothing(size)
  const names = [...new Set(shown.map(({ name }) => name))]
  const colours = new Map(names.map((name, at) => [name, COLOURS[at % COLOURS.length] ?? 'black']))
  const risen = new Set(shown.filter((one) => greatest(one) > 0).map(({ name }) => name))
  const legend = drawLegend(
    names.filter((name) => risen.has(name)),
    colours,
    names.length - risen.size,
    size,
  )
  const drawn = svgOf(
    [timeAxis(range), lineY(points, { x: 'time', y: 'value', stroke: 'name', z: 'name', strokeLinecap: 'round' })],
    { width: size.width, height: size.height - legend.height },
    {
      x: timeScale(range),
      y: { label: null, zero: true, grid: true, ticks: 4, tickFormat: (value: number) => inUnit(value, unit) },
      color: { domain: names, range: [...colours.values()] },
      marginLeft: 62,
    },
  )
  const more = all.length - shown.length
  const left =
    more > 0
      ? `<text x="${size.width - 6}" y="10" font-size="9" text-anchor="end" fill="#777">and ${more} more</text>`
      : ''
  return `${drawn}${left}${legend.text}`
}

/** The names of the series that were not 0 all the time, in as many rows as they need. */
function drawLegend(names: readonly string[], colours: ReadonlyMap<string, string>, zeros: number, size: Size) {
  let [x, row] = [6, 0]
  const rests =
    zeros > 0 ? [names.length > 0 ? 'the others are 0' : zeros === 1 ? 'it is 0' : `all ${zeros} are 0`] : []
  const places = [...names, ...rests].map((name) => {
    const text = printable(name, 60)
    const width = 16 + text.length * 5.2
    if (x > 6 && x + width > size.width) [x, row] = [6, row + 1]
    const place = { text, colour: colours.get(name), x, row }
    x += width
    return place
  })
  const height = (row + 1) * LEGEND_ROW + 4
  const top = size.height - height
  const entry = ({ text, colour, x: left, row: at }: (typeof places)[number]) => {
    const y = top + (at + 1) * LEGEND_ROW
    const mark = colour === undefined ? '' : `<rect x="${left}" y="${y - 7}" width="8" height="8" fill="${colour}"/>`
    return `${mark}<text x="${left + 11}" y="${y}" font-size="9">${escaped(text)}</text>`
  }
  return { height, text: places.map(entry).join('') }
}

/** The whole range, whatever a panel has of it. */
function timeScale({ from, to }: Range) {
  return { label: null, type: 'utc' as const, domain: [new Date(from * 1000), new Date(to * 1000)] }
}

/** In 24 hours; with the day where the range is longer than one. */
function timeAxis({ from, to }: Range): Markish {
  const [start, end] = to - from > 86_400 ? [5, 16] : to - from < 240 ? [11, 19] : [11, 16]
  return axisX({
    ticks: 4,
    label: null,
    tickFormat: (time: Date) => time.toISOString().slice(start, end).replace('T', ' '),
  })
}

function svgOf(marks: Markish[], { width, height }: Size, options: object): string {
  const drawn = plot({ width, height, document, className: 'p', style: { background: 'none' }, ...options, marks })
  return drawn.outerHTML
    .replace(/<style>.*?<\/style>/gs, '')
    .replace(/ d="[^"]*"/g, (path: string) => path.replace(/(\.\d)\d+/g, '$1'))
}

export function nothing({ width, height }: Size, says = 'no data'): string {
  return `<text x="${width / 2}" y="${height / 2}" text-anchor="middle" fill="#999">${escaped(says)}</text>`
}

export function inUnit(value: number, unit: string): string {
  if (!Number.isFinite(value)) return '–'
  const number =
    Math.abs(value) >= 1000
      ? value.toLocaleString('en', { maximumFractionDigits: 0 })
      : String(Number(value.toPrecision(3)))
  if (unit === 'percentunit') return `${Number((value * 100).toPrecision(4))} %`
  if (unit === 'bytes') return `${Number((value / 2 ** 20).toPrecision(3))} MiB`
  if (unit === 'currencyUSD') return `$${number}`
  if (unit.startsWith('suffix:')) return `${number}${unit.slice('suffix:'.length)}`
  if (unit !== 's') return number
  if (value >= 2 * 86_400) return `${Math.round(value / 86_400)} d`
  return value >= 7_200 ? `${Number((value / 3_600).toPrecision(3))} h` : `${number} s`
}

export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
