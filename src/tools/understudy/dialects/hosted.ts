import type { Dialect } from './dialect.ts'

const anthropic: Dialect = {
  what: "Anthropic's compatible layer",
  base: '/v1',
  key: 'authorization',
  refuses: [],
  errors: 'anthropic',
  ignores: ['logprobs', 'top_logprobs', 'reasoning_effort', 'service_tier', 'prompt_cache_key', 'response_format'],
  longest: ['max_tokens', 'max_completion_tokens'],
  form: { json_schema: 'ignored', json_object: 'ignored', jsonWord: null, loose: 'fenced' },
  images: null,
  logprobs: false,
  thinking: null,
  answer: 'content',
  usage: 'anthropic',
  tiers: null,
  embeddings: false,
  models: [{ id: 'claude-opus-5-5' }],
}

export const hosted = { anthropic }
