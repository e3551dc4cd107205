import { randomUUID } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { libraryOf } from '../../src/composition/library.ts'
import { topicsOf } from '../../src/composition/topics.ts'
import type { Stack } from '../../src/tools/stack/stack.ts'
import {
  clientOf,
  environmentOn,
  eventually,
  protocolsOn,
  type Service,
  settingsOf,
  startServers,
  startService,
  verdictsOf,
} from '../support/pipeline.ts'

const DELETIONS = 4_000
const POSTS = 40
const REPLIES = 2_000

const folder = mkdtempSync(join(tmpdir(), 'gavel-burst-'))
let stack: Stack
let service: Service | undefined
beforeAll(async () => {
  stack = await startServers({ latencyMs: 5 })
})
afterEach(async () => {
  await service?.kill('SIGKILL')
})
afterAll(async () => {
  await stack?.close()
  await rm(folder, { recursive: true, force: true })
})

const createdAt = '2026-01-01T00:00:00Z'

async function produce(
  environment: Record<string, string>,
  topic: 'posts' | 'counterspeech',
  values: readonly object[],
) {
  const producer = clientOf(environment).producer()
  await producer.connect()
  const keyOf = (value: object) => ('postId' in value ? String(value.postId) : String((value as { id: string }).id))
  for (let start = 0; start < values.length; start += 1_000)
    await producer.send({
      topic: topicsOf(settingsOf(environment))[topic],
      messages: values
        .slice(start, start + 1_000)
        .map((value) => ({ key: keyOf(value), value: JSON.stringify({ createdAt, ...value }) })),
    })
  await producer.disconnect()
}

/** A library with precedents, so that a deletion could concern it. */
async function withPrecedents(environment: Record<string, string>): Promise<void> {
  const shelves = libraryOf(settingsOf(environment), Date.now)
  const items = Array.from({ length: 20 }, (_, nth) => ({
    text: `A crowd threw things at the fountain, for the ${nth}th time.`,
    label: 'unsafe',
    metadata: {},
    subject: { tenant: 'default', id: `learnt-${nth}`, kind: 'post' as const },
  }))
  await shelves.add('precedents', items, 'ana', new AbortController().signal)
  await shelves.close()
}

it('a burst of deletions, and one of a post with many replies, stops no reader: what comes after it is judged', {
  timeout: 180_000,
}, async () => {
  const environment = environmentOn(stack, {
    ...protocolsOn('rumor', 'counterspeech'),
    GAVEL_LIBRARY_PATH: join(folder, randomUUID()),
    GAVEL_CLOCK_IDLE_AFTER: '1s',
    GAVEL_KAFKA_SESSION_TIMEOUT: '6s',
  })
  await withPrecedents(environment)
  service = await startService(environment)
  await produce(environment, 'posts', [{ id: 'answered', text: 'They all lie.' }])
  await produce(
    environment,
    'counterspeech',
    Array.from({ length: REPLIES }, (_, nth) => ({
      id: `reply-${nth}`,
      postId: 'answered',
      hateSpeech: 'They all lie.',
      text: `No, ${nth} of them do not.`,
    })),
  )
  await eventually(async () => (await verdictsOf(environment)).length > 20, 60_000)
  const told = service.log.length
  await produce(environment, 'posts', [
    { id: 'answered', deleted: true },
    ...Array.from({ length: DELETIONS }, (_, nth) => ({ id: `nobody-${nth}`, deleted: true })),
    ...Array.from({ length: 20 }, (_, nth) => ({ id: `learnt-${nth}`, deleted: true })),
    ...Array.from({ length: POSTS }, (_, nth) => ({ id: `after-${nth}`, text: `The ${nth}th mast has fallen.` })),
  ])
  let judged = 0
  await eventually(
    async () => {
      const after = (await verdictsOf(environment)).filter(({ subjectId }) => subjectId.startsWith('after-'))
      judged = new Set(after.map(({ subjectId }) => subjectId)).size
      return judged === POSTS
    },
    90_000,
    () => `${judged} of ${POSTS} were judged`,
  )
  // Its group did not lose it, nor did anything else fail.
  expect(service.log.slice(told).filter((line) => line.includes('"level":50'))).toEqual([])
})

it('a library that can’t be written stops no reader either', { timeout: 120_000 }, async () => {
  const library = join(folder, randomUUID())
  const environment = environmentOn(stack, { GAVEL_LIBRARY_PATH: library, GAVEL_CLOCK_IDLE_AFTER: '1s' })
  await withPrecedents(environment)
  // As a volume that is full: nothing can be made in its place.
  await rm(join(library, 'vectors'), { recursive: true })
  service = await startService(environment)
  await produce(environment, 'posts', [
    ...Array.from({ length: 20 }, (_, nth) => ({ id: `learnt-${nth}`, deleted: true })),
    ...Array.from({ length: POSTS }, (_, nth) => ({ id: `after-${nth}`, text: `The ${nth}th mast has fallen.` })),
  ])
  let judged = 0
  await eventually(
    async () => {
      judged = (await verdictsOf(environment)).filter(({ final }) => final).length
      return judged === POSTS
    },
    60_000,
    () => `${judged} of ${POSTS} were judged`,
  )
  // It is told, and waits.
  expect(service.log.some((line) => line.includes('erasure from shelves'))).toBe(true)
  const page = await (await fetch(`http://127.0.0.1:${service.httpPort}/metrics`)).text()
  expect(page).toMatch(/gavel_erasures_waiting\{[^}]*at="shelves"[^}]*\} 20/)
})
