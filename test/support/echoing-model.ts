import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

export interface EchoingModel {
  readonly url: string
  /** Every question, with the time at which it came, ms since 1970. */
  readonly asked: readonly { readonly body: string; readonly at: number }[]
  /** How often it repeated some of the words. */
  repeated(): number
  close(): Promise<void>
}

/**
 * A model that says what the understudy says, and in each reason that it gives repeats the words that it was shown. It
 * answers after 100 ms, and not before `asked` has resolved.
 */
export async function startEchoingModel(
  understudy: string,
  words: RegExp,
  wait: (body: string) => Promise<unknown> = async () => {},
): Promise<EchoingModel> {
  const asked: { body: string; at: number }[] = []
  let repeated = 0
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString()
    asked.push({ body, at: Date.now() })
    await Promise.all([sleep(100), wait(body)])
    const shown = [...new Set(body.match(words) ?? [])].join(' ')
    const given = await fetch(`${understudy}${(request.url ?? '').replace(/^\/v1/, '')}`, {
      method: request.method ?? 'POST',
      headers: { 'content-type': 'application/json', authorization: request.headers.authorization ?? '' },
      ...(body === '' ? {} : { body }),
    })
    const text = await given.text()
    const said = text.replace(/\\"(reason|reasoning|summary|background|comparison)\\":\\"/g, (field) => {
      if (shown !== '') repeated++
      return `${field}${shown} `
    })
    response.writeHead(given.status, { 'content-type': 'application/json' }).end(said)
  }
  const server = createServer((request, response) => {
    // The service ends in the middle of its calls.
    answer(request, response).catch(() => response.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked,
    repeated: () => repeated,
    async close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
