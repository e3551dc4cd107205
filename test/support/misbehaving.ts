import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startUnderstudy } from '../../src/kit/understudy/server.ts'

/** A question as a server gets it. */
export interface Question {
  readonly model: string
  /** The words of all messages, images left out. */
  readonly text: string
  readonly hasImage: boolean
}

/** The response to send instead of the understudy's; null to let it answer; a function changes its answer. */
export type Misbehaviour = (
  question: Question,
) => { readonly status: number; readonly body: unknown } | ((completion: Completion) => void) | null

export interface Completion {
  choices: { finish_reason: string; message: Record<string, unknown> }[]
  [field: string]: unknown
}

type Content = string | readonly { type: string; text?: string }[]

/** A model server on loopback that answers as the understudy does, but for the questions at which it misbehaves. */
export async function startMisbehaving(misbehave: Misbehaviour) {
  const understudy = await startUnderstudy()
  const asked: Question[] = []
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = JSON.parse(Buffer.concat(chunks).toString()) as { model: string; messages: { content: Content }[] }
    const question = questionIn(body)
    asked.push(question)
    const change = misbehave(question)
    if (change !== null && typeof change !== 'function') return send(response, change.status, change.body)
    const answered = await fetch(`${understudy.settings.OPENAI_BASE_URL}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer understudy' },
      body: JSON.stringify({ ...body, model: 'understudy' }),
    })
    const completion = (await answered.json()) as Completion
    change?.(completion)
    send(response, answered.status, completion)
  }
  // What is under way when it is closed has nobody to answer to.
  const server = createServer((request, response) => void answer(request, response).catch(() => response.destroy()))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    settings: { OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`, OPENAI_API_KEY: 'none' },
    asked,
    async close() {
      server.closeAllConnections()
      server.close()
      await understudy.close()
    },
  }
}

function questionIn({ model, messages }: { model: string; messages: { content: Content }[] }): Question {
  const parts = messages.flatMap(({ content }) =>
    typeof content === 'string' ? [{ type: 'text', text: content }] : content,
  )
  return {
    model,
    text: parts.map(({ text = '' }) => text).join('\n'),
    hasImage: parts.some(({ type }) => type === 'image_url'),
  }
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(typeof body === 'string' ? body : JSON.stringify(body))
}
