import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import kafkajs from 'kafkajs'
import { afterAll, expect } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import { topicsOf } from '../../config/topics.ts'
import { deadLetter } from '../../src/contracts/facts/messages.ts'
import { makeTopics } from '../../src/operations/make-topics.ts'
import { PROTOCOLS } from '../../src/protocols/registry.ts'
import { bareEnvironment } from '../support/bare-environment.ts'
import { onServers } from '../support/on-servers.ts'
import { ownFolder } from '../support/own-folder.ts'
import {
  clientOf,
  environmentOn,
  eventually,
  protocolsOn,
  recordsOf,
  settingsOf,
  verdictsOf,
} from '../support/pipeline.ts'

/** A word for each place where content or a secret comes in: whatever shows one tells where it leaked from. */
const canaries = <Place extends string>(...places: Place[]) =>
  Object.fromEntries(places.map((place) => [place, `canary${place}${randomBytes(6).toString('hex')}`])) as {
    [Key in Place]: string
  }
const CONTENT = canaries(
  'post',
  'comment',
  'author',
  'alt',
  'imageUrl',
  'dataUrl',
  'hateSpeech',
  'reply',
  'note',
  'precedent',
  'header',
  'malformed',
  'answer',
)
const SECRET = canaries('apiKey', 'redisPassword', 'wrongPassword', 'fenceKey', 'httpToken')

const AT = '2026-01-01T00:00:00Z'
const IDS = ['one', 'two']
const folder = ownFolder('canary')

let redis: Redis
let endpoint: Awaited<ReturnType<typeof indiscreetEndpoint>>
const it = onServers({ latencyMs: 0 })
it.beforeAll(async ({ stack }) => {
  endpoint = await indiscreetEndpoint(stack.understudy?.settings.OPENAI_BASE_URL ?? '')
  redis = new Redis(stack.settings.REDIS_URL ?? '')
  await redis.call('ACL', 'SETUSER', 'gavel', 'on', `>${SECRET.redisPassword}`, '~*', '&*', '+@all')
})
afterAll(async () => {
  redis?.disconnect()
  endpoint?.server.closeAllConnections()
  endpoint?.server.close()
})

/**
 * The understudy behind an endpoint that repeats what it is asked, key and all, wherever an error has room for words; its
 * answers say more than they should, too.
 */
