import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect } from 'vitest'
import { parse, stringify } from 'yaml'
import { loadSettings, PROJECT } from '../../config/load.ts'
import { kafkaFindings } from '../../src/app/commands/doctor-kafka.ts'
import { deadLetter } from '../../src/contracts/facts/messages.ts'
import { readTopic } from '../../src/stream/bounded-reader.ts'
import { answerAsRegistry, REGISTRY_SHAPES } from '../mapping/registry-shapes.ts'
import { SHAPES as PLAIN_SHAPES } from '../mapping/shapes.ts'
import { commandIn } from '../support/command-in.ts'
import { createTopics } from '../support/create-topics.ts'
import { onServers } from '../support/on-servers.ts'
import { ownFolder } from '../support/own-folder.ts'
import {
  clientOf,
  environmentOn,
  eventually,
  protocolsOn,
  recordsOf,
  transcriptsOf,
  verdictsOf,
} from '../support/pipeline.ts'

const it = onServers({ latencyMs: 10 })
const folder = ownFolder('sources')
const SHAPES = [...PLAIN_SHAPES, ...REGISTRY_SHAPES]

interface Entry {
  topic: string
  map: Record<string, unknown>
}

/** Topics of this test's own on a Kafka that others use, too; and a settings file with mappings of them. */
function ownTopics(environment: Record<string, string>) {
  const prefix = `own-${environment.GAVEL_KAFKA_TOPIC_PREFIX}`
  const shipped = SHAPES.flatMap(({ name }) => {
    const text = readFileSync(join(PROJECT, 'config', 'mappings', `${name}.yaml`), 'utf8')
    return (parse(text) as { sources: Entry[] }).sources
  })
  const [file, sink] = [join(folder, `${prefix}yaml`), `${prefix}flags`]
  const write = (change: (entry: Entry) => Entry) =>
    writeFileSync(
      file,
      stringify({
        sources: shipped.map((one) => change({ ...one, topic: prefix + one.topic })),
        sinks: [{ topic: sink, map: SUNK }],
      }),
    )
  write((entry) => entry)
  return { prefix, file, sink, write, names: [...new Set(shipped.map(({ topic }) => prefix + topic))] }
}

/** What the platform of this test wants of a verdict. */
const SUNK = {
  verdict: '$.id',
  post: '$.subjectId',
  label: '$.label',
  by: { object: { mapping: '$.versions.mapping' } },
}

let asked = 0

