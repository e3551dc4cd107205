import { PROTOCOLS } from './registry.ts'

/** Equal for texts in the same words, by the reading of the protocol that has one; else for equal texts. */
export function sameWordsKey(text: string): string {
  return PROTOCOLS.find((one) => one.sameWordsKey !== undefined)?.sameWordsKey?.(text) ?? text
}

/** Equal for posts that copy one another, by the reading of the protocol that has one; null where nothing tells. */
export function storyWords(text: string): string | null {
  return PROTOCOLS.find((one) => one.storyWords !== undefined)?.storyWords?.(text) ?? null
}
