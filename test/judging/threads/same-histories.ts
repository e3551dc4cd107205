import { deepStrictEqual } from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import type { Redis } from 'ioredis'
import { TOLD_BYTES } from '../../../src/judging/threads/decision-rules.ts'
import { redisCases } from '../../../src/store/case/redis.ts'
import { redisDecisions } from '../../../src/store/decision/redis.ts'
import { memoryStores } from '../../../src/store/memory-stores.ts'
import { redisOutbox } from '../../../src/store/outbox/redis.ts'
import { NO_FENCING } from '../../../src/store/redis/incarnation.ts'
import { type Keys, keysUnder } from '../../../src/store/redis/keys.ts'
import { threadTable } from '../../../src/store/thread/memory-table.ts'
import { redisThreads } from '../../../src/store/thread/redis.ts'
import { HOUR, T0 } from '../../contracts/samples.ts'
import { threadBytesIn } from '../../support/held-bytes.ts'
import { history, rulesOf } from './histories.ts'
import type { Step } from './history-steps.ts'
import { inRedis, plain } from './redis-thread.ts'
import { type HistoryRules, REFS, runOn } from './run-history.ts'

const KEEP_MS = HOUR
const READ_EVERY = 5
const TENANTS = Map.groupBy(REFS, ({ tenant }) => tenant)
/** Of a run that failed: the same histories again. */
const SEED = process.env.HISTORIES_SEED

/**
 * Runs random histories through the rules of `src/judging/threads/`, as the stores in memory keep threads by them, and through real
 * Redis. After every step both have said the same, and hold the same of the thread that it was about; every few steps, of
 * everything. Stops at the first difference, with the seed and the steps that are needed for it; as failed, if it takes longer
 * than `limitMs`. Returns how often each step ended how.
 */
export async function sameHistories(client: Redis, how: { runs: number; steps: number; limitMs: number }) {
  const ends = new Map<string, number>()
  const both = fc.asyncProperty(rulesOf, history(how.steps), async (rules, steps) => {
    for (const end of await runBoth(client, rules, steps)) ends.set(end, (ends.get(end) ?? 0) + 1)
  })
  await fc.assert(both, {
    numRuns: how.runs,
    ...(SEED === undefined ? {} : { seed: Number(SEED) }),
    interruptAfterTimeLimit: how.limitMs,
    markInterruptAsFailure: true,
    reporter(outcome) {
      if (!outcome.failed) return
      const [rules, steps] = outcome.counterexample ?? []
      const told = (steps ?? []).filter((step) => step.do !== 'nothing').map((step) => JSON.stringify(step))
      throw new Error(
        [`seed ${outcome.seed}, under ${JSON.stringify(rules)}:`, ...told, String(outcome.errorInstance)].join('\n'),
      )
    },
  })
  return ends
}

