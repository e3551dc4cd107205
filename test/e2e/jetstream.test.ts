import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { onServers } from '../support/on-servers.ts'
import { environmentOn, eventually, protocolsOn, recordsOf, verdictsOf } from '../support/pipeline.ts'
import { type RelayedEvent, startRelay } from '../support/relay.ts'
import { accountOf, addressOf, written } from '../support/relayed-posts.ts'

const it = onServers({ latencyMs: 10 })

const KILLS = 2
const THREADS = 150
/** How many events come at a time, and how long after the ones before, in ms: some seconds in all. */
const [AT_ONCE, EVERY_MS] = [12, 60]

interface Sent {
  readonly id: string
  readonly postId?: string
  readonly text?: string
  readonly deleted?: true
}

/** Threads of a post, two replies, an edit and, in every third, the deletion of a reply, and in every tenth of the post. */
function threads(): RelayedEvent[] {
  return Array.from({ length: THREADS }, (_, nth) => {
    const root = addressOf(`author${nth % 7}`, `p${nth}`)
    const at = (step: number) => nth * 100 + step
    const reply = (author: string, step: number) =>
      written({ author, rkey: `${author}${nth}`, at: at(step), under: root })
    return [
      written({ author: `author${nth % 7}`, rkey: `p${nth}`, at: at(0), text: `before ${nth}` }),
      reply('bob', 1),
      reply('cat', 2),
      written({ author: `author${nth % 7}`, rkey: `p${nth}`, at: at(3), operation: 'update', text: `after ${nth}` }),
      ...(nth % 3 === 0 ? [written({ author: 'cat', rkey: `cat${nth}`, at: at(4), operation: 'delete' })] : []),
      ...(nth % 10 === 0
        ? [written({ author: `author${nth % 7}`, rkey: `p${nth}`, at: at(5), operation: 'delete' })]
        : []),
    ]
  }).flat()
}

it('brings every post, reply, edit and deletion through drops and kills, under its id and no other way', {
  timeout: 120_000,
}, async ({ stack, start }) => {
  const [one, other] = [await startRelay(), await startRelay()]
  try {
    const environment = environmentOn(stack, {
      GAVEL_JETSTREAM_URLS: [one.urls.v1, other.urls.v2].join(),
      // It begins before anything was written, whenever it comes to it.
      GAVEL_JETSTREAM_SINCE: '1000d',
      // Less than comes between two drops.
      GAVEL_JETSTREAM_REWIND: '500ms',
    })
    const events = threads()
    for (const relay of [one, other]) relay.dropEvery(90)
    const giving = (async () => {
      for (let from = 0; from < events.length; from += AT_ONCE) {
        for (const relay of [one, other]) relay.give(...events.slice(from, from + AT_ONCE))
        await sleep(EVERY_MS)
      }
    })()
    for (let kill = 0; kill < KILLS; kill++) {
      const before = one.asked.length + other.asked.length
      const service = await start(environment, 'jetstream')
      await eventually(async () => one.asked.length + other.asked.length > before + 1, 15_000)
      await sleep(Math.random() * 400)
      await service.kill('SIGKILL')
    }
    await giving
    await start(environment, 'jetstream')
    const read = async (topic: 'posts' | 'comments') =>
      (await recordsOf(environment, topic)).map((json) => JSON.parse(json) as Sent)
    const deletedOf = (all: readonly Sent[]) => new Set(all.flatMap(({ id, deleted }) => (deleted ? [id] : [])))
    await eventually(
      async () =>
        deletedOf(await read('posts')).size === THREADS / 10 &&
        new Set((await read('posts')).map(({ text }) => text)).has(`after ${THREADS - 1}`),
      60_000,
      () => `${one.asked.length} and ${other.asked.length} connections`,
    )

    const [posts, comments] = [await read('posts'), await read('comments')]
    const byId = (all: readonly Sent[]) => Map.groupBy(all, ({ id }) => id)
    expect(byId(posts).size).toBe(THREADS)
    expect(byId(comments).size).toBe(2 * THREADS)
    for (const [nth, id] of Array.from(
      { length: THREADS },
      (_, nth) => [nth, addressOf(`author${nth % 7}`, `p${nth}`)] as const,
    )) {
      const sent = byId(posts).get(id) ?? []
      expect
        .soft(new Set(sent.map(({ text }) => text)))
        .toEqual(new Set([`before ${nth}`, `after ${nth}`, ...(nth % 10 === 0 ? [undefined] : [])]))
      expect.soft(sent.at(-1), id).toMatchObject(nth % 10 === 0 ? { deleted: true } : { text: `after ${nth}` })
      const replies = byId(comments).get(addressOf('cat', `cat${nth}`)) ?? []
      expect.soft(replies.at(-1)?.deleted, id).toBe(nth % 3 === 0 ? true : undefined)
      expect.soft(new Set(replies.map(({ postId }) => postId))).toEqual(new Set([id]))
    }
    // A kill repeats what was sent and not yet noted, byte for byte.
    for (const topic of ['posts', 'comments'] as const) {
      const records = await recordsOf(environment, topic)
      expect(new Set(records).size).toBe(
        new Set(
          events
            .filter(({ commit }) => commit?.rkey.startsWith('p') === (topic === 'posts'))
            .map((event) => JSON.stringify(event)),
        ).size,
      )
    }
  } finally {
    await Promise.all([one.close(), other.close()])
  }
})

