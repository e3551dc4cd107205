/** The longest text, in Unicode characters, that is `short`, and that is `medium`, which is what a tweet could hold. */
const SHORT = 50
const MEDIUM = 280

/** The slice of a text's length. */
export function lengthOf(text: string): 'short' | 'medium' | 'long' {
  const { length } = [...text]
  return length <= SHORT ? 'short' : length <= MEDIUM ? 'medium' : 'long'
}
