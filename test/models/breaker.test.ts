import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { OPERATOR_ACTIONS } from '../../src/contracts/facts/errors.ts'
import {
  type BreakerChange,
  type BreakerSettings,
  breaker,
  type Pass,
  type PassDecision,
  type PassEnd,
  withPass,
} from '../../src/models/breaker.ts'

const SETTINGS: BreakerSettings = {
  window: 6,
  minCalls: 4,
  failureShare: 0.5,
  coolDown: 1_000,
  maxCoolDown: 4_000,
  probes: 2,
  successes: 3,
}

function setUp(settings: Partial<BreakerSettings> = {}) {
  let now = 1_000_000
  const changes: BreakerChange[] = []
  const breakers = breaker({
    settings: { ...SETTINGS, ...settings },
    clock: () => now,
    changed: (change) => changes.push(change),
    random: () => 0.5,
  })
  const leave = (model: string): Pass => {
    const allowed = breakers.allow(model)
    if (!allowed.ok) throw new Error(`${model} may not be called for ${allowed.retryInMs} ms`)
    return allowed.pass
  }
  const call = (model: string, ...outcomes: PassEnd[]) => {
    for (const outcome of outcomes) breakers.note(leave(model), outcome)
  }
  /** Leave to call the model whose turn it is. */
  function pick(chain: readonly string[], attempt: number): PassDecision {
    const { model, retryInMs } = breakers.preferred(chain, attempt)
    return retryInMs === 0 ? breakers.allow(model) : { ok: false, retryInMs }
  }
  return {
    ...breakers,
    pick,
    changes,
    leave,
    call,
    pass: (ms: number) => {
      now += ms
    },
    now: () => now,
    trip: (model: string) => call(model, 'timeout', 'timeout', 'timeout', 'timeout'),
    state: (model: string) => breakers.states().get(model),
    picked: (chain: readonly string[], attempt: number) => {
      const picked = pick(chain, attempt)
      return picked.ok ? picked.pass.model : picked.retryInMs
    },
  }
}

describe('the breaker', () => {
  test('opens at the set share of failures, and not before it has seen enough calls', () => {
    const { call, allow, state } = setUp()
    call('a', 'timeout', 'unavailable', 'timeout')
    expect(state('a')).toBe('closed')
    call('a', 'timeout')
    expect(state('a')).toBe('open')
    expect(allow('a')).toEqual({ ok: false, retryInMs: 1_000 })
    expect(allow('b')).toMatchObject({ ok: true })
  })

  test('looks at the latest calls only', () => {
    const { call, state } = setUp()
    call('a', 'timeout', 'timeout', 'answered', 'answered', 'answered', 'answered', 'answered', 'answered')
    call('a', 'timeout', 'timeout')
    expect(state('a')).toBe('closed')
    call('a', 'timeout')
    expect(state('a')).toBe('open')
  })

  test('counts what an endpoint said, however useless, as an answer', () => {
    const { call, state } = setUp()
    call('a', 'timeout', 'unreadable', 'timeout', 'refused', 'content-filter', 'timeout')
    expect(state('a')).toBe('open')
    call('b', 'timeout', 'unreadable', 'timeout', 'refused', 'content-filter', 'answered', 'timeout')
    expect(state('b')).toBe('closed')
  })

  test('counts neither a busy endpoint nor a fault of our own', () => {
    const { call, state } = setUp()
    for (let n = 0; n < 10; n++)
      call('a', 'rate-limited', 'rejected', 'aborted', 'deadline', 'image', 'error', 'budget')
    call('a', 'timeout', 'timeout', 'timeout')
    expect(state('a')).toBe('closed')
  })

  test('lets a set number of probes through after its cool-down, and closes when enough went well', () => {
    const { trip, pass, leave, allow, note, call, state, changes } = setUp()
    trip('a')
    pass(999)
    expect(allow('a')).toEqual({ ok: false, retryInMs: 1 })
    pass(1)
    const [one] = [leave('a'), leave('a')]
    expect(state('a')).toBe('half-open')
    expect(allow('a')).toEqual({ ok: false, retryInMs: 1_000 })
    note(one, 'answered')
    call('a', 'answered')
    expect(state('a')).toBe('half-open')
    call('a', 'unreadable')
    expect(state('a')).toBe('closed')
    const outage = { reason: 'unreachable', why: '', since: 1_000_000 }
    expect(changes).toEqual([
      { model: 'a', from: 'closed', to: 'open', coolDownMs: 1_000, outage },
      { model: 'a', from: 'open', to: 'half-open', outage },
      { model: 'a', from: 'half-open', to: 'closed', outage },
    ])
  })

  test('stays open twice as long after each probe that failed, up to the longest, and begins anew once closed', () => {
    const { trip, pass, call, changes } = setUp()
    trip('a')
    for (const coolDown of [1_000, 2_000, 4_000, 4_000]) {
      pass(coolDown)
      call('a', 'unavailable')
    }
    pass(4_000)
    call('a', 'answered', 'answered', 'answered')
    trip('a')
    const coolDowns = changes.flatMap(({ coolDownMs }) => coolDownMs ?? [])
    expect(coolDowns).toEqual([1_000, 2_000, 4_000, 4_000, 4_000, 1_000])
  })

  test('gives the place of a probe that says nothing to another', () => {
    const { trip, pass, leave, note, state } = setUp({ probes: 1 })
    trip('a')
    pass(1_000)
    note(leave('a'), 'rate-limited')
    expect(state('a')).toBe('half-open')
    note(leave('a'), 'aborted')
    leave('a')
  })

  test('does not take a call for a probe that was begun before it opened', () => {
    const { trip, pass, leave, note, state } = setUp()
    const early = Array.from({ length: 4 }, () => leave('a'))
    trip('a')
    for (const each of early.slice(0, 2)) note(each, 'answered')
    pass(1_000)
    leave('a')
    for (const each of early.slice(2)) note(each, 'timeout')
    expect(state('a')).toBe('half-open')
  })

  test('counts a call once, however often its end is told', () => {
    const { leave, note, state } = setUp()
    const only = leave('a')
    for (let n = 0; n < 5; n++) note(only, 'timeout')
    expect(state('a')).toBe('closed')
  })
})

