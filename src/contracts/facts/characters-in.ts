/** How many characters the texts in a value have together, of fields' values and of lists. */
export function charactersIn(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  let sum = 0
  for (const one of Array.isArray(value) ? value : Object.values(value)) sum += charactersIn(one)
  return sum
}
