import { dot, gridX, gridY, line, link, type PlotOptions, ruleX, text } from '@observablehq/plot'
import type { ConfidenceScores, LabelScores } from '../scores.ts'
import { wilson } from '../statistics/intervals.ts'
import { points } from '../summary.ts'
import { figure } from './drawing.ts'
import { html, type Markup } from './markup.ts'

const GRID = { stroke: 'var(--rule)', strokeOpacity: 1 }
const ACCENT = 'var(--accent)'
const MARGINS = { height: 300, marginTop: 26, marginRight: 16, marginBottom: 40, marginLeft: 40 }

/** The reliability curve and the risk–coverage curve of verdicts that say how sure they are. */
export function confidenceCurves({ confidence, units }: LabelScores): Markup {
  if (confidence === null)
    return html`<p>These verdicts have no confidence, so there are no reliability and risk–coverage curves.</p>`
  const { items, calibrationError, review, riskCoverage } = confidence
  const alike = riskCoverage.length === 1 ? ' All are equally sure, so that each curve is one point.' : ''
  return html`
<p>${items} verdicts say how sure they are. Their confidence is off by ${points(calibrationError)} points on average (expected
calibration error). If people review the ${hundredths(review.budget)} % that are least sure, ${points(review.risk)} % of the rest are
wrong.${alike}</p>
<div class="pair">${reliabilityCurve(confidence, units.are === 'items')}${riskCoverageCurve(confidence)}</div>`
}

/** Each bin with the number of its items; with Wilson's interval where items were sampled one by one. */
function reliabilityCurve({ reliability }: ConfidenceScores, single: boolean): Markup {
  const bins = reliability.map(({ items, meanConfidence, accuracy }) => {
    const interval = single ? wilson(Math.round(accuracy * items), items) : null
    return {
      items: String(items),
      sure: meanConfidence * 100,
      right: accuracy * 100,
      low: (interval?.low ?? accuracy) * 100,
      high: (interval?.high ?? accuracy) * 100,
    }
  })
  const binTexts = bins.map(
    ({ items, sure, right }) => `${items} items ${sure.toFixed(0)} % sure, ${right.toFixed(0)} % right`,
  )
  return figure('Reliability: % right, by how sure the verdicts are', `Reliability: ${binTexts.join('; ')}`, {
    ...MARGINS,
    x: {
      domain: [0, 100],
      label: 'mean confidence, %; on the broken line it would be just right',
      labelAnchor: 'left',
    },
    y: { domain: [0, 100], label: '% right; numbers are items' },
    marks: [
      gridX(GRID),
      gridY(GRID),
      link([0], { x1: 0, y1: 0, x2: 100, y2: 100, stroke: 'var(--faint)', strokeDasharray: '4 4' }),
      ruleX(bins, { x: 'sure', y1: 'low', y2: 'high', stroke: ACCENT, strokeOpacity: 0.7 }),
      line(bins, { x: 'sure', y: 'right', stroke: ACCENT }),
      dot(bins, { x: 'sure', y: 'right', fill: ACCENT, r: 4 }),
      text(bins, {
        x: 'sure',
        y: 'right',
        text: 'items',
        stroke: 'var(--paper)',
        fill: 'currentColor',
        strokeWidth: 4,
        dx: -7,
        textAnchor: 'end',
        dy: -7,
      }),
    ],
  } as PlotOptions)
}

function riskCoverageCurve({ riskCoverage, review }: ConfidenceScores): Markup {
  const curve = riskCoverage.map(({ coverage, risk }) => ({ coverage: coverage * 100, risk: risk * 100 }))
  const reviewed = review.risk === null ? [] : [{ coverage: (1 - review.budget) * 100, risk: review.risk * 100 }]
  const most = Math.max(...[...curve, ...reviewed].map(({ risk }) => risk))
  const high = Math.min(100, Math.max(10, Math.ceil((most + 5) / 10) * 10))
  const whole = curve.at(-1)
  return figure(
    'Risk–coverage: % wrong of what no person reviews',
    `Risk–coverage: ${whole?.risk.toFixed(0)} % wrong where no person reviews any; ${points(review.risk)} % where people review ${hundredths(review.budget)} %`,
    {
      ...MARGINS,
      x: { domain: [0, 100], label: 'coverage: % decided without a person, the surest first', labelAnchor: 'left' },
      y: { domain: [0, high], label: `% wrong; the ring: people review ${hundredths(review.budget)} %` },
      marks: [
        gridX(GRID),
        gridY(GRID),
        line(curve, { x: 'coverage', y: 'risk', stroke: ACCENT }),
        dot(curve, { x: 'coverage', y: 'risk', fill: ACCENT, r: curve.length > 40 ? 1.5 : 3 }),
        dot(reviewed, { x: 'coverage', y: 'risk', stroke: 'currentColor', strokeWidth: 2, r: 7 }),
      ],
    } as PlotOptions,
  )
}

function hundredths(share: number): number {
  return Math.round(share * 100)
}
