import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { PROJECT } from '../../../config/load.ts'
import { topicsOf } from '../../../config/topics.ts'
import { commandHere } from '../../support/commands.ts'
import { createTopics } from '../../support/create-topics.ts'
import { onServers } from '../../support/on-servers.ts'
import { ownFolder } from '../../support/own-folder.ts'
import { clientOf, environmentOn, settingsOf } from '../../support/pipeline.ts'

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

    const kafka = clientOf(environment)
    const [admin, producer] = [kafka.admin(), kafka.producer()]
    await Promise.all([admin.connect(), producer.connect()])
    try {
      await createTopics(admin, [{ topic, numPartitions: 1 }])
      await producer.send({ topic, messages: RECORDS.map((one) => ({ value: JSON.stringify(one) })) })
    } finally {
      await Promise.all([admin.disconnect(), producer.disconnect()])
    }
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

describe('gavel topics', () => {
  it('lists and makes the topics, and writes the commands that make them', async ({ stack }) => {
    const environment = environmentOn(stack)
    const names = Object.values(topicsOf(settingsOf(environment)))
    const planned = async () => {
      const { out } = await commandHere(['topics', 'plan', '--json'], environment)
      return out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { name: string; partitions: number; there: number | null })
    }
    const before = await planned()
    expect(before.map(({ name, there }) => [name, there])).toEqual(names.map((name) => [name, null]))
    const created = await commandHere(['topics', 'create', '--json'], environment)
    expect(JSON.parse(created.out)).toEqual({ created: names, there: [] })
    expect((await planned()).every(({ partitions, there }) => there === partitions)).toBe(true)
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
