import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Redis } from 'ioredis'
import { afterEach, describe, expect, it } from 'vitest'
import type { ThreadRef } from '../../src/contracts/facts/thread.ts'
import type { Memo } from '../../src/contracts/ports/memo.ts'
import type { RestartableServer } from '../../src/kit/stack/servers/local-server.ts'
import { startUnderstudy, type Understudy } from '../../src/kit/understudy/server.ts'
import { memoryMemo } from '../../src/store/memo/memory.ts'
import { redisMemo } from '../../src/store/memo/redis.ts'
import { onRedis } from '../support/on-redis.ts'
import { entryOf, memoContract } from './memo.ts'
import type { AskerEnd, AskerOptions } from './memo-asker.ts'
import { T0, thread } from './samples.ts'

let server: RestartableServer
let client: Redis
onRedis.beforeAll(({ redis, client: one }) => {
  server = redis
  client = one
})

/** A memo under a prefix that no other test has. */
function redisHere(): { memo: Memo; prefix: string; keys: () => Promise<string[]> } {
  const prefix = `test-${randomUUID()}`
  const memo = redisMemo(client, (name) => `{${prefix}}:${name}`)
  return { memo, prefix, keys: () => client.keys(`{${prefix}}*`) }
}

memoContract('in Redis', async () => ({ memo: redisHere().memo, pass: (ms) => sleep(ms) }))
memoContract('in memory', async () => {
  let now = T0
  return {
    memo: memoryMemo(() => now),
    async pass(ms) {
      now += ms
    },
  }
})

