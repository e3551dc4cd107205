/** Above this the continued fraction has converged to all digits after `TERMS`; below it the difference from 1 is exact enough. */
const FAR = 2
const TERMS = 200

/**
 * The probability that a standard normal number is at least `z`, also far out, where 1 − Φ(z) would cancel to 0: Laplace's
 * continued fraction φ(z) ÷ (z + 1 ÷ (z + 2 ÷ (z + …))), evaluated from its end. `near` gives it for small `z`.
 */
export function normalTail(z: number, near: (z: number) => number): number {
  if (z < FAR) return near(z)
  let below = z
  for (let term = TERMS; term >= 1; term--) below = z + term / below
  return Math.exp(-(z ** 2) / 2) / Math.sqrt(2 * Math.PI) / below
}
