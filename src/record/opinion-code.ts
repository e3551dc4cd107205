/** What an opinion is, as the record keeps it: a second opinion, or of a golden item the key, an answer, or what tells nothing. */
export const [OPINION, GOLDEN_KEY, GOLDEN_ANSWER, GOLDEN_UNSEEN] = [1, 2, 3, 4] as const

/** The code of a decision that was read; 0: it is no opinion. */
export function opinionCode(said: {
  readonly opinion?: unknown
  readonly golden?: unknown
  readonly unseen?: unknown
}): number {
  if (said.opinion !== true) return 0
  if (said.golden === undefined) return OPINION
  // Who could not see what was judged says nothing of how well people decide.
  if (said.unseen === true) return GOLDEN_UNSEEN
  return said.golden === 'key' ? GOLDEN_KEY : GOLDEN_ANSWER
}
