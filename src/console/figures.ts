import { rectY } from '@observablehq/plot'
import { drawing, html, type SafeMarkup, words } from './view.ts'

/** A quantity over time. */
export interface SmallFigure {
  readonly name: string
  /** What it is in all, or now, in words. */
  readonly value: string
  /** One a stretch of time, oldest first. */
  readonly values: readonly number[]
  /** What a bar is drawn as high as its place for; the largest of the values where it is left out. */
  readonly full?: number
  /** What the highest bar is, in words; empty where that is known. */
  readonly most: string
}

const [WIDTH, HEIGHT] = [150, 34]

/** Drawn beside others, each with its own scale, which is said: by height alone, so that it is read without color. */
export function smallFigure({ name, value, values, full, most }: SmallFigure): SafeMarkup {
  const bars = values.map((height, at) => ({ height, at }))
  const options = {
    width: WIDTH,
    height: HEIGHT,
    margin: 0,
    marginBottom: 1,
    axis: null,
    x: { domain: [0, values.length] },
    y: { domain: [0, Math.max(full ?? 0, ...values, Number.MIN_VALUE)] },
    marks: [rectY(bars, { x1: 'at', x2: ({ at }) => at + 1, y: 'height', insetLeft: 1 })],
  }
  return html`<figure class="small-figure"><figcaption>${words(name, { most: 30 })} <strong>${value}</strong> <small>${most}</small></figcaption>
<div class="bars" aria-hidden="true">${drawing(options)}</div></figure>`
}
