/**
 * Whatever a reader sees: no white space, no character that Unicode declares ignorable (zero-width, variation selectors, tags, soft
 * hyphens, fillers), no control, no blank of Braille, no anchor of an annotation.
 */
const SEEN = /[^\s\p{Default_Ignorable_Code_Point}\p{Cc}\u2800\ufff9-\ufffb]/u

/** Whether a text shows nothing to its readers. */
export function isBlank(text: string): boolean {
  return !SEEN.test(text)
}
