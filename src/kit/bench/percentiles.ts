export interface Percentiles {
  readonly p50: number
  readonly p95: number
  readonly p99: number
}

/** By nearest rank, to a thousandth; 0 where there are no values. */
export function percentiles(values: readonly number[]): Percentiles {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (share: number) => round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0)
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) }
}

export function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((total, value) => total + value, 0) / values.length
}

/** To a thousandth. */
export function round(value: number): number {
  return Math.round(value * 1000) / 1000
}
