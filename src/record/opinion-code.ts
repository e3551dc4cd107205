/**
 * What an opinion is, as the record keeps it: a second opinion, or of a golden item the key, or an answer. Unseen, either tells nothing
 * of whether anything was judged rightly: an image could not be shown to who gave it.
 */
export const [OPINION, GOLDEN_KEY, GOLDEN_ANSWER, GOLDEN_UNSEEN, OPINION_UNSEEN] = [1, 2, 3, 4, 5] as const

/** The code of a decision that was read; 0: it is no opinion. */
export function opinionCode(said: {
  readonly opinion?: unknown
  readonly golden?: unknown
  readonly unseen?: unknown
}): number {
  if (said.opinion !== true) return 0
  if (said.golden === undefined) return said.unseen === true ? OPINION_UNSEEN : OPINION
  if (said.unseen === true) return GOLDEN_UNSEEN
  return said.golden === 'key' ? GOLDEN_KEY : GOLDEN_ANSWER
}