describe('the breaker where one tenant’s calls fail', () => {
  /** Calls of these accounts, that end alike. */
  function tenants(settings: Partial<BreakerSettings> = {}) {
    const made = setUp({ window: 20, minCalls: 10, ...settings })
    const call = (accountKey: string, end: PassEnd, cutOff = false) => {
      const allowed = made.allow('a', accountKey)
      if (allowed.ok) made.note(allowed.pass, end, { accountKey, cutOff })
      return allowed.ok
    }
    const flood = (tenant: string, count: number, end: PassEnd, cutOff = false) => {
      for (let n = 0; n < count; n++) call(`${tenant}/by ${n}`, end, cutOff)
    }
    return { ...made, call, flood }
  }

  test('stays closed for others, however many accounts the tenant has, as long as they are answered', () => {
    for (const end of ['timeout', 'unavailable'] as const) {
      const { call, flood, state } = tenants()
      for (let round = 0; round < 5; round++) {
        expect(call('acme/by one', 'answered')).toBe(true)
        flood('mallory', 30, end)
      }
      expect(state('a')).toBe('closed')
    }
  })

  test('takes no call for a sign of an outage that was cut off early, unless others’ calls fail too', () => {
    const { call, flood, state } = tenants()
    flood('mallory', 8, 'answered')
    call('acme/by one', 'answered')
    flood('mallory', 200, 'timeout', true)
    expect(state('a')).toBe('closed')
    call('acme/by one', 'timeout', true)
    flood('mallory', 20, 'timeout', true)
    expect(state('a')).toBe('open')
  })

  test('stays closed for others where there are many, and now and then a call of one fails by itself', () => {
    for (const end of ['timeout', 'unavailable'] as const) {
      const { call, flood, state } = tenants()
      for (let round = 0; round < 100; round++) {
        expect(call(`tenant ${round}/by one`, round % 20 === 0 ? end : 'answered')).toBe(true)
        flood('mallory', 2, end)
      }
      expect(state('a')).toBe('closed')
    }
  })

  test('opens where nobody else has been answered for ten minutes', () => {
    const { call, flood, state, pass } = tenants()
    call('acme/by one', 'answered')
    pass(600_001)
    flood('mallory', 20, 'timeout', true)
    expect(state('a')).toBe('open')
  })

  test('opens for calls of one tenant that were cut off where nobody else has been answered for a minute', () => {
    const { call, flood, state, pass } = tenants()
    flood('busy', 20, 'answered')
    call('quiet/by one', 'answered')
    pass(59_000)
    flood('busy', 200, 'timeout', true)
    expect(state('a')).toBe('closed')
    pass(2_000)
    flood('busy', 60, 'timeout', true)
    expect(state('a')).toBe('open')
  })

  test('is tried again with another tenant’s call first', () => {
    const { call, flood, state, pass, allow } = tenants()
    flood('mallory', 20, 'timeout')
    pass(1_000)
    expect(state('a')).toBe('half-open')
    call('mallory/by 15', 'timeout')
    expect(allow('a', 'acme/by one')).toMatchObject({ ok: false })
    pass(2_000)
    // It has waited, so an account of the other that was not seen before waits for it.
    expect(allow('a', 'mallory/by another')).toMatchObject({ ok: false })
    expect(call('acme/by one', 'answered')).toBe(true)
  })
})

