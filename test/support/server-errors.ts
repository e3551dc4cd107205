/** What an error response asks of whoever called, as a test expects it. */
export type Expected =
  | 'content'
  | 'too-long'
  | 'load'
  | 'outage'
  | 'unknown'
  | 'quota'
  | 'key'
  | 'permission'
  | 'model'
  | 'question'

/** A response of a model server as public reports show it: who, status, body, what it means, and the wait that it names. */
export type ServerError = readonly [who: string, status: number, body: unknown, is: Expected, waitMs?: number]

const openAi = (message: string, code: string | number | null = null, type = 'invalid_request_error') => ({
  error: { message, type, param: null, code },
})
/** What each status means where a server says nothing else with it. */
const STATUSES: readonly (readonly [Expected, ...number[]])[] = [
  ['question', 400, 405, 406, 411, 414, 415, 416, 417, 422, 431, 451],
  ['key', 401],
  ['quota', 402, 412],
  ['permission', 403],
  ['model', 301, 308, 404],
  ['too-long', 413],
  ['load', 498],
  ['outage', 200, 408, 409, 425, 500, 503, 504, 520, 529],
  ['unknown', 410, 418, 424, 460],
]
const AZURE_FILTER = "The response was filtered due to the prompt triggering Azure OpenAI's content management policy."
const azureResult = {
  code: 'ResponsibleAIPolicyViolation',
  content_filter_result: {
    hate: { filtered: true, severity: 'high' },
    sexual: { filtered: false, severity: 'safe' },
    jailbreak: { filtered: false, detected: false },
  },
}

