import type { Dashboard, Panel } from '@grafana/grafana-foundation-sdk/dashboard'
import { printable } from '../../src/contracts/facts/printable.ts'
import {
  drawHeat,
  drawLines,
  drawTimeline,
  escaped,
  inUnit,
  type Named,
  nothing,
  type Series,
  type Size,
} from './plots.ts'

/** Asks Prometheus for a query over a range; times and step in s. */
export type Ask = (
  expr: string,
  range: { readonly from: number; readonly to: number; readonly step: number },
) => Promise<readonly Series[]>

/** Pixels of one of the 24 columns, and of one unit of height. */
const [COLUMN, ROW] = [64, 30]
const POINTS = 150
/** The title, and under it the description. */
const HEAD = 34

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
  const inner = { width, height: height - HEAD }
  const drawn = { ...range, step }
  const { noValue } = panel.fieldConfig?.defaults ?? {}
  const all = found.flat()
  const body =
    all.length === 0 && noValue !== undefined && noValue !== '–'
      ? nothing(inner, noValue)
      : panel.type === 'stat'
        ? drawStat(all, unit, inner)
        : panel.type === 'table'
          ? drawTable(found, columnNames(panel), inner)
          : panel.type === 'heatmap'
            ? drawHeat(all, unit, inner, drawn)
            : panel.type === 'state-timeline'
              ? drawTimeline(all, colourOf(panel), inner, drawn)
              : drawLines(all, unit, inner, drawn)
  const says = cut(panel.description ?? '', width)
  return `<g transform="translate(${left} ${top})"><rect width="${width}" height="${height}" fill="white" stroke="#ddd"/><text x="6" y="15" font-weight="bold">${title}</text><text x="6" y="28" font-size="9" fill="#777">${says}</text><g transform="translate(0 ${HEAD})">${body}</g></g>`
}

/** As much of a description as fits into one line. */
function cut(says: string, width: number): string {
  const most = Math.floor((width - 12) / 4.5)
  return escaped(printable(says.length > most ? `${says.slice(0, most - 1).trimEnd()}…` : says, most + 1))
}

/** The colour of a value in a timeline. */
function colourOf(panel: Panel): (value: number) => string {
  const steps = panel.fieldConfig?.defaults?.thresholds?.steps ?? []
  return (value) => {
    const { color = 'grey' } = steps.findLast((step) => step.value === null || step.value <= value) ?? {}
    return color === 'transparent' ? 'none' : color
  }
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

/** A query with Grafana's variables filled in, as with "All" chosen. */
function filledIn(expr: string, { from, to }: { readonly from: number; readonly to: number }): string {
  const own: Record<string, string> = {
    __rate_interval: '1m',
    __interval: '10s',
    __range: `${Math.max(60, Math.ceil(to - from))}s`,
  }
  return expr.replace(/\$(\w+)/g, (_, name: string) => own[name] ?? '.*')
}
