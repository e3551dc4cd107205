import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { registryDecoder } from '../../consumers/registry-values.ts'
import { avroReader } from '../../src/mapping/avro.ts'
import { UnmappedRecord } from '../../src/mapping/faults.ts'
import { protobufReader } from '../../src/mapping/protobuf.ts'
import { RegistryAway, registeredSchema, SchemaFault } from '../../src/stream/schema-registry.ts'
import { framed, long, REGISTERED, REGISTRY_SHAPES } from '../mapping/registry-shapes.ts'

const schemaIn = (schemas: typeof REGISTERED, id: number) => {
  const found = schemas.get(id)
  if (found === undefined) throw new SchemaFault(`the schema registry has no schema ${id}`)
  return found
}
const decoder = (schemas = REGISTERED) => registryDecoder(async (id) => schemaIn(schemas, id), Date.now)

describe('Avro', () => {
  // The examples of its specification.
  it.each<[object | string, number[], unknown]>([
    [
      {
        type: 'record',
        name: 'test',
        fields: [
          { name: 'a', type: 'long' },
          { name: 'b', type: 'string' },
        ],
      },
      [0x36, 0x06, 0x66, 0x6f, 0x6f],
      { a: 27, b: 'foo' },
    ],
    [{ type: 'array', items: 'long' }, [0x04, 0x06, 0x36, 0x00], [3, 27]],
    [['null', 'string'], [0x02, 0x02, 0x61], 'a'],
    [['null', 'string'], [0x00], null],
    ['long', [0x7f], -64],
    ['long', [0x80, 0x01], 64],
    // A block with its size in bytes, and a map.
    [{ type: 'array', items: 'long' }, [0x03, 0x04, 0x06, 0x36, 0x00], [3, 27]],
    [{ type: 'map', values: 'boolean' }, [0x02, 0x02, 0x61, 0x01, 0x00], { a: true }],
    [{ type: 'enum', name: 'e', symbols: ['A', 'B'] }, [0x02], 'B'],
    [{ type: 'fixed', name: 'f', size: 2 }, [0x01, 0x02], 'AQI='],
    ['double', [0, 0, 0, 0, 0, 0, 0xf8, 0x3f], 1.5],
    [
      {
        type: 'record',
        name: 'n.L',
        fields: [
          { name: 'v', type: 'int' },
          { name: 'next', type: ['null', 'L'] },
        ],
      },
      [0x02, 0x02, 0x04, 0x00],
      { v: 1, next: { v: 2, next: null } },
    ],
  ])('reads by %j', (schema, bytes, value) => {
    expect(avroReader(JSON.stringify(schema))(Buffer.from(bytes))).toEqual(value)
  })

  it('reads no list of a million from a few bytes, nor beyond its end', () => {
    const nulls = avroReader(JSON.stringify({ type: 'array', items: 'null' }))
    expect(() => nulls(Buffer.concat([long(1_000_000_000n), Buffer.from([0])]))).toThrow('more than 100000 items')
    const texts = avroReader(JSON.stringify({ type: 'array', items: 'string' }))
    expect(() => texts(long(90_000n))).toThrow('cut off')
    expect(() => avroReader('"string"')(long(-5n))).toThrow('cut off')
    const loop = avroReader(JSON.stringify({ type: 'record', name: 'R', fields: [{ name: 'r', type: 'R' }] }))
    expect(() => loop(Buffer.from([0]))).toThrow('nested deeper')
  })

  it('makes nothing of a schema that doubles forty times, and takes one that nests without end for none', () => {
    let type: unknown = { type: 'record', name: 'R0', fields: [{ name: 'a', type: 'null' }] }
    for (let nth = 1; nth <= 40; nth++) {
      const fields = [
        { name: 'a', type },
        { name: 'b', type: `R${nth - 1}` },
      ]
      type = { type: 'record', name: `R${nth}`, fields }
    }
    expect(() => avroReader(JSON.stringify(type))(Buffer.alloc(0))).toThrow('more than 100000 items')
    const nested = `${'{"type":"array","items":'.repeat(20_000)}"null"${'}'.repeat(20_000)}`
    expect(() => avroReader(nested)).toThrow(UnmappedRecord)
  })

  it('throws nothing else whatever the bytes are', () => {
    const read = avroReader(REGISTERED.get(2)?.schema ?? '', [...(REGISTERED.get(2)?.references.values() ?? [])])
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        try {
          read(Buffer.from(bytes))
        } catch (error) {
          expect(error).toBeInstanceOf(UnmappedRecord)
        }
      }),
      { seed: 71 },
    )
  })
})

