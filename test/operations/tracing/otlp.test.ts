import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { TraceSpan } from '../../../src/contracts/ports/traces.ts'
import { otlpSink } from '../../../src/operations/tracing/otlp.ts'

type Asked = { readonly path: string; readonly headers: IncomingMessage['headers']; readonly body: unknown }
const asked: Asked[] = []
let answer: (response: ServerResponse) => void
const server = createServer(async (request, response) => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const body = JSON.parse(gunzipSync(Buffer.concat(chunks)).toString()) as unknown
  asked.push({ path: request.url ?? '', headers: request.headers, body })
  answer(response)
})
beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)))
afterAll(() => void server.close())
beforeEach(() => void asked.splice(0))

const endpoint = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}/otlp/`
const sinkOf = (more: { endpoint?: string; timeout?: number } = {}) =>
  otlpSink(
    { endpoint: endpoint(), headers: { 'x-key': 'k' }, timeout: 2_000, ...more },
    { gavel: 'prod', version: '1' },
  )
const span: TraceSpan = {
  traceId: '0af7651916cd43dd8448eb211c80319c',
  spanId: 'b7ad6b7169203331',
  name: 'ask',
  kind: 'client',
  // More digits than a number of nanoseconds would have.
  startMs: 1_793_000_000_123.25,
  endMs: 1_793_000_000_100,
  attributes: { whole: 3, part: 0.5, yes: true, word: 'w\ud800', list: ['a'] },
  failed: 'timeout',
}
const send = (sink = sinkOf()) => sink.sendSpans([span], new AbortController().signal)
const replies = (status: number, body = '', headers: Record<string, string> = {}) => {
  answer = (response) => void response.writeHead(status, headers).end(body)
}

test('spans and events are OTLP’s JSON: ids in hexadecimal, 64-bit integers as text, kinds as numbers', async () => {
  replies(200, '{}')
  expect(await send()).toEqual({ end: 'accepted', rejected: 0, why: '' })
  expect(asked[0]).toMatchObject({
    path: '/otlp/v1/traces',
    headers: { 'x-key': 'k', 'content-type': 'application/json' },
  })
  const { resourceSpans } = (asked.at(0) as Asked).body as { resourceSpans: [{ resource: object; scopeSpans: object }] }
  const [{ resource, scopeSpans }] = resourceSpans
  expect(resource).toMatchObject({
    attributes: expect.arrayContaining([{ key: 'service.name', value: { stringValue: 'prod' } }]),
  })
  expect(scopeSpans).toEqual([
    {
      scope: { name: 'gavel', version: '1' },
      spans: [
        {
          traceId: span.traceId,
          spanId: span.spanId,
          name: 'ask',
          kind: 3,
          flags: 1,
          startTimeUnixNano: '1793000000123250000',
          // It ends no sooner than it began.
          endTimeUnixNano: '1793000000123250000',
          attributes: [
            { key: 'whole', value: { intValue: '3' } },
            { key: 'part', value: { doubleValue: 0.5 } },
            { key: 'yes', value: { boolValue: true } },
            { key: 'word', value: { stringValue: 'w\ufffd' } },
            { key: 'list', value: { arrayValue: { values: [{ stringValue: 'a' }] } } },
          ],
          status: { code: 2, message: 'timeout' },
        },
      ],
    },
  ])
  await sinkOf().sendEvents(
    [{ name: 'e', atMs: 5, traceId: 'a', spanId: 'b', attributes: {} }],
    new AbortController().signal,
  )
  expect(asked[1]).toMatchObject({
    path: '/otlp/v1/logs',
    body: {
      resourceLogs: [
        { scopeLogs: [{ logRecords: [{ eventName: 'e', timeUnixNano: '5000000', traceId: 'a', spanId: 'b' }] }] },
      ],
    },
  })
})

test('a collector that takes a part says how much it leaves out', async () => {
  replies(200, JSON.stringify({ partialSuccess: { rejectedSpans: '1', errorMessage: 'too old' } }))
  expect(await send()).toEqual({ end: 'accepted', rejected: 1, why: 'too old' })
  replies(200, '<html>')
  expect(await send()).toMatchObject({ end: 'accepted', rejected: 0 })
})

test.each([
  [429, '3', 3_000],
  [503, undefined, 0],
  [502, 'soon', 0],
  // What people mend: a key, an address, a proxy.
  [401, undefined, 0],
  [404, undefined, 0],
  [302, undefined, 0],
  [500, undefined, 0],
])('after status %i it is tried again', async (status, after, delayMs) => {
  replies(status, '', after === undefined ? {} : { 'retry-after': after })
  expect(await send()).toEqual({ end: 'again', delayMs, why: `status ${status}` })
  expect(asked).toHaveLength(1)
})

test.each([400, 413, 422])('a batch that it answers with status %i is given up', async (status) => {
  replies(status, 'a page of words')
  expect(await send()).toEqual({ end: 'refused', why: `status ${status}` })
})

test('a collector that is silent, cut off or not there is tried again; a stop ends the wait', async () => {
  answer = () => {}
  expect(await send(sinkOf({ timeout: 100 }))).toEqual({ end: 'again', delayMs: 0, why: 'no answer within 100 ms' })
  answer = (response) => void response.destroy()
  expect(await send()).toMatchObject({ end: 'again' })
  expect(await send(sinkOf({ endpoint: 'http://127.0.0.1:1' }))).toMatchObject({
    end: 'again',
    why: expect.stringContaining('could not be reached'),
  })
  answer = () => {}
  const stopping = new AbortController()
  const sending = sinkOf().sendSpans([span], stopping.signal)
  stopping.abort(new Error('stopped'))
  await expect(sending).rejects.toThrow('stopped')
})
