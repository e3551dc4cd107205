import type { RedrawImage } from '../../contracts/ports/images.ts'
import { damaged, decoding } from './decoder.ts'

/** Draws images anew, each in a process of its own (`decoding`). */
export function redrawing(settings: { readonly longestMs?: number } = {}): RedrawImage {
  const decode = decoding(['redraw-process'], settings)
  return async (image, whose, signal) => {
    const all = await decode(image, whose, signal)
    const end = 4 + (all.length < 4 ? 0 : all.readUInt32BE(0))
    if (end >= all.length) throw damaged()
    return { picture: new Uint8Array(all.subarray(4, end)), cover: new Uint8Array(all.subarray(end)) }
  }
}
