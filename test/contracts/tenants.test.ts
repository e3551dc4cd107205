import { randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Ask } from '../../src/contracts/facts/ask.ts'
import { postMessage } from '../../src/contracts/facts/messages.ts'
import type { ThreadRef } from '../../src/contracts/facts/thread.ts'
import type { BudgetSettings } from '../../src/contracts/ports/budgets.ts'
import type { CaseStore } from '../../src/contracts/ports/cases.ts'
import type { ThreadStore } from '../../src/contracts/ports/threads.ts'
import { askContext } from '../../src/models/context.ts'
import { gateway } from '../../src/models/gateway.ts'
import type { GatewayParts, GatewaySettings } from '../../src/models/parts.ts'
import { memoryBudgets } from '../../src/store/budget/memory.ts'
import { redisBudgets } from '../../src/store/budget/redis.ts'
import { redisCases } from '../../src/store/case/redis.ts'
import { memoryLimits } from '../../src/store/limit/memory.ts'
import { redisLimits } from '../../src/store/limit/redis.ts'
import { memoryMemo } from '../../src/store/memo/memory.ts'
import { redisMemo } from '../../src/store/memo/redis.ts'
import { memoryStores } from '../../src/store/memory-stores.ts'
import { keysUnder } from '../../src/store/redis/keys.ts'
import { redisThreads } from '../../src/store/thread/redis.ts'
import { onRedis } from '../support/on-redis.ts'
import { GATEWAY } from '../support/parts.ts'
import { budgetSettings } from './budgets.ts'
import { ARRIVAL, HOUR, postOf, RULES, recordOf, T0, thread } from './samples.ts'

/** Names that a plain object has already, and that a tenant, a model, a role or an author may bear. */
const HOSTILE = ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf', '__defineGetter__', 'default']

/** Due without waiting for the stream's clock. */
const AT_ONCE = 0

let client: Redis
onRedis.beforeAll(({ client: one }) => {
  client = one
})

interface World extends Pick<GatewayParts, 'memo' | 'limits' | 'budgets'> {
  readonly threads: ThreadStore
  readonly cases: CaseStore
}
const WORLDS: readonly [string, (budgets: BudgetSettings) => World][] = [
  [
    'in memory',
    (budgets) => ({
      memo: memoryMemo(Date.now),
      limits: memoryLimits(Date.now),
      budgets: memoryBudgets(budgets, Date.now),
      ...memoryStores(() => T0),
    }),
  ],
  [
    'in Redis',
    (budgets) => {
      const keys = keysUnder(`tenants-${randomUUID()}`)
      return {
        memo: redisMemo(client, keys.under),
        limits: redisLimits(client, (name) => keys.under(`limits:${name}`)),
        budgets: redisBudgets(client, keys.under, budgets),
        threads: redisThreads(client, keys, { keepTombstoneMs: HOUR, keepAfterFinalMs: HOUR }),
        cases: redisCases(client, keys, () => T0),
      }
    },
  ],
]

const question: Ask = {
  stage: 'opinion',
  role: 'debater',
  messages: [{ role: 'user', content: 'Fake or Real?' }],
  answer: z.object({ answer: z.enum(['Fake', 'Real']) }),
  temperature: 0,
  maxTokens: 10,
}

