import { randomUUID } from 'node:crypto'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Verdict } from '../../src/domain/verdict.ts'
import type { Stack } from '../../src/tools/stack/stack.ts'
import { ORDINARY } from '../bystander/registry.ts'
import { ALL, WAYS } from '../bystander/ways.ts'
import {
  environmentOn,
  eventually,
  recordsOf,
  type Service,
  send,
  startServers,
  startService,
  tell,
  verdictsOf,
} from '../support/pipeline.ts'

// The second form of the suite `bystander`: what its first form counts (test/bystander/) is measured here, as ratios in one
// run, and on the whole service.

describe('the longest uninterrupted stretch', () => {
  const CHARACTERS = 10_000
  /** A worst case may take so many times as long as the slowest ordinary text of the same bytes… */
  const MOST = 12
  /** …or so long, in ms: what is over so soon holds nobody up. */
  const NOTHING = 20

  test.each(WAYS)('of a text that is $name', ({ read }) => {
    const bytes = 3 * CHARACTERS
    const msOf = (make: (characters: number) => string) => {
      const one = make(CHARACTERS)
      const text = one.repeat(Math.ceil(bytes / Math.max(1, Buffer.byteLength(one)))).slice(0, CHARACTERS * 3)
      const times = Array.from({ length: 5 }, () => {
        const began = performance.now()
        read(text)
        return performance.now() - began
      })
      return Math.min(...times)
    }
    const ordinary = Math.max(...ORDINARY.map(({ make }) => msOf(make)))
    const worst = ALL.map(({ name, make }) => ({ name, ms: msOf(make) })).toSorted((one, other) => other.ms - one.ms)
    const [first] = worst
    tell(
      `ordinary ${ordinary.toFixed(2)} ms, worst ${first?.ms.toFixed(2)} ms (${first?.name}): ${((first?.ms ?? 0) / ordinary).toFixed(1)} times`,
    )
    for (const { name, ms } of worst) expect(ms, name).toBeLessThan(Math.max(NOTHING, MOST * ordinary))
  })
})

describe('on the whole service, two processes with Apache Kafka and Redis', () => {
  let stack: Stack
  let services: Service[] = []
  beforeAll(async () => {
    stack = await startServers({ latencyMs: 200 })
  })
  afterEach(async () => {
    await Promise.all(services.map((service) => service.kill('SIGTERM')))
    services = []
  })
  afterAll(() => stack?.close())

  const START = Date.parse('2026-01-01T00:00:00Z')
  const at = (seconds: number) => new Date(START + seconds * 1_000).toISOString()
  interface Line {
    readonly type: 'post' | 'comment'
    readonly [field: string]: unknown
  }
  const threadOf = (id: string, authors: number, each: number, textOf: (nth: number) => string): Line[] => [
    { type: 'post', id, text: `What is said of ${id}.`, author: 'op', createdAt: at(0) },
    ...Array.from(
      { length: authors * each },
      (_, nth): Line => ({
        ...{ type: 'comment', id: `${id}-${nth}`, postId: id, author: `${id}-author-${nth % authors}` },
        ...{ text: textOf(nth), createdAt: at(1 + nth) },
      }),
    ),
  ]
  const BYSTANDERS = 12
  const bystanders = (run: string) =>
    Array.from({ length: BYSTANDERS }, (_, nth) =>
      threadOf(`${run}-bystander-${nth}`, 5, 1, (comment) => `Words of number ${comment} on ${nth}`),
    ).flat()

  /** How long each bystander's verdict took, by its own times, in ms, and the longest wait for `/health/live`. */
  async function run(attack: readonly Line[]) {
    const environment = environmentOn(stack, { GAVEL_CHECKPOINTS_FINAL_AGE: '1h' })
    services = await Promise.all([startService(environment), startService(environment)])
    const file = join(mkdtempSync(join(tmpdir(), 'gavel-bystander-')), 'stream.jsonl')
    const name = randomUUID().slice(0, 8)
    writeFileSync(file, [...attack, ...bystanders(name)].map((line) => JSON.stringify(line)).join('\n'))
    let [longest, going] = [0, true]
    const looking = services.map(async ({ httpPort }) => {
      while (going) {
        const began = performance.now()
        const { status } = await fetch(`http://127.0.0.1:${httpPort}/health/live`)
        expect(status).toBe(200)
        longest = Math.max(longest, performance.now() - began)
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    })
    await send(environment, file, 'gavel', { kind: 'flat-out' })
    const subjects = new Set([...attack, ...bystanders(name)].flatMap(({ type, id }) => (type === 'post' ? [id] : [])))
    const finals = new Map<string, Verdict>()
    await eventually(
      async () => {
        for (const one of await verdictsOf(environment)) if (one.final) finals.set(one.subjectId, one)
        return finals.size === subjects.size
      },
      300_000,
      () => `${finals.size} of ${subjects.size}`,
    )
    going = false
    await Promise.all(looking)
    const took = [...finals.values()]
      .filter(({ subjectId }) => subjectId.startsWith(name))
      .map(({ timing }) => Date.parse(timing.decidedAt) - Date.parse(timing.receivedAt))
      .toSorted((one, other) => one - other)
    const log = services.flatMap((service) => service.log).join('\n')
    expect(await recordsOf(environment, 'deadLetters')).toEqual([])
    return { longest, median: took[Math.floor(took.length / 2)] ?? 0, log }
  }

  test('one thread of 25 accounts with 20 worst texts each holds up nobody', async () => {
    const thread = (piece: string) =>
      threadOf(randomUUID(), 25, 20, (nth) => `${nth} ${piece.repeat(10_000 / piece.length)}`)
    // The first run is a cold one: the machine's caches, the compiler's code.
    await run([])
    await Promise.all(services.map((service) => service.kill('SIGTERM')))
    const ordinary = await run(thread('Я видел, как мост упал в гавань. '))
    await Promise.all(services.map((service) => service.kill('SIGTERM')))
    for (const piece of [
      '\u0315\u0323\u0334\u0345\u0301\u0327',
      '/ab.ab.',
      '<a ',
      '我亲眼看到大桥掉进港口里了',
    ] as const) {
      const worst = await run(thread(piece))
      tell(
        `${JSON.stringify(piece)}: live within ${worst.longest.toFixed(0)} ms (ordinary ${ordinary.longest.toFixed(0)}), a bystander's verdict ${worst.median} ms (ordinary ${ordinary.median})`,
      )
      expect(worst.longest).toBeLessThan(1_000)
      expect(worst.median).toBeLessThan(2 * ordinary.median + 500)
      expect(worst.log).not.toMatch(/job:lapsed|job:stalled|could not renew lock/)
      await Promise.all(services.map((service) => service.kill('SIGTERM')))
    }
  })
})
