import { type PlotOptions, plot } from '@observablehq/plot'
import { parseHTML } from 'linkedom'

const { document } = parseHTML('<!doctype html><html><body></body></html>')

/**
 * A drawing as SVG, made without a browser. Colors may be the page's variables, so that it is light, dark or printed as the page is.
 * `isBare`: without a stylesheet of its own, for pages whose policy forbids one, and without names of its parts. Texts in `options` are escaped, and not cut: they
 * must be printable.
 */
export function drawn(options: PlotOptions, { isBare = false } = {}): string {
  const drawing = plot({ ...options, document, className: 'drawing' })
  drawing.setAttribute('font-size', '12')
  if (isBare) {
    for (const style of drawing.querySelectorAll('style')) style.remove()
    for (const part of drawing.querySelectorAll('[aria-label]')) part.removeAttribute('aria-label')
  }
  return drawing.outerHTML
}
