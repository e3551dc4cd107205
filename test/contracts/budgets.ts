import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import {
  type Amount,
  type BudgetLimit,
  type BudgetSettings,
  type Budgets,
  NOTHING,
  type Purchase,
  type ReserveOutcome,
} from '../../src/contracts/ports/budgets.ts'

/** Budgets with empty accounts, apart from those of every other test. */
export type MakeBudgets = (settings: BudgetSettings) => Promise<{
  readonly budgets: Budgets
  /** The store's own time, ms since 1970. */
  now(): Promise<number>
  pass(ms: number): Promise<void>
  close(): Promise<void>
}>

const HOUR = 3_600_000
/** A window that no test sees the end of. */
const UNTIL_2286 = 1e13
const UNLIMITED: BudgetLimit = { tokens: null, usd: null }

/** No limits but these. */
export function budgetSettings(limits: Partial<BudgetSettings> = {}): BudgetSettings {
  return {
    verdict: UNLIMITED,
    tenant: { ...UNLIMITED, per: HOUR },
    tenants: {},
    total: { ...UNLIMITED, per: 24 * HOUR },
    share: 1,
    keepVerdictMs: HOUR,
    ...limits,
  }
}

export function purchase(atMost: Partial<Amount>, rest: Partial<Purchase> = {}): Purchase {
  const whose = { ticket: randomUUID(), caseId: 'rumor~p~r1', tenant: 'default', leaseMs: 60_000 }
  return { ...whose, ...rest, atMost: { ...NOTHING, ...atMost } }
}

const GRANTED: ReserveOutcome = { granted: true }

