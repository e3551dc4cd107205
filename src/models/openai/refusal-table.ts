import type { OperatorAction } from '../../contracts/facts/errors.ts'

/**
 * Whose matter a refusal is. `content`: a filter refused what the question holds. `too-long`: the question does not fit
 * this model. `load`: the endpoint is busy. `outage`: it does not work. `unknown`: nobody can tell this question's matter from an outage. `operator`: somebody has to change the account,
 * the key or the settings. `no-images`: the model takes no images at all. `question`: this question is refused, in form or in
 * what is attached to it.
 */
export type RefusalKind = 'content' | 'too-long' | 'load' | 'outage' | 'unknown' | 'operator' | 'no-images' | 'question'

/**
 * The sign of a refusal: a code, in any of the places where servers put one, or in the words of its message. `status`
 * restricts the row; without it the row holds at every status, also in a response of status 200.
 */
export interface RefusalRow {
  readonly kind: RefusalKind
  readonly operatorAction?: OperatorAction
  readonly status?: readonly number[]
  /** Lower case. */
  readonly codes?: readonly string[]
  /** Each takes linear time: no unbounded repetition before another. Without regard to case. */
  readonly words?: RegExp
  /** The providers, and where the fact is from: an issue of a public project or a page. */
  readonly source: string
}

