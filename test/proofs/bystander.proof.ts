import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Verdict } from '../../src/domain/verdict.ts'
import type { Stack } from '../../src/tools/stack/stack.ts'
import { ORDINARY } from '../bystander/registry.ts'
import { STREAMS } from '../bystander/streams.ts'
import { ALL, OTHER_WAYS, WAYS } from '../bystander/ways.ts'
import {
  clientOf,
  environmentOn,
  eventually,
  recordsOf,
  type Service,
  send,
  settingsOf,
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

  const bytes = 3 * CHARACTERS
  const timed =
    (read: (text: string) => unknown, whole = false) =>
    (make: (characters: number) => string) => {
      const one = make(whole ? bytes : CHARACTERS)
      const repeats = whole ? 1 : Math.ceil(bytes / Math.max(1, Buffer.byteLength(one)))
      const text = one.repeat(repeats).slice(0, bytes)
      const times = Array.from({ length: 5 }, () => {
        const began = performance.now()
        read(text)
        return performance.now() - began
      })
      return Math.min(...times)
    }

  test.each(OTHER_WAYS)('of $name, beside ordinary texts that are read as a message', ({ cases, read }) => {
    const asMessage = WAYS.find(({ name }) => name === 'read as a message')?.read ?? (() => undefined)
    const ordinary = Math.max(...ORDINARY.map(({ make }) => timed(asMessage)(make)))
    const worst = cases.map(({ name, make }) => ({ name, ms: timed(read, true)(make) }))
    for (const { name, ms } of worst) expect(ms, name).toBeLessThan(Math.max(NOTHING, MOST * ordinary))
  })

  test.each(WAYS)('of a text that is $name', ({ read }) => {
    const msOf = timed(read)
    const ordinary = Math.max(...ORDINARY.map(({ make }) => msOf(make)))
    const worst = ALL.map(({ name, make }) => ({ name, ms: msOf(make) })).toSorted((one, other) => other.ms - one.ms)
    const [first] = worst
    tell(
      `ordinary ${ordinary.toFixed(2)} ms, worst ${first?.ms.toFixed(2)} ms (${first?.name}): ${((first?.ms ?? 0) / ordinary).toFixed(1)} times`,
    )
    for (const { name, ms } of worst) expect(ms, name).toBeLessThan(Math.max(NOTHING, MOST * ordinary))
  })
})

