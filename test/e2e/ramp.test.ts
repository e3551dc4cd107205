import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { expect } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import { auditEntry } from '../../src/contracts/facts/audit.ts'
import { samplingRanks } from '../../src/contracts/facts/sampling-rank.ts'
import { isOfVariant } from '../../src/contracts/facts/variant-draw.ts'
import type { Verdict } from '../../src/contracts/facts/verdict.ts'
import { commandIn } from '../support/command-in.ts'
import { HOUSE_KEY, withHousePolicy } from '../support/house-policy.ts'
import { onServers } from '../support/on-servers.ts'
import { ownFolder } from '../support/own-folder.ts'
import { eventually, recordsOf, verdictsOf } from '../support/pipeline.ts'
import { sendPosts } from '../support/sent-posts.ts'

const it = onServers({})
const POSTS = 16

it('a variant judges the part of subjects that the key draws, through a kill, an emptied Redis, live and back', {
  timeout: 300_000,
}, async ({ stack, start }) => {
  const folder = ownFolder('ramp')
  const { model, environment, stricter } = await withHousePolicy(stack, { folder, latencyMs: 20 })
  const config = join(folder, 'ramp.yaml')
  const set = (ramp: number) =>
    writeFileSync(config, JSON.stringify({ protocols: { hate: { variants: { stricter: { ramp, ...stricter } } } } }))
  const isDrawn = (postId: string) =>
    isOfVariant(
      'stricter',
      'hate',
      { tenant: 'default', kind: 'post', postId },
      { share: 0.5, rank: samplingRanks(HOUSE_KEY) },
    )
  const run = () => start(environment, 'intake,judge,publish', PROJECT, ['--config', config])
  const createdAt = new Date(Date.now() - 60_000).toISOString()
  const send = (ids: readonly string[], text: string) =>
    sendPosts(
      environment,
      ids.map((id) => ({ key: id, value: JSON.stringify({ id, text, createdAt }) })),
    )
  const named = (name: string) => Array.from({ length: POSTS }, (_, nth) => `${name}${nth}`)
  const of = async (name: string, revision = 1) =>
    (await verdictsOf(environment)).filter((one) => one.subjectId.startsWith(name) && one.revision >= revision)
  const expected = (one: Verdict, variant: boolean) =>
    expect([one.label, one.policy?.name, one.variant], one.id).toEqual(
      variant ? ['hate', 'House rules', 'stricter'] : ['non-hate', 'Hate speech, in plain words', undefined],
    )
  set(0.5)
  let service = await run()
  try {
    await send(named('a'), 'You are an idiot.')
    await eventually(async () => (await of('a')).length >= 3, 60_000)
    await service.kill('SIGKILL')
    service = await run()
    await eventually(async () => new Set((await of('a')).map(({ id }) => id)).size === POSTS, 60_000)
    const first = await of('a')
    for (const one of first) expected(one, isDrawn(one.subjectId))
    expect(new Set(first.map(({ variant }) => variant)).size, 'some of each').toBe(2)

    // Which subject is whose is told by settings and key alone.
    await service.kill('SIGKILL')
    const client = new Redis(stack.settings.REDIS_URL ?? '')
    await client.flushall()
    client.disconnect()
    const recovered = await commandIn(folder, ['recover', '--config', config], environment)
    expect(recovered.code, recovered.said).toBe(0)
    service = await run()
    await send(named('a'), 'You are such an idiot.')
    await eventually(async () => new Set((await of('a', 2)).map(({ subjectId }) => subjectId)).size === POSTS, 60_000)
    for (const one of await of('a', 2)) expected(one, isDrawn(one.subjectId))

    // Live for all, and back, by the settings alone; what was before comes again to the byte.
    const reload = async (...words: string[]) => {
      const before = service.log.length
      const changed = await commandIn(folder, ['variant', ...words, '--config', config, '--by', 'ann'], environment)
      expect(changed.code, changed.said).toBe(0)
      // Two hangups within half a second are one: it is sent until it is heard.
      const isHeard = async () => {
        service.process.kill('SIGHUP')
        return service.log.slice(before).some((line) => line.includes('stricter.ramp'))
      }
      await eventually(isHeard, 20_000, () => service.log.slice(-20).join('\n'))
    }
    await reload('live', 'stricter')
    await send(named('b'), 'You are an idiot.')
    await eventually(async () => (await of('b')).length === POSTS, 60_000)
    for (const one of await of('b')) expected(one, true)
    await reload('back', 'stricter')
    await send(named('c'), 'You are an idiot.')
    await eventually(async () => (await of('c')).length === POSTS, 60_000)
    const plain = first.find(({ variant }) => variant === undefined)
    for (const one of await of('c')) {
      expected(one, false)
      expect(one.versions).toEqual(plain?.versions)
    }
    const audited = (await recordsOf(environment, 'audit')).map((record) => auditEntry.parse(JSON.parse(record)))
    expect(audited.map(({ by, page }) => [by, page])).toEqual([
      ['ann', '/variant/hate/stricter/1'],
      ['ann', '/variant/hate/stricter/0'],
    ])
    const texts = new Map<string, string>()
    for (const one of await verdictsOf(environment)) {
      const text = JSON.stringify(one)
      expect(texts.get(one.id) ?? text, one.id).toBe(text)
      texts.set(one.id, text)
    }
  } finally {
    await model.close()
  }
})
