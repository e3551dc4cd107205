import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import { topicsOf } from '../../config/topics.ts'
import { command as verdicts } from '../../src/app/commands/verdicts.ts'
import type { Terminal } from '../../src/cli/terminal.ts'
import type { Verdict } from '../../src/contracts/facts/verdict.ts'
import type { WhatIfOptions } from '../../src/lab/commands/what-if/options.ts'
import { command as whatIf } from '../../src/lab/commands/what-if/what-if.ts'
import { perform } from '../support/commands.ts'
import { type Shown, startModelServer } from '../support/model-server.ts'
import { onServers } from '../support/on-servers.ts'
import { startOneModel } from '../support/one-model.ts'
import { ownFolder } from '../support/own-folder.ts'
import { clientOf, environmentOn, eventually, protocolsOn, settingsOf, silent } from '../support/pipeline.ts'

const it = onServers({})
const BEGUN = Date.now() - 3_600_000
const at = (seconds: number) => new Date(BEGUN + seconds * 1_000).toISOString()
const POSTS = 20
const TEXTS = [
  (nth: number) => `The ferry number ${nth} leaves from the old quay.`,
  (nth: number) => `You are an idiot, number ${nth}, and your bus is late.`,
  (nth: number) => `They are vermin and should leave our street ${nth}.`,
]
const textOf = (nth: number) => TEXTS[nth % TEXTS.length]?.(nth) ?? ''
/** All perspectives go by the policy that they are shown: insults are hateful where a clause H6 says so, vermin always. */
function obedient({ text, stage }: Shown): object {
  if (stage === '') return { answer: 'Yes' }
  const [word] = /vermin/.exec(text) ?? (text.includes('H6 Insults') ? /idiot(?=, number)/.exec(text) : null) ?? []
  const clauses = word === undefined ? [] : [{ id: word === 'idiot' ? 'H6' : 'H1', quote: word }]
  return { reason: 'By the policy.', label: word === undefined ? 'Not hateful' : 'Hateful', clauses }
}

