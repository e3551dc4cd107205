import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { registryDecoder } from '../../consumers/registry-values.ts'
import { avroReader } from '../../src/mapping/avro.ts'
import { UnmappedRecord } from '../../src/mapping/faults.ts'
import { protobufReader } from '../../src/mapping/protobuf.ts'
import { RegistryAway, registeredSchema } from '../../src/stream/schema-registry.ts'
import { framed, long, REGISTERED, REGISTRY_SHAPES } from '../mapping/registry-shapes.ts'

const decoder = (schemas = REGISTERED) => registryDecoder(async (id) => schemas.get(id) ?? null, Date.now)

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
      return REGISTERED.get(id) ?? null
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

  it('wait for a registry that is away, and fail for a schema that it does not have', async () => {
    const answers = [503, 200, 404, 404, 404]
    const absences = ['{"error_code": 40403}', '{"error_code": 404}', '<h1>no such host</h1>']
    const server = createServer((request, response) => {
      const status = request.url?.startsWith('/subjects') ? 200 : (answers.shift() ?? 404)
      const reference = { schema: '{"type":"record","name":"A","fields":[]}' }
      const found = { schema: '"string"', references: [{ name: 'A', subject: 'a/b', version: 2 }] }
      if (status === 404) return void response.writeHead(404).end(absences.shift())
      response.writeHead(status).end(JSON.stringify(request.url === '/subjects/a%2Fb/versions/2' ? reference : found))
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const at = {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
      username: '',
      password: '',
      timeout: 5_000,
    }
    try {
      await expect(registeredSchema(at, 1)).rejects.toThrow(RegistryAway)
      expect(await registeredSchema(at, 1)).toEqual({
        type: 'AVRO',
        schema: '"string"',
        references: new Map([['A', expect.any(String)]]),
      })
      expect(await registeredSchema(at, 1)).toBeNull()
      // What stands before a registry says so too, while that is away.
      for (const _ of [1, 2]) await expect(registeredSchema(at, 1)).rejects.toThrow(RegistryAway)
    } finally {
      server.close()
    }
    await expect(registeredSchema({ ...at, url: 'http://127.0.0.1:1' }, 1)).rejects.toThrow(RegistryAway)
  })
})
