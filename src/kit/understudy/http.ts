import type { IncomingMessage, ServerResponse } from 'node:http'
import type { z } from 'zod'

/** A request that can't be served, with the status and words for its sender. */
export class BadRequest extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** The request ended before it was whole: there is nobody to answer. */
export class ClientGone extends Error {}

const MOST_BYTES = 10 * 1024 * 1024

/** The whole body of a request. Rejects with BadRequest 413 over 10 MiB, with ClientGone if it is never finished. */
export async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    // Not destroyed on an early return, so that the 413 still finds its way back.
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      bytes += chunk.length
      if (bytes > MOST_BYTES) {
        request.resume()
        throw new BadRequest(413, 'The request is larger than 10 MiB.')
      }
      chunks.push(chunk)
    }
  } catch (cause) {
    if (cause instanceof BadRequest) throw cause
    throw new ClientGone('The request broke off.', { cause })
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** A JSON body that fits a schema; throws BadRequest 400 that names every misfit. */
export function parsed<Schema extends z.ZodType>(body: string, schema: Schema): z.infer<Schema> {
  const result = schema.safeParse(json(body))
  if (result.success) return result.data
  const misfits = result.error.issues.map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`)
  throw new BadRequest(400, `The request does not fit. ${misfits.join('; ')}`)
}

function json(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    throw new BadRequest(400, 'The body is not JSON.')
  }
}

export function sendJson(response: ServerResponse, value: unknown, status = 200, headers: Record<string, string> = {}) {
  send(response, status, { 'content-type': 'application/json', ...headers }, JSON.stringify(value))
}

/** A chat completion as the one chunk of a stream. */
export function sendEvents(response: ServerResponse, value: unknown, headers: Record<string, string>) {
  const { choices = [], ...rest } = value as { readonly choices?: readonly { readonly message?: unknown }[] }
  const chunk = {
    ...rest,
    object: 'chat.completion.chunk',
    choices: choices.map(({ message, ...choice }) => ({ ...choice, delta: message })),
  }
  const events = `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`
  send(response, 200, { 'content-type': 'text/event-stream', ...headers }, events)
}

/** An error in the shape that OpenAI gives its own. */
export function sendError(response: ServerResponse, status: number, message: string, headers?: Record<string, string>) {
  const type = status === 429 ? 'requests' : status >= 500 ? 'server_error' : 'invalid_request_error'
  const code = status === 429 ? 'rate_limit_exceeded' : null
  sendJson(response, { error: { message, type, param: null, code } }, status, headers)
}

export function send(response: ServerResponse, status: number, headers: Record<string, string>, body: string) {
  if (response.destroyed) return
  response.writeHead(status, { 'content-length': String(Buffer.byteLength(body)), ...headers })
  response.end(body)
}
