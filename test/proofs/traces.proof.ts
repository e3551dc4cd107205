import { spawnSync } from 'node:child_process'
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { topicsOf } from '../../config/topics.ts'
import { type Verdict, verdict as verdictSchema } from '../../src/contracts/facts/verdict.ts'
import { readTopic } from '../../src/stream/bounded-reader.ts'
import { ownFolder } from '../support/own-folder.ts'
import {
  clientOf,
  environmentOn,
  eventually,
  protocolsOn,
  type Service,
  settingsOf,
  startService,
  tell,
} from '../support/pipeline.ts'
import { type Servers, startServers } from '../support/servers.ts'

// 1,000 cases, each role killed again and again, and a collector that is away for five minutes: every case has one trace, whose spans
// add up to its verdict's timing. What the collector was sent is decoded by OpenTelemetry's own messages, in Python.

const [CASES, AWAY_MS, KILLS] = [1_000, 300_000, 4]
const NAME = 'proof'
const ROLES = ['intake', 'judge', 'publish'] as const
const folder = ownFolder('traces')
const requests = { traces: join(folder, 'traces.jsonl'), logs: join(folder, 'logs.jsonl') }

let stack: Servers
const services = new Map<string, Service>()
let collector: Server
let port = 0
let answered = 0

/** Takes what it is sent, and now and then answers that it takes nothing, or not at all though it has taken it. */
function startCollector(): Promise<void> {
  collector = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const lot = Math.random()
    if (lot < 0.1) return void response.writeHead(503).end()
    const kind = request.url === '/v1/traces' ? 'traces' : request.url === '/v1/logs' ? 'logs' : null
    if (kind === null) return void response.writeHead(404).end()
    appendFileSync(requests[kind], `${gunzipSync(Buffer.concat(chunks)).toString()}\n`)
    answered++
    if (lot < 0.2) return void request.socket.destroy()
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  return new Promise((resolve) =>
    collector.listen(port, '127.0.0.1', () => {
      port = (collector.address() as AddressInfo).port
      resolve()
    }),
  )
}

async function stopCollector(): Promise<void> {
  const closed = new Promise((resolve) => collector.close(resolve))
  collector.closeAllConnections()
  await closed
}

/** OpenTelemetry's messages, from PyPI; their JSON has ids in base64, OTLP's in hexadecimal. */
const DECODE = `
import base64, json, sys
from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
IDS = {'traceId', 'spanId', 'parentSpanId'}
def ids(value):
    if isinstance(value, list): return [ids(one) for one in value]
    if not isinstance(value, dict): return value
    return {k: base64.b64encode(bytes.fromhex(v)).decode() if k in IDS else ids(v) for k, v in value.items()}
def value(v):
    which = v.WhichOneof('value')
    return [value(one) for one in v.array_value.values] if which == 'array_value' else getattr(v, which)
def attributes(all): return {a.key: value(a.value) for a in all}
for line in open(sys.argv[1]):
    read = json_format.ParseDict(ids(json.loads(line)), ExportTraceServiceRequest())
    for rs in read.resource_spans:
        for ss in rs.scope_spans:
            for s in ss.spans:
                print(json.dumps({'what': 'span', 'service': attributes(rs.resource.attributes)['service.name'], 'traceId': s.trace_id.hex(), 'spanId': s.span_id.hex(), 'parentId': s.parent_span_id.hex(), 'name': s.name, 'kind': s.kind, 'start': str(s.start_time_unix_nano), 'end': str(s.end_time_unix_nano), 'attributes': attributes(s.attributes), 'links': [l.trace_id.hex() for l in s.links]}))
for line in open(sys.argv[2]):
    read = json_format.ParseDict(ids(json.loads(line)), ExportLogsServiceRequest())
    for rl in read.resource_logs:
        for sl in rl.scope_logs:
            for r in sl.log_records:
                print(json.dumps({'what': 'event', 'name': r.event_name, 'traceId': r.trace_id.hex(), 'spanId': r.span_id.hex(), 'attributes': attributes(r.attributes)}))
`

interface Span {
  readonly what: 'span'
  readonly service: string
  readonly traceId: string
  readonly spanId: string
  readonly parentId: string
  readonly name: string
  readonly start: string
  readonly end: string
  readonly attributes: Readonly<Record<string, unknown>>
  readonly links: readonly string[]
}
interface Event {
  readonly what: 'event'
  readonly name: string
  readonly traceId: string
  readonly attributes: Readonly<Record<string, unknown>>
}

