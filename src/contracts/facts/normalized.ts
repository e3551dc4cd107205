/**
 * Most combining marks in a row: the bound of Unicode's Stream-Safe Text Format (UAX #15, section 13). No language needs
 * as many, and putting a longer run into canonical order takes time quadratic in it.
 */
export const MOST_MARKS = 30

/** Marks, and the two halfwidth characters that become marks in a compatible form. */
const LONG_RUN = new RegExp(`([\\p{M}\\uff9e\\uff9f]{${MOST_MARKS}})[\\p{M}\\uff9e\\uff9f]+`, 'gu')

/** The text in a normalisation form, in linear time: of a run of more than {@link MOST_MARKS} marks only these are kept. */
export function normalized(text: string, form: 'NFC' | 'NFD' | 'NFKC' | 'NFKD'): string {
  return withoutLongRuns(text).normalize(form)
}

/** The text with no more than {@link MOST_MARKS} marks in a row. */
export function withoutLongRuns(text: string): string {
  return text.replace(LONG_RUN, '$1')
}