/** A server that answers at once, for what the machine itself takes. */
async function idleServer(): Promise<{ port: number; close(): void }> {
  const code = `const server = require('node:http').createServer((_, response) => response.end('{}'))
    server.listen(0, '127.0.0.1', () => console.log(server.address().port))`
  const child = spawn(process.execPath, ['--eval', code], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [said] = (await once(child.stdout, 'data')) as [Buffer]
  return { port: Number(said), close: () => void child.kill('SIGTERM') }
}

describe('on the whole service, two processes with Apache Kafka and Redis', () => {
  let stack: Stack
  let services: Service[] = []
  let idle: { readonly port: number; close(): void }
  beforeAll(async () => {
    stack = await startServers({ latencyMs: 200 })
    idle = await idleServer()
  })
  afterEach(async () => {
    await Promise.all(services.map((service) => service.kill('SIGTERM')))
    services = []
  })
  afterAll(async () => {
    idle?.close()
    await stack?.close()
  })

  const START = Date.parse('2026-01-01T00:00:00Z')
  const at = (seconds: number) => new Date(START + seconds * 1_000).toISOString()
  interface Line {
    readonly type: 'post' | 'comment' | 'counterspeech'
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

  /** The group's members, by the ids that the broker gave them. */
  async function membersOf(environment: Record<string, string>): Promise<string[]> {
    const { group } = settingsOf(environment).kafka
    const admin = clientOf(environment).admin()
    await admin.connect()
    let ids: string[] = []
    await eventually(async () => {
      const { groups } = await admin.describeGroups([group])
      ids = groups[0]?.state === 'Stable' ? groups[0].members.map(({ memberId }) => memberId).toSorted() : []
      return ids.length === services.length
    }, 60_000)
    await admin.disconnect()
    return ids
  }

  /** How long `path` keeps whoever asks, at most, in ms, until `going` says no. */
  async function longestWait(port: number, going: () => boolean): Promise<number> {
    let longest = 0
    while (going()) {
      const began = performance.now()
      const { status } = await fetch(`http://127.0.0.1:${port}/health/live`)
      expect(status).toBe(200)
      longest = Math.max(longest, performance.now() - began)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    return longest
  }

  /**
   * How long each bystander's verdict took, by its own times, in ms, and the longest wait for `/health/live`; for comparison
   * also that of a server in a process of its own, which does nothing else.
   */
  async function run(attack: readonly Line[]) {
    const environment = environmentOn(stack, { GAVEL_CHECKPOINTS_FINAL_AGE: '1h' })
    services = await Promise.all([startService(environment), startService(environment)])
    const members = await membersOf(environment)
    const file = join(mkdtempSync(join(tmpdir(), 'gavel-bystander-')), 'stream.jsonl')
    const name = randomUUID().slice(0, 8)
    writeFileSync(file, [...attack, ...bystanders(name)].map((line) => JSON.stringify(line)).join('\n'))
    let going = true
    const looking = [...services.map(({ httpPort }) => httpPort), idle.port].map((port) =>
      longestWait(port, () => going),
    )
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
    const waits = await Promise.all(looking)
    const machine = waits.pop() ?? 0
    expect(await membersOf(environment), 'nobody was expelled').toEqual(members)
    const took = [...finals.values()]
      .filter(({ subjectId }) => subjectId.startsWith(name))
      .map(({ timing }) => Date.parse(timing.decidedAt) - Date.parse(timing.receivedAt))
      .toSorted((one, other) => one - other)
    const log = services.flatMap((service) => service.log).join('\n')
    expect(await recordsOf(environment, 'deadLetters')).toEqual([])
    expect(log).not.toMatch(/job:lapsed|job:stalled|could not renew lock|"where":"kafka consumer"/)
    await Promise.all(services.map((service) => service.kill('SIGTERM')))
    return { longest: Math.max(...waits), machine, median: took[Math.floor(took.length / 2)] ?? 0 }
  }

  test('what one account takes back or edits, again and again, holds up nobody', async () => {
    const types = { posts: 'post', comments: 'comment', counterspeech: 'counterspeech' } as const
    const ordinary = await run([])
    for (const { name, make } of STREAMS.filter(({ protocol }) => protocol === 'rumor')) {
      const lines = make(300).flatMap(({ topic, values }) =>
        values.map((value): Line => ({ type: types[topic], ...value })),
      )
      const worst = await run(lines)
      tell(
        `${name}: live within ${worst.longest.toFixed(0)} ms, a bystander's verdict ${worst.median} ms (ordinary ${ordinary.median})`,
      )
      expect(worst.longest).toBeLessThan(1_000)
      expect(worst.median).toBeLessThan(2 * ordinary.median)
    }
  })

  test('one thread of 25 accounts with 20 worst texts each holds up nobody', async () => {
    const thread = (piece: string) =>
      threadOf(randomUUID(), 25, 20, (nth) => `${nth} ${piece.repeat(10_000 / piece.length)}`)
    // The first run is a cold one: the machine's caches, the compiler's code.
    await run([])
    const ordinary = await run(thread('Я видел, как мост упал в гавань. '))
    tell(`ordinary: live within ${ordinary.longest.toFixed(0)} ms, a bystander's verdict ${ordinary.median} ms`)
    expect(ordinary.longest).toBeLessThan(1_000)
    for (const piece of [
      '\u0315\u0323\u0334\u0345\u0301\u0327',
      '/ab.ab.',
      '<a ',
      '我亲眼看到大桥掉进港口里了',
    ] as const) {
      const worst = await run(thread(piece))
      tell(
        `${JSON.stringify(piece)}: live within ${worst.longest.toFixed(0)} ms (an idle server ${worst.machine.toFixed(0)}), a bystander's verdict ${worst.median} ms`,
      )
      expect(worst.longest).toBeLessThan(1_000)
      expect(worst.median).toBeLessThan(2 * ordinary.median)
    }
  })
})