it('judges ten public shapes by their mappings, through a kill -9 and a mended mapping', {
  timeout: 240_000,
}, async ({ stack, start }) => {
  // Away when it is first needed.
  const registry = createServer((request, response) => {
    if (++asked < 3) response.writeHead(503).end()
    else answerAsRegistry(request, response)
  })
  await once(registry.listen(0, '127.0.0.1'), 'listening')
  const environment = environmentOn(stack, {
    GAVEL_SCHEMA_REGISTRY_URL: `http://127.0.0.1:${(registry.address() as AddressInfo).port}`,
    ...protocolsOn('hate'),
    GAVEL_PROTOCOLS_HATE_DEBATE_WHEN: 'contested',
  })
  const { prefix, file, sink, write, names } = ownTopics(environment)
  const kafka = clientOf(environment)
  const admin = kafka.admin()
  const producer = kafka.producer()
  await Promise.all([admin.connect(), producer.connect()])
  try {
    await expect(start(environment, undefined, undefined, ['--config', file])).rejects.toThrow(
      /sinks: Kafka shows no topic .*Write|sources: Kafka/,
    )
    expect(await kafkaFindings(loadSettings(environment, file))).toContainEqual(
      expect.objectContaining({ state: 'broken', detail: `absent: ${sink} (sinks)` }),
    )
    await createTopics(admin, [{ topic: sink, numPartitions: 2 }])
    await expect(start(environment, undefined, undefined, ['--config', file])).rejects.toThrow(
      `Kafka shows no topic ${names[0]}`,
    )
    await createTopics(
      admin,
      names.map((topic) => ({ topic, numPartitions: 1 })),
    )
    // Reddit's comments can't be mapped at first.
    write((entry) =>
      /reddit.comments$/.test(entry.topic) ? { ...entry, map: { ...entry.map, postId: '$.thread' } } : entry,
    )
    const config = ['--config', file]
    const first = await start(environment, undefined, undefined, config)
    const records = SHAPES.flatMap((shape) => shape.records)
    const send = async (some: typeof records) => {
      for (const { topic, value, key = null, headers = {} } of some)
        await producer.send({
          topic: prefix + topic,
          messages: [
            { key, value: value === null || value instanceof Buffer ? value : JSON.stringify(value), headers },
          ],
        })
    }
    const letters = async () =>
      (await recordsOf(environment, 'deadLetters')).map((one) => deadLetter.parse(JSON.parse(one)))
    const half = records.findLastIndex(({ topic }) => topic === 'reddit.comments') + 1
    await send(records.slice(0, half))
    await eventually(async () => (await letters()).length >= 3, 60_000)
    await send(records.slice(half))
    await first.kill('SIGKILL')
    write((entry) => entry)
    await start(environment, undefined, undefined, config)

    const failed = await letters()
    expect(failed.map(({ reason, topic }) => `${reason} ${topic.replace(prefix, '')}`)).toEqual(
      Array(failed.length).fill('unmapped reddit.comments'),
    )
    const replay = async () => {
      const { code, out, said } = await commandIn(PROJECT, ['dead-letters', 'replay', '--json', ...config], environment)
      expect(code, said).toBe(0)
      return (JSON.parse(out.trim().split('\n').at(-1) ?? '') as { summary: Record<string, { unmapped: number }> })
        .summary
    }
    // If their offsets were not committed when it was killed, a deletion is there already, and its comment is not sent.
    const [sent, again] = [await replay(), await replay()]
    const left = sent.deleted?.unmapped ?? 0
    expect([
      (sent.sent?.unmapped ?? 0) + left,
      (again.replayed?.unmapped ?? 0) + (again.deleted?.unmapped ?? 0),
    ]).toEqual([3, 3])
    expect(
      [...Object.keys(sent), ...Object.keys(again)].filter((state) => !['sent', 'replayed', 'deleted'].includes(state)),
    ).toEqual([])

    let judged: string[] = []
    const words = new Map<string, string>()
    await eventually(
      async () => {
        const all = (await verdictsOf(environment)).filter(({ protocol }) => protocol === 'hate')
        judged = all.map(({ subjectId, revision, decidedBy }) => `${subjectId} ${revision} ${decidedBy}`)
        const subjects = new Map(all.map(({ id, subjectId }) => [id, subjectId]))
        for (const { verdictId, subject } of await transcriptsOf(environment))
          words.set(subjects.get(verdictId) ?? '', (subject as { post: { text: string } } | null)?.post.text ?? '') // null once it is deleted
        return SHAPES.every(({ post, deleted }) => {
          const last = all.findLast(({ subjectId }) => subjectId === deleted)
          return words.get(post.id) === post.text && (last?.decidedBy ?? 'deleted') === 'deleted'
        })
      },
      90_000,
      () => judged.join('\n'),
    )

    const threads = new Map<string, Set<string>>()
    await eventually(async () => {
      threads.clear()
      for (const text of await recordsOf(environment, 'comments')) {
        const { id, postId, deleted } = JSON.parse(text) as { id: string; postId: string; deleted?: true }
        const known = threads.get(postId) ?? new Set()
        if (deleted) known.delete(id)
        else known.add(id)
        threads.set(postId, known)
      }
      return SHAPES.every(({ post }) => post.comments.every((id) => threads.get(post.id)?.has(id)))
    }, 30_000)
    for (const { post } of SHAPES) expect([...(threads.get(post.id) ?? [])], post.id).toEqual(post.comments)

    // Each verdict went to the platform's own topic, with the mapping that its post came through.
    const published = new Map<string, string>()
    for (const { id, subjectId, label, decidedBy, versions } of await verdictsOf(environment)) {
      if (decidedBy !== 'deleted') expect(versions.mapping).toMatch(/^[0-9a-f]{16}$/)
      const by = versions.mapping === undefined ? {} : { mapping: versions.mapping }
      published.set(id, JSON.stringify({ verdict: id, post: subjectId, ...(label === null ? {} : { label }), by }))
    }
    const sunk = new Map<string, string>()
    await readTopic(
      kafka,
      sink,
      { follow: false, signal: new AbortController().signal, say: () => {} },
      ({ message }) => {
        const value = String(message.value)
        sunk.set((JSON.parse(value) as { verdict: string }).verdict, value)
      },
    )
    expect(sunk).toEqual(published)
  } finally {
    await admin.disconnect()
    await producer.disconnect()
    registry.close()
  }
})
