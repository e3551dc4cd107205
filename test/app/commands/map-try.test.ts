import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { ProducerRecord } from 'kafkajs'
import { describe, expect } from 'vitest'
import { stringify } from 'yaml'
import { PROJECT } from '../../../config/load.ts'
import { topicsOf } from '../../../config/topics.ts'
import { deadLetterOf } from '../../../producers/dead-letter.ts'
import type { DeadLetterReason } from '../../../src/contracts/facts/messages.ts'
import type { Verdict } from '../../../src/contracts/facts/verdict.ts'
import { readTopic } from '../../../src/stream/bounded-reader.ts'
import { answerAsRegistry, REGISTRY_SHAPES } from '../../mapping/registry-shapes.ts'
import { commandHere } from '../../support/commands.ts'
import { createTopics } from '../../support/create-topics.ts'
import { onServers } from '../../support/on-servers.ts'
import { ownFolder } from '../../support/own-folder.ts'
import { clientOf, environmentOn, settingsOf } from '../../support/pipeline.ts'
import { aVerdict } from '../../support/verdicts.ts'

const it = onServers({})
const folder = ownFolder('map-try')
/** The settings that docs/sources.md begins with. */
const [, OWN = ''] =
  /^# own\.yaml\n([\s\S]*?)^```/m.exec(readFileSync(join(PROJECT, 'docs', 'sources.md'), 'utf8')) ?? []

const RECORDS = [
  {
    type: 'thread',
    id: 7,
    title: 'T',
    body: '<p>B</p>',
    user: { name: 'ana' },
    created: 1_777_629_600,
    replies: [{ id: 'r1', text: 'x', user: 'ben', created: 1_777_629_660 }],
  },
  { type: 'removed', id: 8 },
  { type: 'other' },
  { type: 'thread', title: 'no id' },
]

/** Makes a topic of one partition, and sends it these records. */
async function sendTo(environment: Record<string, string>, records: ProducerRecord): Promise<void> {
  const kafka = clientOf(environment)
  const [admin, producer] = [kafka.admin(), kafka.producer()]
  await Promise.all([admin.connect(), producer.connect()])
  try {
    await createTopics(admin, [{ topic: records.topic, numPartitions: 1 }])
    await producer.send(records)
  } finally {
    await Promise.all([admin.disconnect(), producer.disconnect()])
  }
}

