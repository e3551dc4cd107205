import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { PROJECT } from '../../config/load.ts'
import { registryDecoder } from '../../consumers/registry-values.ts'
import { mappedBy } from '../../src/app/commands/map/mapped-by.ts'
import { topicMappings } from '../../src/mapping/mapping.ts'
import type { SourceSettings } from '../../src/mapping/source.ts'
import { type RegisteredSchema, RegistryAway, registeredSchema } from '../../src/stream/schema-registry.ts'
import { framed, long, REGISTERED, REGISTRY_SHAPES } from '../mapping/registry-shapes.ts'
import { anApicurio } from '../support/apicurio.ts'

// A real registry that speaks as Confluent's does, in front of what otherwise a test's own server answers.

const registry = await anApicurio()
afterAll(() => registry?.server.close())

const settings = (timeout = 10_000) => ({ url: registry?.url ?? '', username: '', password: '', timeout })

/** Registers a schema under a subject; resolves to the id by which records are framed. */
async function register(subject: string, { type, schema, references }: RegisteredSchema): Promise<number> {
  const named = [...references.keys()].map((name) => ({ name, subject: name, version: 1 }))
  const response = await fetch(`${registry?.url}/subjects/${subject}/versions`, {
    method: 'POST',
    headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
    body: JSON.stringify({ schema, schemaType: type, references: named }),
  })
  expect(response.status, await response.clone().text()).toBe(200)
  return ((await response.json()) as { id: number }).id
}

const plain = (type: RegisteredSchema['type'], schema: string): RegisteredSchema => ({
  type,
  schema,
  references: new Map(),
})
const record = (value: Buffer) => ({ value, key: null, headers: {}, timestamp: 1_777_629_600_000 })

test.skipIf(registry === null)(
  'shapes map by the schemas of a real registry, old and new side by side',
  { timeout: 300_000 },
  async () => {
    const referenced = [...REGISTERED.values()].flatMap(({ references }) => [...references])
    for (const [name, schema] of new Map(referenced)) await register(name, plain('AVRO', schema))
    const ids = new Map<number, number>()
    for (const [id, schema] of REGISTERED)
      ids.set(id, await register(['posts', 'posts', 'comments', 'events'][id - 1] ?? '', schema))
    const decode = registryDecoder((id) => registeredSchema(settings(), id), Date.now)
    for (const { name, records, post, deleted } of REGISTRY_SHAPES) {
      const { sources } = parse(readFileSync(join(PROJECT, 'config', 'mappings', `${name}.yaml`), 'utf8')) as {
        sources: SourceSettings[]
      }
      const mappings = topicMappings(sources)
      const state = new Map<string, { text?: string; deleted?: boolean; postId?: string }>()
      // Once more behind the newer generation: a producer that was not renewed goes on to write the older one.
      for (const { topic, value } of [
        ...records,
        ...records.filter(({ topic }) => topic === records[1]?.topic).slice(1, 2),
      ]) {
        if (!Buffer.isBuffer(value)) throw new Error('no bytes')
        const made = await mappedBy(
          mappings.get(topic),
          record(framed(ids.get(value.readUInt32BE(1)) ?? 0, value.subarray(5))),
          decode,
        )
        if (made?.ok !== true) throw new Error(made?.why)
        for (const message of made.messages) {
          const said = JSON.parse(message.value)
          state.set(said.id, said)
        }
      }
      expect(state.get(post.id)?.text, name).toBe(post.text)
      expect(state.get(deleted ?? '')?.deleted, name).toBe(true)
      for (const id of post.comments) expect(state.get(id)?.postId, name).toBe(post.id)
    }

    // A field less, and another order and default of a newer one: each record by the schema that wrote it.
    const fields = (...names: string[]) =>
      names.map((name) => ({ name, type: name === 'n' ? 'long' : 'string', default: name === 'n' ? 0 : '' }))
    const generation = (...names: string[]) =>
      plain('AVRO', JSON.stringify({ type: 'record', name: 'G', fields: fields(...names) }))
    const generations = [generation('a', 'n'), generation('n', 'b', 'a'), generation('b')]
    const [one, two, three] = [
      await register('g', generations[0] as never),
      await register('g', generations[1] as never),
      await register('g', generations[2] as never),
    ]
    const [text, number] = [Buffer.from([2, 0x78]), long(300n)]
    const read = async (id: number, ...parts: Buffer[]) => decode(framed(id, ...parts))
    expect(await read(two, number, text, text)).toEqual({ ok: true, value: { n: 300, b: 'x', a: 'x' } })
    expect(await read(one, text, number)).toEqual({ ok: true, value: { a: 'x', n: 300 } })
    expect(await read(three, text)).toEqual({ ok: true, value: { b: 'x' } })

    // Bytes of another schema, and an id that nobody has, are letters; they stop nobody.
    expect(await read(two, text)).toMatchObject({ ok: false })
    expect(await read(999_999, text)).toEqual({ ok: false, why: 'the schema registry has no schema 999999' })
  },
)

test.skipIf(registry === null)(
  'a registry that hangs, or is gone, is asked again: no record is given up',
  { timeout: 300_000 },
  async () => {
    const server = registry?.server
    const pid = server?.pid
    if (server === undefined || pid === undefined) throw new Error('it has ended')
    const id = await register('later', plain('AVRO', '"string"'))
    const decode = registryDecoder((wanted) => registeredSchema(settings(1_000), wanted), Date.now)
    const value = framed(id, Buffer.from([2, 0x78]))
    process.kill(pid, 'SIGSTOP')
    await expect(decode(value)).rejects.toThrow(RegistryAway)
    process.kill(pid, 'SIGCONT')
    await expect.poll(() => decode(value).catch(() => null), { timeout: 60_000 }).toEqual({ ok: true, value: 'x' })
    await server.kill()
    // What is known needs no registry; what is not waits.
    expect(await decode(value)).toEqual({ ok: true, value: 'x' })
    await expect(decode(framed(id + 1, Buffer.from([0])))).rejects.toThrow(RegistryAway)
  },
)
