import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { expect } from 'vitest'
import { loadSettings, PROJECT } from '../../config/load.ts'
import { protocolsOf } from '../../src/app/composition/protocols.ts'
import { samplingKeyVersion } from '../../src/contracts/facts/sampling-rank.ts'
import { recordedAnswers } from '../../src/judging/recorded/recorded-answers.ts'
import { replayCase } from '../../src/judging/recorded/replay-recorded.ts'
import { DECIDER, startLaneModels } from '../support/lane-models.ts'
import { onServers } from '../support/on-servers.ts'
import { ownFolder } from '../support/own-folder.ts'
import { environmentOn, eventually, protocolsOn, transcriptsOf, verdictsOf } from '../support/pipeline.ts'
import { plantedLane, writtenLane } from '../support/planted-lane.ts'
import { sendPosts } from '../support/sent-posts.ts'
import { everythingIn } from '../support/stored.ts'

const it = onServers({})
const KEY = 'a key of the operator’s own'
/** Tokens that the tenant `poor` may use in an hour: some questions, each reserved with its longest answer. */
const POOR = 6_000
const PER_MINUTE = 6

it('a lane needs no judge, keeps to limits and budgets, leaves nothing of what is deleted, and replays as it was', {
  timeout: 120_000,
}, async ({ stack, start }) => {
  const folder = ownFolder('lane-bounds')
  const models = await startLaneModels()
  const path = writtenLane(join(folder, 'lane.json'), plantedLane('hate', DECIDER))
  const config = join(folder, 'gavel.yaml')
  const bounded = (limit: object) =>
    writeFileSync(
      config,
      JSON.stringify({
        protocols: { hate: { lane: [path] } },
        models: { roles: { decider: [DECIDER] }, dialects: { [DECIDER]: { decisions: 'chat' } } },
        limits: { models: limit },
        budgets: { whenSpent: 'degrade', tenants: { poor: { tokens: POOR, usd: null } } },
      }),
    )
  bounded({})
  const environment = environmentOn(stack, {
    ...protocolsOn('hate'),
    ...models.settings,
    GAVEL_CLOCK_IDLE_AFTER: '500ms',
    GAVEL_PROTOCOLS_HATE_DEBATE_WHEN: 'never',
    GAVEL_CASES_KEEP_JOURNAL: '1h',
    GAVEL_FENCES_KEY: KEY,
  })
  const createdAt = new Date(Date.now() - 60_000).toISOString()
  const run = () => start(environment, 'intake,judge,publish', PROJECT, ['--config', config])
  const send = (messages: readonly { readonly id: string; readonly [field: string]: unknown }[]) =>
    sendPosts(
      environment,
      messages.map((one) => ({ key: one.id, value: JSON.stringify({ lang: 'en', createdAt, ...one }) })),
    )
  const judged = async (ids: readonly string[], log: readonly string[]) => {
    const found = async () => (await verdictsOf(environment)).filter(({ subjectId }) => ids.includes(subjectId))
    await eventually(
      async () => (await found()).length >= ids.length,
      40_000,
      () => log.slice(-5).join('\n'),
    )
    return found()
  }
  const numbered = (kind: string, count: number) => Array.from({ length: count }, (_, nth) => `${kind}${nth}`)
  const redis = new Redis(stack.settings.REDIS_URL ?? '')
  const service = await run()
  try {
    // Budgets: each question is reserved for its tenant, and booked to it; nobody else has less.
    const [poor, rich] = [numbered('poor', 8), numbered('rich', 8)]
    const about = (id: string) => ({
      id,
      text: `easy vermin, says ${id}`,
      tenant: id.startsWith('poor') ? 'poor' : 'rich',
    })
    await send([...poor, ...rich].map(about))
    const verdicts = await judged([...poor, ...rich], service.log)
    const of = (tenant: string) => verdicts.filter((one) => one.tenant === tenant)
    const settled = (tenant: string) => of(tenant).filter(({ decidedBy }) => decidedBy === 'lane').length
    expect(settled('rich')).toBe(rich.length)
    expect(settled('poor')).toBeGreaterThan(0)
    expect(settled('poor')).toBeLessThan(poor.length)
    const used = of('poor').reduce((sum, { usage }) => sum + usage.promptTokens + usage.completionTokens, 0)
    expect(used).toBeLessThanOrEqual(POOR)
    const without = of('poor').filter(({ decidedBy }) => decidedBy === 'none')
    expect(without.length).toBeGreaterThan(0)
    for (const { degraded } of without) expect(degraded.join()).toContain('budget')

    // Replay: from its transcript a verdict of the lane is the same, and nobody is asked.
    const { protocols, samplingRank } = protocolsOf(loadSettings(environment, config), KEY)
    const [hate] = protocols.filter(({ name }) => name === 'hate')
    const transcripts = await transcriptsOf(environment)
    if (hate === undefined) throw new Error('hate is on')
    for (const { id, tenant, final, label, versions, confidence } of of('rich')) {
      const own = transcripts.find(({ verdictId }) => verdictId === id)
      if (own === undefined) throw new Error(`${id} has no transcript`)
      const recorded = recordedAnswers(own, { key: samplingKeyVersion(samplingRank), tenant, final })
      const { ruling, newQuestions } = await replayCase(
        hate,
        recorded,
        () => true,
        async () => {
          throw new Error('asked anew')
        },
      )
      expect(newQuestions).toBe(0)
      expect(ruling).toMatchObject({ label, confidence, decidedBy: 'lane', lane: versions.lane })
    }

    // The judge is away, and the decider is there.
    models.state.isJudgeAway = true
    await send([{ id: 'alone', text: 'easy vermin, and nobody to judge' }])
    expect(await judged(['alone'], service.log)).toMatchObject([{ decidedBy: 'lane', degraded: [], faults: [] }])
    models.state.isJudgeAway = false

    // Erasure: a case, an answer and a remembered answer stood there, and none does.
    const held = async (words: string) => (await everythingIn(redis)).filter((one) => one.includes(words))
    const memos = async () => (await everythingIn(redis)).filter((one) => /^\{[^}]*\}:memo/.test(one)).length
    await send([{ id: 'gone', text: 'easy vermin ZEBRA-WORDS' }])
    expect(await judged(['gone'], service.log)).toMatchObject([{ decidedBy: 'lane' }])
    expect((await held('ZEBRA-WORDS')).length).toBeGreaterThan(0)
    const before = await memos()
    await send([{ id: 'gone', deleted: true }])
    await eventually(
      async () =>
        (await verdictsOf(environment)).some(
          ({ subjectId, decidedBy }) => subjectId === 'gone' && decidedBy === 'deleted',
        ),
      20_000,
    )
    expect(await held('ZEBRA-WORDS')).toEqual([])
    expect(await memos()).toBeLessThan(before)

    // Limits: who has no turn is judged without it, and nobody waits.
    await service.kill('SIGTERM')
    bounded({ [DECIDER]: { callsPerMinute: PER_MINUTE } })
    const limited = await run()
    const { decider } = models.asked
    const many = numbered('many', 3 * PER_MINUTE)
    await send(many.map((id) => ({ id, text: `easy vermin, says ${id}` })))
    const rest = await judged(many, limited.log)
    expect(models.asked.decider - decider).toBeLessThanOrEqual(2 * PER_MINUTE)
    expect(new Set(rest.map(({ decidedBy }) => decidedBy))).toEqual(new Set(['lane', 'judge']))
    expect(rest.flatMap(({ degraded, faults }) => [...degraded, ...faults])).toEqual([])
    expect(new Set(rest.map(({ label }) => label))).toEqual(new Set(['hate']))
  } finally {
    redis.disconnect()
    await models.close()
  }
})