/** What all budgets promise. */
export function budgetsContract(name: string, make: MakeBudgets): void {
  describe(`budgets, ${name}`, () => {
    let made: Awaited<ReturnType<MakeBudgets>> | undefined

    async function given(limits: Partial<BudgetSettings>) {
      made = await make(budgetSettings(limits))
      return made
    }
    afterEach(async () => {
      await made?.close()
      made = undefined
    })

    it('grant everything where nothing has a limit, and keep no account', async () => {
      const { budgets } = await given({})
      const call = purchase({ tokens: 1e9, usd: 1e6 })
      expect(await budgets.reserve(call)).toEqual({ ...GRANTED, unlimited: true })
      expect(await budgets.total()).toBeNull()
      expect(await budgets.settle(call.ticket, call.atMost)).toBe('unknown')
    })

    it('take the upper bound, then put what was really spent in its place', async () => {
      const { budgets } = await given({ total: { tokens: 1_000, usd: 1, per: 24 * HOUR } })
      const call = purchase({ tokens: 600, usd: 0.3 })
      expect(await budgets.reserve(call)).toEqual(GRANTED)
      expect(await budgets.total()).toEqual({ used: call.atMost, inFlight: call.atMost })
      expect(await budgets.settle(call.ticket, { tokens: 450, usd: 0.1 })).toBe('settled')
      expect(await budgets.total()).toEqual({ used: { tokens: 450, usd: 0.1 }, inFlight: NOTHING })
    })

    it('show the account of a tenant that has a limit, its own or the common one, and of no other', async () => {
      const { budgets } = await given({
        tenants: { rich: UNLIMITED, poor: { tokens: 10, usd: null } },
        tenant: { tokens: 100, usd: null, per: UNTIL_2286 },
      })
      for (const tenant of ['rich', 'poor', 'any']) await budgets.reserve(purchase({ tokens: 7 }, { tenant }))
      expect((await budgets.tenant('poor'))?.used.tokens).toBe(7)
      expect((await budgets.tenant('any'))?.used.tokens).toBe(7)
      expect((await budgets.tenant('unseen'))?.used.tokens).toBe(0)
      expect(await budgets.tenant('rich')).toBeNull()
      expect(await budgets.total()).toBeNull()
    })

    it('fill up to the limit and not one token further', async () => {
      const { budgets } = await given({ verdict: { tokens: 100, usd: null } })
      const first = purchase({ tokens: 60 })
      expect(await budgets.reserve(first)).toEqual(GRANTED)
      await budgets.settle(first.ticket, first.atMost)
      expect(await budgets.reserve(purchase({ tokens: 41 }))).toMatchObject({ granted: false })
      expect(await budgets.reserve(purchase({ tokens: 40 }))).toEqual(GRANTED)
      expect(await budgets.reserve(purchase({ tokens: 1 }))).toMatchObject({ granted: false })
    })

    it('fill up to the limit in dollars too, to the billionth', async () => {
      const { budgets } = await given({ verdict: { tokens: null, usd: 0.3 } })
      for (let n = 0; n < 3; n++) expect(await budgets.reserve(purchase({ usd: 0.1 }))).toEqual(GRANTED)
      expect(await budgets.reserve(purchase({ usd: 0.000_000_001 }))).toMatchObject({ granted: false, unit: 'usd' })
    })

    it('say that waiting does not help where a verdict has spent its own', async () => {
      const { budgets } = await given({ verdict: { tokens: 100, usd: null } })
      const call = purchase({ tokens: 100 })
      await budgets.reserve(call)
      await budgets.settle(call.ticket, call.atMost)
      const refused = { granted: false, scope: 'verdict', unit: 'tokens', why: 'spent', renewsInMs: null }
      expect(await budgets.reserve(purchase({ tokens: 1 }))).toEqual(refused)
      expect(await budgets.reserve(purchase({ tokens: 1 }, { caseId: 'rumor~p~r2' }))).toEqual(GRANTED)
    })

    it('distinguish reserved room, which comes back soon, from spent room', async () => {
      const { budgets } = await given({ verdict: { tokens: 100, usd: null } })
      const call = purchase({ tokens: 90 })
      await budgets.reserve(call)
      const refused = await budgets.reserve(purchase({ tokens: 50 }))
      expect(refused).toMatchObject({ granted: false, why: 'in-flight', renewsInMs: expect.any(Number) })
      await budgets.settle(call.ticket, { tokens: 20, usd: 0 })
      expect(await budgets.reserve(purchase({ tokens: 50 }))).toEqual(GRANTED)
    })

    it('say that waiting does not help a call that is larger than the whole budget', async () => {
      const { budgets } = await given({ tenant: { tokens: 100, usd: null, per: HOUR } })
      const refused = { granted: false, scope: 'tenant', unit: 'tokens', why: 'too-large', renewsInMs: null }
      expect(await budgets.reserve(purchase({ tokens: 101 }))).toEqual(refused)
    })

    it('take from every account or from none', async () => {
      const { budgets } = await given({
        verdict: { tokens: 50, usd: null },
        tenant: { tokens: null, usd: 1, per: HOUR },
        total: { tokens: 1_000, usd: null, per: 24 * HOUR },
      })
      expect(await budgets.reserve(purchase({ tokens: 40, usd: 0.9 }))).toEqual(GRANTED)
      expect(await budgets.reserve(purchase({ tokens: 40, usd: 0.1 }))).toMatchObject({ scope: 'verdict' })
      const elsewhere = { caseId: 'rumor~q~r1' }
      expect(await budgets.reserve(purchase({ tokens: 40, usd: 0.2 }, elsewhere))).toMatchObject({ scope: 'tenant' })
      expect((await budgets.total())?.used.tokens).toBe(40)
      expect(await budgets.reserve(purchase({ tokens: 50, usd: 0.1 }, elsewhere))).toEqual(GRANTED)
    })

    it('name the budget that takes longest to renew where several refuse', async () => {
      for (const [longest, tenantMs, totalMs] of [
        ['total', HOUR, UNTIL_2286],
        ['tenant', UNTIL_2286, HOUR],
      ] as const) {
        const { budgets, close } = await make(
          budgetSettings({
            verdict: { tokens: 100, usd: 1 },
            tenant: { tokens: 100, usd: null, per: tenantMs },
            total: { tokens: 100, usd: 1, per: totalMs },
          }),
        )
        const call = purchase({ tokens: 100, usd: 0.5 })
        await budgets.reserve(call)
        await budgets.settle(call.ticket, call.atMost)
        expect(await budgets.reserve(purchase({ tokens: 1 }))).toMatchObject({ scope: 'verdict', renewsInMs: null })
        const other = await budgets.reserve(purchase({ tokens: 1 }, { caseId: 'rumor~q~r1' }))
        expect(other).toMatchObject({ scope: longest, why: 'spent' })
        await close()
      }
    })

    it('keep tenants apart, and give one its own limit', async () => {
      const { budgets } = await given({
        tenant: { tokens: 100, usd: null, per: HOUR },
        tenants: { big: { tokens: 500, usd: null }, free: UNLIMITED },
      })
      expect(await budgets.reserve(purchase({ tokens: 100 }, { tenant: 'a' }))).toEqual(GRANTED)
      expect(await budgets.reserve(purchase({ tokens: 1 }, { tenant: 'a' }))).toMatchObject({ scope: 'tenant' })
      expect(await budgets.reserve(purchase({ tokens: 100 }, { tenant: 'constructor' }))).toEqual(GRANTED)
      expect(await budgets.reserve(purchase({ tokens: 500 }, { tenant: 'big' }))).toEqual(GRANTED)
      expect(await budgets.reserve(purchase({ tokens: 1e6 }, { tenant: 'free' }))).toEqual({
        ...GRANTED,
        unlimited: true,
      })
    })

    it('leave others a part of the total, which who asks more has as the window passes', async () => {
      const per = 1_500
      for (let attempt = 1; ; attempt += 1) {
        const { budgets, now, pass } = await given({ total: { tokens: 1_000, usd: 1, per }, share: 0.5 })
        const ask = (tenant: string, tokens: number) => budgets.reserve(purchase({ tokens }, { tenant }))
        let ends = 0
        const nextWindow = async () => {
          await pass(per - ((await now()) % per))
          ends = (Math.floor((await now()) / per) + 1) * per
        }
        try {
          await nextWindow()
          // As long as it is alone all is its own.
          expect(await ask('loud', 600)).toEqual(GRANTED)
          expect(await ask('quiet', 100)).toEqual(GRANTED)
          expect(await ask('loud', 1)).toMatchObject({ scope: 'tenant', unit: 'tokens', why: 'in-flight' })
          await nextWindow()
          // The other asked in the window before.
          const call = purchase({ tokens: 450 }, { tenant: 'loud' })
          expect(await budgets.reserve(call)).toEqual(GRANTED)
          await budgets.settle(call.ticket, call.atMost)
          const refused = await ask('loud', 400)
          expect(refused).toMatchObject({ scope: 'tenant', why: 'spent', renewsInMs: expect.any(Number) })
          expect(await ask('quiet', 400)).toEqual(GRANTED)
          await pass(1_450 - ((await now()) % per))
          expect(await ask('loud', 100)).toEqual(GRANTED)
          expect(await ask('loud', 100)).toMatchObject({ granted: false, scope: 'total' })
          return
        } catch (error) {
          // On a machine that stood still meanwhile the window had passed: then nothing was shown, and all is asked anew.
          if ((await now()) < ends || attempt === 5) throw error
          await made?.close()
        }
      }
    })

    it('leave a tenant with a limit of its own to that', async () => {
      const tenants = { own: { tokens: 900, usd: null } }
      const { budgets } = await given({ total: { tokens: 1_000, usd: null, per: UNTIL_2286 }, tenants, share: 0 })
      expect(await budgets.reserve(purchase({ tokens: 1 }, { tenant: 'other' }))).toEqual(GRANTED)
      expect(await budgets.reserve(purchase({ tokens: 900 }, { tenant: 'own' }))).toEqual(GRANTED)
      expect(await budgets.reserve(purchase({ tokens: 90 }, { tenant: 'own' }))).toMatchObject({ scope: 'tenant' })
    })

    it('leave room for a tenant with a limit of its own, as it asks too', async () => {
      const tenants = { own: { tokens: 900, usd: null } }
      const { budgets } = await given({ total: { tokens: 1_000, usd: null, per: UNTIL_2286 }, tenants, share: 0 })
      expect(await budgets.reserve(purchase({ tokens: 1 }, { tenant: 'own' }))).toEqual(GRANTED)
      expect(await budgets.reserve(purchase({ tokens: 950 }, { tenant: 'other' }))).toMatchObject({ scope: 'tenant' })
    })

    it('renew at the full window, and book a late settlement on the window of its reservation', async () => {
      const per = 3_000
      const { budgets, now, pass } = await given({ total: { tokens: 100, usd: null, per } })
      await pass(per - ((await now()) % per))
      const [early, late] = [purchase({ tokens: 40 }), purchase({ tokens: 60 })]
      expect(await budgets.reserve(early)).toEqual(GRANTED)
      expect(await budgets.reserve(late)).toEqual(GRANTED)
      await budgets.settle(early.ticket, early.atMost)
      const refused = await budgets.reserve(purchase({ tokens: 70 }))
      if (refused.granted || refused.renewsInMs === null) throw new Error('not refused for a while')
      expect(refused.renewsInMs).toBeLessThanOrEqual(per)
      await pass(refused.why === 'spent' ? refused.renewsInMs : per)
      expect(await budgets.reserve(purchase({ tokens: 70 }))).toEqual(GRANTED)
      expect(await budgets.settle(late.ticket, { tokens: 10, usd: 0 })).toBe('settled')
      expect((await budgets.total())?.used.tokens).toBe(70)
    })

    it('book a reservation once, however often it is sent', async () => {
      const { budgets } = await given({
        verdict: { tokens: 100, usd: null },
        total: { tokens: 500, usd: 1, per: HOUR },
      })
      const call = purchase({ tokens: 60 })
      const replies = await Promise.all([call, call, call].map((each) => budgets.reserve(each)))
      expect(replies).toEqual([GRANTED, GRANTED, GRANTED])
      expect((await budgets.total())?.used.tokens).toBe(60)
      await budgets.settle(call.ticket, { tokens: 10, usd: 0 })
      expect(await budgets.reserve(call)).toEqual(GRANTED)
      expect((await budgets.total())?.used.tokens).toBe(10)
    })

    it('take the first settlement of a ticket, and none of one that was never granted', async () => {
      const { budgets } = await given({ total: { tokens: 100, usd: 1, per: 24 * HOUR } })
      const call = purchase({ tokens: 60 })
      await budgets.reserve(call)
      expect(await budgets.settle(call.ticket, { tokens: 50, usd: 0.5 })).toBe('settled')
      expect(await budgets.settle(call.ticket, NOTHING)).toBe('settled')
      expect(await budgets.settle('nobody', NOTHING)).toBe('unknown')
      expect((await budgets.total())?.used).toEqual({ tokens: 50, usd: 0.5 })
    })

    it('give all back for a call that was not made', async () => {
      const { budgets } = await given({ verdict: { tokens: 100, usd: 1 } })
      const call = purchase({ tokens: 100, usd: 1 })
      await budgets.reserve(call)
      await budgets.settle(call.ticket, NOTHING)
      expect(await budgets.reserve(purchase({ tokens: 100, usd: 1 }))).toEqual(GRANTED)
    })

    it('book what was really spent also where it is more than the bound', async () => {
      const { budgets } = await given({ total: { tokens: 100, usd: null, per: 24 * HOUR } })
      const call = purchase({ tokens: 90 })
      await budgets.reserve(call)
      await budgets.settle(call.ticket, { tokens: 130, usd: 0 })
      expect((await budgets.total())?.used.tokens).toBe(130)
      expect(await budgets.reserve(purchase({ tokens: 1 }))).toMatchObject({ why: 'spent' })
    })

    it('hold sums beyond what a short number can, and usage that makes no sense', async () => {
      const { budgets } = await given({ total: { tokens: 4e15, usd: 4e6, per: 24 * HOUR } })
      const call = purchase({ tokens: 1e15, usd: 1e6 })
      expect(await budgets.reserve(call)).toEqual(GRANTED)
      expect(await budgets.reserve(purchase({ tokens: 1e15, usd: 1e6 }))).toEqual(GRANTED)
      expect((await budgets.total())?.used).toEqual({ tokens: 2e15, usd: 2e6 })
      await budgets.settle(call.ticket, { tokens: -5, usd: 0.000_000_000_4 })
      expect((await budgets.total())?.used).toEqual({ tokens: 1e15, usd: 1_000_000.000_000_001 })
      expect(await budgets.reserve(purchase({ tokens: 1.2 }))).toEqual(GRANTED)
      expect((await budgets.total())?.used.tokens).toBe(1e15 + 2)
    })

    it('leave an abandoned reservation at its bound, and stop waiting for it when its lease ends', async () => {
      const { budgets, pass } = await given({
        verdict: { tokens: 100, usd: null },
        total: { tokens: 500, usd: null, per: HOUR },
      })
      const abandoned = purchase({ tokens: 80 }, { leaseMs: 150 })
      await budgets.reserve(abandoned)
      expect(await budgets.reserve(purchase({ tokens: 50 }))).toMatchObject({ why: 'in-flight' })
      await pass(200)
      expect(await budgets.reserve(purchase({ tokens: 50 }))).toMatchObject({ why: 'spent', renewsInMs: null })
      expect(await budgets.total()).toEqual({ used: { tokens: 80, usd: 0 }, inFlight: NOTHING })
      // Its process was not dead after all.
      expect(await budgets.settle(abandoned.ticket, { tokens: 30, usd: 0 })).toBe('settled')
      expect(await budgets.total()).toEqual({ used: { tokens: 30, usd: 0 }, inFlight: NOTHING })
      expect(await budgets.reserve(purchase({ tokens: 50 }))).toEqual(GRANTED)
    })

    it('never go over a limit, and add up, whatever is reserved, settled or sent twice', async () => {
      const step = fc.record({
        what: fc.constantFrom('reserve', 'repeat', 'settle'),
        which: fc.nat(9),
        tokens: fc.integer({ min: 0, max: 40 }),
        caseId: fc.constantFrom('rumor~p~r1', 'rumor~q~r1'),
      })
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 60, size: 'max' }), async (steps) => {
          const { budgets, close } = await make(
            budgetSettings({ verdict: { tokens: 60, usd: null }, total: { tokens: 100, usd: null, per: 24 * HOUR } }),
          )
          const granted: { call: Purchase; spent: number | null }[] = []
          const used = (caseId?: string) =>
            granted
              .filter(({ call }) => caseId === undefined || call.caseId === caseId)
              .reduce((sum, { call, spent }) => sum + (spent ?? call.atMost.tokens), 0)
          for (const { what, which, tokens, caseId } of steps) {
            const known = granted[which]
            if (what === 'reserve') {
              const call = purchase({ tokens }, { caseId })
              const fits = used(caseId) + tokens <= 60 && used() + tokens <= 100
              const { granted: yes } = await budgets.reserve(call)
              expect(yes).toBe(fits)
              if (yes) granted.push({ call, spent: null })
            } else if (known !== undefined) {
              if (what === 'repeat') expect(await budgets.reserve(known.call)).toEqual(GRANTED)
              else {
                expect(
                  await budgets.settle(known.call.ticket, { tokens: tokens % (known.call.atMost.tokens + 1), usd: 0 }),
                ).toBe('settled')
                known.spent ??= tokens % (known.call.atMost.tokens + 1)
              }
            }
            const inFlight = granted.reduce(
              (sum, { call, spent }) => sum + (spent === null ? call.atMost.tokens : 0),
              0,
            )
            const standing = { used: { tokens: used(), usd: 0 }, inFlight: { tokens: inFlight, usd: 0 } }
            expect(await budgets.total()).toEqual(standing)
            expect(used()).toBeLessThanOrEqual(100)
          }
          await close()
        }),
        { numRuns: 40 },
      )
    })
  })
}