it('judges what Bluesky writes, again when it is edited, and has none of it left once it, or its author, is gone', {
  timeout: 120_000,
}, async ({ stack, start }) => {
  const relay = await startRelay()
  try {
    const environment = environmentOn(stack, {
      ...protocolsOn('hate'),
      GAVEL_JETSTREAM_URLS: relay.urls.v2,
      GAVEL_FENCES_KEY: 'the key of this test',
    })
    const { httpPort, log } = await start(environment, 'jetstream,intake,judge,publish')
    await eventually(async () => relay.connections() > 0, 15_000)
    const verdicts = async (id: string) => (await verdictsOf(environment)).filter(({ subjectId }) => subjectId === id)
    relay.give(
      written({ rkey: 'p1', at: 0, text: 'These people should go back to where they came from' }),
      written({ author: 'bob', rkey: 'p2', at: 1, text: 'What a lovely garden' }),
    )
    const [first, second] = [addressOf('ann', 'p1'), addressOf('bob', 'p2')]
    await eventually(async () => (await verdicts(first)).length === 1 && (await verdicts(second)).length === 1, 30_000)
    relay.give(
      written({
        rkey: 'p1',
        at: 5_000,
        operation: 'update',
        text: 'They should have better buses where they came from',
      }),
    )
    await eventually(async () => (await verdicts(first)).length === 2, 30_000)
    relay.give(written({ rkey: 'p1', at: 9_000, operation: 'delete' }), accountOf('bob', 9_500, 'deleted'))
    await eventually(
      async () => (await verdicts(first)).length === 3 && (await verdicts(second)).length === 2,
      30_000,
      () => log.join('\n'),
    )
    expect((await verdicts(first)).map(({ revision, decidedBy }) => [revision, decidedBy === 'deleted'])).toEqual([
      [1, false],
      [2, false],
      [3, true],
    ])
    expect((await verdicts(second)).at(-1)?.decidedBy).toBe('deleted')
    const page = await (await fetch(`http://127.0.0.1:${httpPort}/metrics`)).text()
    const metric = (name: string) =>
      Number(
        page
          .split('\n')
          .find((line) => line.startsWith(`gavel_jetstream_${name}`))
          ?.split(' ')
          .at(-1),
      )
    expect(metric('reading')).toBe(1)
    expect(metric('gaps_total')).toBe(0)
    expect(
      ['post', 'edit', 'deletion', 'erasure'].map((outcome) => metric(`events_total{outcome="${outcome}"`)),
    ).toEqual([2, 1, 1, 1])
  } finally {
    await relay.close()
  }
})
