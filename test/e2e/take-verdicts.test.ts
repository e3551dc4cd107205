import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import kafkajs from 'kafkajs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import { topicsOf } from '../../config/topics.ts'
import type { Stack } from '../../src/kit/stack/stack.ts'
import { bareEnvironment } from '../support/bare-environment.ts'
import {
  clientOf,
  environmentOn,
  eventually,
  protocolsOn,
  recordsOf,
  type Service,
  send,
  settingsOf,
  startServers,
  startService,
  verdictsOf,
} from '../support/pipeline.ts'

// The README's example of a consumer, word for word, on the records of a service.

mkdirSync(join(PROJECT, '.gavel'), { recursive: true })
// Within the project, where its imports are found.
const folder = mkdtempSync(join(PROJECT, '.gavel', 'readme-'))
let stack: Stack
let service: Service | undefined
let consumer: ChildProcess | undefined
beforeAll(async () => {
  stack = await startServers({ latencyMs: 0 })
})
afterAll(async () => {
  await service?.kill('SIGKILL')
  consumer?.kill('SIGKILL')
  await stack?.close()
  await rm(folder, { recursive: true, force: true })
})

interface Change {
  readonly subject: string
  readonly revision: number
  readonly now: string
}

/** The example as a process of its own, and the changes that it prints. */
function startExample(environment: Record<string, string>, group: string): Change[] {
  const [, code] =
    /^```ts\n(\/\/ take-verdicts\.ts\n[\s\S]*?)^```$/m.exec(readFileSync(join(PROJECT, 'README.md'), 'utf8')) ?? []
  const file = join(folder, 'take-verdicts.ts')
  writeFileSync(file, code ?? '')
  const { kafka } = settingsOf(environment)
  const own = {
    KAFKA_BROKERS: kafka.brokers.join(','),
    TOPIC: topicsOf(settingsOf(environment)).verdicts,
    GROUP: group,
  }
  consumer = spawn(process.execPath, ['--disable-warning=TimeoutNegativeWarning', file], {
    env: bareEnvironment({ KAFKAJS_NO_PARTITIONER_WARNING: '1', ...own }),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const changes: Change[] = []
  if (consumer.stdout !== null)
    createInterface({ input: consumer.stdout }).on('line', (line) => {
      if (line.startsWith('{"subject"')) changes.push(JSON.parse(line) as Change)
    })
  return changes
}

it('takes revisions, repeats, retractions and what was not decided as the README says', {
  timeout: 240_000,
}, async () => {
  const environment = environmentOn(stack, protocolsOn('rumor', 'counterspeech'))
  service = await startService(environment)
  const sendAll = (...lines: object[]) => {
    const file = join(folder, 'lines.jsonl')
    const createdAt = '2026-01-01T00:00:00Z'
    writeFileSync(file, lines.map((line) => `${JSON.stringify({ createdAt, ...line })}\n`).join(''))
    return send(environment, file, 'gavel', { kind: 'flat-out' })
  }
  const until = (count: number) =>
    eventually(
      async () => (await verdictsOf(environment)).length >= count,
      60_000,
      () => service?.log.slice(-5).join('\n') ?? '',
    )
  const image = [{ kind: 'image', url: 'https://images.example/a.png' }]
  await sendAll(
    { type: 'post', id: 'p1', text: 'The bridge is closed.' },
    { type: 'post', id: 'p1', tenant: 'other', text: 'The bridge is open.' },
    { type: 'post', id: 'p2', media: image },
    { type: 'counterspeech', id: 's1', hateSpeech: 'They all lie.', text: 'Nobody lies.' },
  )
  await until(4)
  const changes = startExample(environment, 'readme')
  await eventually(async () => changes.length >= 4, 60_000)
  await sendAll({ type: 'post', id: 'p1', text: 'The bridge is closed, says the mayor.' })
  await until(5)
  await sendAll({ type: 'post', id: 'p1', deleted: true })
  await until(6)
  await eventually(async () => changes.length >= 6, 60_000)

  // All of it once more, as after lost acknowledgements: the same bytes under the same keys.
  const standing = await recordsOf(environment, 'verdicts')
  const producer = clientOf(environment).producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner })
  await producer.connect()
  const messages = standing.map((value) => ({ key: (JSON.parse(value) as { subjectId: string }).subjectId, value }))
  await producer.send({ topic: topicsOf(settingsOf(environment)).verdicts, messages })
  await producer.disconnect()
  await sendAll({ type: 'post', id: 'p1', tenant: 'other', text: 'The bridge is open, says the mayor.' })
  await until(13)
  await eventually(async () => changes.length >= 7, 60_000)

  const of = (subject: string, all: readonly Change[]) =>
    all.filter((one) => one.subject === subject).map(({ revision, now }) => [revision, now])
  const label = expect.stringMatching(/^(?:non-)?rumor$/)
  const took = (all: readonly Change[]) => {
    expect(all).toHaveLength(7)
    expect(of('rumor~p1', all)).toEqual([
      [1, label],
      [2, label],
      [3, 'retracted'],
    ])
    expect(of('rumor@other~p1', all)).toEqual([
      [1, label],
      [2, label],
    ])
    expect(of('rumor~p2', all)).toEqual([[1, 'undecided']])
    expect(of('counterspeech~s1', all)).toEqual([[1, 'scored']])
  }
  took(changes)
  expect(changes.find(({ subject }) => subject === 'rumor~p2')).toMatchObject({
    degraded: expect.arrayContaining([expect.stringContaining('no words to judge')]),
  })

  // Who begins anew comes to the same.
  if (consumer !== undefined) {
    const gone = once(consumer, 'exit')
    consumer.kill('SIGKILL')
    await gone
  }
  const again = startExample(environment, 'readme-again')
  await eventually(async () => again.length >= 7, 60_000)
  took(again)
})
