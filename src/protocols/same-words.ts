import { PROTOCOLS } from './registry.ts'

/** Equal for texts in the same words, by the reading of the protocol that has one; else for equal texts. */
export function sameWordsKey(text: string): string {
  return PROTOCOLS.find((one) => one.sameWordsKey !== undefined)?.sameWordsKey?.(text) ?? text
}