describe('a pass for as long as the work lasts', () => {
  const never = (): never => {
    throw new Error('the model may be called')
  }

  test('is given back at its end, be it a return, an error or an abort: a probe is free for the next', async () => {
    const { trip, pass, allow, note, state } = setUp({ probes: 1 })
    trip('a')
    pass(1_000)
    const breakers = { allow, note }
    const waits = Promise.withResolvers<void>()
    const running = withPass(breakers, 'a', () => waits.promise, never)
    expect(allow('a')).toMatchObject({ ok: false })
    waits.resolve()
    await running
    await expect(withPass(breakers, 'a', () => Promise.reject(new Error('no room')), never)).rejects.toThrow('no room')
    expect(await withPass(breakers, 'a', async () => 'done', never)).toBe('done')
    expect(state('a')).toBe('half-open')
    expect(allow('a')).toMatchObject({ ok: true })
  })

  test('counts as what the work has noted of its call', async () => {
    const { allow, note, state } = setUp()
    for (let n = 0; n < 4; n++) await withPass({ allow, note }, 'a', async (granted) => note(granted, 'timeout'), never)
    expect(state('a')).toBe('open')
  })

  test('is refused with the time until the model may be called', async () => {
    const { trip, allow, note, waitMs } = setUp()
    trip('a')
    const work = () => Promise.reject(new Error('it may not be called'))
    expect(await withPass({ allow, note }, 'a', work, (retryInMs) => retryInMs)).toBe(1_000)
    expect([waitMs('a'), waitMs('b')]).toEqual([1_000, 0])
  })
})

describe('a chain', () => {
  const CHAIN = ['a', 'b', 'c']

  test('gives the nth model to the nth attempt, and the last one from then on', () => {
    const { picked } = setUp()
    expect([1, 2, 3, 4, 99].map((attempt) => picked(CHAIN, attempt))).toEqual(['a', 'b', 'c', 'c', 'c'])
  })

  test('goes past an open model to the next that is closed, and round to the first', () => {
    const { trip, picked } = setUp()
    trip('a')
    expect([1, 2, 3].map((attempt) => picked(CHAIN, attempt))).toEqual(['b', 'b', 'c'])
    trip('b')
    trip('c')
    expect(picked([...CHAIN, 'd'], 2)).toBe('d')
    expect(picked(['d', 'c'], 2)).toBe('d')
  })

  test('waits for the model that is back first where all are open', () => {
    const { trip, pass, picked } = setUp()
    trip('b')
    pass(300)
    trip('a')
    expect(picked(['a', 'b'], 1)).toBe(700)
    expect(picked(['a'], 5)).toBe(1_000)
  })

  test('takes probes from those who prefer the model, and the others stay with one that is closed', () => {
    const { trip, pass, picked, state } = setUp({ probes: 1 })
    trip('a')
    trip('b')
    pass(1_000)
    expect(picked(['a', 'b', 'c'], 1)).toBe('a')
    expect(picked(['a', 'b', 'c'], 1)).toBe('c')
    expect(state('b')).toBe('half-open')
    expect(picked(['a', 'b'], 1)).toBe('b')
    expect(picked(['a', 'b'], 1)).toBe(1_000)
  })

  test('of no models is a mistake', () => {
    expect(() => setUp().pick([], 1)).toThrow('without models')
  })
})

