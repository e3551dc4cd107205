import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Pace } from '../../producers/replay.ts'
import type { Verdict } from '../../src/domain/verdict.ts'
import type { Stack } from '../../src/tools/stack/stack.ts'
import { ORDINARY } from '../bystander/registry.ts'
import { STREAMS, type WorstStream } from '../bystander/streams.ts'
import { ALL, OTHER_WAYS, WAYS } from '../bystander/ways.ts'
import {
  clientOf,
  environmentOn,
  eventually,
  protocolsOn,
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

/**
 * A process that works for a tenth of each second and says how many times as long as on a machine of its own that takes: others
 * may share this one, and what they take is not the service's.
 */
async function slownessMeter(): Promise<{ slowness(): Promise<number>; close(): void }> {
  const code = `let ratios = []
    setInterval(() => {
      const [began, cpu] = [performance.now(), process.cpuUsage()]
      let used = 0
      do for (let at = 0; at < 1e5; at++) Math.sqrt(at)
      while ((used = process.cpuUsage(cpu), used = (used.user + used.system) / 1_000) < 100)
      ratios.push((performance.now() - began) / used)
    }, 1_000)
    const server = require('node:http').createServer((_, response) => {
      ratios.sort((one, other) => one - other)
      response.end(JSON.stringify(Math.max(1, ratios[Math.floor(ratios.length / 2)] ?? 1)))
      ratios = []
    })
    server.listen(0, '127.0.0.1', () => console.log(server.address().port))`
  const child = spawn(process.execPath, ['--eval', code], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [said] = (await once(child.stdout, 'data')) as [Buffer]
  return {
    slowness: async () => (await fetch(`http://127.0.0.1:${Number(said)}/`)).json() as Promise<number>,
    close: () => void child.kill('SIGTERM'),
  }
}

/** A module that puts name servers which answer nothing in the place of those that images' hosts are looked up at. */
function silentNames(): string {
  const file = join(mkdtempSync(join(tmpdir(), 'gavel-bystander-')), 'silent-names.mjs')
  writeFileSync(
    file,
    `import { Resolver } from 'node:dns/promises'
    for (const name of ['resolve4', 'resolve6']) Resolver.prototype[name] = () => new Promise(() => {})`,
  )
  return file
}

describe('on the whole service, two processes with Apache Kafka and Redis', () => {
  let stack: Stack
  let services: Service[] = []
  let meter: Awaited<ReturnType<typeof slownessMeter>>
  beforeAll(async () => {
    stack = await startServers({ latencyMs: 200 })
    meter = await slownessMeter()
  })
  afterEach(async () => {
    await Promise.all(services.map((service) => service.kill('SIGTERM')))
    services = []
  })
  afterAll(async () => {
    meter?.close()
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
   * How long a bystander's verdict took, by its own times, in ms, and the longest wait for `/health/live`, both for a machine of
   * its own. `one` are sent one by one, five a second, around
   * the bystanders' messages. Posts are judged by rumor, and by safety where `beside` is that.
   */
  async function run(
    attack: readonly Line[],
    { one = [], beside = 'rumor' }: { one?: readonly Line[]; beside?: WorstStream['protocol'] } = {},
  ) {
    const environment = environmentOn(stack, {
      ...{ GAVEL_CHECKPOINTS_FINAL_AGE: '1h', GAVEL_PROTOCOLS_SAFETY_RETRIEVAL: 'false' },
      ...protocolsOn('rumor', beside),
      ...(beside === 'safety' ? { NODE_OPTIONS: `--import=${silentNames()}` } : {}),
    })
    services = await Promise.all([startService(environment), startService(environment)])
    const members = await membersOf(environment)
    const folder = mkdtempSync(join(tmpdir(), 'gavel-bystander-'))
    const name = randomUUID().slice(0, 8)
    const sendAll = async (lines: readonly Line[], pace: Pace) => {
      const file = join(folder, `${randomUUID()}.jsonl`)
      writeFileSync(file, lines.map((line) => JSON.stringify(line)).join('\n'))
      await send(environment, file, 'gavel', pace)
    }
    let going = true
    await meter.slowness()
    const looking = services.map(({ httpPort: port }) => longestWait(port, () => going))
    if (one.length === 0) await sendAll([...attack, ...bystanders(name)], { kind: 'flat-out' })
    else {
      await sendAll(attack, { kind: 'flat-out' })
      const half = Math.floor(one.length / 2)
      await sendAll(one.slice(0, half), { kind: 'rate', perSecond: 5 })
      await sendAll(bystanders(name), { kind: 'flat-out' })
      await sendAll(one.slice(half), { kind: 'rate', perSecond: 5 })
    }
    const judges = { post: beside === 'safety' ? ['rumor', beside] : ['rumor'], counterspeech: ['counterspeech'] }
    const wanted = new Set(
      [...attack, ...bystanders(name)].flatMap(({ type, id }) =>
        type === 'comment' ? [] : judges[type].map((protocol) => `${protocol} ${id}`),
      ),
    )
    const finals = new Map<string, Verdict>()
    await eventually(
      async () => {
        for (const one of await verdictsOf(environment))
          if (one.final) finals.set(`${one.protocol} ${one.subjectId}`, one)
        return [...wanted].every((subject) => finals.has(subject))
      },
      300_000,
      () => `${[...wanted].filter((subject) => !finals.has(subject)).length} of ${wanted.size} are missing`,
    )
    going = false
    const waits = await Promise.all(looking)
    const slowness = await meter.slowness()
    expect(await membersOf(environment), 'nobody was expelled').toEqual(members)
    const took = [...finals.values()]
      .filter(({ subjectId, protocol }) => subjectId.startsWith(name) && protocol === 'rumor')
      .map(({ timing }) => Date.parse(timing.decidedAt) - Date.parse(timing.receivedAt))
      .toSorted((one, other) => one - other)
    const log = services.flatMap((service) => service.log).join('\n')
    expect(await recordsOf(environment, 'deadLetters')).toEqual([])
    expect(log).not.toMatch(/job:lapsed|job:stalled|could not renew lock|"where":"kafka consumer"/)
    await Promise.all(services.map((service) => service.kill('SIGTERM')))
    const median = took[Math.floor(took.length / 2)] ?? 0
    const told = `live within ${Math.max(...waits).toFixed(0)} ms, a bystander's verdict ${median} ms, on a machine ${slowness.toFixed(1)} times as slow as one of its own`
    return { longest: Math.max(...waits) / slowness, median: median / slowness, told }
  }

  const TYPES = { posts: 'post', comments: 'comment', counterspeech: 'counterspeech' } as const

  test.each(['rumor', 'counterspeech', 'safety'] as const)(
    'what one account takes back, edits, answers or shows, again and again, holds up nobody: %s',
    async (protocol) => {
      const ordinary = await run([], { beside: protocol })
      tell(`ordinary, ${protocol}: ${ordinary.told}`)
      for (const { name, make } of STREAMS.filter((stream) => stream.protocol === protocol)) {
        const lines = make(300).flatMap(({ topic, values }) =>
          values.map((value): Line => ({ type: TYPES[topic], ...value })),
        )
        const worst = await run(lines, { beside: protocol })
        tell(`${name}: ${worst.told}`)
        expect(worst.longest, name).toBeLessThan(1_000)
        expect(worst.median, name).toBeLessThan(2 * ordinary.median)
      }
    },
  )

  test('who takes back the comments of a giant thread one by one holds up nobody', async () => {
    const ordinary = await run([])
    const id = randomUUID()
    const said = threadOf(id, 25, 20, (nth) => `${nth} ${'我亲眼看到大桥掉进港口里了'.repeat(770)}`)
    const gone = said.slice(1, 81).map(({ text: _, ...comment }): Line => ({ ...comment, text: '', deleted: true }))
    const worst = await run(said, { one: gone })
    tell(`taken back one by one: ${worst.told}`)
    expect(worst.longest).toBeLessThan(1_000)
    expect(worst.median).toBeLessThan(2 * ordinary.median)
  })

  test('one thread of 25 accounts with 20 worst texts each holds up nobody', async () => {
    const thread = (piece: string) =>
      threadOf(randomUUID(), 25, 20, (nth) => `${nth} ${piece.repeat(10_000 / piece.length)}`)
    // The first run is a cold one: the machine's caches, the compiler's code.
    await run([])
    const ordinary = await run(thread('Я видел, как мост упал в гавань. '))
    tell(`ordinary: ${ordinary.told}`)
    expect(ordinary.longest).toBeLessThan(1_000)
    for (const piece of [
      '\u0315\u0323\u0334\u0345\u0301\u0327',
      '/ab.ab.',
      '<a ',
      '我亲眼看到大桥掉进港口里了',
    ] as const) {
      const worst = await run(thread(piece))
      tell(`${JSON.stringify(piece)}: ${worst.told}`)
      expect(worst.longest).toBeLessThan(1_000)
      expect(worst.median).toBeLessThan(2 * ordinary.median)
    }
  })
})
