/** What is wrong with a request. */
export type Fault = {
  readonly status: number
  readonly message: string
  readonly parameter: string | null
  readonly code: string | null
}

/** The body of an error, as servers write it. */
export const ERROR_FORMS = {
  openai: ({ message, parameter, code }: Fault) => ({
    error: { message, type: 'invalid_request_error', param: parameter, code },
  }),
  vllm: ({ status, message }: Fault) => ({
    error: { message, type: 'BadRequestError', param: null, code: status },
  }),
  anthropic: ({ message }: Fault) => ({
    error: { code: 'invalid_request_error', message, type: 'invalid_request_error', param: null },
  }),
} as const satisfies Readonly<Record<string, (fault: Fault) => unknown>>

export type ErrorForm = keyof typeof ERROR_FORMS