describe('gavel map try', () => {
  it('shows what each record of a file and of a topic gives, and fails if one gives nothing', async ({ stack }) => {
    const environment = environmentOn(stack)
    const topic = `own-${environment.GAVEL_KAFKA_TOPIC_PREFIX}threads`
    const [samples, file] = [join(folder, 'samples.jsonl'), join(folder, 'own.yaml')]
    writeFileSync(file, OWN.replaceAll('forum.threads', topic))
    writeFileSync(samples, RECORDS.map((one) => JSON.stringify(one)).join('\n'))
    const tried = await commandHere(['map', 'try', samples, '--config', file], environment)
    expect(tried.code).toBe(1)
    const { posts, comments } = topicsOf(settingsOf(environment))
    expect(tried.out.split('\n').filter((line) => line.startsWith('  '))).toEqual([
      `  → ${posts} 7  {"id":"7","text":"T\\n\\nB","author":"ana","createdAt":"2026-05-01T10:00:00.000Z"}`,
      `  → ${comments} 7  {"id":"r1","postId":"7","text":"x","author":"ben","createdAt":"2026-05-01T10:01:00.000Z"}`,
      expect.stringMatching(`^  → ${posts} 8  .*"deleted":true`),
      '  passed over: no entry means it',
      '  NOT MAPPED  id: nothing stands there',
    ])
    expect(tried.out).toContain('4 records: 2 mapped to 3 messages, 1 passed over, 1 not mapped.')
    expect(tried.said).toContain('1 ×  id: nothing stands there')

    await sendTo(environment, { topic, messages: RECORDS.map((one) => ({ value: JSON.stringify(one) })) })
    const newest = await commandHere(
      ['map', 'try', '--topic', topic, '--take', '3', '--json', '--config', file],
      environment,
    )
    expect(newest.code).toBe(1)
    expect(
      newest.out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual([
      {
        place: `${topic}/0@1`,
        ok: true,
        messages: [{ topic: posts, key: '8', value: expect.objectContaining({ id: '8' }) }],
      },
      { place: `${topic}/0@2`, ok: true, messages: [] },
      { place: `${topic}/0@3`, ok: false, why: 'id: nothing stands there' },
      { records: 3, mapped: 1, messages: 1, passedOver: 1, unmapped: { 'id: nothing stands there': 1 } },
    ])
    const wrong = await commandHere(['map', 'try', '--topic', `${topic}x`, '--config', file], environment)
    expect(wrong.said).toContain(`Did you mean "${topic}"?`)
  })
})

describe('gavel map try --topic', () => {
  it('decodes what a registry frames, and shows what stands there', async ({ stack }) => {
    const registry = createServer(answerAsRegistry)
    await once(registry.listen(0, '127.0.0.1'), 'listening')
    const environment = environmentOn(stack, {
      GAVEL_SCHEMA_REGISTRY_URL: `http://127.0.0.1:${(registry.address() as AddressInfo).port}`,
    })
    const [topic, file] = [`own-${environment.GAVEL_KAFKA_TOPIC_PREFIX}avro`, join(folder, 'avro.yaml')]
    const mapping = readFileSync(join(PROJECT, 'config', 'mappings', 'avro.yaml'), 'utf8')
    writeFileSync(file, mapping.replaceAll('avro.posts', topic))
    const [first] = REGISTRY_SHAPES.find(({ name }) => name === 'avro')?.records ?? []
    try {
      await sendTo(environment, { topic, messages: [{ value: first?.value as Buffer }] }) // As all of Avro.
      const { out } = await commandHere(['map', 'try', '--topic', topic, '--config', file], environment)
      expect(out.split('\n').slice(0, 2)).toEqual([
        expect.stringContaining('@0  {"id":"9007199254740993","body":"The bridge at the mill is closed."'),
        expect.stringContaining(
          '9007199254740993  {"id":"9007199254740993","text":"The bridge at the mill is closed."',
        ),
      ])
    } finally {
      registry.close()
    }
  })
})

describe('gavel map try --sink', () => {
  it('shows what a sink gets of the verdicts of a file and of their topic, as the publisher makes it', async ({
    stack,
  }) => {
    const environment = environmentOn(stack)
    const [samples, file] = [join(folder, 'verdicts.jsonl'), join(folder, 'sinks.yaml')]
    const when = { field: '$.label', equals: 'hate' }
    const map = { post: '$.subjectId', why: '$.rationale', by: '$headers.gavel-decided-by', at: '$.timing.decidedAt' }
    const sinks = [
      { topic: 'forum.flags', when, map },
      { topic: 'forum.flags', when, key: { number: '$.label' }, map: { hate: { number: '$.label' } } },
      { topic: 'forum.all', map: { id: '$.id' } },
    ]
    writeFileSync(file, stringify({ sinks: sinks.filter((_, nth) => nth !== 1) }))
    const one = (subjectId: string, change: Partial<Verdict>) =>
      aVerdict('2026-05-01T10:00:00.000Z', { protocol: 'hate', subjectId, label: 'hate', ...change })
    const verdicts = [
      one('7', { rationale: 'it is' }),
      one('8', { label: 'non-hate' }),
      one('9', { label: 'non-hate', revision: 2, supersedes: 'hate~9~r1' }),
    ]
    const lines = [...verdicts.map((verdict) => JSON.stringify(verdict)), '{"label":"hate"}']
    writeFileSync(samples, lines.join('\n'))
    const try_ = (...more: string[]) =>
      commandHere(['map', 'try', ...more, '--sink', 'forum.flags', '--config', file], environment)
    const sunk = (post: string, why: string) =>
      `  → forum.flags ${post}  {"post":"${post}","why":"${why}","by":"judge","at":"2026-05-01T10:00:00.000Z"}`
    const tried = await try_(samples)
    expect(tried.out.split('\n').filter((line) => line.startsWith('  '))).toEqual([
      sunk('7', 'it is'),
      '  passed over: no entry means it',
      sunk('9', ''),
      '    only if the sink has had one that it takes the place of: its when does not mean this one',
      '  NOT MAPPED  is no verdict of schema 1 or 2',
    ])
    expect(tried.out).toContain('4 verdicts: 2 mapped to 2 records, 1 passed over, 1 not mapped.')
    expect([tried.code, tried.said]).toEqual([1, expect.stringContaining('1 verdict could not be mapped')])

    writeFileSync(file, stringify({ sinks }))
    const { verdicts: topic } = topicsOf(settingsOf(environment))
    const send = { topic, messages: verdicts.map((verdict) => ({ key: 'k', value: JSON.stringify(verdict) })) }
    await sendTo(environment, send)
    const newest = await try_('--take', '9', '--json')
    const said = newest.out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(said.find(({ ok }) => ok === false)).toEqual({
      place: expect.stringContaining(topic),
      ok: false,
      why: 'key: is no number',
      messages: [{ topic: 'forum.flags', key: '7', value: expect.objectContaining({ why: 'it is' }) }],
    })
    expect(said.at(-1)).toMatchObject({ records: 3, passedOver: 1 })
    const wrong = await commandHere(['map', 'try', samples, '--sink', 'forum.flag', '--config', file], environment)
    expect(wrong.said).toContain('No entry of sinks has the topic forum.flag. Did you mean "forum.flags"?')
  })
})

describe('dead letters of sinks', () => {
  it('are named by sink and key, each of them, and none is sent again', async ({ stack }) => {
    const environment = environmentOn(stack)
    const { deadLetters } = topicsOf(settingsOf(environment))
    const letter = (key: string | null, reason: DeadLetterReason) => {
      const nowhere = { topic: 'forum.flags', partition: -1, offset: '-1', headers: {}, timestamp: 0 }
      const value = Buffer.from('{}')
      return { value: deadLetterOf({ ...nowhere, key, value }, { reason, detail: 'why: nothing stands there' }).letter }
    }
    const messages = [letter('7', 'unmapped'), letter('8', 'unmapped'), letter(null, 'refused')]
    await sendTo(environment, { topic: deadLetters, messages })
    const listed = await commandHere(['dead-letters', 'list'], environment)
    expect(listed.out).toContain('  to forum.flags, key 7  unmapped  why: nothing stands there')
    expect(listed.out).toContain('  to forum.flags, key (none)  refused')
    const replayed = await commandHere(['dead-letters', 'replay', '--json'], environment)
    const last = replayed.out.trim().split('\n').at(-1) ?? ''
    expect(JSON.parse(last)).toEqual({ dryRun: false, summary: { 'not-written': { unmapped: 2, refused: 1 } } })
  })
})

describe('gavel topics', () => {
  it('lists and makes the topics, and writes the commands that make them', async ({ stack }) => {
    const environment = environmentOn(stack)
    const names = Object.values(topicsOf(settingsOf(environment)))
    const planned = async (...more: string[]) => {
      const { out, said } = await commandHere(['topics', 'plan', '--json', ...more], environment)
      expect(said).toBe('')
      return out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { name: string; partitions: number; there: number | null; copies: number })
    }
    const before = await planned()
    expect(before.map(({ name, there }) => [name, there])).toEqual(names.map((name) => [name, null]))
    const created = await commandHere(['topics', 'create', '--json'], environment)
    expect(JSON.parse(created.out)).toEqual({ created: names, there: [] })
    expect((await planned()).every(({ partitions, there, copies }) => there === partitions && copies === 1)).toBe(true)
    const [file, samples] = [join(folder, 'both.yaml'), join(folder, 'keyed.jsonl')]
    const [source, sink] = ['threads', 'flags'].map((name) => `own-${environment.GAVEL_KAFKA_TOPIC_PREFIX}${name}`)
    const sources = [{ topic: source, kind: 'deletion', map: { id: '$.id' } }]
    writeFileSync(file, stringify({ sources, sinks: [{ topic: sink, map: { post: '$.subjectId' } }] }))
    writeFileSync(samples, '{"id":9007199254740993}\n{"other":1}\nno JSON')
    const sent = ['produce', samples, '--topic', String(source), '--config', file]
    expect((await commandHere([...sent, '--key', '{$.id}'], environment)).out).toContain('3 sent')
    expect((await commandHere([...sent, '--key', 'id'], environment)).said).toContain('must be a path, such as $.id')
    const keys: (string | undefined)[] = []
    const reading = { follow: false, signal: new AbortController().signal }
    await readTopic(clientOf(environment), String(source), reading, ({ message }) => keys.push(message.key?.toString()))
    expect(keys.sort()).toEqual(['9007199254740993', undefined, undefined])
    expect((await planned('--config', file)).slice(names.length)).toEqual([
      { name: source, setting: 'sources', there: 4, copies: 1, forbidden: false },
      { name: sink, setting: 'sinks', there: null, copies: null, forbidden: false },
    ])
    const { out: inWords } = await commandHere(['topics', 'plan', '--config', file], environment)
    expect(inWords.split('\n').slice(-3)).toEqual([
      expect.stringMatching(/yours \(sources\) {2}there, with 4 partitions and 1 copy$/),
      expect.stringMatching(/yours \(sinks\) {2}ABSENT$/),
      '',
    ])
    const three = await commandHere(['topics', 'plan', '--for', 'rpk', '--replication', '3'], environment)
    expect(three.out.split('\n').filter((line) => line.includes(' -r 3 '))).toHaveLength(names.length)
    for (const [tool, first] of [
      ['kafka', 'kafka-topics.sh --bootstrap-server'],
      ['rpk', 'rpk topic create'],
    ] as const) {
      const { out } = await commandHere(['topics', 'plan', '--for', tool], environment)
      expect(out.split('\n').filter((line) => line.startsWith(first))).toHaveLength(names.length)
      expect(out).toContain(`--topic ${settingsOf(environment).kafka.topicPrefix} --resource-pattern-type prefixed`)
    }
  })
})