export const SERVER_ERRORS: readonly ServerError[] = [
  // Content.
  [
    'Azure',
    400,
    {
      error: {
        message: AZURE_FILTER,
        type: null,
        param: 'prompt',
        code: 'content_filter',
        status: 400,
        innererror: azureResult,
      },
    },
    'content',
  ],
  [
    'Azure without details',
    400,
    { error: { message: AZURE_FILTER, type: null, param: 'prompt', code: 'content_filter', status: 400 } },
    'content',
  ],
  [
    'LiteLLM',
    400,
    {
      error: {
        message: `litellm.BadRequestError: litellm.ContentPolicyViolationError: AzureException - ${AZURE_FILTER}`,
        type: null,
        param: null,
        code: '400',
        provider_specific_fields: { innererror: azureResult },
      },
    },
    'content',
  ],
  [
    'OpenAI',
    400,
    openAi('Invalid prompt: your prompt was flagged as potentially violating our usage policy.', 'invalid_prompt'),
    'content',
  ],
  [
    'OpenAI, safety system',
    400,
    openAi('Your request was rejected as a result of our safety system.', 'content_policy_violation'),
    'content',
  ],
  [
    'OpenAI, image',
    400,
    openAi('Your input image may contain content that is not allowed by our safety system.'),
    'content',
  ],
  ['DeepSeek', 400, openAi('Content Exists Risk', 'invalid_request_error'), 'content'],
  ['DeepSeek, detail', 400, { detail: 'Content Exists Risk' }, 'content'],
  [
    'DeepSeek, top level',
    400,
    { code: 'invalid_request_error', message: 'Content Exists Risk', param: null, type: 'invalid_request_error' },
    'content',
  ],
  [
    'DashScope',
    400,
    {
      error: {
        code: 'data_inspection_failed',
        param: null,
        message: 'Input data may contain inappropriate content.',
        type: 'data_inspection_failed',
      },
    },
    'content',
  ],
  [
    'DashScope, newer',
    400,
    openAi('<400> InternalError.Algo.DataInspectionFailed: Input text data may contain inappropriate content.'),
    'content',
  ],
  ['Zhipu', 400, { error: { code: '1301', message: '系统检测到输入或生成内容可能包含不安全或敏感内容' } }, 'content'],
  [
    'Moonshot',
    400,
    {
      error: {
        code: 400,
        message: 'The request was rejected because it was considered high risk',
        param: 'prompt',
        type: 'content_filter',
      },
    },
    'content',
  ],
  ['Moonshot, type alone', 400, { error: { type: 'content_filter', message: 'The request was rejected' } }, 'content'],
  [
    'MiMo',
    400,
    { error: { code: '421', message: 'Moderation Block', param: 'The request was rejected', type: 'content_filter' } },
    'content',
  ],
  [
    'xAI',
    403,
    {
      code: 'The caller does not have permission to execute the specified operation',
      error: 'Content violates usage guidelines. Team: t, Failed check: SAFETY_CHECK_TYPE_BIO',
    },
    'content',
  ],
  [
    'MiniMax',
    500,
    openAi(
      "input new_sensitive, messages[13]'s content[2] image is sensitive, please check your input (1026).",
      null,
      'server_error',
    ),
    'content',
  ],
  [
    'Google',
    400,
    {
      error: {
        code: 400,
        message: 'Request contains an invalid argument.',
        status: 'INVALID_ARGUMENT',
        details: [{ reason: 'PUBLIC_ERROR_UNSAFE_GENERATION' }],
      },
    },
    'content',
  ],
  [
    'Anthropic',
    400,
    { type: 'error', error: { type: 'invalid_request_error', message: 'Output blocked by content filtering policy' } },
    'content',
  ],
  ['Cohere', 400, { message: 'blocked output: please adjust your prompt and try again' }, 'content'],
  [
    'one-api',
    400,
    openAi('input contains sensitive words: [x]', 'sensitive_words_detected', 'new_api_error'),
    'content',
  ],
  [
    'OpenRouter',
    403,
    {
      error: {
        code: 403,
        message: 'Your chosen model requires moderation and your input was flagged',
        metadata: { reasons: ['harassment'], flagged_input: 'maximum context length', provider_name: 'p' },
      },
    },
    'content',
  ],
  [
    'OpenRouter, reasons alone',
    403,
    { error: { code: 403, message: 'Forbidden', metadata: { reasons: ['sexual'] } } },
    'content',
  ],
  [
    'fal',
    422,
    {
      detail: [
        {
          loc: ['body', 'image_url'],
          msg: 'The content was flagged by a content checker.',
          type: 'content_policy_violation',
          categories: ['sexual'],
        },
      ],
    },
    'content',
  ],
  [
    'Volcengine',
    400,
    {
      error: {
        code: 'InputTextSensitiveContentDetected.Violence',
        message: 'The request failed because the input text may contain sensitive information.',
      },
    },
    'content',
  ],
  [
    'Nova',
    400,
    { message: 'This request has been blocked by our content filters. Please adjust your text prompt.' },
    'content',
  ],
  ['Huawei', 403, { error_code: 'ModelArts.81011', error_msg: 'May contain senstive information' }, 'content'],
  ['ZenMux', 403, { error: { type: 'safety_check_failed', message: 'no' } }, 'content'],
  [
    'a gateway with the upstream’s body as text',
    400,
    {
      error: {
        message: 'Provider returned error',
        code: 400,
        metadata: { raw: JSON.stringify(openAi('Content Exists Risk')) },
      },
    },
    'content',
  ],

  // Too long.
  [
    'OpenAI',
    400,
    openAi(
      "This model's maximum context length is 4097 tokens. However, your messages resulted in 4294 tokens",
      'context_length_exceeded',
    ),
    'too-long',
  ],
  [
    'OpenAI, tokens a minute',
    429,
    openAi(
      'Request too large for gpt-4o in organization o on tokens per min (TPM): Limit 30000, Requested 30601.',
      'rate_limit_exceeded',
      'tokens',
    ),
    'too-long',
  ],
  [
    'vLLM',
    400,
    {
      object: 'error',
      message: "This model's maximum context length is 512 tokens. However, you requested 3000 tokens",
      type: 'BadRequestError',
      param: null,
      code: 400,
    },
    'too-long',
  ],
  [
    'vLLM, decoder',
    400,
    {
      object: 'error',
      message: 'The decoder prompt (length 17772) is longer than the maximum model length of 16384.',
      code: 400,
    },
    'too-long',
  ],
  [
    'vLLM, V0',
    500,
    {
      object: 'error',
      message: 'The prompt (total length 25938) is too long to fit into the model (context length 4096)',
    },
    'too-long',
  ],
  [
    'llama.cpp',
    400,
    {
      error: {
        code: 400,
        message: 'the request exceeds the available context size, try increasing it',
        type: 'exceed_context_size_error',
        n_ctx: 4096,
      },
    },
    'too-long',
  ],
  [
    'llama.cpp, embeddings',
    500,
    {
      error: {
        code: 500,
        message: 'input (548 tokens) is too large to process. increase the physical batch size',
        type: 'server_error',
      },
    },
    'too-long',
  ],
  [
    'LM Studio',
    400,
    {
      error:
        'Trying to keep the first 6547 tokens when context overflows. However, the model is loaded with a context length of only 4096 tokens',
    },
    'too-long',
  ],
  [
    'LM Studio, older',
    400,
    { error: 'The number of tokens to keep from the initial prompt is greater than the context length.' },
    'too-long',
  ],
  [
    'TGI',
    422,
    {
      error: 'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 8740 `inputs` tokens',
      error_type: 'validation',
    },
    'too-long',
  ],
  ['LiteLLM', 400, openAi('litellm.ContextWindowExceededError … Max Input Tokens=272000, Got=301450'), 'too-long'],
  ['Anthropic', 400, openAi('prompt is too long: 202199 tokens > 200000 maximum'), 'too-long'],
  [
    'Anthropic, bytes',
    413,
    { error: { type: 'request_too_large', message: 'Request exceeds the maximum size' } },
    'too-long',
  ],
  ['Bedrock', 400, { message: 'Input is too long for requested model.' }, 'too-long'],
  [
    'Gemini',
    400,
    [
      {
        error: {
          code: 400,
          message: 'The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).',
          status: 'INVALID_ARGUMENT',
        },
      },
    ],
    'too-long',
  ],
  [
    'DashScope',
    400,
    openAi('<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 204800]'),
    'too-long',
  ],
  [
    'Moonshot',
    400,
    openAi('Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)'),
    'too-long',
  ],
  [
    'Mistral',
    400,
    {
      object: 'error',
      message: 'Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
      code: '3051',
    },
    'too-long',
  ],
  [
    'Together',
    403,
    {
      error: {
        message:
          'Input token count + max_tokens parameter must be less than the context length of the model being queried.',
      },
    },
    'too-long',
  ],
  ['Fireworks', 400, openAi('The prompt is too long: 40177, model maximum context length: 32767'), 'too-long'],
  [
    'xAI',
    400,
    { error: "This model's maximum prompt length is 131072 but the request contains 136973 tokens." },
    'too-long',
  ],
  [
    'Cohere',
    400,
    { message: 'too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292.' },
    'too-long',
  ],
  [
    'Volcengine',
    400,
    { error: { code: 'InvalidParameter', message: 'Input length 203743 exceeds the maximum length 202752' } },
    'too-long',
  ],
  [
    'SGLang',
    400,
    {
      object: 'error',
      message: "The input (61709 tokens) is longer than the model's context length (40960 tokens).",
      code: 400,
    },
    'too-long',
  ],
  [
    'Groq',
    413,
    openAi('Request too large for model `m` (TPM): Limit 6000, Requested 12328', 'rate_limit_exceeded', 'tokens'),
    'too-long',
  ],
  [
    'OpenRouter',
    400,
    {
      error: {
        message: "This endpoint's maximum context length is 32768 tokens.",
        code: 400,
        metadata: { error_type: 'context_length_exceeded' },
      },
    },
    'too-long',
  ],
  ['Copilot', 413, { error: { message: 'failed to parse request', code: '' } }, 'too-long'],
  ['Zhipu', 400, { error: { code: '1261', message: 'Prompt 超长' } }, 'too-long'],

  // Load, with the waits that they name.
  [
    'OpenAI',
    429,
    openAi('Rate limit reached for m. Please try again in 1m47.5s.', 'rate_limit_exceeded', 'tokens'),
    'load',
    107_500,
  ],
  [
    'OpenAI, milliseconds',
    429,
    openAi('Rate limit reached for m. Please try again in 6ms.', 'rate_limit_exceeded'),
    'load',
    6,
  ],
  ['OpenAI, slow down', 429, openAi('Slow down', 'slow_down', 'rate_limit_error'), 'load'],
  [
    'OpenAI, overloaded',
    503,
    openAi('That model is currently overloaded with other requests.', null, 'server_error'),
    'load',
  ],
  ['Azure', 429, { error: { code: '429', message: 'Rate limit is exceeded. Try again in 2 seconds.' } }, 'load', 2_000],
  [
    'Azure, peak',
    429,
    {
      error: {
        code: '429',
        message: 'The system is currently experiencing high demand. Please retry after 20 seconds.',
      },
    },
    'load',
    20_000,
  ],
  ['llama.cpp', 503, { error: { code: 503, message: 'Loading model', type: 'unavailable_error' } }, 'load'],
  ['Hugging Face', 503, { error: 'Model m is currently loading', estimated_time: 176.7188568 }, 'load', 176_719],
  ['Ollama', 503, { error: 'server busy, please try again.  maximum pending requests exceeded' }, 'load'],
  ['TGI', 429, { error: 'Model is overloaded', error_type: 'overloaded' }, 'load'],
  [
    'LiteLLM',
    429,
    openAi('No deployments available for selected model, Try again in 60 seconds. Passed model=m'),
    'load',
    60_000,
  ],
  [
    'Gemini',
    429,
    [
      {
        error: {
          code: 429,
          message:
            'You exceeded your current quota, please check your plan and billing details. Please retry in 58.821668433s.',
          status: 'RESOURCE_EXHAUSTED',
          details: [{ retryDelay: '58s' }],
        },
      },
    ],
    'load',
    58_822,
  ],
  [
    'Gemini, busy',
    503,
    { error: { code: 503, message: 'The model is overloaded. Please try again later.', status: 'UNAVAILABLE' } },
    'load',
  ],
  ['Anthropic', 529, { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }, 'load'],
  [
    'Mistral',
    429,
    {
      object: 'error',
      message: 'Service tier capacity exceeded for this model.',
      type: 'invalid_request_error',
      code: '3505',
    },
    'load',
  ],
  [
    'DashScope',
    429,
    openAi('Allocated quota exceeded, please increase your quota limit.', 'insufficient_quota'),
    'load',
  ],
  [
    'Moonshot',
    429,
    openAi(
      'request reached organization max RPM: 3, please try again after 1 seconds',
      null,
      'rate_limit_reached_error',
    ),
    'load',
    1_000,
  ],
  [
    'Cohere trial key',
    429,
    { message: 'You are using a Trial key, which is limited to 40 API calls / minute.' },
    'load',
  ],
  ['Groq flex', 498, { error: { message: 'capacity' } }, 'load'],
  [
    'OpenRouter in a 200',
    200,
    { error: { message: 'Provider returned error', code: 429, metadata: { raw: 'error code: 1015' } } },
    'load',
  ],
  ['nothing but a status', 429, 'slow', 'load'],

  // Nothing but a status.
  ...STATUSES.flatMap(([is, ...statuses]) =>
    statuses.map((status): ServerError => ['nothing but a status', status, { error: { message: 'No.' } }, is]),
  ),

  // Nobody can tell.
  ['TGI', 424, { error: 'Request failed during generation: Server error: ', error_type: 'generation' }, 'unknown'],

  // Outage.
  ['any server', 502, '<html>Bad gateway</html>', 'outage'],
  ['any server, in a 200', 200, { error: { message: 'Internal error' } }, 'outage'],
  [
    'LM Studio',
    400,
    { error: { message: 'The model has crashed without additional information. (Exit code: 6)' } },
    'outage',
  ],
  [
    'Azure, whose filter failed',
    400,
    { error: { code: 'content_filter_error', message: 'The contents are not filtered' } },
    'outage',
  ],
  [
    'Volcengine, whose filter failed',
    400,
    { error: { code: 'ContentSecurityDetectionError', message: 'no' } },
    'outage',
  ],

  // The operator's to mend.
  [
    'OpenAI',
    429,
    openAi(
      'You exceeded your current quota, please check your plan and billing details.',
      'insufficient_quota',
      'insufficient_quota',
    ),
    'quota',
  ],
  ['OpenAI, hard limit', 400, openAi('Billing hard limit has been reached'), 'quota'],
  ['OpenAI, spend limit', 429, openAi('no', 'project_spend_limit_exceeded', 'insufficient_quota'), 'quota'],
  ['Anthropic', 400, openAi('Your credit balance is too low to access the Anthropic API.'), 'quota'],
  ['OpenRouter', 402, { error: { message: 'Insufficient credits.', code: 402 } }, 'quota'],
  ['DeepSeek', 402, { error: { message: 'Insufficient Balance' } }, 'quota'],
  [
    'Zhipu',
    429,
    { error: { code: '1113', message: 'Insufficient balance or no resource package. Please recharge.' } },
    'quota',
  ],
  [
    'Moonshot',
    429,
    openAi('Your account is suspended due to insufficient balance', null, 'exceeded_current_quota_error'),
    'quota',
  ],
  [
    'Fireworks',
    412,
    {
      error: {
        code: 'PRECONDITION_FAILED',
        message: 'Account a is suspended, possibly due to reaching the monthly spending limit',
      },
    },
    'quota',
  ],
  [
    'xAI',
    429,
    { error: 'Your team t has either used all available credits or reached its monthly spending limit.' },
    'quota',
  ],
  [
    'Cohere trial key',
    429,
    { message: 'You are using a Trial key, which is limited to 1000 API calls / month.' },
    'quota',
  ],
  ['DashScope', 403, openAi('Free allocated quota exceeded.', 'AllocationQuota.FreeTierOnly'), 'quota'],
  [
    'LiteLLM',
    400,
    openAi('Budget has been exceeded! Current cost: 26.075, Max budget: 0.25', '400', 'budget_exceeded'),
    'quota',
  ],
  ['OpenAI', 401, openAi('Incorrect API key provided: sk-x.', 'invalid_api_key'), 'key'],
  [
    'Gemini',
    400,
    [
      {
        error: {
          code: 400,
          message: 'API key not valid. Please pass a valid API key.',
          status: 'INVALID_ARGUMENT',
          details: [{ reason: 'API_KEY_INVALID' }],
        },
      },
    ],
    'key',
  ],
  ['xAI', 400, { error: 'Incorrect API key provided: na***ys.' }, 'key'],
  ['vLLM', 401, { error: 'Unauthorized' }, 'key'],
  ['OpenAI', 404, openAi('The model `x` does not exist or you do not have access to it.', 'model_not_found'), 'model'],
  [
    'vLLM',
    404,
    { object: 'error', message: 'The model `x` does not exist.', type: 'NotFoundError', code: 404 },
    'model',
  ],
  [
    'Azure',
    404,
    {
      error: {
        code: 'DeploymentNotFound',
        message: 'The API deployment for this resource does not exist. please wait a moment and try again.',
      },
    },
    'model',
  ],
  ['Ollama', 404, { error: { message: 'model "x" not found, try pulling it first', type: 'api_error' } }, 'model'],
  ['LM Studio', 400, { error: { message: 'No models loaded. Please load a model in the developer page.' } }, 'model'],
  [
    'Groq',
    400,
    openAi('The model `x` has been decommissioned and is no longer supported', 'model_decommissioned'),
    'model',
  ],
  ['Mistral', 400, { object: 'error', message: 'Invalid model: x', type: 'invalid_model', code: '1500' }, 'model'],
  ['no such page', 404, '404 page not found', 'model'],
  [
    'OpenRouter, data policy',
    404,
    { error: { message: 'No endpoints found matching your data policy', code: 404 } },
    'model',
  ],
  [
    'Azure, blocked',
    403,
    {
      error: {
        code: 'Forbidden',
        message:
          'Your resource has been temporarily blocked because we detected behavior that may violate our content policy',
      },
    },
    'permission',
  ],
  ['OpenRouter', 403, { error: { code: 403, message: 'Forbidden' } }, 'permission'],
  [
    'Gemini',
    400,
    { error: { code: 400, message: 'User location is not supported for the API use.', status: 'FAILED_PRECONDITION' } },
    'permission',
  ],

  // This question.
  [
    'OpenAI, format',
    400,
    openAi(
      "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png'].",
      'invalid_image_format',
    ),
    'question',
  ],
  [
    'vLLM, images',
    400,
    { object: 'error', message: 'At most 1 image(s) may be provided in one request.', code: 400 },
    'question',
  ],
  [
    'llama.cpp, text only',
    500,
    { error: { code: 500, message: 'image input is not supported by this server', type: 'server_error' } },
    'question',
  ],
  [
    'OpenRouter, text only',
    404,
    { error: { code: '404', message: 'No endpoints found that support image input' } },
    'question',
  ],
  [
    'DashScope, image',
    400,
    openAi('<400> InternalError.Algo.InvalidParameter: Failed to download multimodal content'),
    'question',
  ],
  ['Anthropic, image', 400, openAi('Could not process image'), 'question'],
  ['a bad request', 400, openAi('what?'), 'question'],
  ['an odd one', 422, { detail: [{ type: 'missing', loc: ['body', 'messages'], msg: 'Field required' }] }, 'question'],
]
