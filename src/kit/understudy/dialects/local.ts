import type { ServerDialect } from './dialect.ts'

const vllm: ServerDialect = {
  what: 'vLLM, with a model that thinks and a reasoning parser',
  base: '/v1',
  key: null,
  refuses: [],
  errors: 'vllm',
  ignores: ['service_tier', 'prompt_cache_key'],
  longest: ['max_tokens', 'max_completion_tokens'],
  roles: { developer: { says: 'Unexpected message role.' } },
  form: { json_schema: 'kept', json_object: 'kept', jsonWord: null, loose: 'fenced' },
  images: 'This model is not a multimodal model: at most 0 image(s) may be provided in one prompt.',
  logprobs: true,
  thinking: { efforts: [], usual: 'medium', where: 'reasoning' },
  answer: 'content',
  usage: 'vllm',
  cache: null,
  tiers: null,
  embeddings: false,
  models: [{ id: 'Qwen/Qwen3-32B', max_model_len: 40_960 }],
}

const ollama: ServerDialect = {
  ...vllm,
  what: 'Ollama',
  refuses: [
    {
      parameter: 'reasoning_effort',
      except: ['none', 'low', 'medium', 'high', 'max'],
      says: 'invalid reasoning value: \'{value}\' (must be "high", "medium", "low", "max", or "none")',
      named: false,
    },
  ],
  errors: 'openai',
  ignores: ['max_completion_tokens', 'service_tier', 'prompt_cache_key'],
  longest: ['max_tokens'],
  roles: { developer: { lost: true } },
  images: 'this model does not support image input',
  thinking: { efforts: ['none', 'low', 'medium', 'high', 'max'], usual: 'medium', where: 'reasoning' },
  usage: 'totals',
  embeddings: true,
  models: [{ id: 'qwen3:8b' }, { id: 'nomic-embed-text:latest' }],
  own: { '/api/ps': { models: [{ name: 'qwen3:8b', model: 'qwen3:8b', context_length: 4_096 }] } },
}

const llamaCpp: ServerDialect = {
  ...vllm,
  what: 'llama.cpp',
  errors: 'llama-cpp',
  roles: {},
  images: 'image input is not supported - hint: if this is unexpected, you may need to provide the mmproj',
  thinking: { efforts: [], usual: 'medium', where: 'reasoning_content' },
  usage: 'totals',
  models: [{ id: 'gpt-oss-20b.gguf', meta: { n_ctx: 8_192, n_ctx_train: 131_072 } }],
}

const lmStudio: ServerDialect = {
  ...vllm,
  what: 'LM Studio',
  refuses: [
    {
      parameter: 'response_format.type',
      values: ['json_object'],
      says: "'response_format.type' must be 'json_schema' or 'text'",
      named: false,
    },
  ],
  errors: 'lm-studio',
  ignores: ['max_completion_tokens', 'logprobs', 'top_logprobs', 'service_tier', 'prompt_cache_key'],
  longest: ['max_tokens'],
  roles: {},
  images: 'Model does not support images. Please use a model that does.',
  logprobs: false,
  thinking: { efforts: [], usual: 'medium', where: '<think>' },
  usage: 'totals',
  embeddings: true,
  models: [{ id: 'qwen/qwen3-14b' }],
  own: {
    '/api/v0/models': {
      data: [{ id: 'qwen/qwen3-14b', state: 'loaded', max_context_length: 40_960, loaded_context_length: 32_768 }],
    },
  },
}

export const local = {
  vllm: { ...vllm, decisions: 'systemone' as const },
  ollama,
  'llama-cpp': llamaCpp,
  'lm-studio': lmStudio,
}
