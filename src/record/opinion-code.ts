/**
 * What an opinion is, as the record keeps it: a second opinion, or of a golden item the key, or an answer. Unseen, either tells nothing
 * of whether anything was judged rightly: an image could not be shown to who gave it. Who had seen the label did not judge blindly
 * (`OPINION_SIGHTED`): somebody else is asked.
 */
export const [OPINION, GOLDEN_KEY, GOLDEN_ANSWER, GOLDEN_UNSEEN, OPINION_UNSEEN, OPINION_SIGHTED] = [
  1, 2, 3, 4, 5, 6,
] as const

/** The code of a decision that was read; 0: it is no opinion. */
export function opinionCode(said: {
  readonly opinion?: unknown
  readonly golden?: unknown
  readonly unseen?: unknown
  readonly sawLabel?: unknown
}): number {
  if (said.opinion !== true) return 0
  const [isUnseen, isSighted] = [said.unseen === true, said.sawLabel === true]
  if (said.golden === undefined) return isSighted ? OPINION_SIGHTED : isUnseen ? OPINION_UNSEEN : OPINION
  if (said.golden === 'key') return isUnseen ? GOLDEN_UNSEEN : GOLDEN_KEY
  return isUnseen || isSighted ? GOLDEN_UNSEEN : GOLDEN_ANSWER
}
