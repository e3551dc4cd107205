import { z } from 'zod'
import type { ModelReply } from '../../contracts/ports/model.ts'

/** What an answer used, in the terms of `ModelReply`. */
export type ReportedUsage = Pick<
  ModelReply,
  'promptTokens' | 'cachedTokens' | 'cacheWriteTokens' | 'completionTokens' | 'thinkingTokens' | 'tier' | 'unreported'
>

/** More tokens than any call takes. */
const MAX_TOKENS = 10_000_000
const count = z.int().min(0).max(MAX_TOKENS)
const detail = count.nullish()

/** The names under which servers write the same numbers; docs/models.md names the server of each. */
const usage = z.object({
  prompt_tokens: count,
  completion_tokens: count,
  total_tokens: detail,
  prompt_tokens_details: z
    .object({ cached_tokens: detail, cache_write_tokens: detail, cache_creation_tokens: detail })
    .nullish(),
  completion_tokens_details: z.object({ reasoning_tokens: detail }).nullish(),
  prompt_cache_hit_tokens: detail,
  cache_read_input_tokens: detail,
  cache_creation_input_tokens: detail,
  reasoning_tokens: detail,
})

const tier = z.object({ service_tier: z.string().regex(/^[a-z_-]{1,32}$/) })

/**
 * Reads the usage in an answer. One number that is no number of tokens makes all of it `unreported`, and so does an
 * answer that used nothing. Two habits are put right: thoughts, and what a cache had, count as written and as sent, also where a
 * server leaves them out of those sums.
 */
export function readUsage(response: Readonly<Record<string, unknown>>): ReportedUsage {
  const served = tier.safeParse(response)
  const named = served.success ? { tier: served.data.service_tier } : {}
  const read = usage.safeParse(response.usage)
  if (!read.success || read.data.prompt_tokens + read.data.completion_tokens === 0)
    return { promptTokens: 0, cachedTokens: 0, completionTokens: 0, ...named, unreported: true }

  const { prompt_tokens: sent, completion_tokens: wrote, total_tokens: total, ...rest } = read.data
  const details = rest.prompt_tokens_details
  const cached = details?.cached_tokens ?? rest.prompt_cache_hit_tokens ?? rest.cache_read_input_tokens ?? 0
  const saved = details?.cache_write_tokens ?? details?.cache_creation_tokens ?? rest.cache_creation_input_tokens ?? 0
  const thought = rest.completion_tokens_details?.reasoning_tokens ?? rest.reasoning_tokens ?? 0

  const prompt = cached + saved > sent ? sent + cached + saved : sent
  const beside = Math.max(0, (total ?? 0) - prompt - wrote, thought > wrote ? thought : 0)
  const thinking = Math.max(thought, beside)
  return {
    promptTokens: prompt,
    cachedTokens: cached,
    completionTokens: wrote + beside,
    ...(saved === 0 ? {} : { cacheWriteTokens: saved }),
    ...(thinking === 0 ? {} : { thinkingTokens: thinking }),
    ...named,
  }
}
