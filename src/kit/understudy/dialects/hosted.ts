import type { ServerDialect } from './dialect.ts'

const anthropic: ServerDialect = {
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
  cache: null,
  tiers: null,
  embeddings: false,
  models: [{ id: 'claude-opus-5-5' }],
}

const UNKNOWN = (name: string) => ({
  parameter: name,
  says: `Invalid JSON payload received. Unknown name "${name}": Cannot find field.`,
  named: false as const,
})

const gemini: ServerDialect = {
  ...anthropic,
  what: "Gemini's compatible layer",
  base: '/v1beta/openai',
  refuses: [
    ...['logprobs', 'top_logprobs', 'prompt_cache_key', 'prompt_cache_options', 'seed'].map(UNKNOWN),
    {
      parameter: 'reasoning_effort',
      except: ['none', 'minimal', 'low', 'medium', 'high'],
      says: "Invalid reasoning_effort: '{value}'.",
      named: false,
    },
  ],
  errors: 'gemini',
  ignores: ['service_tier'],
  form: {
    json_schema: 'kept',
    json_object: 'kept',
    jsonWord: null,
    keywords: {
      refused: ['exclusiveMinimum', 'exclusiveMaximum', 'patternProperties', 'propertyNames'],
      says: 'Invalid JSON payload received. Unknown name "{value}" at \'generation_config.response_schema\': Cannot find field.',
    },
    loose: 'fenced',
  },
  thinking: { efforts: ['none', 'minimal', 'low', 'medium', 'high'], usual: 'medium', where: 'hidden' },
  usage: 'gemini',
  embeddings: true,
  models: [{ id: 'models/gemini-3-flash-preview' }],
}

const FORBIDDEN = (name: string) => ({ parameter: name, says: 'Extra inputs are not permitted', status: 422 })

const mistral: ServerDialect = {
  ...anthropic,
  what: "Mistral's API",
  refuses: [
    'max_completion_tokens',
    'logprobs',
    'top_logprobs',
    'service_tier',
    'prompt_cache_key',
    'prompt_cache_options',
    'seed',
  ].map(FORBIDDEN),
  errors: 'mistral',
  ignores: [],
  longest: ['max_tokens'],
  roles: { developer: { says: "Input tag 'developer' found using 'role' does not match any of the expected tags" } },
  form: { json_schema: 'kept', json_object: 'kept', jsonWord: null, loose: 'fenced' },
  thinking: { efforts: ['none', 'high'], usual: 'medium', where: 'parts' },
  usage: 'totals',
  embeddings: true,
  models: [{ id: 'magistral-medium-latest' }],
}

const deepseek: ServerDialect = {
  ...anthropic,
  what: 'DeepSeek, the model that thinks',
  refuses: [
    {
      parameter: 'response_format.type',
      values: ['json_schema'],
      says: 'This response_format type is unavailable now',
      named: false,
    },
    {
      parameter: 'logprobs',
      values: [true],
      says: 'This model does not support logprobs.',
      named: false,
    },
  ],
  errors: 'deepseek',
  ignores: ['max_completion_tokens', 'temperature', 'reasoning_effort', 'service_tier', 'prompt_cache_key'],
  longest: ['max_tokens'],
  roles: {
    developer: {
      says: 'Failed to deserialize the JSON body into the target type: messages[0].role: unknown variant `developer`, expected one of `system`, `user`, `assistant`, `tool`',
    },
  },
  form: {
    json_schema: 'kept',
    json_object: 'kept',
    jsonWord: "Prompt must contain the word 'json' in some form to use 'response_format' of type 'json_object'.",
    loose: 'fenced',
  },
  images:
    'Failed to deserialize the JSON body into the target type: messages[1]: unknown variant `image_url`, expected `text`',
  thinking: { efforts: [], usual: 'medium', where: 'reasoning_content' },
  usage: 'deepseek',
  cache: 'automatic',
  models: [{ id: 'deepseek-chat' }, { id: 'deepseek-reasoner' }],
}

const groq: ServerDialect = {
  ...anthropic,
  what: 'Groq',
  base: '/openai/v1',
  refuses: ['logprobs', 'top_logprobs'].map((name) => ({
    parameter: name,
    says: `\`${name}\` is not supported with this model`,
    named: false as const,
  })),
  errors: 'openai',
  ignores: ['prompt_cache_key', 'prompt_cache_options'],
  form: {
    json_schema: 'kept',
    json_object: 'kept',
    jsonWord: "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
    loose: 'fenced',
  },
  images: 'messages[1].content must be a string',
  thinking: { efforts: ['low', 'medium', 'high'], usual: 'medium', where: 'reasoning' },
  usage: 'groq',
  tiers: { default: 'on_demand', flex: 'flex', performance: 'performance' },
  models: [{ id: 'openai/gpt-oss-20b' }],
}

const openrouter: ServerDialect = {
  ...anthropic,
  what: 'OpenRouter',
  base: '/api/v1',
  errors: 'openrouter',
  ignores: ['logprobs', 'top_logprobs'],
  form: { json_schema: 'kept', json_object: 'kept', jsonWord: null, loose: 'fenced' },
  thinking: {
    efforts: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'],
    usual: 'medium',
    where: 'reasoning',
  },
  usage: 'openrouter',
  cache: 'breakpoints',
  models: [{ id: 'deepseek/deepseek-chat-v3.1' }, { id: 'openai/gpt-6-luna' }],
}

export const hosted = { anthropic, gemini, mistral, deepseek, groq, openrouter }
