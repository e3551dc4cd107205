/** What anybody can bring about is reported at most once in so many ms. */
const SELDOM_MS = 10_000

/** Tells at most once in a while: what anybody can bring about, however often. */
export function seldom(): (tell: () => void) => void {
  let at = Number.NEGATIVE_INFINITY
  return (tell) => {
    if (performance.now() - at < SELDOM_MS) return
    at = performance.now()
    tell()
  }
}
