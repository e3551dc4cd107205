/** The normal distribution's 97.5 % quantile. */
const Z_95 = 1.959963984540054

/** Wilson's score interval (Wilson 1927) of a share of so many items, which may be no whole number; 95 % unless `z` says another. */
export function scoreInterval(share: number, items: number, z = Z_95): { low: number; high: number } {
  const middle = (share + (z * z) / (2 * items)) / (1 + (z * z) / items)
  const reach = (z * Math.sqrt((share * (1 - share)) / items + (z * z) / (4 * items * items))) / (1 + (z * z) / items)
  return { low: Math.max(0, middle - reach), high: Math.min(1, middle + reach) }
}
