/** So many at a time, and so many of one name: what ends one, once it has begun; null beyond. */
export function atOnce(most: number, mostOfOne: number): (name: string) => (() => void) | null {
  const ofNames = new Map<string, number>()
  let all = 0
  return (name) => {
    const own = ofNames.get(name) ?? 0
    if (all >= most || own >= mostOfOne) return null
    all++
    ofNames.set(name, own + 1)
    return () => {
      all--
      const left = (ofNames.get(name) ?? 1) - 1
      if (left === 0) ofNames.delete(name)
      else ofNames.set(name, left)
    }
  }
}
