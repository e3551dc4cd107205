/** What answers in a model's place where people wrote the answers, as verdicts and turns name it. */
export const BY_HAND = 'recorded, by hand'

/** What the understudy calls itself, whichever model was asked for: it answers from word lists.. */
export const UNDERSTUDY = 'understudy'
