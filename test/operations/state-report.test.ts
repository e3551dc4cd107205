import { beforeEach, expect, it } from 'vitest'
import type { Exporter } from '../../src/contracts/ports/exporter.ts'
import type { Events } from '../../src/contracts/ports/report.ts'
import type { StageBacklog } from '../../src/contracts/ports/stage-queues.ts'
import { stateReport } from '../../src/operations/state-report.ts'
import { memoryStores } from '../../src/store/memory-stores.ts'

const STAGE: StageBacklog = {
  protocol: 'rumor',
  stage: 'stance',
  oldestWaitingSeconds: 3,
  states: { waiting: 2, active: 1, delayed: 0 },
}

/** A lease that several processes of this test share. */
function lease() {
  let [holder, shared]: [string | null, string] = [null, '']
  const exporter = (me: string): Exporter => ({
    poll: async () => {
      holder ??= me
      return holder === me ? null : shared
    },
    share: async (text) => {
      shared = text
    },
    leave: async () => {
      if (holder === me) holder = null
    },
  })
  return { exporter, end: () => (holder = null) }
}

type Protocols = Parameters<typeof stateReport>[0]['protocols']

function process(
  exporter: Exporter,
  {
    fail = () => false,
    protocols = [{ name: 'rumor' }],
  }: { readonly fail?: () => boolean; readonly protocols?: Protocols } = {},
) {
  const told: string[] = []
  const asked = { queues: 0 }
  const stores = memoryStores(() => 0)
  const state = stateReport({
    redis: { ...stores, exporter },
    protocols,
    queues: {
      backlog: async () => {
        asked.queues++
        if (fail()) throw new Error('no answer')
        return [STAGE]
      },
    },
    opener: { countDue: async () => 0, now: async () => 0 },
    gateway: { load: () => ({ busy: 0, waiting: 0, all: 1, models: [] }) },
    oldestDueAgeMs: async () => 0,
    usedCapacity: async () => ({ limits: [], budgets: [] }),
    objectiveMs: 60_000,
    downSince: () => null,
    clock: () => 0,
    report: (name, event) =>
      told.push(name === 'state:exported' ? `${name} ${(event as Events['state:exported']).here}` : name),
  })
  const look = async () => {
    told.length = 0
    await state.poll()
    return [...told]
  }
  return { state, look, told, asked }
}

const OWN = ['consumer:watched', 'slots:counted']
const SHARED = [
  'stage:backlog',
  'protocol:watched',
  'lane:watched',
  'state:counted',
  'erasures:counted',
  'capacity:used',
]
let shared: ReturnType<typeof lease>
beforeEach(() => {
  shared = lease()
})

it('one process reads and reports what all share, and the others know the stages from it', async () => {
  const [one, two] = [process(shared.exporter('one')), process(shared.exporter('two'))]
  expect(await one.look()).toEqual([...OWN, 'state:exported true', ...SHARED])
  expect(await two.look()).toEqual(OWN)
  expect([one.asked.queues, two.asked.queues]).toEqual([1, 0])
  expect([one.state.exports(), two.state.exports()]).toEqual([true, false])
  expect(two.state.backlog()).toEqual([STAGE])
})

it('another takes over when the one leaves, which withdraws what it has reported', async () => {
  const [one, two] = [process(shared.exporter('one')), process(shared.exporter('two'))]
  await one.look()
  await two.look()
  shared.end()
  expect(await two.look()).toEqual([...OWN, 'state:exported true', ...SHARED])
  expect(await one.look()).toEqual([...OWN, 'state:exported false'])
  expect([one.state.exports(), two.state.exports()]).toEqual([false, true])
  two.told.length = 0
  await two.state.close()
  expect(two.told).toEqual(['state:exported false'])
  expect(await one.look()).toEqual([...OWN, 'state:exported true', ...SHARED])
})

it('a lane that a reload brings is told of, an open one at the start is not', async () => {
  const lane = {
    tenant: null,
    promise: { risk: 0.05, delta: 0.05 },
    groups: 2,
    basis: 'x',
    decider: { asked: 'm', signs: 'm' },
    isVoid: () => null,
  }
  const hate = { name: 'hate', lanes: [{ ...lane, hash: 'a' }] }
  const one = process(shared.exporter('one'), { protocols: [hate] })
  expect(await one.look()).not.toContain('lane:changed')
  hate.lanes = [{ ...lane, hash: 'b' }]
  expect(await one.look()).toContain('lane:changed')
  expect(await one.look()).not.toContain('lane:changed')
})

it('what can’t be read is not known: it is withdrawn, and the look fails', async () => {
  let failing = false
  const one = process(shared.exporter('one'), { fail: () => failing })
  await one.look()
  failing = true
  await expect(one.look()).rejects.toThrow('no answer')
  expect(one.told).toEqual([...OWN, 'state:exported false'])
  failing = false
  expect(await one.look()).toEqual([...OWN, 'state:exported true', ...SHARED])
})

it('Kafka is asked for the lag by the process that exports, and by all while none can know which does', async () => {
  let away = false
  const [one, two] = ['one', 'two'].map((name) => {
    const { poll, ...rest } = shared.exporter(name)
    const failing = async () => {
      if (away) throw new Error('no answer')
      return poll()
    }
    return process({ ...rest, poll: failing })
  }) as [ReturnType<typeof process>, ReturnType<typeof process>]
  const watching = () => [one.state.watchesKafka(), two.state.watchesKafka()]
  await one.look()
  await two.look()
  expect(watching()).toEqual([true, false])
  away = true
  for (const each of [one, two]) await expect(each.look()).rejects.toThrow('no answer')
  expect(watching()).toEqual([true, true])
  away = false
  await two.look()
  await one.look()
  expect(watching()).toEqual([true, false])
})
