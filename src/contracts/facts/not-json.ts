/** What several writers put where JSON has no number; strings stand beside it, so that they are passed over. */
const NOT_A_NUMBER = /"(?:[^"\\]|\\[\s\S])*"?|-?\b(?:NaN|Infinity)\b/g

/**
 * What a text that is not JSON holds instead, in words that quote nothing of it, to be put behind `is not JSON`; empty if it looks like
 * nothing known. `error` is what parsing it threw. Linear in the text.
 */
export function faultInJson(text: string, error: unknown): string {
  const behind = /after JSON at position (\d+)/.exec(String(error))?.[1]
  if (behind !== undefined && /^\s*["{[]/.test(text.slice(Number(behind))))
    return ': it holds two JSON texts, one behind the other'
  const numbered = text.replace(NOT_A_NUMBER, (found) => (found.startsWith('"') ? found : 'null'))
  if (numbered === text) return ''
  try {
    JSON.parse(numbered)
    return ': it holds NaN or Infinity, which JSON does not have (write null)'
  } catch {
    // Something else is wrong as well.
    return ''
  }
}