describe.each(WORLDS)('tenants, %s', (_, world) => {
  /** A gateway whose model answers with 50 tokens at once; `asked` are the models of its calls. */
  function gatewayOf(settings: Partial<GatewaySettings>, budgets: Partial<BudgetSettings> = {}) {
    const asked: string[] = []
    const made = gateway({
      ...world(budgetSettings(budgets)),
      model: {
        async complete({ model }) {
          asked.push(model)
          const usage = { promptTokens: 40, cachedTokens: 0, completionTokens: 10 }
          return { text: '{"answer": "Fake"}', finish: 'stop', model: `${model}-2026`, ...usage }
        },
      },
      loadImage: async () => '',
      settings: { ...GATEWAY, ...settings },
      clock: Date.now,
      report: () => {},
    })
    let calls = 0
    const ask = (tenant: string, over: Partial<Ask> & { postId?: string; remember?: boolean } = {}) => {
      const { postId = 'p1', remember = false, ...asking } = over
      const id = `${tenant} ${++calls}`
      const signal = new AbortController().signal
      const tries = { attempt: 1, last: false, signal, deadline: Date.now() + HOUR, calls: [] }
      const subject: ThreadRef = { tenant, postId, kind: 'post' }
      return made.ask(
        askContext({
          ask: { ...question, ...asking },
          protocol: 'rumor',
          subject,
          remember,
          caseId: id,
          askId: id,
          ...tries,
        }),
      )
    }
    /** What becomes of so many calls of a tenant: how many went through, and why the others did not. */
    const through = async (tenant: string, count: number) => {
      const ends = await Promise.allSettled(Array.from({ length: count }, () => ask(tenant)))
      const why = ends.flatMap((end) => (end.status === 'rejected' ? [String(end.reason.code)] : []))
      return { went: count - why.length, why: [...new Set(why)] }
    }
    /** The same one after the other: what a call sets aside is given back before the next one asks for room. */
    const inTurn = async (tenant: string, count: number) => {
      let went = 0
      for (let nth = 0; nth < count; nth++)
        went += await ask(tenant).then(
          () => 1,
          () => 0,
        )
      return { went }
    }
    return { ask, through, inTurn, asked }
  }

  it.each(HOSTILE)(
    'one called %s has the limit of those that are not named, and takes nothing of another’s',
    async (name) => {
      expect(
        postMessage.safeParse({ id: 'p', tenant: name, text: 't', createdAt: '2026-01-01T00:00:00Z' }).success,
      ).toBe(true)
      const two = { callsPerMinute: 2 }
      const { through } = gatewayOf({ limits: { models: {}, tenants: { default: two } } })
      expect(await through(name, 20)).toEqual({ went: 2, why: ['limited'] })
      expect(await through('quiet', 3)).toEqual({ went: 2, why: ['limited'] })
    },
  )

  it.each(HOSTILE)('one called %s has the limit that is set for it', async (name) => {
    const tenants = Object.fromEntries([
      ['default', { callsPerMinute: 9 }],
      [name, { callsPerMinute: 1 }],
    ])
    const { through } = gatewayOf({ limits: { models: {}, tenants } })
    expect((await through(name, 5)).went).toBe(1)
  })

  it.each(HOSTILE)(
    'a model called %s has the limit, the price and the roles of one that is not named',
    async (name) => {
      const { through, asked } = gatewayOf({
        roles: { default: [name] },
        limits: { models: { default: { callsPerMinute: 2 } }, tenants: {} },
      })
      expect(await through('t', 20)).toEqual({ went: 2, why: ['limited'] })
      expect(asked).toEqual([name, name])
      const free = gatewayOf({ roles: { default: [name] } })
      expect((await free.ask('t', { role: name })).usage.costUsd).toBe(0)
    },
  )

  it.each(HOSTILE)('one called %s spends its own budget and no other’s', async (name) => {
    const budgets = { tenant: { tokens: 1_000, usd: null, per: HOUR } }
    const { inTurn } = gatewayOf({ whenSpent: 'degrade' }, budgets)
    const alone = await inTurn('alone', 20)
    expect(alone.went).toBeGreaterThan(0)
    expect(alone.went).toBeLessThan(20)
    expect((await inTurn(name, 20)).went).toBe(alone.went)
    expect((await inTurn('quiet', 20)).went).toBe(alone.went)
    const own = gatewayOf(
      { whenSpent: 'degrade' },
      { ...budgets, tenants: Object.fromEntries([[name, { tokens: 1, usd: null }]]) },
    )
    expect(await own.through(name, 3)).toEqual({ went: 0, why: ['budget'] })
  })

  it.each(HOSTILE)('one called %s finds its own answers and nobody else’s', async (name) => {
    const memo = { enabled: true, keep: HOUR, lease: 5_000, patience: 2_000, maxBytes: 10_000 }
    const { ask, asked } = gatewayOf({ memo })
    const hits = async (tenant: string, postId: string) =>
      (await ask(tenant, { postId, remember: true })).usage.memoHits
    expect(await hits('quiet', 'p1')).toBe(0)
    expect(await hits(name, 'p1')).toBe(0)
    expect(await hits(name, '__proto__')).toBe(1)
    expect(await hits('quiet', 'constructor')).toBe(1)
    expect(asked).toHaveLength(2)
  })

  it('with hostile names take turns like any others', async () => {
    const { threads, cases } = world(budgetSettings())
    const put = async (tenant: string, count: number) => {
      const refs = Array.from({ length: count }, (_, index) =>
        thread(`${HOSTILE[index % HOSTILE.length]} ${index}`, tenant),
      )
      const arrival = { ...ARRIVAL, threaded: false, atOnce: true }
      for (const ref of refs) await threads.putPost(ref, postOf(ref), arrival, RULES)
    }
    await put('loud', 50)
    for (const name of HOSTILE) await put(name, 2)
    const due = await threads.due(AT_ONCE, 16, 100)
    expect(due.filter(({ tenant }) => tenant === 'loud').length).toBeLessThanOrEqual(2)
    for (const name of HOSTILE) expect(due.filter(({ tenant }) => tenant === name)).toHaveLength(2)
    for (const ref of due) {
      const state = await threads.read(ref)
      if (state === null) throw new Error(`${ref.postId} is not there`)
      const record = recordOf(state)
      const opening = {
        cases: [{ record, seen: state.version }],
        waiting: [],
        dormant: [],
        nextDue: null,
        final: false,
      }
      expect(await threads.open(state, opening)).toEqual([record.id])
    }
    expect(await cases.countOpen()).toBe(16)
    expect(await threads.countDue(AT_ONCE)).toBe(50 + 2 * HOSTILE.length - 16)
  })
})
