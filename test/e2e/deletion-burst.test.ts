import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { topicsOf } from '../../config/topics.ts'
import { libraryOf } from '../../src/shelves/lancedb/library.ts'
import { IN_PROOF } from '../support/in-proof.ts'
import { onServers } from '../support/on-servers.ts'
import { ownFolder } from '../support/own-folder.ts'
import {
  clientOf,
  environmentOn,
  eventually,
  protocolsOn,
  type Service,
  settingsOf,
  verdictsOf,
} from '../support/pipeline.ts'
import { filesWith } from '../support/stored.ts'

const [DELETIONS, REPLIES] = IN_PROOF ? [4_000, 2_000] : [1_000, 500]
const POSTS = 40

const folder = ownFolder('burst')
const it = onServers({ latencyMs: 5 })

const pageOf = async (service: Service) => (await fetch(`http://127.0.0.1:${service.httpPort}/metrics`)).text()

/** How many messages were deletions, by its metrics. */
function deletedOn(page: string): number {
  const counts = page.matchAll(/^gavel_messages_total\{[^}]*outcome="deleted"[^}]*\} (\d+)/gm)
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0)
}

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

const textOf = (nth: number) => `A crowd threw things at the fountain, for the ${nth}th time.`

/** A library with precedents, learnt one by one, so that a deletion could concern it. */
async function withPrecedents(environment: Record<string, string>): Promise<void> {
  const shelves = libraryOf(settingsOf(environment), Date.now)
  for (let nth = 0; nth < 20; nth++) {
    const subject = { tenant: 'default', id: `learnt-${nth}`, kind: 'post' as const }
    const item = { text: textOf(nth), label: 'unsafe', metadata: {}, subject }
    await shelves.add('precedents', [item], 'ana', new AbortController().signal)
  }
  await shelves.close()
}

it('a burst of deletions, and one of a post with many replies, stops no reader: what comes after it is judged', {
  timeout: 180_000,
}, async ({ stack, start }) => {
  const environment = environmentOn(stack, {
    ...protocolsOn('rumor', 'counterspeech'),
    GAVEL_LIBRARY_PATH: join(folder, randomUUID()),
    GAVEL_CLOCK_IDLE_AFTER: '1s',
    GAVEL_KAFKA_SESSION_TIMEOUT: '6s',
  })
  await withPrecedents(environment)
  // Several readers on one library: each partition has its own.
  const services = await Promise.all([undefined, 'intake', 'intake'].map((roles) => start(environment, roles)))
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
  const told = services.map(({ log }) => log.length)
  await produce(environment, 'posts', [
    { id: 'answered', deleted: true },
    ...Array.from({ length: DELETIONS }, (_, nth) => ({ id: `nobody-${nth}`, deleted: true })),
    ...Array.from({ length: 20 }, (_, nth) => ({ id: `learnt-${nth}`, deleted: true })),
    ...Array.from({ length: POSTS }, (_, nth) => ({ id: `after-${nth}`, text: `The ${nth}th mast has fallen.` })),
  ])
  // Their group did not lose them, nor did anything else fail.
  const errors = () =>
    services.flatMap(({ log }, nth) => log.slice(told[nth])).filter((line) => line.includes('"level":"error"'))
  let judged = 0
  await eventually(
    async () => {
      const after = (await verdictsOf(environment)).filter(({ subjectId }) => subjectId.startsWith('after-'))
      judged = new Set(after.map(({ subjectId }) => subjectId)).size
      return judged === POSTS
    },
    90_000,
    () => `${judged} of ${POSTS} were judged; errors: ${errors().length}`,
  )
  expect(errors()).toEqual([])
})

it.runIf(IN_PROOF)(
  'the deletion of a reply leaves what was learnt from the post of the same id',
  { timeout: 150_000 },
  async ({ stack, start }) => {
    const library = join(folder, randomUUID())
    const environment = environmentOn(stack, {
      ...protocolsOn('rumor', 'counterspeech'),
      GAVEL_LIBRARY_PATH: library,
      GAVEL_CLOCK_IDLE_AFTER: '1s',
    })
    await withPrecedents(environment)
    const service = await start(environment)
    await produce(environment, 'counterspeech', [{ id: 'learnt-3', deleted: true }])
    await eventually(async () => deletedOn(await pageOf(service)) === 1, 60_000)
    await produce(environment, 'posts', [{ id: 'learnt-4', deleted: true }])
    await eventually(async () => filesWith(textOf(4), library).length === 0, 60_000)
    expect(filesWith(textOf(3), library), 'what was learnt from the post learnt-3').not.toEqual([])
  },
)

it('a library that can’t be written stops no reader either', { timeout: 120_000 }, async ({ stack, start }) => {
  const library = join(folder, randomUUID())
  const environment = environmentOn(stack, { GAVEL_LIBRARY_PATH: library, GAVEL_CLOCK_IDLE_AFTER: '1s' })
  await withPrecedents(environment)
  // As a volume that is full: nothing can be made in its place.
  await rm(join(library, 'vectors'), { recursive: true })
  const service = await start(environment)
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
  expect(await pageOf(service)).toMatch(/gavel_erasures_waiting\{[^}]*at="shelves"[^}]*\} 20/)
})
