import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadSettings, PROJECT } from '../../config/load.ts'
import { registryDecoder } from '../../consumers/registry-values.ts'
import { topicMappings } from '../../src/mapping/mapping.ts'
import type { RegisteredSchema } from '../../src/stream/schema-registry.ts'
import { REGISTERED, REGISTRY_SHAPES } from './registry-shapes.ts'
import { SHAPES, type ShapeRecord } from './shapes.ts'

/** What a thread comes to: the last words of each post and of its comments, without those that were deleted. */
async function threadsOf(records: readonly ShapeRecord[], mappings: ReturnType<typeof topicMappings>) {
  const posts = new Map<string, { text: string; comments: Set<string> }>()
  for (const { topic, value, key = null, headers = {} } of records) {
    const raw = value === null || value instanceof Buffer ? value : Buffer.from(JSON.stringify(value))
    const decoded = value instanceof Buffer ? await decode(value) : undefined
    if (decoded?.ok === false) throw new Error(decoded.why)
    const record = { value: raw, key, headers, timestamp: Date.parse('2026-05-01T12:00:00Z') }
    const read = await mappings.get(topic)?.map(record, decoded)
    if (read?.ok !== true) throw new Error(read?.why ?? `no mapping for ${topic}`)
    for (const { topic: to, key: by, value: json } of read.messages) {
      const { id, postId, text, deleted } = JSON.parse(json) as {
        id: string
        postId?: string
        text: string
        deleted?: true
      }
      expect(by).toBe(postId ?? id)
      if (to === 'posts' && deleted) posts.delete(id)
      else if (to === 'posts') posts.set(id, { text, comments: posts.get(id)?.comments ?? new Set() })
      else if (deleted) posts.get(postId ?? '')?.comments.delete(id)
      else posts.get(postId ?? '')?.comments.add(id)
    }
  }
  return posts
}

const decode = registryDecoder(async (id) => REGISTERED.get(id) as RegisteredSchema, Date.now) // these shapes have no others

describe('the mappings that are shipped', () => {
  test.for([...SHAPES, ...REGISTRY_SHAPES])(
    'make of $name threads with its edits and without what was deleted',
    async ({ name, records, post, deleted }) => {
      const { sources } = loadSettings(
        { GAVEL_SCHEMA_REGISTRY_URL: 'http://127.0.0.1:1' },
        join(PROJECT, 'config', 'mappings', `${name}.yaml`),
      )
      const threads = await threadsOf(records, topicMappings(sources))
      expect(threads.has(deleted)).toBe(false)
      expect([...threads].map(([id, { text, comments }]) => ({ id, text, comments: [...comments] }))).toEqual([post])
    },
  )
})