describe('the memo in Redis', () => {
  it('leaves nothing without an expiry', async () => {
    const { memo, keys } = redisHere()
    await memo.lookUp(['kept'], 'a', 1_000, thread('p1'))
    await memo.keep([{ key: 'kept', entry: JSON.stringify(entryOf()) }], 'a', 10_000, thread('p1'))
    await memo.lookUp(['kept'], 'b', 1_000, thread('p2'))
    await memo.lookUp(['asked'], 'a', 1_000, thread('p3'))
    await memo.lookUp(['asked'], 'b', 1_000, thread('p4'))
    await memo.forget(thread('p5'), 1_000)
    const all = await keys()
    expect(all).toHaveLength(7)
    for (const key of all) expect(await client.pttl(key), key).toBeGreaterThan(0)
  })

  it('keeps a subject’s index as long as the longest answer in it, and drops from it what has expired', async () => {
    const { memo, prefix } = redisHere()
    const p1 = thread('p1')
    const index = `{${prefix}}:memo:of:default:p1`
    const keep = async (key: string, ms: number) => {
      await memo.lookUp([key], 'a', 10, p1)
      await memo.keep([{ key, entry: JSON.stringify(entryOf()) }], 'a', ms, p1)
    }
    await keep('long', 100_000_000)
    expect(await client.pttl(index)).toBeGreaterThan(99_000_000)
    await client.zadd(index, Date.now() - 1, 'expired')
    await keep('short', 1_000)
    expect(await client.pttl(index)).toBeGreaterThan(99_000_000)
    expect((await client.zrange(index, '0', '-1')).sort()).toEqual(['long', 'short'])
  })

  it('erases what a subject asked about, and what has expired of it, though another keeps their prompt alive', async () => {
    const { memo, keys } = redisHere()
    const [mine, others] = [thread('mine'), thread('others')]
    const ask = async (key: string, subject: ThreadRef, answer: string, ms: number) => {
      await memo.lookUp([key], 'a', 10, subject)
      await memo.keep([{ key, entry: JSON.stringify(entryOf({ answer, raw: null })) }], 'a', ms, subject)
    }
    const held = async () => (await Promise.all((await keys()).map(dumped))).join(' ')
    await ask('frame.1', mine, 'first words', 300)
    await sleep(350)
    await ask('frame.2', others, 'other words', 60_000)
    expect(await held(), 'expired, and erased by who came next').not.toContain('first words')
    await ask('frame.3', mine, 'last words', 300)
    await ask('frame.4', others, 'more words', 60_000)
    await sleep(350)
    expect(await held()).toContain('last words')
    await memo.forget(mine, 0)
    expect(await held()).not.toContain('last words')
    expect(await held()).toContain('more words')
  })

  it('holds nothing of a subject longer because others go on asking without an answer', async () => {
    const { memo, prefix, keys } = redisHere()
    const mine = thread('mine')
    await memo.lookUp(['frame.1'], 'a', 10, mine)
    const entry = JSON.stringify(entryOf({ answer: 'my words', raw: null }))
    await memo.keep([{ key: 'frame.1', entry }], 'a', 200, mine)
    await sleep(300)
    await memo.lookUp(['frame.2'], 'b', 10, thread('others'))
    const held = (await Promise.all((await keys()).map(dumped))).join(' ')
    expect(held).not.toContain('my words')
    expect(await client.exists(`{${prefix}}:memo:of:default:mine`)).toBe(1)
  })

  it('remembers no more of a prompt than Redis can read at once, and asks the rest', async () => {
    const { memo } = redisHere()
    const p1 = thread('p1')
    for (let from = 0; from < 6_000; from += 500) {
      const items = Array.from({ length: 500 }, (_, item) => `frame.${from + item}`)
      const looks = await memo.lookUp(items, 'a', 60_000, p1)
      expect(looks.every(({ state }) => state === 'leased')).toBe(true)
    }
    expect((await memo.lookUp(['frame.1', 'frame.5999'], 'b', 60_000, p1)).map(({ state }) => state)).toEqual([
      'leased-by-other',
      'leased',
    ])
  })

  it('erases an answer that more subjects know than it can name with any of them', async () => {
    const { memo, keys } = redisHere()
    await memo.lookUp(['frame.1'], 'a', 1_000, thread('s0'))
    await memo.keep([{ key: 'frame.1', entry: JSON.stringify(entryOf()) }], 'a', 60_000, thread('s0'))
    for (let nth = 1; nth < 40; nth++) await memo.lookUp(['frame.1'], `asker ${nth}`, 1_000, thread(`s${nth}`))
    expect(await memo.forget(thread('s39'), 0)).toBe(1)
    expect((await keys()).filter((key) => key.includes('frame:'))).toEqual([])
  })

  it('holds no trace of the text when its subject is forgotten', async () => {
    const { memo, keys } = redisHere()
    const secret = 'SECRET-words'
    const traces = async () => {
      const held = await Promise.all((await keys()).map(async (key) => `${key} ${await dumped(key)}`))
      return held.filter((text) => text.includes(secret))
    }
    await memo.lookUp(['k'], 'a', 1_000, thread(`${secret}-id`))
    const entry = entryOf({ answer: { reasoning: secret }, raw: secret })
    await memo.keep([{ key: 'k', entry: JSON.stringify(entry) }], 'a', 60_000, thread(`${secret}-id`))
    await memo.lookUp(['k'], 'b', 1_000, thread('a-copy'))
    expect(await traces()).not.toHaveLength(0)
    await memo.forget(thread(`${secret}-id`), 0)
    expect(await traces()).toEqual([])
    expect(await keys()).toHaveLength(1)
  })

  async function dumped(key: string): Promise<string> {
    const type = await client.type(key)
    if (type === 'string') return (await client.get(key)) ?? ''
    if (type === 'hash') return JSON.stringify(await client.hgetall(key))
    return (await client.zrange(key, '0', '-1')).join(' ')
  }
})

