/** What is wrong with a request. */
export type RequestFault = {
  readonly status: number
  readonly message: string
  readonly parameter: string | null
  readonly code: string | null
}

/** The body of an error, as servers write it. */
export const ERROR_FORMS = {
  openai: ({ message, parameter, code }: RequestFault) => ({
    error: { message, type: 'invalid_request_error', param: parameter, code },
  }),
  vllm: ({ status, message }: RequestFault) => ({
    error: { message, type: 'BadRequestError', param: null, code: status },
  }),
  anthropic: ({ message }: RequestFault) => ({
    error: { code: 'invalid_request_error', message, type: 'invalid_request_error', param: null },
  }),
  /** The words alone. */
  'lm-studio': ({ message }: RequestFault) => ({ error: message }),
  'llama-cpp': ({ status, message }: RequestFault) => ({
    error: { code: status, message, type: 'invalid_request_error' },
  }),
  /** A list of one. */
  gemini: ({ status, message }: RequestFault) => [
    {
      error: {
        code: status,
        message,
        status: 'INVALID_ARGUMENT',
        details: [
          { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: [{ description: message }] },
        ],
      },
    },
  ],
  /** Where the fault is stands in `loc`; the words name nothing. */
  mistral: ({ message, parameter }: RequestFault) => ({
    object: 'error',
    message: { detail: [{ type: 'extra_forbidden', loc: ['body', parameter], msg: message, input: null }] },
    type: 'invalid_request_error',
    param: null,
    code: null,
  }),
  deepseek: ({ message }: RequestFault) => ({
    error: { message, type: 'invalid_request_error', param: null, code: 'invalid_request_error' },
  }),
  openrouter: ({ status, message }: RequestFault) => ({ error: { message, code: status, metadata: null } }),
} as const satisfies Readonly<Record<string, (fault: RequestFault) => unknown>>

export type ErrorForm = keyof typeof ERROR_FORMS