/** The first row that fits decides. Rows whose words are part of another's stand before it. */
export const REFUSALS: readonly RefusalRow[] = [
  // What looks like a filter and is none.
  {
    kind: 'outage',
    codes: ['content_filter_error', 'contentsecuritydetectionerror'],
    words: /contents are not filtered/i,
    source: 'Azure (OpenAI-DotNet#274, litellm#1564), Volcengine (docs 82379/1299023): the filter itself failed',
  },
  {
    kind: 'operator',
    operatorAction: 'permission',
    words: /resource has been temporarily blocked/i,
    source: 'Azure (pollinations#9707): the account is blocked, not this question',
  },

  // A filter refused the content.
  {
    kind: 'content',
    codes: [
      'content_filter',
      'content_policy_violation',
      'responsibleaipolicyviolation',
      'data_inspection_failed',
      'datainspectionfailed',
      'sensitive_words_detected',
      'prompt_blocked',
      'safety_check_failed',
      'public_error_unsafe_generation',
      'modelarts.81011',
      '1026',
      '1027',
      '1301',
    ],
    source:
      'Azure (compl-ai#20), OpenAI (openai-java#446), MiniMax (MiniMax-M3#11), Moonshot (TradingAgents#1305), MiMo (MiMo-V2-Flash#18), DashScope (chaoxing#539), one-api (openai-cookbook#1224), new-api (doc.tokendog.io), ZenMux (docs.zenmux.ai), Google (gflow-cli#342), Huawei (maas-modelarts-0080), Zhipu (langchain4j#1079), fal (wavespeed.ai)',
  },
  {
    kind: 'content',
    codes: ['inputtextriskdetection', 'inputimageriskdetection', 'outputtextriskdetection', 'sensitivecontentdetected'],
    words: /\b(Input(Text|Image|Video)|Output(Text|Image|Video))?(SensitiveContentDetected|RiskDetection)\b/i,
    source: 'Volcengine Ark (docs 82379/1299023, 82379/1099476)',
  },
  {
    kind: 'content',
    words:
      /ContentPolicyViolation|content management policy|content exists risk|data_?inspection_?failed|data may contain inappropriate content|considered high risk|moderation block|content violates usage guidelines|blocked by content filtering policy|blocked by our content filters|blocked (input|output)\b|input contains sensitive words|\bnew_sensitive\b|content is sensitive|flagged as potentially violating|input was flagged|flagged by a content checker|rejected as a result of our safety system|not allowed by our safety system|may contain sens[ti]+ve\b|不安全或敏感内容/i,
    source:
      'LiteLLM (litellm#8953, #16231), Azure (helm#3327), DeepSeek (BettaFish#108, DeepSeek-V2#30), DashScope (qwen-code#3145), Moonshot (platform.kimi.com), xAI (inspect_ai#2267), Anthropic (claude-code#37547), Nova (docs.aws.amazon.com/nova), Cohere (garak#203), MiniMax (MiniMax-M3#11), OpenAI (codex#7250, portkey.ai error 10068), OpenRouter (openrouter.ai/docs errors), fal, Huawei, Zhipu',
  },

  // The question does not fit the model.
  {
    kind: 'too-long',
    codes: [
      'context_length_exceeded',
      'exceed_context_size_error',
      'request_too_large',
      'string_too_long',
      'max_tokens_exceeded',
      'token_limit_exceeded',
      'tokens_too_long',
      'characters_too_long',
      'model_context_window_exceeded',
      '1261',
      '3051',
    ],
    source:
      'OpenAI (chathub#126), llama.cpp (tools/server), Anthropic (docs.claude.com errors, laravel/ai#881), OpenRouter (error_type), Baidu (qianfan), Zhipu (docs.bigmodel.cn), Mistral',
  },
  {
    kind: 'too-long',
    words:
      /maximum context (length|window|size)|exceed(s|ed|ing)?\b.{0,80}\bcontext (length|size|window)|context (length|window) of only|than the context length|longer than the (maximum )?model'?s?|ContextWindowExceeded|prompt is too long|prompt too long|prompt \(.{0,40}\) is too long|prompt 超长|input is too long|input token length too long|too large for model with|input token count.{0,60}(exceeds|less than)|tokens?`? \+ `?max_(new_)?tokens`?.{0,40}must be|range of input length|input length \d+ exceeds|exceeded model token limit|maximum prompt length|too many tokens: |request too large for|too large to process|maximum number of tokens/i,
    source:
      'OpenAI (chathub#126, climb#1), vLLM (vllm#20409, #12165), llama.cpp, LM Studio (lmstudio-bug-tracker#237), TGI (huggingface_hub#2763), LiteLLM (litellm#38368), Anthropic (bolt.new#1453, claude-code#6364), Bedrock (bedrock-chat#95), Gemini (gemini-cli#6678), DashScope (qwen-code#98), Moonshot (kimi-cli#2011), Together (docs.together.ai), Fireworks (cookbook#134), xAI (cline#3120), Cohere (docs.cohere.com), Volcengine (dify#32221), SGLang (Qwen3#1321), Groq (ha-groq-cloud-api#27), Zhipu',
  },

  // The model takes no images: none at all, and not only none of this format or size.
  {
    kind: 'no-images',
    words:
      /(?:image_url|images?|image (?:input|content)s?|vision|multi-?modal(?: input)?s?) (?:(?:is|are) )?(?:not (?:yet )?supported|unsupported|only supported (?:by|for|with))(?! (?:formats?|types?|sizes?)\b)|no endpoints found that support image|(?:not|n't) support (?:any )?(?:image inputs?|images|vision|multi-?modal(?: inputs?)?)\b(?! (?:of|in|with|as|larger|above)\b)|not a multimodal model|at most 0 image|unknown variant `image(?:_url)?`|missing data required for image input|content must be a string/i,
    source:
      'OpenAI (home-llm#151), OpenRouter (nexu#875), llama.cpp (llama.cpp#13566, conduit#381), vLLM (vllm#13513), DeepSeek, MiMo',
  },

  // What is attached is refused.
  {
    kind: 'question',
    codes: [
      'invalid_image_format',
      'invalid_image_url',
      'invalid_image',
      'image_too_large',
      'invalidparameter.unsupportedimageformat',
    ],
    words:
      /support image input|unsupported image|failed to load image|at most \d+ image|too many images|too much media|could not process image|image exceeds|image is not valid|process input image|download multimodal|multimodal data is corrupted|unsupported mime type/i,
    source:
      'OpenAI (agents#697, cuomputer#95), OpenRouter (nexu#875), llama.cpp (llama.cpp#13566, conduit#381), vLLM (vllm#13513), Anthropic (claude-code#24541), Gemini (Open-Interface#64), DashScope (agentscope-java#2700), MiMo, Volcengine (MaiBot#242)',
  },

  // Busy for a while, though it speaks of quotas.
  {
    kind: 'load',
    status: [429],
    words: /please retry in \d|"?retryDelay|free-models-per-min|per minute|\/ ?minute|\bTPM\b|\bRPM\b/i,
    source: 'Gemini (gemini-cli#14831: PerMinute with RetryInfo), OpenRouter, Cohere trial keys, Groq',
  },

  // The operator's to mend: money.
  {
    kind: 'operator',
    operatorAction: 'quota',
    words:
      /free allocated quota exceeded|credit balance is too low|insufficient (balance|credits|usd)|billing hard limit|budget has been exceeded|crossed budget|ExceededBudget|used all available credits|specified API usage limits|out of call volume quota|free tier of the model has been exhausted|calls \/ month|requires more credits|suspended, possibly due to|usage limit for this billing/i,
    source:
      'DashScope (help.aliyun.com), Anthropic (claude-code#66314, litellm#37592), DeepSeek, Zhipu, OpenRouter (opencode#12219), Venice, OpenAI (aiwallpaper#2), LiteLLM (litellm#22726, #14144), xAI (continue#10740), Azure, Cohere, Fireworks (pollinations#12136), Kimi',
  },
  {
    kind: 'load',
    words: /allocated quota exceeded/i,
    source: 'DashScope (help.aliyun.com): tokens a minute',
  },
  {
    kind: 'operator',
    operatorAction: 'quota',
    codes: [
      'insufficient_quota',
      'billing_hard_limit_reached',
      'credit_balance_exhausted',
      'organization_usage_limit_exceeded',
      'organization_spend_limit_exceeded',
      'project_spend_limit_exceeded',
      'enforced_spend_limit_reached',
      'billing_error',
      'budget_exceeded',
      'exceeded_current_quota_error',
      'payment_required',
      'arrearage',
      'allocationquota.freetieronly',
      'insufficient_user_quota',
      'pre_consume_token_quota_failed',
      'insufficient_credit',
      'reject_no_credit',
      'quote_exceeded',
      'billing_insufficient_balance',
      'quota_user_daily_free',
      'accountoverdueerror',
      'modelarts.81005',
      'precondition_failed',
      '1008',
      '1113',
      '1304',
      '1308',
      '1309',
      '1310',
    ],
    source:
      'OpenAI (help.openai.com 6614457, 5955604), Anthropic, LiteLLM, Moonshot (kimi-code#1857), OpenRouter, DashScope, new-api, ZenMux, Baidu, Volcengine, Huawei, Fireworks, Zhipu (docs.bigmodel.cn)',
  },

  // The operator's to mend: the key, the model, the permission.
  {
    kind: 'operator',
    operatorAction: 'key',
    codes: [
      'invalid_api_key',
      'invalidapikey',
      'invalid_authentication_error',
      'incorrect_api_key_error',
      'authentication_error',
      'authenticationerror',
      'authentication',
      'api_key_invalid',
      'invalid_iam_token',
      'channel:invalid_key',
    ],
    words: /incorrect API key|API key not (valid|found)|invalid api (key|token)|invalid subscription key/i,
    source:
      'OpenAI, Azure, DashScope, Moonshot, Anthropic, Volcengine, OpenRouter, Gemini (openai-scala-client#109: a 400), xAI (continue#10778: a 400), Baidu, new-api, Cohere',
  },
  {
    kind: 'operator',
    operatorAction: 'model',
    codes: [
      'model_not_found',
      'modelnotfound',
      'model_decommissioned',
      'model_not_available',
      'dedicated_endpoint_not_running',
      'deploymentnotfound',
      'invalid_model',
      'unknown_model',
      'modelnotopen',
      'invalidendpointormodel.notfound',
      'modelarts.81009',
      '1211',
      '1220',
      '1221',
      '1222',
      '1311',
      '1500',
    ],
    words:
      /model .{1,120}\bdoes not exist|\bnot found, try pulling|no models loaded|failed to load model|has been decommissioned|too large to be loaded|requires more system memory|matching your data policy/i,
    source:
      'OpenAI, DashScope, Groq (ha-llmvision#324), Together (puter#3168), Azure (azure-docs#114013), Mistral, Baidu, Volcengine, Huawei, Zhipu, vLLM (vllm#3485), Ollama (Flowise#2335), LM Studio (openhuman#4181), Hugging Face, OpenRouter',
  },
  {
    kind: 'operator',
    operatorAction: 'permission',
    codes: ['permission_denied_error', 'permission_error', 'permission_denied', 'access_denied', 'accessdenied'],
    words: /location is not supported|country, region, or territory not supported/i,
    source: 'Moonshot, Anthropic, OpenRouter, DashScope, Gemini (gemini-api#4), OpenAI (portkey.ai error 10504)',
  },

  // Busy, or not working.
  {
    kind: 'load',
    codes: [
      'rate_limit_exceeded',
      'rate_limit_error',
      'rate_limit_reached_error',
      'rate_limited',
      'slow_down',
      'server_is_overloaded',
      'overloaded_error',
      'overloaded',
      'engine_overloaded_error',
      'provider_overloaded',
      'resource_exhausted',
      'model_capacity_exhausted',
      'throttling',
      'throttling.ratequota',
      'throttling.allocationquota',
      'request_tier_capacity_exceeded',
      'service_tier_capacity_exceeded',
      'insufficient_system_resource',
      'rate_limit_total_qps',
      '1002',
      '1300',
      '1302',
      '1303',
      '1305',
      '1312',
      '3505',
    ],
    words:
      /\boverloaded\b|at capacity|capacity exceeded|no capacity available|currently loading|loading model|server busy|high demand|temporarily rate-limited|no deployments available|too many (requests|tokens), please wait/i,
    source:
      'OpenAI (developersdigest.tech, codex#28557), Anthropic, Moonshot, Mistral (continue#6185), Gemini (gemini-cli#23520), DashScope, DeepSeek (chat completion reference), Baidu, Zhipu, TGI, Hugging Face (huggingface_hub#2763), llama.cpp (Second-Me#20), Ollama (ha-llmvision#648), OpenRouter, LiteLLM (litellm#5634), Bedrock (caddy-chatbot#97)',
  },
  {
    kind: 'outage',
    words: /model has crashed|channel error|model is unloaded/i,
    source: 'LM Studio (lmstudio-bug-tracker#1347, #1492): as a 400',
  },
]

export const isRedirect = (status: number) => status >= 300 && status < 400

/** The meaning of a status where no row fits. */
export function kindOfStatus(status: number): Pick<RefusalRow, 'kind' | 'operatorAction'> {
  if (status === 401) return { kind: 'operator', operatorAction: 'key' }
  if (status === 402 || status === 412) return { kind: 'operator', operatorAction: 'quota' }
  if (status === 403) return { kind: 'operator', operatorAction: 'permission' }
  // No redirect is followed: whatever is asked there, the address of the settings is wrong.
  if (status === 404 || isRedirect(status)) return { kind: 'operator', operatorAction: 'model' }
  if (status === 413) return { kind: 'too-long' }
  if (status === 429 || status === 498) return { kind: 'load' }
  if (OF_REQUESTS.has(status)) return { kind: 'question' }
  // An error in a response of status 200 that names no other is the server's.
  return { kind: status < 400 || status >= 500 || OF_SERVERS.has(status) ? 'outage' : 'unknown' }
}

/** Statuses of a request that no server takes however often it is sent. */
const OF_REQUESTS: ReadonlySet<number> = new Set([400, 405, 406, 411, 414, 415, 416, 417, 422, 431, 451])

/** Statuses below 500 of a server that was too slow, or not ready. */
const OF_SERVERS: ReadonlySet<number> = new Set([408, 409, 425])

/** Why a finished answer is none: the closed list of what servers say in `finish_reason`, lower case. */
export const FINISHES: Readonly<Record<string, 'content' | 'refusal' | 'length' | 'load' | 'outage' | 'too-long'>> = {
  content_filter: 'content',
  'content-filter': 'content',
  content_filtered: 'content',
  guardrail_intervened: 'content',
  safety: 'content',
  image_safety: 'content',
  prohibited_content: 'content',
  blocklist: 'content',
  spii: 'content',
  recitation: 'content',
  sensitive: 'content',
  refusal: 'refusal',
  length: 'length',
  max_tokens: 'length',
  network_error: 'outage',
  insufficient_system_resource: 'load',
  error: 'outage',
  model_context_window_exceeded: 'too-long',
}