function decoded(): (Span | Event)[] {
  const venv = join(folder, 'venv')
  for (const [command, ...args] of [
    ['python3', '-m', 'venv', venv],
    [join(venv, 'bin', 'pip'), 'install', '--quiet', 'opentelemetry-proto'],
  ] as const) {
    const { status, stderr } = spawnSync(command, args, { encoding: 'utf8' })
    if (status !== 0) throw new Error(`${command}: ${stderr}`)
  }
  const script = join(folder, 'decode.py')
  writeFileSync(script, DECODE)
  const { status, stdout, stderr } = spawnSync(join(venv, 'bin', 'python'), [script, requests.traces, requests.logs], {
    encoding: 'utf8',
    maxBuffer: 2 ** 30,
  })
  if (status !== 0) throw new Error(stderr)
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Span | Event)
}

beforeAll(async () => {
  stack = await startServers({ latencyMs: 200 })
  for (const file of Object.values(requests)) writeFileSync(file, '')
  await startCollector()
}, 240_000)
afterAll(async () => {
  for (const service of services.values()) await service.kill('SIGKILL')
  await stack?.close()
  collector.closeAllConnections()
  collector.close()
})

const lasts = ({ start, end }: Span) => Number(BigInt(end) - BigInt(start)) / 1e6
const contextOf = (nth: number) =>
  `00-${(nth + 1).toString(16).padStart(32, '0')}-${(nth + 1).toString(16).padStart(16, '0')}-01`

async function produce(environment: Record<string, string>): Promise<void> {
  const producer = clientOf(environment).producer()
  const { posts, counterspeech } = topicsOf(settingsOf(environment))
  await producer.connect()
  for (let nth = 0; nth < CASES; nth++) {
    const createdAt = new Date(Date.now() - 60_000 + nth).toISOString()
    const text = `Something happened at the harbour, number ${nth}.`
    const isPost = nth % 2 === 0
    const value = isPost
      ? { id: `p${nth}`, text, author: `a${nth}`, createdAt }
      : { id: `r${nth}`, hateSpeech: `They ruin the harbour, number ${nth}.`, text, createdAt }
    const messages = [{ key: value.id, value: JSON.stringify(value), headers: { traceparent: contextOf(nth) } }]
    await producer.send({ topic: isPost ? posts : counterspeech, messages })
    if (nth % 20 === 0) await sleep(250)
  }
  await producer.disconnect()
}

/** A broker on a busy machine leads no partition for a moment, and is asked again. */
function soon(yes: () => Promise<boolean>): () => Promise<boolean> {
  return () =>
    yes().catch((error: unknown) => {
      if ((error as { retriable?: unknown }).retriable === true) return false
      throw error
    })
}

async function published(
  environment: Record<string, string>,
): Promise<Map<string, { verdict: Verdict; header: string }>> {
  const found = new Map<string, { verdict: Verdict; header: string }>()
  const options = { follow: false, signal: new AbortController().signal }
  await readTopic(clientOf(environment), topicsOf(settingsOf(environment)).verdicts, options, ({ message }) => {
    const verdict = verdictSchema.parse(JSON.parse(message.value?.toString('utf8') ?? ''))
    found.set(verdict.id, { verdict, header: String(message.headers?.traceparent ?? '') })
  })
  return found
}

