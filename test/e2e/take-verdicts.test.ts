import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Ajv2020 } from 'ajv/dist/2020.js'
import kafkajs from 'kafkajs'
import { afterAll, expect } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import { topicsOf } from '../../config/topics.ts'
import type { Verdict } from '../../src/contracts/facts/verdict.ts'
import { SCHEMAS } from '../../src/kit/contracts/all.ts'
import { bareEnvironment } from '../support/bare-environment.ts'
import { historyInOne } from '../support/both-schemas.ts'
import { onServers } from '../support/on-servers.ts'
import {
  clientOf,
  environmentOn,
  eventually,
  protocolsOn,
  recordsOf,
  send,
  settingsOf,
  tell,
  verdictsOf,
} from '../support/pipeline.ts'

// The documents' examples of a consumer, word for word, on the records of a service and against the schemas as they are shipped.

mkdirSync(join(PROJECT, '.gavel'), { recursive: true })
// Within the project, where its imports are found.
const folder = mkdtempSync(join(PROJECT, '.gavel', 'readme-'))
copyFileSync(join(SCHEMAS, 'verdicts.schema.json'), join(folder, 'verdicts.schema.json'))

/** Writes the example of this name, out of a document, into the folder. */
function example(document: string, name: string): string {
  const text = readFileSync(join(PROJECT, document), 'utf8')
  const [, code = ''] = new RegExp(`^\`\`\`\\w+\\n((?://|#) ${name}\\n[\\s\\S]*?)^\`\`\`$`, 'm').exec(text) ?? []
  const file = join(folder, name)
  writeFileSync(file, code)
  return file
}
let consumer: ChildProcess | undefined
const it = onServers({ latencyMs: 0 })
afterAll(async () => {
  consumer?.kill('SIGKILL')
  await rm(folder, { recursive: true, force: true })
})

interface Change {
  readonly subject: string
  readonly revision: number
  readonly now: string
}

/** The example as a process of its own, and the changes that it prints. */
function startExample(environment: Record<string, string>, group: string): Change[] {
  const file = example(join('docs', 'verdicts.md'), 'take-verdicts.ts')
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

it('takes revisions, repeats, retractions and what was not decided as docs/verdicts.md says', {
  timeout: 240_000,
}, async ({ stack, start }) => {
  const environment = environmentOn(stack, protocolsOn('rumor', 'counterspeech'))
  const service = await start(environment)
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
  const publish = async (records: readonly string[]) => {
    const producer = clientOf(environment).producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner })
    await producer.connect()
    const messages = records.map((value) => ({ key: (JSON.parse(value) as { subjectId: string }).subjectId, value }))
    await producer.send({ topic: topicsOf(settingsOf(environment)).verdicts, messages })
    await producer.disconnect()
  }
  await publish(await recordsOf(environment, 'verdicts'))
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

  // Of another version, which wrote schema 1.
  const [older] = historyInOne(1) as [Verdict]
  await publish([JSON.stringify(older)])
  await eventually(async () => again.length >= 8, 60_000)
  expect(again.at(-1)).toMatchObject({ subject: older.id.replace(/~r\d+$/, ''), revision: older.revision })
  expect(new Set((await verdictsOf(environment)).map(({ schema }) => schema))).toEqual(new Set([1, 2]))

  await sendAll({ type: 'post', id: 'p3', text: 'No time.', createdAt: 'yesterday' })
  await eventually(async () => (await recordsOf(environment, 'deadLetters')).length > 0, 60_000)
  for (const [topic, file] of [
    ['verdicts', 'verdicts'],
    ['transcripts', 'transcripts'],
    ['deadLetters', 'dead-letters'],
  ] as const) {
    const schema = JSON.parse(readFileSync(join(SCHEMAS, `${file}.schema.json`), 'utf8')) as object
    const valid = new Ajv2020({ allErrors: true }).compile(schema)
    const records = await recordsOf(environment, topic)
    expect(records).not.toEqual([])
    for (const record of records) expect(valid(JSON.parse(record)), JSON.stringify(valid.errors)).toBe(true)
  }

  const python = (args: readonly string[], input = '') =>
    spawnSync('python3', args, { input, encoding: 'utf8', env: bareEnvironment({ PYTHONUTF8: '1' }) })
  const { status, stderr } = python(['-c', 'import jsonschema; jsonschema.Draft202012Validator'])
  if (status !== 0) return tell(`SKIPPED: the consumer in Python, for python3 has no jsonschema here: ${stderr ?? ''}`)
  const lines = (await recordsOf(environment, 'verdicts')).filter((line) => !line.includes(older.timing.decidedAt))
  const file = example(join('docs', 'contracts.md'), 'take_verdicts.py')
  const all = python([file], lines.map((line) => `${line}\n`).join(''))
  expect(all.stderr).toBe('')
  took(
    all.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Change),
  )
  // A record that is no verdict as its schema has it is never taken for one.
  const { degraded: _, ...without } = JSON.parse(lines[0] ?? '{}') as Record<string, unknown>
  const odd = python([file], `${JSON.stringify(without)}\n`)
  expect(odd.stdout).toBe('')
  expect(odd.stderr).toContain("'degraded' is a required property")
})
