import type { ChatRequest } from '../question.ts'

/** Tokens of a prompt that were read from a cache, and that were written to it. */
export type CacheUse = { readonly cached: number; readonly written: number }

/** What a server remembers of the prompts that it was sent. */
export type PromptCache = {
  /** The use that a prompt of so many tokens makes of it; from then on its beginning is known. */
  read(request: ChatRequest, promptTokens: number): CacheUse
}

/** A cache that keeps nothing. */
export function noPromptCache(): PromptCache {
  return { read: () => ({ cached: 0, written: 0 }) }
}