async function runBoth(client: Redis, rules: HistoryRules, steps: readonly Step[]): Promise<string[]> {
  const keys = keysUnder(`test-${randomUUID()}`)
  const clock = { now: T0 }
  const now = () => clock.now
  const keep = { keepJournalMs: KEEP_MS, keepAfterFinalMs: KEEP_MS, keepTombstoneMs: KEEP_MS }
  const table = threadTable()
  const memory = memoryStores(now, table)
  const redis = {
    threads: redisThreads(client, keys, { ...keep, clock: now }),
    cases: redisCases(client, keys, now),
    outbox: redisOutbox(client, client, keys, { ...keep, clock: now }),
    decisions: redisDecisions({ client, keys, settings: keep, token: NO_FENCING }),
  }
  const [inMemory, onRedis] = [runOn(memory, clock, rules), runOn(redis, clock, rules)]
  const ends: string[] = []
  const taken = steps.filter((step) => step.do !== 'nothing')
  for (const [at, step] of taken.entries()) {
    clock.now++
    // Where these throw: `+` is what the rules made, `-` what Redis did.
    const [said, expected] = [await inMemory(step), await onRedis(step)]
    // Which of two threads that are due at the same time is first, nobody promises.
    const inTurn = (['at', 'since'] as const).every(
      (time) => new Set(table.due().map((one) => one[time])).size === table.due().length,
    )
    if (step.do !== 'due' || inTurn) deepStrictEqual(said, expected)
    ends.push(...endsOf(step, said))
    await Promise.all(
      REFS.filter((_, index) => !('thread' in step) || step.thread === index).map(async (ref) => {
        const stored = await inRedis(client, keys, ref)
        deepStrictEqual(plain(table.find(ref), rules), stored)
      }),
    )
    const told = at % READ_EVERY === 0 ? await toldIn(client, keys) : []
    for (const [tenant, ofTenant] of TENANTS) {
      const account = await redis.threads.heldBy(tenant, clock.now)
      deepStrictEqual(await memory.threads.heldBy(tenant, clock.now), account)
      const outcomes = told.filter((ref) => ref !== undefined && ofTenant.includes(ref)).length
      if (at % READ_EVERY === 0) {
        const there = (await threadBytesIn(client, keys, ofTenant)) + (await hourlyIn(client, keys, tenant))
        deepStrictEqual(there + TOLD_BYTES * outcomes, account)
      }
    }
    // Everything at once is much to read; what went wrong earlier shows here as well.
    if (at % READ_EVERY === 0 || at === taken.length - 1)
      deepStrictEqual(await readingOf(memory, inTurn), await readingOf(redis, inTurn))
  }
  return ends
}

/** Of each decision whose outcome is kept, its thread: its partition is that one's number. */
async function toldIn(client: Redis, keys: Keys) {
  const told = await client.keys(keys.told('*'))
  return told.map((key) => REFS[Number(/(\d+)@\d+$/.exec(key)?.[1])])
}

/** What is counted by the hour: of posts that came and nobody judged, also where somebody does by now, and of links. */
async function hourlyIn(client: Redis, keys: Keys, tenant: string): Promise<number> {
  const parts = Object.entries(await client.hgetall(`${keys.kept}parts:${tenant}`))
  return parts.reduce((sum, [part, bytes]) => (/^(passed|links) /.test(part) ? sum + Number(bytes) : sum), 0)
}

/** How a step ended, in a word or two: a batch of comments in as many as it has. */
function endsOf(step: Step, said: unknown): string[] {
  if (Array.isArray(said) && said.length > 0 && step.do !== 'due')
    return said.map((one) => `${step.do}: ${typeof one === 'string' ? one.replace(/.*~/, '~') : 'something'}`)
  const done = typeof said === 'object' && said !== null && 'done' in said ? said.done : said
  return [`${step.do}: ${Array.isArray(done) ? done.length : typeof done === 'object' ? done && 'something' : done}`]
}

type Readable = Pick<ReturnType<typeof memoryStores>, 'threads' | 'cases' | 'outbox'>

/** All that the ports let anybody read. */
async function readingOf({ threads, cases, outbox }: Readable, inTurn: boolean) {
  const states = await Promise.all(REFS.map((ref) => threads.read(ref)))
  const openIds = states.flatMap((state) =>
    [...(state?.revisions.values() ?? [])].flatMap(({ openId }) => openId ?? []).sort(),
  )
  const [due, paused, countDue, size, countOpen, idle, replies] = await Promise.all([
    threads.due(Number.POSITIVE_INFINITY, 100),
    threads.paused(),
    threads.countDue(T0 + 15 * 60_000),
    outbox.size(),
    cases.countOpen(),
    cases.idle(0, 100),
    Promise.all(REFS.map((ref) => threads.repliesTo(ref, 99))),
  ])
  return {
    // Before the post has come there is no checkpoint.
    states: states.map((state) => (state?.post == null ? { ...state, nextAge: null } : state)),
    cases: await Promise.all(openIds.map((id) => cases.unpublished(id))),
    replies: replies.map((some) => some.map(({ postId }) => postId).sort()),
    due: inTurn ? due : due.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)),
    paused,
    countDue,
    size,
    countOpen,
    idle,
  }
}
