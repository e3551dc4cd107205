/** A 32-bit FNV-1a hash of a text's UTF-16 units with a last mixing, the same on every machine; never negative. */
export function hash(text: string, seed = 0): number {
  let mixed = (0x811c9dc5 ^ seed) >>> 0
  for (let index = 0; index < text.length; index++) mixed = Math.imul(mixed ^ text.charCodeAt(index), 0x01000193)
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x7feb352d)
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x846ca68b)
  return (mixed ^ (mixed >>> 16)) >>> 0
}
