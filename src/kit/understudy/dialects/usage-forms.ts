/** The tokens of a call. */
export type TokenCounts = {
  /** All of the prompt. */
  readonly prompt: number
  /** Of the prompt: read from a cache, and written to it. */
  readonly cached: number
  readonly written: number
  /** All that the model wrote. */
  readonly completion: number
  /** Of that: what it thought. */
  readonly thoughts: number
}

const totals = ({ prompt, completion }: TokenCounts) => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
})

const details = ({ cached, thoughts }: TokenCounts) => ({
  prompt_tokens_details: { cached_tokens: cached, audio_tokens: 0 },
  completion_tokens_details: {
    reasoning_tokens: thoughts,
    audio_tokens: 0,
    accepted_prediction_tokens: 0,
    rejected_prediction_tokens: 0,
  },
})

/** `usage`, as servers write it. */
export const USAGE_FORMS = {
  /** OpenAI up to GPT-5.5: cached reads and thoughts. */
  openai: (counted: TokenCounts) => ({ ...totals(counted), ...details(counted) }),
  /** OpenAI from GPT-5.6 on: cache writes as well. */
  'openai-writes': (counted: TokenCounts) => ({
    ...totals(counted),
    ...details(counted),
    prompt_tokens_details: { cached_tokens: counted.cached, cache_write_tokens: counted.written, audio_tokens: 0 },
  }),
  /** Sums alone. */
  totals,
  vllm: (counted: TokenCounts) => ({ ...totals(counted), prompt_tokens_details: null }),
  anthropic: (counted: TokenCounts) => ({
    ...totals(counted),
    prompt_tokens_details: null,
    completion_tokens_details: null,
  }),
  /** Thoughts stand in the total, and not among what was written. */
  gemini: ({ prompt, completion, thoughts }: TokenCounts) => ({
    prompt_tokens: prompt,
    completion_tokens: completion - thoughts,
    total_tokens: prompt + completion,
  }),
  deepseek: (counted: TokenCounts) => ({
    ...totals(counted),
    prompt_tokens_details: { cached_tokens: counted.cached },
    completion_tokens_details: { reasoning_tokens: counted.thoughts },
    prompt_cache_hit_tokens: counted.cached,
    prompt_cache_miss_tokens: counted.prompt - counted.cached,
  }),
  /** With what it has cost. */
  openrouter: (counted: TokenCounts) => ({
    ...totals(counted),
    cost: (counted.prompt + 5 * counted.completion) / 1e6,
    cost_details: { upstream_inference_cost: null },
    prompt_tokens_details: { cached_tokens: counted.cached, cache_write_tokens: counted.written, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: counted.thoughts },
  }),
  groq: (counted: TokenCounts) => ({
    ...totals(counted),
    queue_time: 0.01,
    prompt_time: 0.02,
    completion_time: 0.03,
    total_time: 0.05,
    completion_tokens_details: { reasoning_tokens: counted.thoughts },
  }),
} as const satisfies Readonly<Record<string, (counted: TokenCounts) => unknown>>

export type UsageForm = keyof typeof USAGE_FORMS