describe('the breaker, whatever happens in whatever order', () => {
  const MODELS = ['a', 'b'] as const
  const settings = fc.record({
    window: fc.integer({ min: 4, max: 8 }),
    minCalls: fc.integer({ min: 1, max: 4 }),
    failureShare: fc.constantFrom(0.25, 0.5, 1),
    coolDown: fc.constant(1_000),
    maxCoolDown: fc.constantFrom(1_000, 3_000, 8_000),
    probes: fc.integer({ min: 1, max: 3 }),
    successes: fc.integer({ min: 1, max: 4 }),
  })
  const model = fc.constantFrom(...MODELS)
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant('allow' as const), model }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('pick' as const), attempt: fc.integer({ min: 1, max: 3 }) }) },
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant('note' as const),
        which: fc.nat(60),
        outcome: fc.constantFrom('timeout', 'unavailable', 'timeout', 'answered', 'refused', 'rate-limited'),
      }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.integer({ min: 0, max: 2_500 }) }) },
  )

  /** One model's life, told by its log alone: every stay in a state, with the passes given and the ends told in it. */
  interface Stay {
    readonly is: 'closed' | 'open' | 'half-open'
    readonly until: number
    readonly coolDownMs: number
    readonly given: Pass[]
    readonly told: { pass: Pass; said: 'failed' | 'worked' | 'nothing' }[]
  }

  test('it does what its log of calls demands, no more and no less', () => {
    fc.assert(
      fc.property(settings, fc.array(step, { maxLength: 150, size: 'max' }), (given, steps) => {
        const { allow, pick, note, pass: wait, now, changes, states } = setUp(given)
        const lives = new Map<string, Stay>(MODELS.map((name) => [name, stay('closed')]))
        const passes: Pass[] = []
        let seen = 0

        const lifeOf = (name: string) => lives.get(name) ?? stay('closed')
        const out = ({ given, told }: Stay) => given.filter((each) => told.every(({ pass }) => pass !== each)).length
        const wake = (name: string) => {
          const life = lifeOf(name)
          if (life.is === 'open' && now() >= life.until) enter(name, stay('half-open', 0, life.coolDownMs))
        }
        const enter = (name: string, next: Stay) => {
          const change = changes[seen++]
          expect(change).toMatchObject({ model: name, from: lifeOf(name).is, to: next.is })
          if (next.is === 'open') expect(change?.coolDownMs).toBe(next.coolDownMs)
          lives.set(name, next)
        }
        const waitOf = (name: string) => {
          const life = lifeOf(name)
          if (life.is === 'open') return life.until - now()
          return life.is === 'half-open' && out(life) >= given.probes ? given.coolDown : 0
        }
        const taken = (name: string, pass: Pass) => {
          lifeOf(name).given.push(pass)
          passes.push(pass)
        }

        for (const each of steps) {
          if (each.do === 'pass') wait(each.ms)
          else if (each.do === 'allow') {
            const allowed = allow(each.model)
            wake(each.model)
            const demanded = waitOf(each.model)
            expect(allowed.ok ? 0 : allowed.retryInMs).toBe(demanded)
            if (allowed.ok) taken(each.model, allowed.pass)
          } else if (each.do === 'pick') {
            const picked = pick(MODELS, each.attempt)
            const inTurn = each.attempt === 1 ? ['a', 'b'] : ['b', 'a']
            inTurn.forEach(wake)
            const free = inTurn.filter((name) => waitOf(name) === 0)
            if (picked.ok) {
              expect(picked.pass.model).toBe(free[0])
              taken(picked.pass.model, picked.pass)
            } else expect([free.length, picked.retryInMs]).toEqual([0, Math.min(...inTurn.map(waitOf))])
          } else {
            const pass = passes[each.which]
            if (pass === undefined) continue
            note(pass, each.outcome)
            const { model: name } = pass
            const life = lifeOf(name)
            if (!life.given.includes(pass) || life.told.some((one) => one.pass === pass)) continue
            const said = meaning(each.outcome)
            life.told.push({ pass, said })
            if (life.is === 'closed') {
              const counted = life.told.filter((one) => one.said !== 'nothing').slice(-given.window)
              const share = counted.filter((one) => one.said === 'failed').length / counted.length
              if (said === 'failed' && counted.length >= given.minCalls && share >= given.failureShare)
                enter(name, stay('open', now() + given.coolDown, given.coolDown))
            } else if (said === 'failed') {
              const coolDownMs = Math.min(2 * life.coolDownMs, given.maxCoolDown)
              enter(name, stay('open', now() + coolDownMs, coolDownMs))
            } else if (life.told.filter((one) => one.said === 'worked').length >= given.successes)
              enter(name, stay('closed'))
          }
          // Whoever asks for the states finds a cool-down that is over ended.
          const told = states()
          for (const name of told.keys()) wake(name)
          expect(changes).toHaveLength(seen)
          for (const [name, is] of told) {
            expect(is).toBe(lifeOf(name).is)
            if (is === 'half-open') expect(out(lifeOf(name))).toBeLessThanOrEqual(given.probes)
          }
        }
      }),
      { numRuns: 500 },
    )
  })

  function stay(is: Stay['is'], until = 0, coolDownMs = 0): Stay {
    return { is, until, coolDownMs, given: [], told: [] }
  }

  function meaning(outcome: string): 'failed' | 'worked' | 'nothing' {
    if (outcome === 'rate-limited') return 'nothing'
    return outcome === 'timeout' || outcome === 'unavailable' ? 'failed' : 'worked'
  }
})

