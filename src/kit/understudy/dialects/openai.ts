import type { ServerDialect } from './dialect.ts'

const JSON_WORD =
  "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."

/** The models before those that think: gpt-4o, gpt-4.1. */
const before: ServerDialect = {
  what: 'OpenAI, GPT-4o and GPT-4.1',
  base: '/v1',
  key: 'authorization',
  refuses: [
    {
      parameter: 'reasoning_effort',
      says: 'Unrecognized request argument supplied: reasoning_effort',
      named: false,
    },
  ],
  errors: 'openai',
  ignores: [],
  longest: ['max_tokens', 'max_completion_tokens'],
  form: { json_schema: 'kept', json_object: 'kept', jsonWord: JSON_WORD, loose: 'fenced' },
  images: null,
  logprobs: true,
  thinking: null,
  answer: 'content',
  usage: 'openai',
  cache: 'automatic',
  tiers: { default: 'default', priority: 'priority' },
  embeddings: true,
  models: [
    { id: 'gpt-4o-mini', shutdown_date: '2027-01-14' },
    { id: 'gpt-4o', shutdown_date: '2027-01-14' },
    { id: 'gpt-4.1-mini', shutdown_date: '2027-01-14' },
    { id: 'text-embedding-3-small', shutdown_date: null },
  ],
}

const THINKS = ['low', 'medium', 'high', 'xhigh', 'max']

/** The families from GPT-5.6 on. */
const since: ServerDialect = {
  ...before,
  what: 'OpenAI, GPT-5.6 to GPT-6.1',
  refuses: [
    {
      parameter: 'max_tokens',
      says: "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      code: 'unsupported_parameter',
    },
    {
      parameter: 'temperature',
      except: [1],
      unless: { reasoning_effort: ['none'] },
      says: "Unsupported value: 'temperature' does not support {value} with this model. Only the default (1) value is supported.",
      code: 'unsupported_value',
    },
    {
      parameter: 'logprobs',
      values: [true],
      unless: { reasoning_effort: ['none'] },
      says: 'You are not allowed to request logprobs from this model.',
      status: 403,
    },
    {
      parameter: 'reasoning_effort',
      except: ['none', ...THINKS],
      says: "Unsupported value: '{value}' is not supported with this model. Supported values are: 'none', 'low', 'medium', 'high', 'xhigh', and 'max'.",
      code: 'unsupported_value',
    },
  ],
  longest: ['max_completion_tokens'],
  thinking: { efforts: ['none', ...THINKS], usual: 'medium', where: 'hidden' },
  usage: 'openai-writes',
  cache: 'breakpoints',
  tiers: { default: 'default', flex: 'flex', priority: 'fast', fast: 'fast' },
  models: [
    { id: 'gpt-6-luna', shutdown_date: null },
    { id: 'gpt-6.1-terra', shutdown_date: null },
    { id: 'gpt-6.1-sol', shutdown_date: null },
    { id: 'gpt-4o-mini', shutdown_date: '2027-01-14' },
    { id: 'text-embedding-3-small', shutdown_date: null },
  ],
}

const azure: ServerDialect = {
  ...since,
  what: 'Azure OpenAI, a deployment of GPT-6.1',
  base: '/openai/deployments/understudy',
  key: 'api-key',
  query: ['api-version'],
}

export const openai = { 'openai-before': before, 'openai-since': { ...since, decisions: 'openai' as const }, azure }
