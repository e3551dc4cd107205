import type { PlotOptions } from '@observablehq/plot'
import { drawn } from '../../../platform/drawing.ts'
import { html, Markup } from './markup.ts'

/** Width of a drawing in its own units: about what a phone shows at once, so that its letters stay legible there. */
const WIDTH = 420

/** A drawing inside a figure, described to those who can't see it. Texts in `options` are not cut: they must be printable. */
export function figure(title: string, description: string, options: PlotOptions): Markup {
  return html`<figure><figcaption>${title}</figcaption>
<div role="img" aria-label="${description}">${new Markup(drawn({ width: WIDTH, ...options }))}</div></figure>`
}

/** The values of the series 1, 2, 5, 10, … from just below `low` to just above `high`, both positive; two at least. */
export function logTicks(low: number, high: number): number[] {
  const series = Array.from({ length: 61 }, (_, nth) => [1, 2, 5].map((step) => Number(`${step}e${nth - 30}`))).flat()
  const from = series.findLastIndex((value) => value < low)
  const to = series.findIndex((value) => value > high)
  return series.slice(Math.max(0, from), to === -1 ? series.length : to + 1)
}