describe('a model that says that the operator has to mend something', () => {
  const PROBE_MS = 20_000

  test.each(OPERATOR_ACTIONS)('is left alone at the tenth time in a row (%s)', (mend) => {
    const { leave, note, state, outage, now, allow } = setUp()
    const refused = (times: number) => {
      for (let n = 0; n < times; n++) note(leave('a'), 'operator', { action: mend, why: 'status 429' })
    }
    refused(9)
    note(leave('a'), 'answered')
    refused(9)
    expect(state('a')).toBe('closed')
    expect(outage('a')).toBeNull()
    refused(1)
    expect(state('a')).toBe('open')
    expect(outage('a')).toEqual({ reason: mend, why: 'status 429', since: now() })
    expect(allow('a')).toEqual({ ok: false, retryInMs: PROBE_MS })
  })

  test('is asked by one probe at a time, at an even pace however long it lasts, and then by more', () => {
    const { leave, note, pass, allow, call, state, changes, now } = setUp()
    const since = now()
    for (let n = 0; n < 10; n++) note(leave('a'), 'operator', { action: 'quota' })
    for (let n = 0; n < 20; n++) {
      pass(PROBE_MS)
      const probe = leave('a')
      expect(allow('a')).toMatchObject({ ok: false })
      note(probe, 'operator', { action: 'quota' })
    }
    expect(changes.flatMap(({ coolDownMs }) => coolDownMs ?? [])).toEqual(Array(21).fill(PROBE_MS))
    pass(PROBE_MS)
    call('a', 'answered')
    const [one, two] = [leave('a'), leave('a')]
    note(one, 'answered')
    note(two, 'answered')
    expect(state('a')).toBe('closed')
    expect(changes.at(-1)).toMatchObject({ to: 'closed', outage: { reason: 'quota', since } })
  })

  test('is named by its last reason', () => {
    const { trip, pass, leave, note, outage, now } = setUp()
    const since = now()
    trip('a')
    pass(1_000)
    note(leave('a'), 'operator', { action: 'key', why: 'status 401' })
    expect(outage('a')).toEqual({ reason: 'key', why: 'status 401', since })
    pass(PROBE_MS)
    note(leave('a'), 'unavailable', { why: 'status 503' })
    expect(outage('a')).toEqual({ reason: 'unreachable', why: 'status 503', since })
  })

  test('and others are not: each refusal is its model’s', () => {
    const { leave, note, picked } = setUp()
    for (let n = 0; n < 10; n++) note(leave('a'), 'operator', { action: 'quota' })
    expect(picked(['a', 'b'], 1)).toBe('b')
  })
})

test('a clock that is set back keeps no model away for longer than a cool-down', () => {
  const { trip, pass, allow } = setUp()
  trip('a')
  pass(-3_600_000)
  expect(allow('a')).toMatchObject({ ok: true })
  trip('b')
  expect(allow('b')).toEqual({ ok: false, retryInMs: SETTINGS.coolDown })
})