it('tells what a changed clause or prompt would have changed: the price first, and asks nothing that is known', {
  timeout: 180_000,
}, async ({ stack, start }) => {
  const folder = ownFolder('what-if')
  const environment = environmentOn(stack, {
    ...protocolsOn('hate', 'rumor'),
    GAVEL_RECORD_PATH: join(folder, 'record.sqlite'),
    GAVEL_CLOCK_IDLE_AFTER: '500ms',
    GAVEL_CHECKPOINTS_COUNTS: '3,7',
    GAVEL_CHECKPOINTS_REOPEN: 'true',
    GAVEL_PROTOCOLS_HATE_DEBATE_WHEN: 'contested',
    GAVEL_PROTOCOLS_HATE_CONTROL_SHARE: '0',
  })
  const topics = topicsOf(settingsOf(environment))
  await start(environment, 'intake,judge,publish,record')
  const producer = clientOf(environment).producer()
  await producer.connect()
  const send = (topic: string, values: readonly { id: string; postId?: string }[]) =>
    producer.send({
      topic,
      messages: values.map((value) => ({ key: value.postId ?? value.id, value: JSON.stringify(value) })),
    })
  const { signal } = new AbortController()
  const recorded = async (protocol: string) => {
    const lines: string[] = []
    const terminal: Terminal = { ...silent, out: (line) => void lines.push(String(line)) }
    const options = { record: true, last: 1_000, protocol, json: true } as const
    await perform(verdicts, settingsOf(environment), [], options, { terminal, signal })
    return lines.map((line) => JSON.parse(line) as Verdict)
  }
  const asked: string[] = []
  let during = async (_: string): Promise<unknown> => undefined
  const server = await startModelServer((shown) => {
    if (shown.stage !== '') asked.push(shown.text)
    return during(shown.text).then(() => obedient(shown))
  })
  const said: string[] = []
  const run = async (options: Omit<WhatIfOptions, 'since'>, changes: Record<string, string> = {}, stop = signal) => {
    said.length = asked.length = 0
    const terminal: Terminal = { ...silent, say: (line) => void said.push(String(line)) }
    const settings = settingsOf({ ...environment, ...server.settings, ...changes })
    const given = { ...options, since: { ago: 86_400_000 }, json: true }
    return perform(whatIf, settings, [], given, { terminal, signal: stop })
  }
  try {
    const posts = Array.from({ length: POSTS }, (_, nth) => ({ id: `p${nth}`, text: textOf(nth), createdAt: at(nth) }))
    await send(topics.posts, posts)
    await eventually(async () => (await recorded('hate')).length === POSTS, 60_000)
    const policies = join(folder, 'new')
    mkdirSync(policies)
    const shipped = readFileSync(join(PROJECT, 'config', 'policies', 'hate.md'), 'utf8')
    const clause = '## H6 Insults of anybody\nCovers:\n- calling anybody an idiot\n\n# Allowed'
    writeFileSync(join(policies, 'house.md'), shipped.replace('# Allowed', clause))
    const tried = { protocol: 'hate', policy: policies, out: join(folder, 'out') }
    expect(await run(tried)).toBeNull()
    expect(said[0]).toMatch(/^20 cases found, 20 can be replayed\. 20 have new questions, .* for about \$0\.\d+\./)
    expect(asked).toEqual([])

    // A run that is stopped goes on where it was: what has an answer is not asked again.
    const stop = new AbortController()
    const answered = new Set<string>()
    during = async (text) => {
      answered.add(text)
      if (answered.size === 7) stop.abort()
    }
    const sampled = { ...tried, sample: 4 }
    await expect(run({ ...sampled, out: join(folder, 'stopped') }, {}, stop.signal)).rejects.toThrow(
      'run it again to go on',
    )
    during = async () => undefined
    const some = await run(sampled)
    expect(some?.cases).toMatchObject({ replayed: 4, notDrawn: POSTS - 4 })
    const first = [...asked]
    const report = await run({ ...tried, budget: 5 })
    expect(report?.cases, said.join('\n')).toEqual({
      found: POSTS,
      leftOut: {},
      replayed: POSTS,
      unchanged: 0,
      notDrawn: 0,
    })
    expect(asked.filter((text) => first.includes(text))).toEqual([])
    expect(new Set([...first, ...asked]).size).toBe(3 * POSTS)

    const before = await recorded('hate')
    const labelOf = (nth: number) => before.find(({ id }) => id === `hate~p${nth}~r1`)?.label
    const truth = posts.map((_, nth) => (nth % 3 === 0 ? 'non-hate' : 'hate'))
    const flips = posts.flatMap(({ id }, nth) => (labelOf(nth) === truth[nth] ? [] : [id]))
    expect(flips.length).toBeGreaterThan(3)
    expect(report?.posts.map(({ subjectId }) => subjectId).toSorted()).toEqual(flips.toSorted())
    expect(report?.flips.all).toMatchObject({ hits: flips.length, cases: POSTS, share: flips.length / POSTS })
    expect(report?.flips.directions).toMatchObject([{ from: 'non-hate', to: 'hate', hits: flips.length }])
    expect(report?.flips.clauses.map(({ value }) => value)).toContain('H6')
    expect(report?.posts.find(({ after }) => after.clauses?.[0]?.id === 'H6')).toMatchObject({
      words: expect.stringContaining('idiot'),
      before: { label: 'non-hate' },
      after: { label: 'hate', clauses: [{ id: 'H6', quote: 'idiot' }] },
    })
    const page = readFileSync(join(folder, 'out', 'report.html'), 'utf8')
    expect(page).toContain('non-hate → hate')
    expect(page).toContain('idiot, number 1')
    // Nothing is published.
    expect(await recorded('hate')).toEqual(before)

    // Under another key texts are fenced in another way, and nothing could be compared.
    const otherKey = await run(tried, { GAVEL_FENCES_KEY: 'another key than theirs' })
    expect([otherKey?.cases.leftOut, asked]).toEqual([{ key: POSTS }, []])
    await expect(run({ ...tried, model: 'gone', budget: 5 })).rejects.toThrow(/--budget needs a price of gone/)

    const { default: [priced] = [] } = settingsOf({ ...environment, ...server.settings }).models.roles
    const fallback = run({ ...tried, budget: 5 }, { GAVEL_MODELS_ROLES: `{ default: ["${priced}", other] }` })
    await expect(fallback).rejects.toThrow(/--budget needs a price of other/)

    const one = await startOneModel('mine')
    const gone = run({ ...tried, model: 'gone', sample: 5 }, one.settings)
    await expect(gone).rejects.toThrow('Nothing was asked: the endpoint has no model gone.')
    expect(one.asked).toEqual(['gone'])
    await one.close()
    const large = join(folder, 'large.md')
    writeFileSync(large, `${shipped}${'more '.repeat(200_000)}`)
    await expect(run({ ...tried, policy: large })).rejects.toThrow(/large\.md: has more than 65536 bytes$/)
    await expect(run({ ...tried, protocol: 'rumor' })).rejects.toThrow(/new has no policy for rumor/)

    // What is deleted while it is replayed is shown to nobody.
    during = async (text) => {
      if (!text.includes('idiot, number 1,') || during === undefined) return
      during = async () => undefined
      await send(topics.posts, [{ id: 'p1', createdAt: at(0), deleted: true } as { id: string }])
      await eventually(async () => (await recorded('hate')).every(({ id }) => id !== 'hate~p1~r1'), 30_000)
    }
    const erased = await run({ ...tried, budget: 5, out: join(folder, 'erased') })
    expect(erased?.cases.leftOut).toEqual({ erased: 1 })
    expect(JSON.stringify(erased)).not.toContain('idiot, number 1,')

    // Threads in their later revisions: what was asked for earlier ones is not asked again.
    const comments = (from: number) =>
      Array.from({ length: 4 }, (_, n) => ({
        id: `c${from + n}`,
        postId: 'p0',
        author: `a${from + n}`,
        text: n % 2 === 0 ? `I saw it, it is ${from + n} true` : `No, that is false, number ${from + n}`,
        createdAt: at(100 + from + n),
      }))
    await send(topics.comments, comments(0))
    await eventually(async () => (await recorded('rumor')).some(({ counts }) => counts.accepted === 4), 60_000)
    await send(topics.comments, comments(4))
    await eventually(async () => (await recorded('rumor')).some(({ counts }) => counts.accepted === 8), 60_000)
    const prompts = join(folder, 'prompts')
    mkdirSync(prompts)
    const judge = readFileSync(join(PROJECT, 'config', 'prompts', 'rumor', 'judge.md'), 'utf8')
    writeFileSync(join(prompts, 'judge.md'), judge)
    const calledBefore = stack.understudy?.calls().length
    const same = await run({ protocol: 'rumor', prompts, out: join(folder, 'same') }, environment)
    expect(same?.cases).toMatchObject({ found: POSTS - 1, replayed: POSTS - 1, unchanged: POSTS - 1 })
    expect([same?.flips.all.hits, stack.understudy?.calls().length]).toEqual([0, calledBefore])
    writeFileSync(join(prompts, 'judge.md'), `${judge}\nThink twice.\n`)
    const calls = stack.understudy?.calls().length ?? 0
    const sharper = await run({ protocol: 'rumor', prompts, sample: 100, out: join(folder, 'rumor') }, environment)
    expect(sharper?.cases).toMatchObject({ found: POSTS - 1, replayed: POSTS - 1, unchanged: POSTS - 2 })
    expect(
      stack.understudy
        ?.calls()
        .slice(calls)
        .map(({ stage }) => stage),
    ).toEqual(['answer', 'judge'])
    const { drawn = 0, bill = 0 } = sharper?.usd ?? {}
    expect(Math.abs(drawn / bill - 1)).toBeLessThan(0.1)
  } finally {
    await producer.disconnect()
    await server.close()
  }
})
