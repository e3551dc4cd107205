import type { IncomingMessage, ServerResponse } from 'node:http'
import protobuf from 'protobufjs'
import type { RegisteredSchema } from '../../src/stream/schema-registry.ts'
import type { Shape, ShapeRecord } from './shapes.ts'

const AUTHOR = JSON.stringify({
  type: 'record',
  name: 'Author',
  namespace: 'forum',
  fields: [{ name: 'name', type: 'string' }],
})

function postSchema(...more: object[]): string {
  const fields = [
    { name: 'id', type: 'long' },
    { name: 'body', type: ['null', 'string'] },
    { name: 'author', type: 'forum.Author' },
    { name: 'created_at', type: { type: 'long', logicalType: 'timestamp-millis' } },
    { name: 'deleted', type: 'boolean' },
    ...more,
  ]
  return JSON.stringify({ type: 'record', name: 'Post', namespace: 'forum', fields })
}

const COMMENT = JSON.stringify({
  type: 'record',
  name: 'Comment',
  namespace: 'forum',
  fields: [
    { name: 'id', type: 'string' },
    { name: 'post_id', type: 'long' },
    { name: 'body', type: 'string' },
    { name: 'author', type: 'Author' },
    { name: 'created_at', type: 'long' },
  ],
})

const EVENTS = `
syntax = "proto3";
package forum;
message Unused { string nothing = 1; }
message Event {
  message Post { int64 id = 1; string body = 2; int64 author_id = 3; int64 created_at = 4; }
  message Comment { string id = 1; int64 post_id = 2; string body = 3; int64 author_id = 4; int64 created_at = 5; }
  oneof what { Post post = 1; Comment comment = 2; int64 deleted_post = 3; }
}
`

const referenced = new Map([['forum.Author', AUTHOR]])

/** What the registry of the samples has, by id: two generations of posts among it. */
export const REGISTERED: ReadonlyMap<number, RegisteredSchema> = new Map([
  [1, { type: 'AVRO', schema: postSchema(), references: referenced }],
  [
    2,
    {
      type: 'AVRO',
      schema: postSchema({ name: 'tags', type: { type: 'array', items: 'string' } }),
      references: referenced,
    },
  ],
  [3, { type: 'AVRO', schema: COMMENT, references: referenced }],
  [4, { type: 'PROTOBUF', schema: EVENTS, references: new Map() }],
])

/** Answers as a registry that has these. */
export function answerAsRegistry({ url = '' }: IncomingMessage, response: ServerResponse): void {
  const [, id] = /^\/schemas\/ids\/(\d+)$/.exec(url) ?? []
  const found = REGISTERED.get(Number(id))
  if (url.startsWith('/subjects/')) response.end(JSON.stringify({ schema: AUTHOR }))
  else if (found === undefined) response.writeHead(404).end('{"error_code": 40403}')
  else {
    const { schema, type: schemaType } = found
    const references = [...found.references.keys()].map((name) => ({ name, subject: name, version: 1 }))
    response.end(JSON.stringify({ schema, schemaType, references }))
  }
}

const CREATED_MS = 1_777_629_600_000
const EDITED = 'The bridge at the mill is closed until Sunday.'

/** The two shapes that come through a registry. */
export const REGISTRY_SHAPES: readonly Shape[] = [
  {
    name: 'avro',
    records: [
      avroPost(1, 9_007_199_254_740_993n, 'The bridge at the mill is closed.'),
      avroPost(2, 9_007_199_254_740_993n, EDITED),
      avroComment('c1', 9_007_199_254_740_993n, 'I crossed it an hour ago.'),
      avroPost(2, 7n, 'Never mind what I said here.'),
      avroPost(2, 7n, null, true),
    ],
    post: { id: '9007199254740993', text: EDITED, comments: ['c1'] },
    deleted: '7',
  },
  {
    name: 'protobuf',
    records: [
      event({
        post: { id: 21, body: 'The bridge at the mill is closed.', author_id: 3, created_at: CREATED_MS * 1_000 },
      }),
      event({ post: { id: 21, body: EDITED, author_id: 3, created_at: CREATED_MS * 1_000 } }),
      event({
        comment: { id: 'c2', post_id: 21, body: 'I crossed it.', author_id: 4, created_at: CREATED_MS * 1_000 },
      }),
      event({ post: { id: 22, body: 'Never mind.', author_id: 3, created_at: CREATED_MS * 1_000 } }),
      event({ deleted_post: 22 }),
    ],
    post: { id: '21', text: EDITED, comments: ['c2'] },
    deleted: '22',
  },
]

/** A value in the registry's frame. */
export function framed(id: number, ...parts: readonly Uint8Array[]): Buffer {
  const head = Buffer.alloc(5)
  head.writeUInt32BE(id, 1)
  return Buffer.concat([head, ...parts])
}

function avroPost(schema: number, id: bigint, body: string | null, deleted = false): ShapeRecord {
  const parts = [
    long(id),
    body === null ? long(0n) : Buffer.concat([long(1n), text(body)]),
    text('ana'),
    long(BigInt(CREATED_MS)),
    Buffer.from([deleted ? 1 : 0]),
  ]
  // The second generation has a list of tags.
  const tags = schema === 2 ? [long(2n), text('a'), text('b'), long(0n)] : []
  return { topic: 'avro.posts', value: framed(schema, ...parts, ...tags) }
}

function avroComment(id: string, postId: bigint, body: string): ShapeRecord {
  return {
    topic: 'avro.comments',
    value: framed(3, text(id), long(postId), text(body), text('ben'), long(BigInt(CREATED_MS))),
  }
}

/** Avro's zigzag number. */
export function long(value: bigint): Buffer {
  let left = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n))
  const bytes: number[] = []
  for (; left > 127n; left >>= 7n) bytes.push(Number(left & 127n) | 128)
  return Buffer.from([...bytes, Number(left)])
}

function text(words: string): Buffer {
  return Buffer.concat([long(BigInt(Buffer.byteLength(words))), Buffer.from(words)])
}

/** An event, the second type of its file. */
function event(fields: object): ShapeRecord {
  const type = protobuf.parse(EVENTS, { keepCase: true }).root.lookupType('forum.Event')
  return {
    topic: 'protobuf.events',
    value: framed(4, Buffer.from([2, 2]), type.encode(type.fromObject(fields)).finish()),
  }
}