describe('one subject’s questions', () => {
  const asked = (breakers: ReturnType<typeof setUp>, accountKey: string, ...ends: PassEnd[]) => {
    for (const end of ends) breakers.note(breakers.leave('a'), end, { accountKey })
  }

  test('keep nobody else from a model by the errors that they bring about', () => {
    const one = setUp()
    asked(one, 'bystander', 'answered')
    for (let n = 0; n < 50; n++) {
      asked(one, 'hostile', 'unavailable', 'unavailable', 'unavailable')
      asked(one, 'bystander', 'answered')
    }
    expect(one.state('a')).toBe('closed')
  })

  test('do not hide an outage: with nobody answered the model is left alone, whoever asks', () => {
    const one = setUp()
    asked(one, 'bystander', 'answered')
    for (let n = 0; n < 6; n++) {
      if (one.state('a') === 'closed') asked(one, 'p', 'unavailable')
      if (one.state('a') === 'closed') asked(one, 'q', 'unavailable')
    }
    expect(one.state('a')).toBe('open')
    const alone = setUp()
    asked(alone, 'p', 'answered')
    for (let n = 0; n < 45 && alone.state('a') === 'closed'; n++) asked(alone, 'p', 'unavailable')
    expect(alone.state('a')).toBe('open')
    const fresh = setUp()
    asked(fresh, 'p', 'unavailable', 'unavailable', 'unavailable', 'unavailable')
    expect(fresh.state('a')).toBe('open')
  })

  test('count each where they get no answer at all: silence is the endpoint’s', () => {
    const one = setUp()
    asked(one, 'p', 'answered', 'timeout', 'timeout', 'timeout')
    expect(one.state('a')).toBe('open')
  })

  test('of many subjects count together', () => {
    const one = setUp()
    asked(one, 'p', 'answered')
    for (const id of ['q', 'r', 's']) asked(one, id, 'unavailable')
    expect(one.state('a')).toBe('open')
  })
})

describe('while a model is tried again', () => {
  function halfOpen() {
    const one = setUp()
    for (let n = 0; n < 4; n++) one.note(one.leave('a'), 'timeout', { accountKey: 'failing' })
    return one
  }

  test('who has had a call fail waits for others, until these have had their turn or have not come back', () => {
    const { allow, note, pass } = halfOpen()
    expect(allow('a', 'other')).toMatchObject({ ok: false })
    pass(1_000)
    expect(allow('a', 'failing')).toEqual({ ok: false, retryInMs: 1_000 })
    const others = allow('a', 'other')
    if (!others.ok) throw new Error('no pass')
    note(others.pass, 'answered', { accountKey: 'other' })
    expect(allow('a', 'failing')).toMatchObject({ ok: true })
    const gone = halfOpen()
    expect(gone.allow('a', 'other')).toMatchObject({ ok: false })
    gone.pass(65_000)
    expect(gone.allow('a', 'failing')).toMatchObject({ ok: false })
    gone.pass(1_001)
    expect(gone.allow('a', 'failing')).toMatchObject({ ok: true })
  })

  test('one probe of two is kept for others', () => {
    const { allow, pass } = halfOpen()
    pass(1_000)
    expect(allow('a', 'failing')).toMatchObject({ ok: true })
    expect(allow('a', 'failing')).toMatchObject({ ok: false })
    expect(allow('a', 'other')).toMatchObject({ ok: true })
  })

  test('its failures say nothing once another was answered, but of quota and key', () => {
    const { allow, note, pass, state, call } = halfOpen()
    const fail = (mend?: 'model' | 'quota') => {
      const allowed = allow('a', 'failing')
      if (!allowed.ok) throw new Error('no pass')
      note(allowed.pass, mend === undefined ? 'unavailable' : 'operator', { accountKey: 'failing', action: mend })
      return state('a')
    }
    pass(1_000)
    expect(fail()).toBe('open')
    pass(2_000)
    call('a', 'answered')
    expect([fail(), fail('model')]).toEqual(['half-open', 'half-open'])
    expect(fail('quota')).toBe('open')
  })
})

test('a refused model counts for one account once, unless nobody else is answered forty times in a row', () => {
  const { leave, note, state } = setUp()
  const refuse = (accountKey: string) => note(leave('a'), 'operator', { accountKey, action: 'permission' })
  for (let n = 0; n < 39; n++) refuse('one')
  note(leave('a'), 'answered', { accountKey: 'other' })
  for (let n = 0; n < 39; n++) refuse('one')
  expect(state('a')).toBe('closed')
  refuse('one')
  expect(state('a')).toBe('open')
})
