import { type PlotOptions, plot } from '@observablehq/plot'
import { parseHTML } from 'linkedom'
import { html, Markup } from './markup.ts'

/** Width of a drawing in its own units: about what a phone shows at once, so that its letters stay legible there. */
const WIDTH = 420

const { document } = parseHTML('<!doctype html><html><body></body></html>')

/**
 * A drawing as SVG inside a figure, made without a browser. Colors are the page's variables, so that it is light, dark or printed
 * as the page is. `says` (the caption) describes it to those who can't see it. Texts in `options` are escaped, and not cut: they must be printable.
 */
export function figure(title: string, description: string, options: PlotOptions): Markup {
  const drawn = plot({ width: WIDTH, ...options, document, className: 'drawing' })
  drawn.setAttribute('font-size', '12')
  return html`<figure><figcaption>${title}</figcaption>
<div role="img" aria-label="${description}">${new Markup(drawn.outerHTML)}</div></figure>`
}

/** The values of the series 1, 2, 5, 10, … from just below `low` to just above `high`, both positive; two at least. */
export function logTicks(low: number, high: number): number[] {
  const series = Array.from({ length: 61 }, (_, nth) => [1, 2, 5].map((step) => Number(`${step}e${nth - 30}`))).flat()
  const from = series.findLastIndex((value) => value < low)
  const to = series.findIndex((value) => value > high)
  return series.slice(Math.max(0, from), to === -1 ? series.length : to + 1)
}