describe('many processes', () => {
  let understudy: Understudy | undefined
  const children: ChildProcess[] = []
  afterEach(async () => {
    for (const child of children.splice(0)) child.kill('SIGKILL')
    await understudy?.close()
    understudy = undefined
  })

  async function process(options: Omit<AskerOptions, 'redisUrl' | 'modelUrl'>) {
    const all: AskerOptions = {
      ...options,
      redisUrl: server.settings.REDIS_URL ?? '',
      modelUrl: understudy?.settings.OPENAI_BASE_URL ?? '',
    }
    const file = fileURLToPath(new URL('./memo-asker.ts', import.meta.url))
    const child = spawn(globalThis.process.execPath, [file, JSON.stringify(all)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    children.push(child)
    const lines = createInterface({ input: child.stdout })
    await once(lines, 'line')
    return {
      child,
      async ask(): Promise<AskerEnd> {
        child.stdin.write('go\n')
        const [line] = (await once(lines, 'line')) as [string]
        return JSON.parse(line) as AskerEnd
      },
    }
  }

  const sum = (ends: readonly AskerEnd[], of: (end: AskerEnd) => number) =>
    ends.reduce((total, end) => total + of(end), 0)
  const calls = () => understudy?.calls() ?? []

  it('of 1,000 identical simultaneous questions from 4 processes, one reaches the model', async () => {
    understudy = await startUnderstudy({ latencyMs: 1_000 })
    const options = { prefix: `test-${randomUUID()}`, askers: 250, leaseMs: 5_000, patienceMs: 10_000 }
    const processes = await Promise.all([1, 2, 3, 4].map(() => process(options)))
    const before = await commands()
    const ends = await Promise.all(processes.map(({ ask }) => ask()))
    const spent = (await commands()) - before
    expect(calls()).toHaveLength(1)
    expect(sum(ends, (end) => end.calls)).toBe(1)
    expect(sum(ends, (end) => end.memoHits)).toBe(999)
    expect(new Set(ends.flatMap(({ answers }) => Object.keys(answers))).size).toBe(1)
    expect(sum(ends, ({ answers }) => Object.values(answers)[0] ?? 0)).toBe(1_000)
    const slowest = Math.max(...ends.map(({ seconds }) => seconds))
    globalThis.process.stdout.write(
      `1,000 askers of a question that takes 1 s: done in ${slowest.toFixed(2)} s, ${(spent / 1_000).toFixed(2)} script calls each\n`,
    )
  })

  it('askers who wait longer than their patience come again, and still one pays', async () => {
    understudy = await startUnderstudy({ latencyMs: 1_500 })
    const options = { prefix: `test-${randomUUID()}`, askers: 50, leaseMs: 600, patienceMs: 200 }
    const processes = await Promise.all([1, 2].map(() => process(options)))
    const ends = await Promise.all(processes.map(({ ask }) => ask()))
    expect(calls()).toHaveLength(1)
    expect(sum(ends, ({ answers }) => Object.values(answers)[0] ?? 0)).toBe(100)
    expect(sum(ends, ({ cameAgain }) => cameAgain)).toBeGreaterThanOrEqual(99)
  })

  it('an asker killed in mid-call costs exactly one more call, after its lease', async () => {
    understudy = await startUnderstudy({ latencyMs: 1_500 })
    const leaseMs = 1_000
    const options = { prefix: `test-${randomUUID()}`, leaseMs, patienceMs: 10_000 }
    const [doomed, ...others] = await Promise.all([1, 50, 50, 50].map((askers) => process({ ...options, askers })))
    void doomed?.ask().catch(() => {})
    await expect.poll(() => calls().length, { timeout: 5_000, interval: 5 }).toBe(1)
    const asking = Promise.all(others.map(({ ask }) => ask()))
    await sleep(300)
    doomed?.child.kill('SIGKILL')
    const killed = Date.now()
    const ends = await asking
    expect(calls().map(({ status }) => status)).toEqual(['aborted', 'answered'])
    expect(sum(ends, (end) => end.calls)).toBe(1)
    expect(sum(ends, ({ answers }) => Object.values(answers)[0] ?? 0)).toBe(150)
    const waited = (calls()[1]?.at ?? 0) - killed
    expect(waited).toBeLessThan(leaseMs + 1_500)
  })

  /** Scripts that Redis has run so far. */
  async function commands(): Promise<number> {
    const info = await client.info('commandstats')
    const counts = [...info.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)]
    return counts.reduce((total, [, count]) => total + Number(count), 0)
  }
})