async function indiscreetEndpoint(
  behind: string,
): Promise<{ server: Server; url: string; setWell(value: boolean): void }> {
  let calls = 0
  let well = false
  const server = createServer(async (request, response) => {
    const body = await textOf(request)
    const said = `${body} ${request.headers.authorization}`
    const status = [undefined, 400, undefined, 500, undefined, 429, 418, 403][calls++ % 8]
    if (status !== undefined && !well) {
      const error = { message: said, code: said, type: said, param: said }
      response.writeHead(status, {
        'content-type': 'application/json',
        'x-request-id': encodeURI(said).slice(0, 2_000),
      })
      response.end(JSON.stringify({ error }))
      return
    }
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(behind.replace(/\/v1$/, request.url ?? ''), { method: 'POST', headers, body }).catch(
      () => null,
    )
    if (answer === null) {
      request.socket.destroy()
      return
    }
    const text = await answer.text()
    response.writeHead(answer.status, headers)
    response.end(text.replaceAll(/(\\"(?:reason(?:ing)?|rationale|explanation)\\":\s*\\")/g, `$1${CONTENT.answer} `))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  return {
    server,
    url,
    /** Whether, from now on, it says more than it should only where it answers. */
    setWell(value) {
      well = value
    },
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

const { post, comment, author, alt, imageUrl, dataUrl, hateSpeech, reply, note, malformed } = CONTENT
const messagesOf = (ids: readonly string[]) => ({
  posts: ids.map((id) => ({
    id,
    text: `The bridge at ${post} (${id}) has fallen, those people are vermin.`,
    author,
    createdAt: AT,
    media: [
      { kind: 'image', alt: `a bridge ${alt}` },
      { kind: 'image', url: `https://images.invalid/${id}.png?token=${imageUrl}` },
      { kind: 'image', url: `data:image/png;base64,${dataUrl}` },
    ],
  })),
  comments: ids.map((id) => ({
    id: `c-${id}`,
    postId: id,
    text: `It is true, ${comment} saw it.`,
    author,
    createdAt: AT,
  })),
  counterspeech: ids.map((id) => ({
    id: `r-${id}`,
    postId: id,
    hateSpeech: `Those people are vermin, says ${hateSpeech}.`,
    text: `They are our neighbours, and ${reply} knows it.`,
    createdAt: AT,
  })),
  feedback: ids.map((id) => ({ subjectId: id, protocol: 'safety', label: 'safe', by: 'ann', at: AT, note })),
})
/** What a parser, a check and a decoder would each like to quote. */
const BROKEN = [
  malformed,
  `{"id": "x", "text": "${malformed}`,
  `{"id": ${malformed}}`,
  JSON.stringify({
    id: 'x',
    text: [malformed],
    createdAt: malformed,
    [malformed]: 1,
    tenant: `${malformed} ${malformed}`,
  }),
  JSON.stringify({ id: 'x', createdAt: AT, media: [{ kind: malformed, url: `ftp://${malformed}` }] }),
]

async function sendAll(environment: Record<string, string>, ids: readonly string[]): Promise<void> {
  const topics = topicsOf(settingsOf(environment))
  const producer = clientOf(environment).producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner })
  await producer.connect()
  const headers = { 'x-trace': CONTENT.header }
  for (const [topic, messages] of Object.entries(messagesOf(ids)))
    await producer.send({
      topic: topics[topic as keyof ReturnType<typeof messagesOf>],
      messages: [...messages.map((message) => JSON.stringify(message)), ...BROKEN].map((value, index) => ({
        key: ids[index] ?? 'broken',
        value,
        headers,
      })),
    })
  await producer.disconnect()
}

/** Everything that a command says, on both streams, and its end. */
function gavel(
  environment: Record<string, string>,
  ...args: string[]
): Promise<{ args: string; code: number; said: string }> {
  const flags = ['--disable-warning=TimeoutNegativeWarning', join(PROJECT, 'src', 'main.ts')]
  const options = { env: bareEnvironment(environment), timeout: 90_000 }
  return new Promise((resolve) => {
    execFile(process.execPath, [...flags, ...args], options, (error, out, err) =>
      resolve({ args: args.join(' '), code: error === null ? 0 : Number(error.code ?? -1), said: `${out}\n${err}` }),
    )
  })
}

/** The canaries in a text, by their places. */
function leaksIn(text: string): string[] {
  return Object.entries({ ...CONTENT, ...SECRET }).flatMap(([place, word]) => (text.includes(word) ? [place] : []))
}

it('texts and secrets are in no log, metric, health page or error', {
  timeout: 240_000,
}, async ({ stack, start }) => {
  const redisUrl = (password: string) =>
    (stack.settings.REDIS_URL ?? '').replace(/^redis:\/\//, `redis://gavel:${encodeURIComponent(password)}@`)
  const environment = environmentOn(stack, {
    ...protocolsOn(...PROTOCOLS.map(({ name }) => name)),
    REDIS_URL: redisUrl(SECRET.redisPassword),
    OPENAI_BASE_URL: endpoint.url,
    OPENAI_API_KEY: SECRET.apiKey,
    GAVEL_FENCES_KEY: SECRET.fenceKey,
    GAVEL_HTTP_TOKEN: SECRET.httpToken,
    GAVEL_LIBRARY_PATH: join(folder, 'library'),
    GAVEL_LIBRARY_EMBEDDER: 'some-model',
    GAVEL_LOG_LEVEL: 'debug',
    GAVEL_STAGES_DEFAULT_BACKOFF: '20ms',
    GAVEL_BREAKER_COOL_DOWN: '50ms',
    GAVEL_BREAKER_MAX_COOL_DOWN: '200ms',
    GAVEL_CASES_DEADLINE: '20s',
    GAVEL_CLOCK_IDLE_AFTER: '2s',
    GAVEL_DRAIN: '2s',
  })
  const shelf = join(folder, 'shelf.jsonl')
  writeFileSync(shelf, `${JSON.stringify({ text: `vermin ${CONTENT.precedent}`, label: 'unsafe' })}\n`)
  const sound = { ...environment, OPENAI_BASE_URL: stack.understudy?.settings.OPENAI_BASE_URL ?? '' }
  expect(await gavel(sound, 'library', 'import', shelf, '--shelf', 'precedents')).toMatchObject({ code: 0 })

  await makeTopics(clientOf(environment), settingsOf(environment))
  stack.understudy?.behave({
    faults: { rate: 0.2, kinds: ['html', 'reset', 'chatty', 'truncated', 'refusal', 'content-filter'] },
  })
  const service = await start(environment)
  let finals = new Set<string>()
  const finalOf = (subjects: number) =>
    eventually(
      async () => {
        const verdicts = (await verdictsOf(environment)).filter(({ final }) => final)
        finals = new Set(verdicts.map(({ protocol, subjectId }) => `${protocol} ${subjectId}`))
        return finals.size >= subjects * PROTOCOLS.length
      },
      60_000,
      () => `final are ${[...finals].join(', ')}; the log ends:\n${service?.log.slice(-20).join('\n')}`,
    )
  await sendAll(environment, IDS)
  await finalOf(IDS.length)
  // One more that meets no error, so that everything has its way to where it belongs.
  stack.understudy?.behave({ faults: { rate: 0 } })
  endpoint.setWell(true)
  await sendAll(environment, ['well'])
  await finalOf(IDS.length + 1)
  endpoint.setWell(false)
  // Connections break while there is work: what clients complain of is logged, too.
  await redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
  await redis.call('ACL', 'SETUSER', 'gavel', 'resetpass', '>another')
  await eventually(async () => (service?.log ?? []).some((line) => line.includes('WRONGPASS')), 10_000)
  const at = `http://127.0.0.1:${service.httpPort}`
  const bearer = { authorization: `Bearer ${SECRET.httpToken}` }
  const pages = await Promise.all(
    [
      ['/metrics', bearer],
      ['/metrics', {}],
      ['/health/live', {}],
      ['/health/ready', {}],
      [`/${post}`, {}],
    ].map(async ([path, headers]) =>
      (await fetch(`${at}${path}`, { headers: headers as Record<string, string> })).text(),
    ),
  )
  expect(pages[0]).toContain('gavel_verdicts_total')
  expect(pages[1]).not.toContain('gavel_verdicts_total')
  await redis.call('ACL', 'SETUSER', 'gavel', 'resetpass', `>${SECRET.redisPassword}`)
  await service.kill('SIGTERM')

  // Commands that fail, each in its own way.
  const file = join(folder, 'broken.jsonl')
  writeFileSync(file, `${BROKEN.map((line) => line.replace('{', '{"type":"post",')).join('\n')}\n`)
  const wrong = { ...environment, REDIS_URL: redisUrl(SECRET.wrongPassword) }
  const nowhere = {
    ...environment,
    KAFKA_BROKERS: '127.0.0.1:1',
    REDIS_URL: redisUrl(SECRET.wrongPassword).replace(/:\d+$/, ':1'),
  }
  const misset = {
    GAVEL_FENCES_MAX_CHARS: '1',
    GAVEL_HTTP_TOKEN: `${SECRET.httpToken} `,
    OPENAI_BASE_URL: SECRET.apiKey,
  }
  const commands: readonly (readonly [Record<string, string>, ...string[]])[] = [
    [environment, 'doctor'],
    [wrong, 'doctor', '--json'],
    [wrong, 'run'],
    [nowhere, 'run'],
    [{ ...environment, ...misset }, 'run'],
    [environment, 'produce', file],
    [environment, 'judge', file, '--protocol', 'rumor'],
    [environment, 'library', 'import', file, '--shelf', 'precedents', '--label-field', 'id'],
    [environment, 'learn', '--topic'],
  ]
  const ended: Awaited<ReturnType<typeof gavel>>[] = []
  // A few at once: nine processes that start together take each other's time.
  for (let from = 0; from < commands.length; from += 3)
    ended.push(...(await Promise.all(commands.slice(from, from + 3).map(([where, ...args]) => gavel(where, ...args)))))

  const log = service.log.join('\n')
  expect(log).toContain('"message:dead"')
  expect(log).toContain('"trouble:met"')
  expect.soft(leaksIn(log), 'the log').toEqual([])
  for (const page of pages) expect.soft(leaksIn(page), page.slice(0, 60)).toEqual([])
  for (const { args, said } of ended) expect.soft(leaksIn(said), `gavel ${args}\n${said.slice(0, 3_000)}`).toEqual([])
  // Of a file in which no line is good nothing can be judged: that is a failure. Whether learning meets the refusal of the
  // account, which ends it, or another one, is a matter of how many calls came before.
  const [learning, ...others] = ended.toReversed()
  expect([0, 1]).toContain(learning?.code)
  expect(others.filter(({ code }) => code !== 1)).toEqual([])

  // They do stand where they belong, so that they could be seen; and no secret stands on any topic.
  const letters = (await recordsOf(environment, 'deadLetters')).map((record) => deadLetter.parse(JSON.parse(record)))
  const belongs = {
    transcripts: (await recordsOf(environment, 'transcripts')).join('\n'),
    verdicts: (await recordsOf(environment, 'verdicts')).join('\n'),
    'dead letters': letters
      .map((letter) => `${JSON.stringify(letter)} ${Buffer.from(letter.raw, 'base64')}`)
      .join('\n'),
  }
  expect(leaksIn(belongs.transcripts).sort()).toEqual(
    ['alt', 'answer', 'author', 'comment', 'dataUrl', 'hateSpeech', 'imageUrl', 'post', 'precedent', 'reply'].sort(),
  )
  expect(leaksIn(belongs.verdicts)).toContain('answer')
  // Feedback from which nothing can be learnt ends there as well, note and all.
  expect(leaksIn(belongs['dead letters']).filter((place) => place !== 'note')).toEqual(['header', 'malformed'])
})