it('reads Protobuf with the types that its every compiler brings along', () => {
  const read = protobufReader(`
    syntax = "proto3";
    import "google/protobuf/timestamp.proto";
    import "google/protobuf/wrappers.proto";
    message Post { google.protobuf.Timestamp at = 1; google.protobuf.StringValue body = 2; }
  `)
  const bytes = [0, 0x0a, 2, 8, 7, 0x12, 3, 0x0a, 1, 0x61]
  expect(read(Buffer.from(bytes))).toEqual({ at: { seconds: '7' }, body: { value: 'a' } })
})

describe('values in a registry’s frame', () => {
  it('are decoded by the schema that they name, each asked for once', async () => {
    let asked = 0
    const decode = registryDecoder(async (id) => {
      asked++
      return schemaIn(REGISTERED, id)
    }, Date.now)
    const values = REGISTRY_SHAPES.flatMap(({ records }) => records.map(({ value }) => value as Buffer)) // as these shapes are
    const decoded = []
    for (const value of values) decoded.push(await decode(value))
    expect(decoded.every(({ ok }) => ok)).toBe(true)
    expect(decoded[1]).toEqual({
      ok: true,
      value: {
        id: '9007199254740993',
        body: expect.any(String),
        author: { name: 'ana' },
        created_at: 1_777_629_600_000,
        deleted: false,
        tags: ['a', 'b'],
      },
    })
    expect(decoded.at(-1)).toEqual({ ok: true, value: { deleted_post: '22' } })
    expect(asked).toBe(REGISTERED.size)
  })

  it.each<[string, Buffer]>([
    ['not in the frame of a schema registry', Buffer.from('{"id": 1}')],
    ['has no schema 99', framed(99)],
    ['is no message of its Protobuf schema', framed(4, Buffer.from([2, 2, 0x0a, 0xff, 0xff, 0xff, 0xff, 0x07]))],
    ['has no such type', framed(4, Buffer.from([2, 8]))],
    ['nested too deep', framed(4, Buffer.from([0xfe, 0xff, 0x03]))],
    ['cut off', framed(1, Buffer.from([2]))],
    ['left behind', framed(3, Buffer.concat([Buffer.alloc(6), Buffer.from([1])]))],
  ])('say why they can’t be: %s', async (why, value) => {
    expect(await decoder()(value)).toEqual({ ok: false, why: expect.stringContaining(why) })
  })

  it('wait for a registry that is away, and fail for a schema of which nothing can be had', async () => {
    const absent = '{"error_code": 40403}'
    const found = { schema: '"string"', references: [{ name: 'A', subject: 'a/b', version: 2 }] }
    // What Confluent's answers for an id that is no int32, and for a subject that its user may not read.
    const refusals: [number, string][] = [
      [404, '{"error_code": 404}'],
      [403, '{"error_code": 40301}'],
      [422, '<h1>no</h1>'],
    ]
    let [next, isUp]: [[number, string], boolean] = [[503, ''], true]
    let asked = 0
    const server = createServer((request, response) => {
      if (request.url === '/subjects') return void response.writeHead(isUp ? 200 : 404).end('[]')
      if (request.url === '/subjects/a%2Fb/versions/2')
        return void response.end(JSON.stringify({ schema: '{"type":"record","name":"A","fields":[]}' }))
      asked++
      response.writeHead(next[0]).end(next[1])
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    const at = { url: `http://127.0.0.1:${port}/`, username: '', password: '', timeout: 5_000 }
    const answered = (status: number, text: string) => {
      next = [status, text]
      return registeredSchema(at, 1)
    }
    try {
      await expect(answered(503, '')).rejects.toThrow(RegistryAway)
      expect(await answered(200, JSON.stringify(found))).toEqual({
        type: 'AVRO',
        schema: '"string"',
        references: new Map([['A', expect.any(String)]]),
      })
      await expect(answered(404, absent)).rejects.toThrow(SchemaFault)
      for (const [status, text] of refusals) await expect(answered(status, text), text).rejects.toThrow(SchemaFault)
      await expect(answered(200, '{"schema": "", "schemaType": "XML"}')).rejects.toThrow('of no type that is read')
      await expect(answered(200, JSON.stringify({ schema: 'x'.repeat(3_000_000) }))).rejects.toThrow(SchemaFault)
      for (const status of [401, 429]) await expect(answered(status, '')).rejects.toThrow(RegistryAway)
      // What stands before a registry says so too, while that is away: then nothing else is answered either.
      isUp = false
      for (const [status, text] of refusals) await expect(answered(status, text), text).rejects.toThrow(RegistryAway)
      const before = asked
      await expect(registeredSchema(at, 2 ** 31)).rejects.toThrow(SchemaFault)
      expect(asked).toBe(before)
    } finally {
      server.close()
    }
    await expect(registeredSchema({ ...at, url: 'http://127.0.0.1:1' }, 1)).rejects.toThrow(RegistryAway)
  })

  it('cost few questions where their ids are made up, and take no known schema’s place', async () => {
    let [asked, now] = [0, 0]
    const decode = registryDecoder(
      async (id) => {
        asked++
        return schemaIn(REGISTERED, id)
      },
      () => now,
    )
    const [known] = REGISTRY_SHAPES[0]?.records ?? []
    const good = async () => (await decode(known?.value as Buffer)).ok // as its shape is
    expect(await good()).toBe(true)
    for (let id = 1_000; id < 21_000; id++) expect((await decode(framed(id, Buffer.from([0])))).ok).toBe(false)
    expect(asked).toBe(1 + 50)
    expect([await good(), asked]).toEqual([true, 51])
    // A new schema is asked for again a moment later.
    const second = REGISTRY_SHAPES[0]?.records[1]?.value as Buffer // as its shape is
    expect(await decode(second)).toMatchObject({ ok: false, why: expect.stringContaining('was not asked for') })
    now = 200
    expect((await decode(second)).ok).toBe(true)
    // Another topic's are asked for at once.
    const third = framed(3, Buffer.from([0]))
    for (let id = 30_000; id < 30_100; id++) await decode(framed(id, Buffer.from([0])))
    const refused = expect.stringContaining('was not asked for')
    expect([await decode(third), await decode(third, 'other')]).toEqual([
      { ok: false, why: refused },
      expect.not.objectContaining({ why: refused }),
    ])
  })

  it('are refused where they would take all memory, before anything is made of them', async () => {
    const schema = `syntax = "proto3"; message Post { string id = 1; repeated int64 tags = 5; map<string, Post> more = 6; }`
    const decode = decoder(new Map([[7, { type: 'PROTOBUF', schema, references: new Map() }]]))
    const field = (id: number, bytes: Buffer) => {
      const head: number[] = [(id << 3) | 2]
      let left = bytes.length
      for (; left > 127; left >>>= 7) head.push((left & 127) | 128)
      return Buffer.concat([Buffer.from([...head, left]), bytes])
    }
    const numbers = (count: number) => field(5, Buffer.alloc(count))
    const post = (...parts: Buffer[]) => decode(framed(7, Buffer.from([0]), ...parts))
    expect(await post(numbers(2))).toEqual({ ok: true, value: { tags: ['0', '0'] } })
    const inMap = (inner: Buffer) => field(6, Buffer.concat([field(1, Buffer.from('k')), field(2, inner)]))
    expect(await post(inMap(numbers(2)))).toEqual({ ok: true, value: { more: { k: { tags: ['0', '0'] } } } })
    const many = { ok: false, why: 'more than 100000 fields and numbers' }
    expect(await post(numbers(100_001))).toEqual(many)
    expect(await post(inMap(inMap(numbers(100_001))))).toEqual(many)
    let deep = numbers(1)
    for (let levels = 0; levels < 40; levels++) deep = inMap(deep)
    expect(await post(deep)).toEqual({ ok: false, why: 'nested deeper than 32 levels' })
    expect(await post(Buffer.alloc(5 * 2 ** 20))).toEqual({
      ok: false,
      why: expect.stringContaining('bytes exceed the limit'),
    })
  })
})
