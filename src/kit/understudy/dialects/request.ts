import type { IncomingMessage } from 'node:http'
import { BadRequest } from '../http.ts'
import { isSchema } from '../json-schema.ts'
import type { ChatRequest } from '../question.ts'
import type { ParameterRefusal, ServerDialect } from './dialect.ts'
import { ERROR_FORMS, type RequestFault } from './error-forms.ts'

/** A request that a dialect refuses, in that dialect's words. */
export class RefusedRequest extends BadRequest {
  /** What it refuses, whether or not its error names it. */
  readonly parameter: string
  readonly body: unknown

  constructor(
    dialect: ServerDialect,
    { parameter, named = true, ...fault }: Pick<RequestFault, 'status' | 'message' | 'code'> & Naming,
  ) {
    super(fault.status, fault.message)
    this.parameter = parameter
    this.body = ERROR_FORMS[dialect.errors]({ ...fault, parameter: named ? parameter : null })
  }
}

type Naming = { readonly parameter: string; readonly named?: boolean }

/** Throws `RefusedRequest` for a request without the key, or without a parameter of the query, that servers of the dialect ask for. */
export function checkAccess(dialect: ServerDialect, { headers }: IncomingMessage, { searchParams }: URL): void {
  if (dialect.key !== null && !headers[dialect.key]) {
    const message = "You didn't provide an API key."
    throw new RefusedRequest(dialect, {
      status: 401,
      message,
      code: 'invalid_api_key',
      parameter: dialect.key,
      named: false,
    })
  }
  const parameter = dialect.query?.find((name) => !searchParams.has(name))
  if (parameter === undefined) return
  throw new RefusedRequest(dialect, {
    status: 404,
    message: 'Resource not found',
    code: '404',
    parameter,
    named: false,
  })
}

/** Throws `RefusedRequest` for the first thing that a server of this dialect does not take. */
export function checkRequest(dialect: ServerDialect, request: ChatRequest): void {
  const body: Readonly<Record<string, unknown>> = { ...request }
  for (const refusal of dialect.refuses) {
    const { parameter, says, code = null, status = 400, named = true } = refusal
    const value = fieldOf(body, parameter)
    if (!isRefused(refusal, value, body)) continue
    throw new RefusedRequest(dialect, {
      status,
      message: says.replaceAll('{value}', String(value)),
      code,
      parameter,
      named,
    })
  }
  const refuse: Refuse = (parameter, message) => {
    throw new RefusedRequest(dialect, { status: 400, message, code: null, parameter })
  }
  for (const { role } of request.messages) {
    const fate = dialect.roles?.[role]
    if (fate !== undefined && 'says' in fate) refuse('messages', fate.says)
  }
  if (typeof dialect.images === 'string' && request.messages.some(({ content }) => hasImage(content)))
    refuse('messages', dialect.images)
  checkForm(dialect, request, refuse)
}

type Refuse = (parameter: string, says: string) => never

function checkForm({ form }: ServerDialect, { messages, response_format: format }: ChatRequest, refuse: Refuse): void {
  const said = () => messages.some(({ content }) => /json/i.test(JSON.stringify(content ?? '')))
  if (format?.type === 'json_object' && form.jsonWord !== null && !said()) refuse('messages', form.jsonWord)
  const schema = format && 'json_schema' in format ? format.json_schema?.schema : undefined
  const keyword = form.keywords?.refused.find((name) => holdsKeyword(schema, name))
  if (keyword !== undefined && form.keywords !== undefined)
    refuse('response_format', form.keywords.says.replaceAll('{value}', keyword))
}

function isRefused(
  { values, except = [], unless = {} }: ParameterRefusal,
  value: unknown,
  body: Readonly<Record<string, unknown>>,
): boolean {
  if (value === undefined || value === null) return false
  if (values !== undefined && !values.includes(value)) return false
  if (except.includes(value)) return false
  return !Object.entries(unless).some(([name, taken]) => taken.includes(fieldOf(body, name)))
}

/** A field of the body, by a path with dots. */
function fieldOf(body: Readonly<Record<string, unknown>>, path: string): unknown {
  return path.split('.').reduce<unknown>((at, name) => (isSchema(at) ? at[name] : undefined), body)
}

function hasImage(content: ChatRequest['messages'][number]['content']): boolean {
  return Array.isArray(content) && content.some(({ type }) => type === 'image_url')
}

function holdsKeyword(schema: unknown, keyword: string): boolean {
  if (Array.isArray(schema)) return schema.some((one) => holdsKeyword(one, keyword))
  if (!isSchema(schema)) return false
  return Object.entries(schema).some(
    ([name, value]) =>
      name === keyword || (name === 'properties' ? inProperties(value, keyword) : holdsKeyword(value, keyword)),
  )
}

/** The names of properties are no keywords. */
function inProperties(properties: unknown, keyword: string): boolean {
  return isSchema(properties) && Object.values(properties).some((one) => holdsKeyword(one, keyword))
}

/** The request as the model sees it: without what the server ignores, and without messages that it loses. */
export function seenOf(dialect: ServerDialect, request: ChatRequest): ChatRequest {
  const { ignores, roles = {}, form } = dialect
  const { response_format: format } = request
  const isHeld = (format?.type === 'json_schema' || format?.type === 'json_object') && form[format.type] === 'kept'
  const sent: ChatRequest = { ...request, response_format: isHeld ? format : undefined }
  for (const name of ignores) Reflect.deleteProperty(sent, name)
  const heard = request.messages.filter(({ role }) => roles[role] === undefined)
  return {
    ...sent,
    messages: typeof dialect.images === 'object' && dialect.images !== null ? heard.map(withoutImages) : heard,
  }
}

function withoutImages(message: ChatRequest['messages'][number]): ChatRequest['messages'][number] {
  const { content } = message
  return Array.isArray(content) ? { ...message, content: content.filter(({ type }) => type !== 'image_url') } : message
}
