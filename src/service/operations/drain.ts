/** How a stop's time, `drain` in ms, is divided. Each part leaves the rest to what closes after it. */

/** Of it, requests to the door and the console that are being answered. */
export function requestsDrain(drain: number): number {
  return 0.8 * drain
}

/** Of it, calls in flight. After they have been cut off, their cases are recorded and closed. */
export function callsDrain(drain: number): number {
  return drain - Math.min(3_000, drain / 3)
}
