import { dot, gridY, line, type PlotOptions, ruleX, text } from '@observablehq/plot'
import { printable } from '../../../contracts/facts/printable.ts'
import { type Evaluation, estimateOf } from '../evaluation.ts'
import type { PresetTable } from '../presets/preset.ts'
import { figure } from './drawing.ts'
import { html, type Markup } from './markup.ts'
import { placed } from './quality-against-cost.ts'

/** A point of a line, in points; `printed` is the paper's own. */
interface FigurePoint {
  readonly line: string
  readonly at: string
  readonly value: number
  readonly low: number
  readonly high: number
  readonly printed: number | null
}

const LONGEST_LINE = 40
/** How lines differ: in color, and from the third on in their dashes. */
const STROKES: readonly { readonly stroke: string; readonly strokeDasharray?: string }[] = [
  { stroke: 'var(--accent)' },
  { stroke: 'currentColor' },
  { stroke: 'var(--accent)', strokeDasharray: '5 4' },
  { stroke: 'currentColor', strokeDasharray: '5 4' },
]

/** The paper's figure with what was measured here; empty where the table is no figure, or nothing of it was judged. */
export function figureSection(evaluation: Evaluation, preset: PresetTable | null): Markup {
  const shown = preset === null ? [] : pointsIn(evaluation, preset)
  if (preset?.figure === undefined || shown.length === 0) return html``
  const title = `${TITLES[preset.measures[0] ?? ''] ?? preset.measures[0]} by ${preset.figure.axis}`
  const said = shown.map(({ line, at, value }) => `${line}, ${at}: ${value.toFixed(1)}`)
  const printed = shown.some((point) => point.printed !== null)
  return html`
<h2>The figure</h2>
${figure(title, `${title}. ${said.join('; ')}`, options(shown, preset.figure.axis))}
<p class="note">Upright lines are 95 % intervals.${printed ? ' Rings are the paper’s own numbers.' : ''}</p>`
}

const TITLES: Readonly<Record<string, string>> = {
  accuracy: 'Accuracy',
  macroF1: 'Macro-F1',
  'f1:unsafe': 'F1 of unsafe',
}

function pointsIn({ table }: Evaluation, { figure: drawn, measures: [measure] }: PresetTable): FigurePoint[] {
  if (drawn === undefined || measure === undefined) return []
  return table.flatMap((cell): FigurePoint[] => {
    const place = drawn.pointOf(cell.row, cell.data)
    const estimate = cell.why === null ? estimateOf(cell, measure, table) : null
    if (place === null || estimate?.value == null) return []
    const { value, interval } = estimate
    const paper = cell.paper[measure]
    return [
      {
        line: printable(place.line, LONGEST_LINE),
        at: printable(place.at, LONGEST_LINE),
        value: value * 100,
        low: (interval?.low ?? value) * 100,
        high: (interval?.high ?? value) * 100,
        printed: paper === undefined ? null : paper * 100,
      },
    ]
  })
}

/** Of the drawing's inside, in its own units; and by how much lines stand beside one another, so that equal ones are seen. */
const INSIDE = 234
const BESIDE = 5

function options(shown: readonly FigurePoint[], axis: string): PlotOptions {
  const heights = shown.flatMap(({ low, high, printed }) => [low, high, ...(printed === null ? [] : [printed])])
  const low = Math.max(0, Math.floor((Math.min(...heights) - 1) / 10) * 10)
  const high = Math.min(100, Math.ceil((Math.max(...heights) + 1) / 10) * 10)
  const lines = [...Map.groupBy(shown, (point) => point.line).values()]
  const ends = lines.flatMap((of, nth) => of.slice(-1).map((end) => ({ ...end, quality: end.value, cost: nth })))
  const names = placed(ends, (value) => (INSIDE * (high - value)) / (high - low), INSIDE)
  return {
    height: INSIDE + 66,
    marginTop: 26,
    marginRight: 138,
    marginBottom: 40,
    marginLeft: 40,
    x: { type: 'point', domain: [...new Set(shown.map(({ at }) => at))], label: axis, labelAnchor: 'left' },
    y: { domain: [low, high], label: 'points' },
    marks: [
      gridY({ stroke: 'var(--rule)', strokeOpacity: 1 }),
      ...lines.flatMap((of, nth) => {
        const style = STROKES[nth % STROKES.length] ?? { stroke: 'currentColor' }
        const color = style.stroke
        const dx = (nth - (lines.length - 1) / 2) * BESIDE
        const printed = of.filter((point) => point.printed !== null)
        return [
          line(of, { x: 'at', y: 'value', dx, ...style }),
          ruleX(of, { x: 'at', y1: 'low', y2: 'high', dx, stroke: color, strokeOpacity: 0.7 }),
          dot(of, { x: 'at', y: 'value', dx, r: 3.5, fill: color }),
          dot(printed, { x: 'at', y: 'printed', dx, r: 5, stroke: color }),
          text(
            names
              .filter(({ cost }) => cost === nth)
              .map((end) => ({ ...end, y: high - (end.top / INSIDE) * (high - low) })),
            { frameAnchor: 'right', y: 'y', text: 'line', fill: color, textAnchor: 'start', dx: 6 },
          ),
        ]
      }),
    ],
  } as PlotOptions
}
