import { expect, it } from 'vitest'
import {
  ageOfOldestDue,
  backlogSignals,
  backpressure,
  openingGate,
  pressureWatch,
} from '../../consumers/backpressure.ts'
import type { Report } from '../../src/contracts/ports/report.ts'
import type { ThreadHead } from '../../src/contracts/ports/threads.ts'

const SETTINGS = { pauseAtDue: 100, pauseAtOutbox: 50, pauseAtAge: 60_000, resumeAtShare: 0.5 }

const NOW = 1_800_000_000_000

function setUp() {
  const world = { due: 0, outbox: 0, letters: 0, outboxAgeMs: 0, away: false }
  const said: string[] = []
  const paused: boolean[] = []
  const signals = backlogSignals({
    async countDue() {
      if (world.away) throw new Error('Redis is away')
      return world.due
    },
    outbox: {
      backlog: async () => ({
        verdicts: world.outbox,
        letters: world.letters,
        oldestVerdict: NOW - world.outboxAgeMs,
      }),
    },
    clock: () => NOW,
    store: [],
    settings: SETTINGS,
  })
  const report: Report = (name, event) => void said.push(`${name} ${'reason' in event ? event.reason : ''}`.trim())
  const reader = { setPaused: (value: boolean) => void paused.push(value) }
  const press = backpressure({ reader, signals: signals.intake, settings: SETTINGS, report })
  const gate = openingGate({ signals: signals.opening, settings: SETTINGS, report })
  const door = pressureWatch(signals.door, SETTINGS)
  const waits = async () => {
    await Promise.all([press(), gate.poll(), door.poll()])
    return { intake: paused.at(-1), opening: !gate.mayOpen(), door: door.why() !== null }
  }
  return { world, said, press, waits, isPaused: () => paused.at(-1) }
}
type Waits = Awaited<ReturnType<ReturnType<typeof setUp>['waits']>>

it.each<[string, (much: number) => Partial<ReturnType<typeof setUp>['world']>, Partial<Waits>, string]>([
  ['too many threads are due', (much) => ({ due: 100 * much }), { intake: true }, '102 threads due'],
  [
    'too many verdicts are unpublished',
    (much) => ({ outbox: 50 * much }),
    { intake: true, opening: true, door: true },
    '51 verdicts unpublished',
  ],
  ['too many dead letters are unpublished', (much) => ({ letters: 50 * much }), { intake: true }, '51 dead letters'],
  [
    'a verdict has waited for Kafka for too long',
    (much) => ({ outboxAgeMs: 60_000 * much }),
    { opening: true, door: true },
    'the oldest unpublished verdict has waited 61 s',
  ],
])(
  'while %s what must wait does, says so, and goes on by itself at half of that',
  async (_, measured, wait, reason) => {
    const { world, said, waits } = setUp()
    const none: Waits = { intake: false, opening: false, door: false }
    for (const [much, expected] of [
      [1, none],
      [1.02, { ...none, ...wait }],
      [0.6, { ...none, ...wait }],
      [0.4, none],
    ] as const) {
      Object.assign(world, measured(much))
      expect(await waits(), `${much}`).toEqual(expected)
    }
    const those = [...(wait.intake === true ? ['intake'] : []), ...(wait.opening === true ? ['opening'] : [])]
    expect(said).toEqual([
      ...those.map((one) => expect.stringMatching(new RegExp(`^${one}:paused .*${reason}`))),
      ...those.map((one) => `${one}:resumed`),
    ])
  },
)

it('stays as it is while the backlog can not be measured', async () => {
  const { world, press, isPaused } = setUp()
  world.due = 1000
  await press()
  world.away = true
  world.due = 0
  await expect(press()).rejects.toThrow('Redis is away')
  expect(isPaused()).toBe(true)
  world.away = false
  await press()
  expect(isPaused()).toBe(false)
})

it('knows since when the next thread is due by its own record, or by how long it has been next', async () => {
  const [a, b] = ['a', 'b'].map((postId) => ({ tenant: 't', postId, kind: 'post' as const }))
  const line = [a, b]
  const since = new Map<string | undefined, number>()
  let now = 1_000_000
  const asked: number[] = []
  const age = ageOfOldestDue({
    threads: {
      dueSince: async () => null,
      due: async (_, limit, maxOpen = 0) => {
        asked.push(maxOpen)
        return line.slice(0, limit).flatMap((ref) => ref ?? [])
      },
      head: async ({ postId }) => ({ dueSince: since.get(postId) ?? null }) as ThreadHead,
    },
    streamNow: async () => Number.NEGATIVE_INFINITY,
    maxOpen: 7,
    clock: () => now,
  })
  expect(await age()).toBe(0)
  now += 5_000
  expect(await age()).toBe(5_000)
  line.shift()
  expect(await age()).toBe(0)
  since.set('b', now - 90_000)
  expect(await age()).toBe(90_000)
  line.shift()
  expect(await age()).toBe(0)
  // Those for which there is no place are left out by whoever keeps the threads.
  expect(new Set(asked)).toEqual(new Set([7]))
})

it('knows how long the oldest of the tenant whose turn it is has waited, though what is next came a moment ago', async () => {
  const line = [{ tenant: 't', postId: 'wide', kind: 'post' as const }]
  const since = new Map([['t', NOW - 70_000]])
  const age = ageOfOldestDue({
    threads: {
      due: async () => line,
      head: async () => ({ dueSince: NOW - 1_000 }) as ThreadHead,
      dueSince: async (tenant) => since.get(tenant) ?? null,
    },
    streamNow: async () => Number.NEGATIVE_INFINITY,
    maxOpen: 7,
    clock: () => NOW,
  })
  expect(await age()).toBe(70_000)
  since.clear()
  expect(await age()).toBe(1_000)
  line.shift()
  expect(await age()).toBe(0)
})
