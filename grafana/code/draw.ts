import type { Dashboard, Panel } from '@grafana/grafana-foundation-sdk/dashboard'
import { cell, lineY, type Markish, plot } from '@observablehq/plot'
import { parseHTML } from 'linkedom'
import { printable } from '../../src/domain/printable.ts'

/** A series as Prometheus answers a range query: its labels, and values by time in s. */
export interface Series {
  readonly metric: Readonly<Record<string, string>>
  readonly values: readonly (readonly [number, string])[]
}

/** Asks Prometheus for a query over a range; times and step in s. */
export type Ask = (
  expr: string,
  range: { readonly from: number; readonly to: number; readonly step: number },
) => Promise<readonly Series[]>

/** Pixels of one of the 24 columns, and of one unit of height. */
const [COLUMN, ROW] = [64, 30]
const POINTS = 150
/** Series drawn in a panel: those with the greatest values. */
const MOST_SERIES = 8
const TITLE = 22

const { document } = parseHTML('<!doctype html><html><body></body></html>')

/**
 * Draws a dashboard from what Prometheus has, as SVG. It is not Grafana's drawing: that has finer axes, tooltips and colours.
 * `from` and `to` in s since 1970.
 */
export async function drawDashboard(board: Dashboard, ask: Ask, range: { readonly from: number; readonly to: number }) {
  const panels = (board.panels ?? []) as readonly (Panel & { readonly type: string })[]
  const drawn: string[] = []
  let bottom = 0
  for (const panel of panels) {
    const { x, y, w, h } = panel.gridPos ?? { x: 0, y: 0, w: 24, h: 1 }
    bottom = Math.max(bottom, y + h)
    const at = { left: x * COLUMN + 4, top: 56 + y * ROW + 4, width: w * COLUMN - 8, height: h * ROW - 8 }
    drawn.push(await drawPanel(panel, at, ask, range))
  }
  const [width, height] = [24 * COLUMN, 60 + bottom * ROW]
  const when = `${new Date(range.from * 1000).toISOString()} to ${new Date(range.to * 1000).toISOString()}`
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="11">
<rect width="100%" height="100%" fill="#f4f5f5"/>
<text x="8" y="22" font-size="18" font-weight="bold">${escaped(board.title ?? '')}</text>
<text x="8" y="42" fill="#555">${when}, times in UTC. Drawn from Prometheus’ data by npm run pictures: not Grafana’s own drawing.</text>
${drawn.join('\n')}
</svg>
`
}

interface Place {
  readonly left: number
  readonly top: number
  readonly width: number
  readonly height: number
}

async function drawPanel(
  panel: Panel & { readonly type: string },
  place: Place,
  ask: Ask,
  range: { readonly from: number; readonly to: number },
): Promise<string> {
  const title = escaped(panel.title ?? '')
  const { left, top, width, height } = place
  if (panel.type === 'row') return `<text x="${left}" y="${top + 16}" font-size="15" font-weight="bold">${title}</text>`
  const targets = (panel.targets ?? []) as readonly { readonly expr?: string; readonly legendFormat?: string }[]
  const step = Math.max(1, Math.ceil((range.to - range.from) / POINTS))
  const found = await Promise.all(
    targets.map(async ({ expr = '', legendFormat = '' }) =>
      (await ask(filledIn(expr, range), { ...range, step })).map((series) => ({
        ...series,
        name: printable(
          legendFormat.replace(/{{\s*(\w+)\s*}}/g, (_, label: string) => series.metric[label] ?? ''),
          60,
        ),
      })),
    ),
  )
  const unit = panel.fieldConfig?.defaults?.unit ?? 'short'
  const inner = { width, height: height - TITLE }
  const body =
    panel.type === 'stat'
      ? drawStat(found.flat(), unit, inner)
      : panel.type === 'table'
        ? drawTable(found, columnNames(panel), inner)
        : panel.type === 'heatmap'
          ? drawHeat(found.flat(), inner)
          : drawLines(found.flat(), unit, inner)
  return `<g transform="translate(${left} ${top})"><rect width="${width}" height="${height}" fill="white" stroke="#ddd"/><text x="6" y="15" font-weight="bold">${title}</text><g transform="translate(0 ${TITLE})">${body}</g></g>`
}

type Named = Series & { readonly name: string }
interface Size {
  readonly width: number
  readonly height: number
}

function drawStat(all: readonly Named[], unit: string, { width, height }: Size): string {
  const shown = all.slice(0, 3)
  if (shown.length === 0) return nothing({ width, height })
  return shown
    .map(({ name, values }, at) => {
      const value = Number(values.at(-1)?.[1])
      const x = ((at + 0.5) * width) / shown.length
      return `<text x="${x}" y="${height / 2 + 8}" font-size="22" text-anchor="middle">${escaped(inUnit(value, unit))}</text><text x="${x}" y="${height - 6}" fill="#777" text-anchor="middle">${escaped(name)}</text>`
    })
    .join('')
}

/** The names of a table's columns, in the order of its queries. */
function columnNames(panel: Panel): string[] {
  const organized = panel.transformations?.find(({ id }) => id === 'organize')?.options as
    | { readonly renameByName?: Readonly<Record<string, string>> }
    | undefined
  return Object.entries(organized?.renameByName ?? {}).flatMap(([from, to]) => (from.startsWith('Value #') ? [to] : []))
}

/** One line for each combination of labels, by the last value of each column. */
function drawTable(columns: readonly (readonly Named[])[], names: readonly string[], { width, height }: Size): string {
  const rows = new Map<string, string[]>()
  for (const [at, series] of columns.entries())
    for (const { metric, values } of series) {
      const key = Object.values(metric).join(' ')
      const row = rows.get(key) ?? columns.map(() => '')
      row[at] = inUnit(Number(values.at(-1)?.[1]), 'short')
      rows.set(key, row)
    }
  if (rows.size === 0) return nothing({ width, height })
  const line = (key: string, cells: readonly string[], at: number, weight: string) =>
    `<text x="6" y="${(at + 1) * 15}"${weight}>${escaped(printable(key, 60))}</text>${cells
      .map(
        (cell, nth) =>
          `<text x="${width * (0.4 + (0.6 * (nth + 1)) / cells.length) - 6}" y="${(at + 1) * 15}" text-anchor="end"${weight}>${escaped(cell)}</text>`,
      )
      .join('')}`
  const most = Math.floor(height / 15) - 1
  const shown = [...rows].slice(0, most).map(([key, row], at) => line(key, row, at + 1, ''))
  return [line('', names, 0, ' font-weight="bold"'), ...shown].join('')
}

function drawHeat(all: readonly Named[], size: Size): string {
  const sorted = [...all].sort((a, b) => bound(a) - bound(b))
  const cells = sorted.flatMap(({ metric, values }, at) =>
    values.map(([time, value], nth) => ({
      time: new Date(time * 1000),
      le: metric.le ?? '',
      count: Math.max(0, Number(value) - Number(sorted[at - 1]?.values[nth]?.[1] ?? 0)),
    })),
  )
  const seen = cells.filter(({ count }) => count > 0)
  if (seen.length === 0) return nothing(size)
  const buckets = new Set(seen.map(({ le }) => le))
  const order = sorted.map(({ metric }) => metric.le ?? '').filter((le) => buckets.has(le))
  return svgOf([cell(seen, { x: 'time', y: 'le', fill: 'count', inset: 0 })], size, {
    x: { axis: null, type: 'band' },
    y: { domain: order.reverse(), label: null },
    color: { scheme: 'oranges' },
  })
}

/** The upper bound of a histogram's bucket. */
function bound({ metric: { le = '' } }: Series): number {
  return le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le)
}

function drawLines(all: readonly Named[], unit: string, size: Size): string {
  const greatest = (one: Named) => Math.max(...one.values.map(([, value]) => Number(value)).filter(Number.isFinite), 0)
  const shown = [...all].sort((a, b) => greatest(b) - greatest(a)).slice(0, MOST_SERIES)
  const points = shown.flatMap(({ name, values }) => {
    // Where Prometheus has nothing, no line is drawn.
    const steps = values.slice(1).map(([time], at) => time - (values[at]?.[0] ?? time))
    const step = Math.min(...steps)
    return values.flatMap(([time, value], at) => [
      ...((steps[at - 1] ?? 0) > 1.5 * step ? [{ time: new Date((time - step) * 1000), value: Number.NaN, name }] : []),
      ...(Number.isFinite(Number(value)) ? [{ time: new Date(time * 1000), value: Number(value), name }] : []),
    ])
  })
  if (points.length === 0) return nothing(size)
  const names = [...new Set(shown.map(({ name }) => name))]
  const more = all.length - shown.length
  const drawn = svgOf(
    [lineY(points, { x: 'time', y: 'value', stroke: 'name', z: 'name' })],
    { width: size.width, height: size.height - LEGEND },
    {
      x: { label: null, ticks: 4, type: 'utc' },
      y: { label: null, zero: true, grid: true, ticks: 4, tickFormat: (value: number) => inUnit(value, unit) },
      color: { domain: names, range: names.map((_, at) => COLOURS[at % COLOURS.length] ?? 'black') },
      marginLeft: 62,
    },
  )
  let x = 6
  const legend = names.map((name, at) => {
    const text = printable(name, 34)
    const here = x
    x += 14 + text.length * 5.4
    return `<rect x="${here}" y="${size.height - 12}" width="8" height="8" fill="${COLOURS[at % COLOURS.length]}"/><text x="${here + 11}" y="${size.height - 4}" font-size="9">${escaped(text)}</text>`
  })
  const left =
    more > 0
      ? `<text x="${size.width - 6}" y="10" font-size="9" text-anchor="end" fill="#777">and ${more} more</text>`
      : ''
  return `${drawn}${left}<svg width="${size.width - 4}" height="${size.height}">${legend.join('')}</svg>`
}

const LEGEND = 16
const COLOURS = ['#1f77b4', '#ff7f0e', '#2ca02c', '#d62728', '#9467bd', '#8c564b', '#e377c2', '#7f7f7f']

function svgOf(marks: Markish[], { width, height }: Size, options: object): string {
  const drawn = plot({ width, height, document, className: 'p', style: { background: 'none' }, ...options, marks })
  return drawn.outerHTML
    .replace(/<style>.*?<\/style>/gs, '')
    .replace(/ d="[^"]*"/g, (path: string) => path.replace(/(\.\d)\d+/g, '$1'))
}

function nothing({ width, height }: Size): string {
  return `<text x="${width / 2}" y="${height / 2}" text-anchor="middle" fill="#999">no data</text>`
}

function inUnit(value: number, unit: string): string {
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

/** A query with Grafana's variables filled in, as with "All" chosen. */
function filledIn(expr: string, { from, to }: { readonly from: number; readonly to: number }): string {
  const own: Record<string, string> = {
    __rate_interval: '1m',
    __interval: '10s',
    __range: `${Math.max(60, Math.ceil(to - from))}s`,
  }
  return expr.replace(/\$(\w+)/g, (_, name: string) => own[name] ?? '.*')
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
