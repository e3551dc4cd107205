import { type Dialect, type DialectPart, NARROWING_KEYWORDS } from '../../contracts/facts/dialect.ts'

/** What is sent where nothing else is known: Chat Completions as all compatible servers took them first. */
export const PLAIN: Dialect = {
  maxTokens: 'max_tokens',
  mostTokens: null,
  temperature: 'always',
  highestTemperature: 2,
  effort: null,
  system: 'system',
  form: 'json_schema',
  withoutKeywords: [],
  withoutScales: [],
  images: true,
  logprobs: 20,
  logprobsWhen: 'always',
  thinkingTokens: 0,
  tiers: true,
  breakpoints: null,
  decisions: 'auto',
}

/** What is known of some servers' or models' dialect. */
export interface DialectRow {
  /** The server's host, with `*` for any characters; any host if it is left out. */
  readonly host?: string
  /** The model's name, or what stands behind its last slash, with `*` for any characters; any model if it is left out. */
  readonly model?: string
  readonly takes: DialectPart
  /** Where the fact is from: an issue of a public project, or a page. */
  readonly source: string
}

/** Every row that fits counts; of two that state the same the later one. What no row states is `PLAIN`, or learnt. */
export const DIALECTS: readonly DialectRow[] = [
  // OpenAI's models, wherever they are served.
  {
    model: 'o1*',
    takes: { maxTokens: 'max_completion_tokens', temperature: 'never', logprobs: 0, thinkingTokens: 4_096 },
    source: 'OpenAI, guide to reasoning: limitations (vercel/ai#10932)',
  },
  {
    model: 'o1-mini*',
    takes: { system: 'user', form: 'text', images: false },
    source: 'OpenAI: "messages[0].role does not support system with this model" (langchain#26447)',
  },
  {
    model: 'o3*',
    takes: { maxTokens: 'max_completion_tokens', temperature: 'never', logprobs: 0, thinkingTokens: 4_096 },
    source: 'OpenAI, guide to reasoning: limitations (vercel/ai#10932)',
  },
  {
    model: 'o4*',
    takes: { maxTokens: 'max_completion_tokens', temperature: 'never', logprobs: 0, thinkingTokens: 4_096 },
    source: 'OpenAI, guide to reasoning: limitations (vercel/ai#10932)',
  },
  {
    model: 'gpt-5*',
    takes: {
      maxTokens: 'max_completion_tokens',
      temperature: 'never',
      effort: 'minimal',
      logprobs: 0,
      thinkingTokens: 2_048,
    },
    source: 'griptape-ai/ComfyUI-Griptape#312 (max_tokens), explodinggradients/ragas#2418 (temperature), learnku 90544',
  },
  {
    model: 'gpt-5.*',
    takes: {
      temperature: 'without-effort',
      effort: 'none',
      logprobs: 20,
      logprobsWhen: 'without-effort',
      thinkingTokens: 0,
    },
    source:
      'vercel/ai#10932 (temperature and logprobs with effort none), openai-agents-python#2089 (none, not minimal)',
  },
  {
    model: 'gpt-6*',
    takes: {
      maxTokens: 'max_completion_tokens',
      temperature: 'without-effort',
      effort: 'none',
      logprobsWhen: 'without-effort',
    },
    source: 'as gpt-5.1 and later (itzcrazykns/vane#1173 for 5.6, litellm discussion 42523 for 6)',
  },
  {
    model: 'gpt-5.6*',
    takes: { breakpoints: 'prompt_cache_breakpoint' },
    source: 'developers.openai.com, prompt caching: from GPT-5.6 on',
  },
  {
    model: 'gpt-6*',
    takes: { breakpoints: 'prompt_cache_breakpoint' },
    source: 'developers.openai.com, prompt caching: "GPT-5.6 models and later model families"',
  },
  {
    model: 'gpt-5*-chat*',
    takes: { temperature: 'always', effort: null, thinkingTokens: 0 },
    source: 'learnku 90544: gpt-5-chat-latest has no effort, and takes a temperature',
  },

  // Servers.
  {
    host: 'api.openai.com',
    takes: { decisions: 'chat' },
    source: 'developers.openai.com, decisions: gpt-6-luna alone',
  },
  {
    host: 'api.openai.com',
    model: 'gpt-6-luna*',
    takes: { decisions: 'openai' },
    source: 'developers.openai.com/api/reference/resources/decisions',
  },
  {
    host: 'api.typesafe.ai',
    takes: { decisions: 'systemone' },
    source: 'docs.typesafe.ai/api: POST /v1/systemone',
  },
  {
    host: 'openrouter.ai',
    takes: { decisions: 'openrouter' },
    source: 'openrouter.ai/docs/guides/features/decisions: POST /api/alpha/decisions',
  },
  {
    host: 'api.anthropic.com',
    takes: { highestTemperature: 1, logprobs: 0, form: 'text' },
    source: 'docs.anthropic.com/en/api/openai-sdk: temperature 0 to 1, logprobs and response_format ignored',
  },
  {
    host: 'api.deepseek.com',
    takes: { form: 'json_object' },
    source: 'api-docs.deepseek.com, guide to JSON output: only json_object',
  },
  {
    host: 'api.deepseek.com',
    model: 'deepseek-v4*',
    takes: { temperature: 'never', logprobs: 0, thinkingTokens: 4_096 },
    source: 'api-docs.deepseek.com, thinking mode: it is on, and a temperature changes nothing then (laravel/ai#533)',
  },
  {
    host: 'api.mistral.ai',
    takes: { logprobs: 0, highestTemperature: 1 },
    source: 'mistralai/client-python, ChatCompletionRequest: no logprobs, temperature 0 to 1',
  },
  {
    host: 'openrouter.ai',
    model: 'anthropic/*',
    takes: { breakpoints: 'cache_control' },
    source: 'openrouter.ai/docs, prompt caching: cache_control on a part marks a breakpoint',
  },
  {
    host: 'generativelanguage.googleapis.com',
    takes: { withoutKeywords: [], logprobs: 0 },
    source: 'ai.google.dev/gemini-api/docs/openai: no logprobs named (mscraftsman/generative-ai#135: not enabled)',
  },

  // Models that think in the answer itself, or beside it, and have no parameter against that.
  {
    model: '*deepseek-r1*',
    takes: { thinkingTokens: 4_096 },
    source: 'DeepSeek-R1: thoughts in <think>, or in reasoning_content',
  },
  {
    model: 'deepseek-reasoner*',
    takes: { thinkingTokens: 4_096, logprobs: 0, temperature: 'never' },
    source: 'api-docs.deepseek.com, guide to reasoning: temperature without effect, logprobs an error',
  },
  {
    model: '*qwq*',
    takes: { thinkingTokens: 4_096 },
    source: 'QwQ: thoughts before </think>',
  },
  {
    model: '*magistral*',
    takes: { thinkingTokens: 4_096 },
    source:
      'docs.mistral.ai, reasoning: always thinks; thinking parts (spring-ai#5020), or [THINK] of its open weights',
  },
  {
    model: '*gpt-oss*',
    takes: { effort: 'low', thinkingTokens: 2_048 },
    source: 'openai/gpt-oss: reasoning effort low, medium or high',
  },
  {
    model: 'claude-*',
    takes: { highestTemperature: 1, logprobs: 0, withoutKeywords: [...NARROWING_KEYWORDS] },
    source: 'docs.anthropic.com/en/api/openai-sdk; structured outputs: no numeric, length or item constraints',
  },
]