it(`has one whole trace of each of ${CASES} cases`, { timeout: 2_400_000 }, async () => {
  const environment = environmentOn(stack, {
    ...protocolsOn('safety', 'counterspeech'),
    GAVEL_NAME: NAME,
    GAVEL_KAFKA_GROUP: `traces-${Date.now()}`,
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
  })
  const start = async (role: string) => void services.set(role, await startService(environment, role))
  for (const role of ROLES) await start(role)
  const producing = produce(environment)
  await sleep(5_000)
  await stopCollector()
  const awaySince = Date.now()
  const before = answered
  for (let kill = 0; kill < KILLS; kill++)
    for (const role of ROLES) {
      await sleep(3_000)
      await services.get(role)?.kill('SIGKILL')
      await start(role)
    }
  await producing
  await eventually(
    soon(async () => (await published(environment)).size >= CASES),
    600_000,
  )
  const publishedAfterMs = Date.now() - awaySince
  expect(answered).toBe(before)
  await sleep(Math.max(0, AWAY_MS - publishedAfterMs))
  const awayMs = Date.now() - awaySince
  await startCollector()
  // The publisher is killed once more while it catches up.
  await eventually(async () => answered > before, 90_000)
  await services.get('publish')?.kill('SIGKILL')
  await start('publish')
  const ends = new Map<string, string>()
  const caughtUp = async () => {
    const admin = clientOf(environment).admin()
    await admin.connect()
    const { transcripts: topic } = topicsOf(settingsOf(environment))
    const groupId = `${settingsOf(environment).kafka.group}-traces`
    for (const { partition, high } of await admin.fetchTopicOffsets(topic)) ends.set(String(partition), high)
    const [offsets] = await admin.fetchOffsets({ groupId, topics: [topic] })
    await admin.disconnect()
    return offsets?.partitions.every(({ partition, offset }) => ends.get(String(partition)) === offset) ?? false
  }
  await eventually(soon(caughtUp), 240_000)

  const verdicts = await published(environment)
  const all = decoded()
  const spans = all.filter((one) => one.what === 'span')
  const events = all.filter((one) => one.what === 'event')
  const traces = Map.groupBy(spans, ({ traceId }) => traceId)
  // A span that was sent twice has the same id, and says the same.
  const repeats = [...Map.groupBy(spans, ({ spanId }) => spanId).values()].filter(({ length }) => length > 1)
  for (const [first, ...others] of repeats)
    for (const other of others) expect({ ...other, end: 0 }).toEqual({ ...first, end: 0 })
  expect(new Set(spans.map(({ service }) => service))).toEqual(new Set([NAME]))
  expect(traces.size).toBe(verdicts.size)
  let [links, kept] = [0, 0]
  const off: { share: number; of: string }[] = []
  for (const { verdict, header } of verdicts.values()) {
    const traceId = header.split('-')[1] ?? ''
    const own = [...new Map((traces.get(traceId) ?? []).map((span) => [span.spanId, span])).values()]
    const roots = own.filter(({ parentId }) => parentId === '')
    expect(roots.map(({ attributes }) => attributes['gen_ai.conversation.id'])).toEqual([verdict.id])
    const ids = new Set(own.map(({ spanId }) => spanId))
    expect(own.every(({ parentId }) => parentId === '' || ids.has(parentId))).toBe(true)
    const [root] = roots as [Span]
    links += root.links.length
    const number = Number(verdict.subjectId.slice(1))
    expect(root.links).toContain(contextOf(number).split('-')[1])
    const named = (name: string) => own.find((span) => span.name === name) as Span
    const { receivedAt, openedAt, decidedAt, modelMs, overheadMs } = verdict.timing
    const parts = ['opening', 'judging', 'publication'].map((name) => lasts(named(name)))
    const [opening = 0, judging = 0] = parts
    const asks = own.filter(({ name }) => name.startsWith('ask '))
    const held = ({ attributes }: Span) => Number(attributes['gavel.held_ms'])
    const slowest = [...Map.groupBy(asks, ({ parentId }) => parentId).values()].map((round) =>
      round.reduce((a, b) => (lasts(b) + held(b) > lasts(a) + held(a) ? b : a)),
    )
    const sum = (of: (span: Span) => number) => slowest.reduce((total, span) => total + of(span), 0)
    const pairs: [what: string, spans: number, timing: number][] = [
      ['opening', opening, Date.parse(openedAt) - Date.parse(receivedAt)],
      ['judging', judging, Date.parse(decidedAt) - Date.parse(openedAt)],
      ['the whole', parts.reduce((a, b) => a + b), lasts(root)],
      ['modelMs', sum(lasts), modelMs],
      ['overheadMs', Math.max(0, opening + judging - sum(lasts) - sum(held)), overheadMs],
    ]
    // Times are told in whole milliseconds.
    for (const [what, told, timing] of pairs) {
      const share = Math.max(0, (Math.abs(told - timing) - 1) / Math.max(1, timing))
      off.push({ share, of: `${what} of ${verdict.id}: ${told} ms, and ${timing}` })
    }
    // As a collector that samples a quarter by trace id keeps it: whole or not at all.
    if (Number.parseInt(traceId.slice(-2), 16) < 64) kept++
  }
  const [worst] = off.sort((a, b) => b.share - a.share)
  const labelled = [...verdicts.values()].filter(({ verdict }) => verdict.label !== null)
  const told = new Set(
    events.flatMap(({ attributes }) =>
      attributes['gen_ai.evaluation.score.label'] === undefined ? [] : [attributes['gavel.verdict.id']],
    ),
  )
  tell(
    `${KILLS * ROLES.length + 1} kills; collector away ${Math.round(awayMs / 1000)} s, all ${verdicts.size} verdicts published ${Math.round(publishedAfterMs / 1000)} s after it went; ${traces.size} traces, ${spans.length} spans (${repeats.length} told of more than once, with the same ids), ${links} links, ${events.length} evaluations; spans off their verdict's timing by at most ${((worst?.share ?? 1) * 100).toFixed(2)} % (${worst?.of}); sampled by id ${kept}`,
  )
  expect(off.filter(({ share }) => share > 0.01)).toEqual([])
  expect(told.size).toBe(labelled.length)
  expect(kept).toBeGreaterThan(CASES / 8)
  expect(readFileSync(requests.traces, 'utf8')).not.toContain('harbour')
})
