import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { expect } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import { newApiKey } from '../../src/contracts/facts/api-key.ts'
import { laneMark } from '../../src/contracts/facts/lane-mark.ts'
import { changeKeys } from '../../src/door/server/key-file.ts'
import { readLane } from '../../src/protocols/lane-file.ts'
import { DECIDER, startLaneModels } from '../support/lane-models.ts'
import { onServers } from '../support/on-servers.ts'
import { ownFolder } from '../support/own-folder.ts'
import { environmentOn, eventually, protocolsOn, transcriptsOf, verdictsOf } from '../support/pipeline.ts'
import { plantedLane, writtenLane } from '../support/planted-lane.ts'
import { sendPosts } from '../support/sent-posts.ts'

const it = onServers({})

it('a lane settles what its decider is sure of, through a kill; the debate has the rest, and all while the decider is away or the lane closed', {
  timeout: 120_000,
}, async ({ stack, start }) => {
  const folder = ownFolder('lane')
  const models = await startLaneModels()
  const path = writtenLane(join(folder, 'lane.json'), plantedLane('hate', DECIDER))
  const { hash, basis } = readLane(JSON.stringify(plantedLane('hate', DECIDER)))
  const config = join(folder, 'gavel.yaml')
  writeFileSync(
    config,
    JSON.stringify({
      protocols: { hate: { lane: [path] } },
      models: { roles: { decider: [DECIDER] }, dialects: { [DECIDER]: { decisions: 'chat' } } },
    }),
  )
  const keys = join(folder, 'keys.json')
  const made = newApiKey({
    tenant: 'default',
    scopes: ['judge'],
    by: 'ann',
    createdAt: '2026-01-01T10:00:00Z',
    expiresAt: null,
  })
  await changeKeys(keys, () => ({ keys: [made.kept], result: null }))
  const environment = environmentOn(stack, {
    ...protocolsOn('hate'),
    ...models.settings,
    GAVEL_CLOCK_IDLE_AFTER: '500ms',
    GAVEL_PROTOCOLS_HATE_DEBATE_WHEN: 'never',
    GAVEL_DOOR_KEYS: keys,
    GAVEL_DOOR_PORT: '0',
  })
  const run = () => start(environment, 'door,intake,judge,publish', PROJECT, ['--config', config])
  const createdAt = new Date(Date.now() - 60_000).toISOString()
  const send = (texts: Readonly<Record<string, string>>) =>
    sendPosts(
      environment,
      Object.entries(texts).map(([id, text]) => ({
        key: id,
        value: JSON.stringify({ id, text, lang: 'en', createdAt }),
      })),
    )
  const verdict = async (id: string) => (await verdictsOf(environment)).find(({ subjectId }) => subjectId === id)
  const judged = async (ids: readonly string[], log: readonly string[]) => {
    await eventually(
      async () => (await Promise.all(ids.map(verdict))).every(Boolean),
      30_000,
      () => log.slice(-5).join('\n'),
    )
    return Promise.all(ids.map(verdict))
  }
  const redis = new Redis(stack.settings.REDIS_URL ?? '')
  let service = await run()
  try {
    await send({ a: 'easy vermin words', b: 'easy words', c: 'hard vermin words' })
    const [a, b, c] = await judged(['a', 'b', 'c'], service.log)
    const settled = {
      schema: 2,
      decidedBy: 'lane',
      debated: { held: false, why: 'lane' },
      confidence: { value: 0.98, how: 'lane' },
      versions: { lane: hash },
      models: { decider: DECIDER },
      usage: { calls: 1 },
      degraded: [],
    }
    expect(a).toMatchObject({ ...settled, label: 'hate' })
    expect(b).toMatchObject({ ...settled, label: 'non-hate' })
    expect(c).toMatchObject({ label: 'hate', decidedBy: 'judge', versions: { lane: hash }, degraded: [] })
    const transcripts = await transcriptsOf(environment)
    const turns = (id: string | undefined) => transcripts.find(({ verdictId }) => verdictId === id)?.turns ?? []
    expect(turns(a?.id).map(({ stage, role }) => [stage, role])).toEqual([['decide', 'decider']])
    expect(turns(c?.id)[0]).toMatchObject({ role: 'decider', answer: { label: 'hate', wire: 'chat' } })

    // Who waits at the door has it as soon.
    const { doorPort } = JSON.parse(service.log.find((line) => line.includes('"door:opened"')) ?? '{}')
    const response = await fetch(`http://127.0.0.1:${doorPort}/v1/judge`, {
      method: 'POST',
      headers: { authorization: `Bearer ${made.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        post: { id: 'asked', text: 'easy vermin, asked', lang: 'en' },
        protocols: ['hate'],
        wait: 30,
      }),
    })
    expect([response.status, await response.json()]).toMatchObject([
      200,
      { done: true, verdicts: [{ subject: 'asked', label: 'hate', decidedBy: 'lane', versions: { lane: hash } }] },
    ])

    // A kill: the same words are not paid for again, and nothing is published twice.
    await service.kill('SIGKILL')
    const { decider } = models.asked
    service = await run()
    await send({ d: 'easy vermin words' })
    const [d] = await judged(['d'], service.log)
    expect([d?.decidedBy, models.asked.decider]).toEqual(['lane', decider])
    expect((await verdictsOf(environment)).map(({ subjectId }) => subjectId).toSorted()).toEqual(['a', 'b', 'c', 'd'])

    // The decider is away: nobody waits for it.
    models.state.isAway = true
    await send({ e: 'easy vermin words, and others' })
    const [e] = await judged(['e'], service.log)
    expect(e).toMatchObject({ label: 'hate', decidedBy: 'judge', degraded: [], faults: [] })
    models.state.isAway = false

    // It is closed, for all processes.
    await redis.sadd(`{${environment.GAVEL_REDIS_PREFIX}}:paused`, laneMark(basis))
    await send({ f: 'easy vermin words' })
    const [f] = await judged(['f'], service.log)
    expect(f).toMatchObject({ label: 'hate', decidedBy: 'judge', versions: { lane: `closed-${hash}` } })
    await eventually(async () => service.log.some((line) => line.includes('"lane:changed"')), 10_000)
  } finally {
    redis.disconnect()
    await models.close()
  }
})
