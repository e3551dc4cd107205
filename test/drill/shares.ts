/**
 * Shares the drills out among this many worlds, none of them empty, so that all end at about the same time: the longest
 * first, each to the world that has least to do. In a world they keep their order.
 */
export function sharesOf<Drill extends { readonly minutes: number }>(
  drills: readonly Drill[],
  worlds: number,
): Drill[][] {
  const shares = Array.from({ length: Math.min(worlds, drills.length) }, () => new Set<Drill>())
  for (const drill of [...drills].sort((a, b) => b.minutes - a.minutes))
    shares.reduce((least, share) => (minutesOf(share) < minutesOf(least) ? share : least)).add(drill)
  return shares.map((share) => drills.filter((drill) => share.has(drill)))
}

export function minutesOf(drills: Iterable<{ readonly minutes: number }>): number {
  return [...drills].reduce((sum, { minutes }) => sum + minutes, 0)
}
