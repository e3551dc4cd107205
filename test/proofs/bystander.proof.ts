import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { topicsOf } from '../../config/topics.ts'
import type { Pace } from '../../producers/replay.ts'
import { type Verdict, verdict as verdictSchema } from '../../src/contracts/facts/verdict.ts'
import { nodeFlags } from '../../src/platform/node-flags.js'
import { readTopic } from '../../src/stream/bounded-reader.ts'
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
  startService,
  tell,
} from '../support/pipeline.ts'
import { type Servers, startServers } from '../support/servers.ts'

// The second form of the suite `bystander`: what its first form counts (test/bystander/) is measured here, as ratios in one
// run, and on the whole service.

const repeatedTo = (bytes: number, one: string) =>
  one.repeat(Math.ceil(bytes / Math.max(1, Buffer.byteLength(one)))).slice(0, bytes)

describe('the longest uninterrupted stretch', () => {
  const CHARACTERS = 10_000
  /** A worst case may take so many times as long as the slowest ordinary text of the same bytes… */
  const MOST = 12
  /** …or so long, in ms: what is over so soon holds nobody up. */
  const NOTHING = 20

  /** A text is read for so many ms, or so often, and the mean is taken. */
  const [LONG_ENOUGH, OFTEN_ENOUGH] = [30, 3_000]

  const bytes = 3 * CHARACTERS
  const timed =
    (read: (text: string) => unknown, whole = false) =>
    (make: (characters: number) => string) => {
      // What is read whole, as JSON is, would be something else if it were cut.
      const text = whole ? make(bytes) : repeatedTo(bytes, make(CHARACTERS))
      read(text)
      // This thread's time on the processor, for others share the machine; it is counted in steps of some ms.
      const began = process.threadCpuUsage()
      for (let reads = 1; ; reads++) {
        read(text)
        const { user, system } = process.threadCpuUsage(began)
        const ms = (user + system) / 1_000
        if (ms >= LONG_ENOUGH || reads >= OFTEN_ENOUGH) return ms / reads
      }
    }

  test.each(OTHER_WAYS)('of $name, beside ordinary texts that are read as a message', ({ cases, read, atStart }) => {
    const asMessage = WAYS.find(({ name }) => name === 'read as a message')?.read ?? (() => undefined)
    const ordinary = Math.max(...ORDINARY.map(({ make }) => timed(asMessage)(make)))
    const worst = cases.map(({ name, make }) => ({ name, ms: timed(read, true)(make) }))
    const [first] = worst.toSorted((one, other) => other.ms - one.ms)
    tell(`ordinary ${ordinary.toFixed(2)} ms, worst ${first?.ms.toFixed(2)} ms (${first?.name})`)
    const most = atStart ?? Math.max(NOTHING, MOST * ordinary)
    for (const { name, ms } of worst) expect(ms, name).toBeLessThan(most)
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

const HEAP = nodeFlags().find((flag) => flag.startsWith('--max-old-space-size')) ?? ''
/** How long the understudy takes for each answer. */
const LATENCY_MS = 200

describe('on the whole service, two processes with Apache Kafka and Redis', () => {
  let stack: Servers
  let services: Service[] = []
  let meter: Awaited<ReturnType<typeof slownessMeter>>
  beforeAll(async () => {
    stack = await startServers({ latencyMs: LATENCY_MS })
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
    readonly id: string
    readonly [field: string]: unknown
  }
  const threadOf = (id: string, authors: number, each: number, textOf: (nth: number) => string): Line[] => [
    { type: 'post', id, text: `What is said of ${id}.`, author: `${id}-op`, createdAt: at(0) },
    ...Array.from(
      { length: authors * each },
      (_, nth): Line => ({
        type: 'comment',
        id: `${id}-${nth}`,
        postId: id,
        author: `${id}-author-${nth % authors}`,
        text: textOf(nth),
        createdAt: at(1 + nth),
      }),
    ),
  ]

  /** So many bystanders of each kind come during a phase, evenly spread over so many seconds of it. */
  const [BYSTANDERS, SPREAD_SECONDS] = [20, 10]
  /** A bystander's thread is judged at its last comment, by the count checkpoint: no clock has a part in it. */
  const COMMENTS = 5
  const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  type Judge = WorstStream['protocol']
  /**
   * A subject of nobody's attack: its messages, the last of which has it judged. Every other one of safety's has an image, in its
   * message, for no host is to be asked.
   */
  function bystander(id: string, nth: number, judge: Judge): readonly Line[] {
    const said = `What number ${nth} says of ${id}`
    if (judge === 'rumor') return threadOf(id, COMMENTS, 1, (comment) => `${said}, for the time ${comment}`)
    const one = { id, text: `${said}.`, createdAt: at(0) }
    if (judge === 'counterspeech')
      return [{ ...one, type: 'counterspeech', hateSpeech: `They should all go, says ${id}.` }]
    const media = nth % 2 === 0 ? {} : { media: [{ kind: 'image', url: `data:image/png;base64,${PNG}` }] }
    return [{ ...one, type: 'post', author: `${id}-author`, ...media }]
  }

  /** What happens while bystanders come: messages that are sent at once, and then some that are sent one by one, five a second. */
  interface Phase {
    readonly name: string
    readonly make: (id: string) => { readonly lines: readonly Line[]; readonly one?: readonly Line[] }
    /** More comes than two processes can judge at once: what lapses then is told, no more. */
    readonly tooMuch?: true
  }
  const NOTHING_BESIDE: Phase = { name: 'ordinary', make: () => ({ lines: [] }) }

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

  /** When the broker was given each record of the topic, ms since 1970, by its message's id; the first one where there are more. */
  async function arrivals(environment: Record<string, string>, topic: 'posts' | 'comments' | 'counterspeech') {
    const times = new Map<string, number>()
    await readTopic(
      clientOf(environment),
      topicsOf(settingsOf(environment))[topic],
      { follow: false, signal: new AbortController().signal },
      ({ message: { value, timestamp } }) => {
        const { id } = JSON.parse(value?.toString('utf8') ?? '{}') as { id: string }
        if (!times.has(id)) times.set(id, Number(timestamp))
      },
    )
    return times
  }

  /** Verdicts as they come, each with when the broker was given it. */
  function watchVerdicts(environment: Record<string, string>) {
    const ending = new AbortController()
    const all: { readonly verdict: Verdict; readonly at: number }[] = []
    const reading = readTopic(
      clientOf(environment),
      topicsOf(settingsOf(environment)).verdicts,
      { follow: true, signal: ending.signal },
      ({ message: { value, timestamp } }) =>
        void all.push({
          verdict: verdictSchema.parse(JSON.parse(value?.toString('utf8') ?? '')),
          at: Number(timestamp),
        }),
    ).catch((error: unknown) => {
      if (!ending.signal.aborted) throw error
    })
    return {
      all,
      async end() {
        ending.abort()
        await reading
      },
    }
  }

  const LAPSES = /job:lapsed|job:stalled|could not renew lock|"where":"kafka consumer"/
  /**
   * Where fixed work beside the service takes so many times as long as alone, nothing is concluded. The service itself makes it
   * two or three times as long on two processors.
   */
  const BUSY = 5
  /** One phase that was run. */
  interface Ran {
    readonly live: number
    readonly lapses: readonly string[]
    readonly slowness: number
    readonly bystanders: readonly { readonly id: string; readonly by: Judge; readonly last: Line }[]
  }

  /** What came of all phases of one name. */
  interface Outcome {
    /** The longest wait for `/health/live`, in ms, and the same as on a machine of its own. */
    readonly live: number
    readonly liveAlone: number
    /** How many times as slow as on a machine of its own fixed work was, at most. */
    readonly slowness: number
    /** How long bystanders waited for their verdicts, by who judged them: median and 95th percentile, in ms. */
    readonly waits: Readonly<Partial<Record<Judge, { readonly median: number; readonly p95: number }>>>
  }
  const quantile = (sorted: readonly number[], share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.POSITIVE_INFINITY

  /**
   * The phases one after the other, twice, on one service: what the machine does meanwhile it does to all of them. Of each
   * bystander the time is measured from when the broker was given its last message to when it was given the verdict: also the
   * wait for the reader counts, and for the publisher. Bystanders are judged by rumor, and by `judge`.
   */
  async function interleaved(judge: Judge, phases: readonly Phase[]): Promise<ReadonlyMap<string, Outcome>> {
    const environment = environmentOn(stack, {
      GAVEL_CHECKPOINTS_FINAL_AGE: '1h',
      GAVEL_CHECKPOINTS_COUNTS: String(COMMENTS),
      GAVEL_CHECKPOINTS_AGES: '',
      GAVEL_PROTOCOLS_SAFETY_RETRIEVAL: 'false',
      ...protocolsOn('rumor', judge),
      // The heap that the service runs with.
      NODE_OPTIONS: [HEAP, ...(judge === 'safety' ? [`--import=${silentNames()}`] : [])].join(' '),
    })
    services = await Promise.all([startService(environment), startService(environment)])
    const members = await membersOf(environment)
    const folder = mkdtempSync(join(tmpdir(), 'gavel-bystander-'))
    const sendAll = async (lines: readonly Line[], pace: Pace) => {
      if (lines.length === 0) return
      const file = join(folder, `${randomUUID()}.jsonl`)
      writeFileSync(file, lines.map((line) => JSON.stringify(line)).join('\n'))
      await send(environment, file, 'gavel', pace)
    }
    const verdicts = watchVerdicts(environment)
    let going = true
    let longest = 0
    const looking = services.map(async ({ httpPort }) => {
      while (going) {
        const began = performance.now()
        const { status } = await fetch(`http://127.0.0.1:${httpPort}/health/live`)
        expect(status).toBe(200)
        longest = Math.max(longest, performance.now() - began)
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    })
    const judges = { post: judge === 'counterspeech' ? ['rumor'] : ['rumor', judge], counterspeech: ['counterspeech'] }
    const kinds = [...new Set<Judge>(['rumor', judge])]
    async function runOnce({ make }: Phase): Promise<Ran> {
      const id = randomUUID().slice(0, 8)
      const { lines, one = [] } = make(id)
      const subjects = Array.from({ length: BYSTANDERS }, (_, nth) => kinds.map((by) => ({ nth, by }))).flat()
      const bystanders = subjects.map(({ nth, by }) => {
        const own = `${id}-${by}-${nth}`
        return { id: own, by, lines: bystander(own, nth, by) }
      })
      await meter.slowness()
      longest = 0
      const logged = services.map(({ log }) => log.length)
      const spread = bystanders.flatMap((each) => each.lines)
      await Promise.all([
        sendAll(lines, { kind: 'flat-out' }).then(() => sendAll(one, { kind: 'rate', perSecond: 5 })),
        sendAll(spread, { kind: 'rate', perSecond: spread.length / SPREAD_SECONDS }),
      ])
      const wanted = new Set(
        [...lines, ...spread].flatMap(({ type, id }) =>
          type === 'comment' ? [] : judges[type].map((protocol) => `${protocol} ${id}`),
        ),
      )
      await eventually(
        async () => {
          for (const { verdict } of verdicts.all)
            if (verdict.final) wanted.delete(`${verdict.protocol} ${verdict.subjectId}`)
          return wanted.size === 0
        },
        300_000,
        () => `${wanted.size} are missing: ${[...wanted].slice(0, 3).join(', ')}`,
      )
      const [live, slowness] = [longest, await meter.slowness()]
      return {
        live,
        slowness,
        lapses: services.flatMap(({ log }, nth) => log.slice(logged[nth]).filter((line) => LAPSES.test(line))),
        bystanders: bystanders.map(({ id, by, lines }) => ({ id, by, last: lines.at(-1) as Line })),
      }
    }
    const ran = new Map<string, Ran[]>()
    const [first] = phases
    // Caches and compiled code of a service that has just started: not counted.
    if (first !== undefined) await runOnce(first)
    for (const _ of [1, 2])
      for (const phase of phases) {
        const one = await runOnce(phase)
        ran.set(phase.name, [...(ran.get(phase.name) ?? []), one])
        tell(
          `  … ${phase.name}: live within ${one.live.toFixed(0)} ms; machine ${one.slowness.toFixed(1)} times as slow`,
        )
      }
    going = false
    await Promise.all(looking)
    await verdicts.end()
    const membersAfter = await membersOf(environment)
    const deadLetters = await recordsOf(environment, 'deadLetters')
    const sent = { post: 'posts', comment: 'comments', counterspeech: 'counterspeech' } as const
    const arrived = new Map<string, number>()
    for (const topic of Object.values(sent))
      for (const [id, at] of await arrivals(environment, topic)) arrived.set(id, at)
    await Promise.all(services.map((service) => service.kill('SIGTERM')))

    /** Whether the verdict is the first that has all that the bystander said. */
    const answers =
      ({ id, by }: { id: string; by: Judge }) =>
      (one: { verdict: Verdict }) =>
        one.verdict.subjectId === id &&
        one.verdict.protocol === by &&
        (by !== 'rumor' || one.verdict.counts.accepted === COMMENTS)
    const outcomes = new Map(
      [...ran].map(([name, all]) => {
        const bystanders = all.flatMap((one) => one.bystanders)
        const waits = kinds.map((by) => {
          const times = bystanders
            .filter((one) => one.by === by)
            .map(
              (one) => (verdicts.all.find(answers(one))?.at ?? Number.NaN) - (arrived.get(one.last.id) ?? Number.NaN),
            )
            .toSorted((one, other) => one - other)
          expect(times.some(Number.isNaN), 'each has its verdict').toBe(false)
          return [by, { median: quantile(times, 0.5), p95: quantile(times, 0.95) }] as const
        })
        const outcome: Outcome = {
          live: Math.max(...all.map(({ live }) => live)),
          liveAlone: Math.max(...all.map(({ live, slowness }) => live / slowness)),
          waits: Object.fromEntries(waits),
          slowness: Math.max(...all.map(({ slowness }) => slowness)),
        }
        const said = waits.map(([by, { median, p95 }]) => `by ${by} ${median} ms, p95 ${p95}`).join('; ')
        tell(
          `${name}: live within ${outcome.live.toFixed(0)} ms (alone ${outcome.liveAlone.toFixed(0)}); bystanders ${said}; machine ${outcome.slowness.toFixed(1)} times as slow`,
        )
        return [name, outcome]
      }),
    )
    const lapsesOf = (some: readonly Phase[]) =>
      some.flatMap(({ name }) => ran.get(name) ?? []).flatMap((one) => one.lapses)
    const tooMuch = phases.filter((phase) => phase.tooMuch)
    if (tooMuch.length > 0) tell(`while too much came: ${lapsesOf(tooMuch).length} lapses`)
    const lapses = lapsesOf(phases.filter((phase) => !phase.tooMuch))
    const expelled = members.filter((id) => !membersAfter.includes(id))
    tell(`in all: ${lapses.length} lapses, ${expelled.length} expelled, ${deadLetters.length} dead letters, none lost`)
    const busiest = Math.max(
      ...phases.filter((phase) => !phase.tooMuch).map(({ name }) => outcomes.get(name)?.slowness ?? 1),
    )
    expect(
      busiest,
      'this machine is busy with other work: what it does to a service is not the service’s',
    ).toBeLessThan(BUSY)
    expect(lapses).toEqual([])
    expect(membersAfter, 'nobody was expelled').toEqual(members)
    expect(deadLetters).toEqual([])
    return outcomes
  }

  /**
   * Whom nothing holds up waits so long for a verdict all the same: for two answers of the model in a row (opinions after
   * scores), for a fetch that waits for more (kafka.fetchWait), and for the next look at what is due
   * (clock.poll), where another process has read its last message. Nothing else in the service waits for a time to pass.
   */
  const FLOOR_MS = 2 * LATENCY_MS + 50 + 100

  function expectNobodyHeldUp(outcomes: ReadonlyMap<string, Outcome>): void {
    const ordinary = outcomes.get('ordinary')
    for (const [name, { liveAlone, waits }] of outcomes) {
      expect(liveAlone, name).toBeLessThan(1_000)
      for (const [by, { median, p95 }] of Object.entries(waits)) {
        const usual = ordinary?.waits[by as Judge]
        expect(median, `${name}, by ${by}, median`).toBeLessThan(2 * Math.max(FLOOR_MS, usual?.median ?? 0))
        expect(p95, `${name}, by ${by}, p95`).toBeLessThan(2 * Math.max(FLOOR_MS, usual?.p95 ?? 0))
      }
    }
  }

  const TYPES = { posts: 'post', comments: 'comment', counterspeech: 'counterspeech' } as const
  /** The stream under ids of this phase's own. */
  const phaseOf = (name: string, make: WorstStream['make']): Phase => ({
    name,
    make: (phase) => ({
      lines: make(300).flatMap(({ topic, values }) =>
        values.map((value): Line => {
          const { postId } = value
          const of = postId === undefined ? {} : { postId: `${phase}-${String(postId)}` }
          const author = value.author === undefined ? {} : { author: `${phase}-${String(value.author)}` }
          return { ...value, type: TYPES[topic], id: `${phase}-${value.id}`, ...of, ...author }
        }),
      ),
    }),
  })

  test.each(['rumor', 'counterspeech', 'safety'] as const)(
    'what one account takes back, edits, answers or shows, again and again, holds up nobody: %s',
    async (protocol) => {
      const streams = STREAMS.filter((stream) => stream.protocol === protocol && stream.ordinary === undefined)
      expectNobodyHeldUp(
        await interleaved(protocol, [NOTHING_BESIDE, ...streams.map(({ name, make }) => phaseOf(name, make))]),
      )
    },
  )

  test.each(STREAMS.flatMap(({ ordinary, ...stream }) => (ordinary === undefined ? [] : [{ ...stream, ordinary }])))(
    'the bytes of one account hold up nobody more than as many of many accounts: $name',
    async ({ name, protocol, make, ordinary }) => {
      const asManyBytes: Phase = { ...phaseOf('ordinary', ordinary), tooMuch: true }
      expectNobodyHeldUp(await interleaved(protocol, [asManyBytes, phaseOf(name, make)]))
    },
  )

  const giant = (piece: string) => (id: string) => ({
    lines: threadOf(`${id}-giant`, 25, 20, (nth) => `${nth} ${id} ${piece.repeat(10_000 / piece.length)}`),
  })
  const HAN = '我亲眼看到大桥掉进港口里了'
  const ORDINARY_TEXT: Phase = { name: 'ordinary', make: giant('Я видел, как мост упал в гавань. ') }

  test('who takes back the comments of a giant thread one by one holds up nobody', async () => {
    const takenBack: Phase = {
      name: 'taken back one by one',
      make(id) {
        const { lines } = giant(HAN)(id)
        const one = lines.slice(1, 81).map((comment): Line => ({ ...comment, text: '', deleted: true }))
        return { lines, one }
      },
    }
    expectNobodyHeldUp(await interleaved('rumor', [ORDINARY_TEXT, takenBack]))
  })

  test('one thread of 25 accounts with 20 worst texts each holds up nobody', async () => {
    const worst = ['\u0315\u0323\u0334\u0345\u0301\u0327', '/ab.ab.', '<a ', HAN].map(
      (piece): Phase => ({ name: JSON.stringify(piece), make: giant(piece) }),
    )
    expectNobodyHeldUp(await interleaved('rumor', [ORDINARY_TEXT, ...worst]))
  })
})
