import { entryOf } from '../../contracts/facts/entry-of.ts'

/** Most headers that are looked at. */
const MOST = 200
/** Where servers say when a limit is renewed, lower case: OpenAI, OpenRouter, Groq, Azure, Anthropic, GitHub. */
const RESET = /^(?:x-)?(?:[a-z]{2,20}-)?rate-?limit(?:-[a-z-]{1,30})?-reset(?:-[a-z-]{1,30})?$/
const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }
/** Numbers from these on are a time, in s and in ms since 1970; smaller ones are a wait in s. */
const [SECONDS_SINCE_1970, MS_SINCE_1970] = [1e9, 1e12] as const

/**
 * The wait until a limit is renewed, in ms, by headers that servers send with a refusal; of several, that of the limit that is used
 * up, else the shortest. Undefined where none says so.
 */
export function resetIn(headers: object, now = Date.now()): number | undefined {
  const entries = Object.entries(headers)
    .slice(0, MOST)
    .map(([name, value]) => [name.toLowerCase(), String(Array.isArray(value) ? value[0] : value)] as const)
  const named = Object.fromEntries(entries)
  const waits = entries.flatMap(([name, value]) => {
    if (!RESET.test(name)) return []
    const ms = waitUntil(value, now)
    return ms === undefined ? [] : [{ ms, usedUp: entryOf(named, name.replace('reset', 'remaining'))?.trim() === '0' }]
  })
  const usedUp = waits.filter((wait) => wait.usedUp)
  if (usedUp.length > 0) return Math.max(...usedUp.map(({ ms }) => ms))
  return waits.length === 0 ? undefined : Math.min(...waits.map(({ ms }) => ms))
}

/** The wait that a header names, in ms: a number of seconds, `1m30s`, a time since 1970 in s or ms, or a date; undefined for none ahead. */
export function waitUntil(given: string, now: number): number | undefined {
  const value = given.trim().slice(0, 60)
  const number = Number(value)
  const ms = Number.isFinite(number)
    ? number >= MS_SINCE_1970
      ? number - now
      : number >= SECONDS_SINCE_1970
        ? number * 1_000 - now
        : number * 1_000
    : /^(?:\d{1,6}(?:\.\d{1,12})?(?:ms|d|h|m|s)){1,5}$/.test(value)
      ? [...value.matchAll(/(\d{1,6}(?:\.\d{1,12})?)(ms|d|h|m|s)/g)].reduce(
          (sum, [, amount, unit]) => sum + Number(amount) * (entryOf(UNITS, unit ?? '') ?? 0),
          0,
        )
      : Date.parse(value) - now
  return ms > 0 ? Math.ceil(ms) : undefined
}
