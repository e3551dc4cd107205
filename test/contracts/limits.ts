import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { PermanentError } from '../../src/contracts/facts/errors.ts'
import type {
  CallLimits,
  LimitedCall,
  LimitScope,
  LimitSettings,
  ScopeLimits,
  Ticket,
} from '../../src/contracts/ports/call-limits.ts'
import { limitedCall } from '../support/limited-call.ts'
import { faultsOf, type Grant } from '../support/windows.ts'

/** A short minute, so that tests on a real clock can wait for it. */
export const SHORT: LimitSettings = {
  windowMs: 1_200,
  leaseMs: 400,
  recheckMs: 100,
  lateMs: 300,
  classes: { waiting: 0.25, rest: 0.5 },
}
/** A store may take this much longer than the window, and a busy machine notices it late. */
const SLACK = 60

/** Limits, apart from those of every other test, with {@link SHORT} but for what is given. */
export type MakeLimits = (settings?: Partial<LimitSettings>) => {
  readonly limits: CallLimits
  pass(ms: number): Promise<void>
}

/** What limits promise. */
export function limitsContract(name: string, make: MakeLimits): void {
  describe(`limits, ${name}`, () => {
    let limits: CallLimits
    let pass: (ms: number) => Promise<void>
    beforeEach(() => {
      ;({ limits, pass } = make())
    })

    const scope = (given: ScopeLimits, scopeName = 'model:m'): LimitScope => ({ name: scopeName, limits: given })
    let calls = 0
    const fresh = () => `asker ${++calls}`
    const ask = (scopes: readonly LimitScope[], tokens = 0, asker = fresh()) =>
      limits.reserve(scopes, limitedCall({ asker, tokens }))
    const grant = async (scopes: readonly LimitScope[], tokens = 0, asker?: string): Promise<Ticket> => {
      const reply = await ask(scopes, tokens, asker)
      if (!reply.granted) throw new Error(`refused for ${reply.waitMs} ms by ${reply.scope}`)
      return reply.ticket
    }
    const refusal = async (scopes: readonly LimitScope[], tokens = 0, asker?: string) => {
      const reply = await ask(scopes, tokens, asker)
      if (reply.granted) throw new Error('granted')
      return reply
    }
    const granted = async (scopes: readonly LimitScope[], tokens = 0) => (await ask(scopes, tokens)).granted

    it('grant everything where nothing is limited', async () => {
      for (let n = 0; n < 20; n++) expect(await granted([scope({}), scope({}, 'tenant:t')], 1_000_000)).toBe(true)
      expect(await granted([], 5)).toBe(true)
    })

    it('grant as many calls as a window may hold, then say when the first leaves it', async () => {
      const two = [scope({ callsPerMinute: 2 })]
      const tickets = [await grant(two), await grant(two)]
      for (const ticket of tickets) await limits.settle(ticket, 0)
      const { waitMs, scope: by } = await refusal(two, 0, 'late')
      expect(by).toBe('model:m')
      expect(waitMs).toBeGreaterThan(SHORT.windowMs / 2)
      expect(waitMs).toBeLessThanOrEqual(SHORT.windowMs + SLACK)
      await pass(waitMs)
      await grant(two, 0, 'late')
    })

    it('grant as many tokens as a window may hold', async () => {
      const hundred = [scope({ tokensPerMinute: 100 })]
      const ticket = await grant(hundred, 60)
      expect(await granted(hundred, 41)).toBe(false)
      await limits.settle(ticket, 60)
      await pass(SHORT.windowMs + SLACK)
      expect(await granted(hundred, 100)).toBe(true)
      expect(await granted(hundred, 1)).toBe(false)
    })

    it('report the current counts of the windows', async () => {
      const [model, tenant] = [scope({ callsPerMinute: 9 }), scope({ tokensPerMinute: 900 }, 'tenant:t')]
      const ticket = await grant([model, tenant], 60)
      await grant([model], 5)
      await limits.settle(ticket, 40)
      const names = ['model:m', 'tenant:t', 'tenant:unseen']
      expect(await limits.usage(names)).toEqual([
        { calls: 2, tokens: 45, inFlight: 1 },
        { calls: 1, tokens: 40, inFlight: 0 },
        { calls: 0, tokens: 0, inFlight: 0 },
      ])
      await pass(SHORT.windowMs + SLACK)
      expect(await limits.usage(names)).toEqual(Array(3).fill({ calls: 0, tokens: 0, inFlight: 0 }))
      expect(await limits.usage([])).toEqual([])
    })

    it('slide: what was granted half a window ago still counts', async () => {
      const two = [scope({ callsPerMinute: 2 })]
      await limits.settle(await grant(two), 0)
      await pass(SHORT.windowMs / 2)
      await limits.settle(await grant(two), 0)
      const { waitMs } = await refusal(two, 0, 'late')
      expect(waitMs).toBeLessThanOrEqual(SHORT.windowMs / 2 + SLACK)
      await pass(waitMs)
      await grant(two, 0, 'late')
      expect(await granted(two)).toBe(false)
    })

    it('take room under all scopes or under none', async () => {
      const model = scope({ tokensPerMinute: 100 })
      const tenant = scope({ tokensPerMinute: 30 }, 'tenant:t')
      await grant([tenant], 20)
      expect((await refusal([model, tenant], 20)).scope).toBe('tenant:t')
      expect(await granted([model], 100)).toBe(true)
    })

    it('keep scopes apart', async () => {
      await grant([scope({ callsPerMinute: 1 }, 'tenant:a')])
      await grant([scope({ callsPerMinute: 1 }, 'tenant:a:line')])
      expect(await granted([scope({ callsPerMinute: 1 }, 'tenant:a')])).toBe(false)
    })

    it('give back at once what a call did not use, and once only', async () => {
      const hundred = [scope({ tokensPerMinute: 100 })]
      const ticket = await grant(hundred, 100)
      await limits.settle(ticket, 40)
      await limits.settle(ticket, 0)
      await limits.refund(ticket)
      expect(await granted(hundred, 60)).toBe(true)
      expect(await granted(hundred, 1)).toBe(false)
    })

    it('count what a call used beyond its reservation, from when that is known', async () => {
      const hundred = [scope({ tokensPerMinute: 100 })]
      const ticket = await grant(hundred, 10)
      await pass(SHORT.windowMs / 2)
      await limits.settle(ticket, 150)
      await pass(SHORT.windowMs / 2 + SLACK)
      const { waitMs } = await refusal(hundred, 10, 'late')
      expect(waitMs).toBeLessThanOrEqual(SHORT.windowMs / 2 + SLACK)
      await pass(waitMs)
      await grant(hundred, 10, 'late')
      expect(await granted(hundred, 90)).toBe(true)
    })

    it('give everything back of a call that did not take place', async () => {
      const one = [scope({ callsPerMinute: 1, tokensPerMinute: 100, inFlight: 1 })]
      const ticket = await grant(one, 100)
      await refusal(one, 100, 'a')
      await limits.refund(ticket)
      await limits.refund(ticket)
      await grant(one, 100, 'a')
      expect(await granted([scope({ callsPerMinute: 1 })])).toBe(false)
    })

    it('know nothing any more of tickets whose window has passed', async () => {
      const one = [scope({ callsPerMinute: 1, tokensPerMinute: 100 })]
      const old = await grant(one, 100)
      await pass(SHORT.windowMs + SLACK)
      const next = await grant(one, 60)
      await limits.settle(old, 0)
      await limits.settle(next, 60)
      expect(await granted(one)).toBe(false)
      expect(await granted([scope({ tokensPerMinute: 100 })], 41)).toBe(false)
    })

    it('hold so many calls in flight, and let the next in when one ends', async () => {
      const two = [scope({ inFlight: 2 })]
      const ticket = await grant(two)
      await grant(two)
      const { waitMs } = await refusal(two)
      expect(waitMs).toBeLessThanOrEqual(SHORT.recheckMs)
      await limits.settle(ticket, 0)
      expect(await granted(two)).toBe(true)
      expect(await granted(two)).toBe(false)
    })

    it('give a place back whose lease has expired, and no other', async () => {
      const two = [scope({ inFlight: 2 })]
      await grant(two)
      await pass(SHORT.leaseMs * 0.7)
      await grant(two)
      await pass(SHORT.leaseMs * 0.4)
      expect(await granted(two)).toBe(true)
      expect(await granted(two)).toBe(false)
    })

    it('let waiters come again soon while calls in flight may give room back', async () => {
      const hundred = [scope({ tokensPerMinute: 100 })]
      const ticket = await grant(hundred, 100)
      expect((await refusal(hundred, 50, 'a')).waitMs).toBeLessThanOrEqual(SHORT.recheckMs)
      await limits.settle(ticket, 100)
      expect((await refusal(hundred, 50, 'a')).waitMs).toBeGreaterThan(SHORT.recheckMs)
    })

    it('send those further back in line away for longer', async () => {
      const one = [scope({ callsPerMinute: 1 })]
      await grant(one)
      const waits: number[] = []
      for (let n = 0; n < 9; n++) waits.push((await refusal(one)).waitMs)
      expect(waits).toEqual([...waits].sort((a, b) => a - b))
      expect(waits[8]).toBeGreaterThan((waits[0] ?? 0) * 1.5)
    })

    it('give the room that the first in line waits for to nobody else', async () => {
      const hundred = [scope({ tokensPerMinute: 100 })]
      await limits.settle(await grant(hundred, 70), 70)
      const { waitMs } = await refusal(hundred, 80, 'large')
      expect(await granted(hundred, 10)).toBe(false)
      await pass(waitMs)
      expect(await granted(hundred, 30)).toBe(false)
      expect(await granted(hundred, 20)).toBe(true)
      await grant(hundred, 80, 'large')
    })

    it('forget who stays away', async () => {
      const hundred = [scope({ tokensPerMinute: 100 })]
      await grant(hundred, 50)
      await refusal(hundred, 80, 'gone')
      expect(await granted(hundred, 30)).toBe(false)
      await pass(SHORT.recheckMs + SHORT.lateMs + SLACK)
      expect(await granted(hundred, 30)).toBe(true)
    })

    it('wait for the first in line no longer than a moment when it does not come', async () => {
      ;({ limits, pass } = make({ lateMs: 5_000 }))
      const hundred = [scope({ tokensPerMinute: 100 })]
      await grant(hundred, 50)
      const { waitMs } = await refusal(hundred, 80, 'gone')
      await refusal(hundred, 30, 'next')
      await pass(waitMs + 1_000 + SLACK)
      await grant(hundred, 30, 'next')
    })

    it('forget at once who leaves, and no other', async () => {
      const hundred = [scope({ tokensPerMinute: 100 })]
      await grant(hundred, 50)
      await refusal(hundred, 80, 'gone')
      await refusal(hundred, 70, 'stays')
      const leave = (asker: string, tokens: number, from = scope({ tokensPerMinute: 100 })) =>
        limits.leave(from, limitedCall({ asker, tokens }))
      await leave('gone', 80)
      await leave('gone', 80)
      await leave('stays', 70, scope({}, 'tenant:t'))
      await refusal(hundred, 30, 'next')
      await leave('stays', 70)
      await grant(hundred, 30, 'next')
    })

    it.each(['leave', 'stay away'])('count for a turn that others waited for calls which %s', async (how) => {
      ;({ limits, pass } = make({ windowMs: 60_000, leaseMs: 60_000, recheckMs: 10, lateMs: 50 }))
      const one = [scope({ inFlight: 1 })]
      const held = await grant(one)
      const ask = (tenant: string, asker: string) => limits.reserve(one, limitedCall({ tenant, asker }))
      for (const asker of ['g1', 'g2', 'g3']) await ask('gone', asker)
      await ask('quiet', 'q')
      if (how === 'leave')
        for (const asker of ['g1', 'g2'])
          await limits.leave(scope({ inFlight: 1 }), limitedCall({ tenant: 'gone', asker }))
      else
        for (let nth = 0; nth < 10; nth++) {
          await pass(10)
          await ask('gone', 'g3')
          await ask('quiet', 'q')
        }
      await limits.settle(held, 0)
      expect(await ask('gone', 'g3')).toMatchObject({ granted: false })
      expect(await ask('quiet', 'q')).toMatchObject({ granted: true })
    })

    it('hold no room for one that waits elsewhere', async () => {
      const model = scope({ tokensPerMinute: 100 })
      const tenant = scope({ tokensPerMinute: 80 }, 'tenant:t')
      const ticket = await grant([model], 60)
      await refusal([model], 70, 'a')
      await grant([tenant], 60)
      await limits.settle(ticket, 20)
      expect((await refusal([model, tenant], 70, 'a')).scope).toBe('tenant:t')
      expect(await granted([model], 80)).toBe(true)
    })

    /**
     * Fills the scope with calls of so many tokens, gives these back one after the other, and has all calls ask each time; returns
     * those that were granted, in order.
     */
    const grantedInTurn = async (given: ScopeLimits, calls: readonly LimitedCall[], most: number, tokens = 0) => {
      ;({ limits, pass } = make({ windowMs: 60_000, leaseMs: 60_000, lateMs: 5_000 }))
      const scopes = [scope(given)]
      const held = await Promise.all(Array.from({ length: 6 }, () => grant(scopes, tokens)))
      const asking = new Set(calls)
      const order: LimitedCall[] = []
      while (order.length < most) {
        for (const call of asking) {
          const reply = await limits.reserve(scopes, call)
          if (!reply.granted) continue
          held.push(reply.ticket)
          asking.delete(call)
          order.push(call)
        }
        const [ended] = held.splice(0, 1)
        if (ended !== undefined) await limits.refund(ended)
      }
      return order
    }
    const callsOf = (count: number, given: Partial<LimitedCall>) =>
      Array.from({ length: count }, () => limitedCall(given))

    // Of ten calls six are granted at once.
    const SIX: readonly ScopeLimits[] = [{ callsPerMinute: 10 }, { inFlight: 6 }]

    it.each(SIX)(
      'let tenants take turns, so that one with calls of many accounts holds up none with few: %o',
      async (six) => {
        const calls = [...callsOf(30, { tenant: 'loud' }), ...callsOf(3, { tenant: 'quiet' })]
        const order = await grantedInTurn(six, calls, 8)
        expect(order.slice(0, 7).filter(({ tenant }) => tenant === 'quiet')).toHaveLength(3)
      },
    )

    it('have room soon for a tenant that comes after a burst of another, and give it its turns from then on', async () => {
      const windowMs = 2_400
      ;({ limits, pass } = make({ windowMs }))
      const twenty = [scope({ callsPerMinute: 20 })]
      const start = await grant(twenty)
      await limits.settle(start, 0)
      const asking = new Set([...callsOf(25, { tenant: 'loud' }), ...callsOf(2, { tenant: 'quiet' })])
      const order: (Ticket & { tenant: string })[] = []
      while (order.filter(({ tenant }) => tenant === 'quiet').length < 2) {
        for (const call of asking) {
          const reply = await limits.reserve(twenty, call)
          if (!reply.granted) continue
          await limits.settle(reply.ticket, 0)
          asking.delete(call)
          order.push({ ...reply.ticket, tenant: call.tenant })
        }
        await pass(20)
      }
      expect(order.length).toBeLessThanOrEqual(15)
      expect(order.at(-1)?.at).toBeLessThan(start.at + windowMs)
    })

    it('have room within a tenth of the window for whoever comes first to an empty line, whatever was granted before', async () => {
      const windowMs = 600
      const step = fc.record({ wait: fc.integer({ min: 0, max: 200 }), calls: fc.integer({ min: 0, max: 60 }) })
      const settings = fc.constantFrom({ callsPerMinute: 60 }, { tokensPerMinute: 600 })
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), settings, async (steps, given) => {
          const { limits: fast, pass: wait } = make({ windowMs })
          for (const { wait: ms, calls: count } of steps) {
            await wait(ms)
            for (let n = 0; n < count; n++) {
              const reply = await fast.reserve(
                [scope(given)],
                limitedCall({ tenant: 'loud', tokens: 10, asker: 'loud' }),
              )
              if (!reply.granted) break
              await fast.settle(reply.ticket, 10)
            }
          }
          const reply = await fast.reserve([scope(given)], limitedCall({ tenant: 'quiet', tokens: 10 }))
          expect(reply.granted ? 0 : reply.waitMs).toBeLessThanOrEqual(windowMs / 10)
        }),
        { numRuns: 8 },
      )
    })

    it('keep no place at a model for a tenant that its own limit holds back', async () => {
      const [model, tenant] = [scope({ inFlight: 2 }), scope({ inFlight: 1 }, 'tenant:loud')]
      const loud = () => limits.reserve([model, tenant], limitedCall({ tenant: 'loud' }))
      const other = await grant([model])
      expect(await loud()).toMatchObject({ granted: true })
      for (let n = 0; n < 3; n++) expect(await loud()).toMatchObject({ granted: false })
      await limits.settle(other, 0)
      expect(await granted([model])).toBe(true)
    })

    it('know each call by its whole name, whatever characters are in it', async () => {
      const one = [scope({ inFlight: 1, tokensPerMinute: 1_000 })]
      const from = (tenant: string, account: string, asker: string) =>
        limits.reserve(one, limitedCall({ asker, tenant, accountKey: `${tenant}/${account}` }))
      const made = async (asker: string) => {
        const reply = await from('odd', 'by', asker)
        if (!reply.granted) throw new Error('refused')
        return () => limits.settle(reply.ticket, 0)
      }
      const end = await made('first')
      expect(await from('odd', 'beside', 'stays')).toMatchObject({ granted: false })
      expect(await from('odd', 'by', 'post\0~r1/0')).toMatchObject({ granted: false })
      await end()
      // Its call fails, and is made again.
      for (let n = 0; n < 2; n++) await (await made('post\0~r1/0'))()
      const endLast = await made('last')
      expect(await from('odd', 'by', 'post\0~r2/0')).toMatchObject({ granted: false })
      await endLast()
      expect(await from('other', 'by', 'post')).toMatchObject({ granted: false })
      expect(await from('odd', 'by', 'post\0~r2/0')).toMatchObject({ granted: true })
    })

    it('let the accounts of a tenant take turns', async () => {
      const calls = [...callsOf(30, { accountKey: 'flood' }), ...callsOf(3, { accountKey: 'other' })]
      const order = await grantedInTurn({ callsPerMinute: 10 }, calls, 8)
      expect(order.slice(0, 7).filter(({ accountKey }) => accountKey === 'other')).toHaveLength(3)
    })

    it.each(SIX)(
      'grant a class its share, however many tenants want everything, and lend it what nobody else wants: %o',
      async (six) => {
        const rest = ['a', 'b', 'c', 'd', 'e', 'f'].flatMap((tenant) => callsOf(6, { tenant }))
        const waiting = callsOf(8, { tenant: 'asks', serviceClass: 'waiting' })
        const order = await grantedInTurn(six, [...rest, ...waiting], 15)
        expect(order.filter(({ serviceClass }) => serviceClass === 'waiting')).toHaveLength(5)
        expect(new Set(order.map(({ tenant }) => tenant)).size).toBe(7)
        expect(await grantedInTurn(six, waiting, 8)).toHaveLength(8)
      },
    )

    it('give a class no more than its share where its tenants ask for one call each, again and again', async () => {
      const rest = callsOf(20, { tenant: 'loud' })
      const asked = Array.from({ length: 20 }, (_, n) => limitedCall({ tenant: `asks ${n}`, serviceClass: 'waiting' }))
      const order = await grantedInTurn({ callsPerMinute: 10 }, [...rest, ...asked], 15)
      expect(order.filter(({ tenant }) => tenant === 'loud')).toHaveLength(10)
    })

    it.each<ScopeLimits>([{ inFlight: 4 }, { callsPerMinute: 8 }])(
      'let the tenants of a class take turns while the first in line is of the other: %o',
      async (given) => {
        ;({ limits, pass } = make({ windowMs: 60_000, leaseMs: 60_000, lateMs: 60_000 }))
        const scopes = [scope(given)]
        const held = await Promise.all(Array.from({ length: 4 }, () => grant(scopes)))
        const order: string[] = []
        const ask = async (call: LimitedCall) => {
          const reply = await limits.reserve(scopes, call)
          if (!reply.granted) return false
          held.push(reply.ticket)
          order.push(call.tenant)
          return true
        }
        const waiting = (tenant: string) => limitedCall({ tenant, serviceClass: 'waiting' })
        const loud = Array.from({ length: 6 }, () => waiting('loud'))
        const quiet = waiting('quiet')
        for (const call of loud) await ask(call)
        await ask(quiet)
        // It is told to come again, and does not yet.
        await ask(limitedCall({ tenant: 'stream' }))
        for (let nth = 0; nth < 30 && !order.includes('quiet'); nth++) {
          const ended = held.shift()
          if (ended !== undefined) await limits.refund(ended)
          for (const [at, call] of loud.entries()) if (await ask(call)) loud[at] = waiting('loud')
          await ask(quiet)
        }
        expect(order.indexOf('quiet')).toBeGreaterThanOrEqual(0)
      },
    )

    it('share out tokens as well as calls: large calls have fewer turns', async () => {
      const calls = [...callsOf(12, { tenant: 'large', tokens: 40 }), ...callsOf(12, { tenant: 'small', tokens: 10 })]
      const order = await grantedInTurn({ tokensPerMinute: 400 }, calls, 10, 40)
      expect(order.filter(({ tenant }) => tenant === 'large').length).toBeLessThanOrEqual(3)
      expect(order.filter(({ tenant }) => tenant === 'large').length).toBeGreaterThanOrEqual(1)
    })

    it.each([
      { given: { tokensPerMinute: 100 }, tokens: 101, advice: /101 tokens.*allows 100.*raise tokensPerMinute/ },
      { given: { callsPerMinute: 0 }, tokens: 0, advice: /raise callsPerMinute/ },
      { given: { inFlight: 0 }, tokens: 0, advice: /raise inFlight/ },
    ])('refuse for good what $given can never hold', async ({ given, tokens, advice }) => {
      const error = await ask([scope(given)], tokens).catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(PermanentError)
      expect(error).toMatchObject({ code: 'rejected', message: expect.stringMatching(advice) })
    })

    it.each([-1, 1.5, Number.NaN])('take %d for a mistake', async (tokens) => {
      await expect(ask([scope({})], tokens)).rejects.toThrow(RangeError)
    })

    it('are never exceeded in any window, whatever is asked, settled and given back', async () => {
      const step = fc.record({
        wait: fc.integer({ min: 0, max: 25 }),
        tokens: fc.integer({ min: 0, max: 40 }),
        end: fc.constantFrom('settle', 'refund', 'nothing'),
        use: fc.double({ min: 0, max: 1, noNaN: true }),
      })
      const run = fc.array(step, { minLength: 5, maxLength: 25 })
      await fc.assert(
        fc.asyncProperty(run, async (steps) => {
          const windowMs = 60
          const { limits: fast, pass: wait } = make({ windowMs, leaseMs: 30 })
          const given = { callsPerMinute: 4, tokensPerMinute: 100, inFlight: 3 }
          const grants: Grant[] = []
          for (const { wait: ms, tokens, end, use } of steps) {
            await wait(ms)
            const reply = await fast.reserve([scope(given)], limitedCall({ tokens }))
            if (!reply.granted) continue
            const used = Math.floor(tokens * use)
            if (end === 'settle') await fast.settle(reply.ticket, used)
            if (end === 'refund') await fast.refund(reply.ticket)
            else grants.push({ at: reply.ticket.at, tokens: end === 'settle' ? used : tokens })
          }
          expect(faultsOf(grants, windowMs, given)).toEqual([])
        }),
        { numRuns: 20 },
      )
    })
  })
}
