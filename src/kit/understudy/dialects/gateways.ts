import type { ServerDialect } from './dialect.ts'

/** A gateway between Gavel and a model, which passes on only what it knows, both ways. */
const strips: ServerDialect = {
  what: 'a gateway that strips fields',
  base: '/v1',
  key: 'authorization',
  refuses: [],
  errors: 'openai',
  ignores: [
    'response_format',
    'logprobs',
    'top_logprobs',
    'max_completion_tokens',
    'reasoning_effort',
    'service_tier',
    'prompt_cache_key',
    'prompt_cache_options',
    'seed',
  ],
  longest: ['max_tokens'],
  form: { json_schema: 'ignored', json_object: 'ignored', jsonWord: null, loose: 'chatty' },
  images: { lost: true },
  logprobs: false,
  thinking: { efforts: [], usual: 'medium', where: '◁think▷' },
  answer: 'content',
  usage: 'totals',
  cache: null,
  tiers: null,
  strips: ['usage', 'finish_reason', 'refusal', 'logprobs', 'system_fingerprint'],
  embeddings: false,
  models: [{ id: 'kimi' }],
}

/** One that sends a stream whatever is asked for. */
const streams: ServerDialect = {
  ...strips,
  what: 'a gateway that streams',
  images: null,
  form: { json_schema: 'kept', json_object: 'kept', jsonWord: null, loose: 'fenced' },
  ignores: ['service_tier', 'prompt_cache_key', 'prompt_cache_options'],
  longest: ['max_tokens', 'max_completion_tokens'],
  thinking: { efforts: [], usual: 'medium', where: '</think>' },
  streams: true,
  strips: [],
}

/** One that makes a form of a tool, so that the answer stands in a call of it. */
const tools: ServerDialect = {
  ...streams,
  what: 'a gateway that answers by a tool call',
  answer: 'tool-call',
  thinking: null,
  streams: false,
}

export const gateways = { 'gateway-strips': strips, 'gateway-streams': streams, 'gateway-tools': tools }
