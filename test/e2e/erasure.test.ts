import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { connect } from '../../src/adapters/redis/connect.ts'
import { libraryOf } from '../../src/assembly.ts'
import { PROTOCOLS } from '../../src/protocols/registry.ts'
import { type Stack, startStack } from '../../src/stack/stack.ts'
import {
  environmentOn,
  eventually,
  protocolsOn,
  type Service,
  send,
  settingsOf,
  startService,
  tell,
  verdictsOf,
} from '../support/pipeline.ts'

const SECRET = 'ZEBRA-SECRET-WORDS'
const OTHER = 'GIRAFFE-OTHER-WORDS'

const folder = mkdtempSync(join(tmpdir(), 'gavel-erasure-'))
let stack: Stack
let service: Service | undefined
let redis: Redis
beforeAll(async () => {
  stack = await startStack({}, { kafka: 'memory', say: tell, understudy: { latencyMs: 0 } })
  redis = connect(stack.settings.REDIS_URL ?? '', () => {}, 'impatient')
})
afterAll(async () => {
  await service?.kill('SIGKILL')
  redis?.disconnect()
  await stack?.close()
  await rm(folder, { recursive: true, force: true })
})

/** Keys of Redis that hold the text, however they hold it. */
async function keysWith(text: string): Promise<string[]> {
  const found: string[] = []
  for (const key of await redis.keys('*')) {
    const type = await redis.type(key)
    const held =
      type === 'hash'
        ? await redis.hgetall(key)
        : type === 'list'
          ? await redis.lrange(key, 0, -1)
          : type === 'stream'
            ? await redis.xrange(key, '-', '+')
            : type === 'set'
              ? await redis.smembers(key)
              : type === 'zset'
                ? await redis.zrange(key, '0', '-1')
                : await redis.get(key)
    if (key.includes(text) || JSON.stringify(held).includes(text)) found.push(key)
  }
  return found
}

/** Files under a folder that hold the text. */
function filesWith(text: string, under: string): string[] {
  return readdirSync(under, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => readFileSync(file).includes(text))
}

it('deleting a post erases its words from Redis and from the shelves on disk', { timeout: 120_000 }, async () => {
  const library = join(folder, 'library')
  const environment = environmentOn(stack, {
    ...protocolsOn(...PROTOCOLS.map(({ name }) => name)),
    GAVEL_LIBRARY_PATH: library,
    GAVEL_CASES_KEEP_JOURNAL: '1h',
  })
  const createdAt = '2026-01-01T00:00:00Z'
  const sendAll = (...lines: object[]) => {
    const file = join(folder, 'lines.jsonl')
    writeFileSync(file, lines.map((line) => `${JSON.stringify({ createdAt, ...line })}\n`).join(''))
    return send(environment, file, 'gavel', { kind: 'flat-out' })
  }
  service = await startService(environment)
  await sendAll(
    { type: 'post', id: 'p1', text: SECRET },
    { type: 'post', id: 'p2', text: OTHER },
    { type: 'comment', id: 'c1', postId: 'p1', text: `I quote: ${SECRET}` },
    { type: 'counterspeech', id: 's1', postId: 'p1', hateSpeech: SECRET, text: 'that is not so' },
  )
  let verdicts = await verdictsOf(environment)
  await eventually(
    async () => {
      verdicts = await verdictsOf(environment)
      return verdicts.filter(({ final }) => final).length >= 7
    },
    60_000,
    () => verdicts.map(({ id }) => id).join(', '),
  )
  // What was learnt from it stands on a shelf and in quarantine.
  const shelves = libraryOf(settingsOf(environment), Date.now)
  const signal = new AbortController().signal
  const subject = { tenant: 'default', id: 'p1' }
  const provenance = {
    tenant: 'default',
    subjectId: 'p1',
    protocol: 'safety',
    verdictId: 'safety~p1~r1',
    by: 'ana',
    at: createdAt,
  }
  await shelves.add(
    'precedents',
    [{ text: `learnt: ${SECRET}`, label: 'unsafe', metadata: { keyCues: SECRET }, subject }],
    'ana',
    signal,
  )
  await shelves.add(
    'precedents',
    [{ text: `kept: ${OTHER}`, label: 'safe', metadata: {}, subject: null }],
    'ana',
    signal,
  )
  await shelves.propose([
    { shelf: 'precedents', text: `proposed: ${SECRET}`, label: 'unsafe', metadata: {}, provenance },
  ])
  await shelves.close()
  expect((await keysWith(SECRET)).length).toBeGreaterThan(3)
  expect(filesWith(SECRET, library).length).toBeGreaterThan(1)

  await sendAll({ type: 'post', id: 'p1', deleted: true })
  await eventually(
    async () => {
      verdicts = (await verdictsOf(environment)).filter(({ degraded }) => degraded.includes('deleted'))
      return verdicts.length >= 4
    },
    60_000,
    () => verdicts.map(({ id }) => id).join(', '),
  )
  // Every protocol takes its verdict back, that on the reply too.
  expect(verdicts.map(({ id, label }) => [id.replace(/\d+$/, ''), label]).sort()).toEqual([
    ['counterspeech~s1~r', null],
    ['hate~p1~r', null],
    ['rumor~p1~r', null],
    ['safety~p1~r', null],
  ])
  expect(await keysWith(SECRET)).toEqual([])
  expect(filesWith(SECRET, library)).toEqual([])
  expect(await keysWith(OTHER)).not.toEqual([])
  expect(filesWith(OTHER, library)).not.toEqual([])

  // A deletion that comes again changes nothing, and the words stay gone when the post is sent once more.
  await sendAll({ type: 'post', id: 'p1', deleted: true }, { type: 'post', id: 'p1', text: SECRET })
  await sendAll({ type: 'post', id: 'p3', text: 'the last one' })
  await eventually(async () => (await verdictsOf(environment)).some(({ subjectId }) => subjectId === 'p3'), 60_000)
  expect(await keysWith(SECRET)).toEqual([])
})
