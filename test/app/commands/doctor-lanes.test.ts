import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import { contextFindings } from '../../../src/app/commands/doctor-context.ts'
import { laneFindings, signatureFindings } from '../../../src/app/commands/doctor-lanes.ts'
import type { ModelCheck } from '../../../src/app/commands/model-checks.ts'
import { roleQuestions } from '../../../src/app/commands/role-questions.ts'
import { laneMark } from '../../../src/contracts/facts/lane-mark.ts'
import { readLane } from '../../../src/protocols/lane-file.ts'
import { recordStoreOf } from '../../../src/record/record-store.ts'
import { keysUnder } from '../../../src/store/redis/keys.ts'
import { feed } from '../../contracts/record.ts'
import { DECIDER } from '../../support/lane-models.ts'
import { onRedis as test } from '../../support/on-redis.ts'
import { ownFolder } from '../../support/own-folder.ts'
import { plantedLane, writtenLane } from '../../support/planted-lane.ts'

const lane = plantedLane('hate', DECIDER)
const { hash, basis } = readLane(JSON.stringify(lane))
const folder = ownFolder('doctor-lanes')
const config = join(folder, 'gavel.yaml')
const RECORD = { GAVEL_RECORD_PATH: join(folder, 'record.sqlite'), GAVEL_REVIEW_AUDIT_SHARE: '1' }
const versions = { script: 1, prompts: 'p', settings: 's', lane: hash }
writeFileSync(
  config,
  JSON.stringify({
    protocols: { hate: { lane: [writtenLane(join(folder, 'lane.json'), lane)] } },
    models: { roles: { decider: [DECIDER] }, dialects: { [DECIDER]: { decisions: 'chat' } } },
  }),
)

test('a lane is open, or closed for some or for all, as people in Redis have it; without Redis nobody knows', async ({
  redis,
  client,
}) => {
  const environment = { ...redis.settings, GAVEL_REDIS_PREFIX: 'doctor-lanes', ...RECORD }
  const said = async (given: Record<string, string> = environment) =>
    (await laneFindings(loadSettings({ ...RECORD, ...given }, config))).map(
      ({ state, detail }) => `${state}: ${detail}`,
    )
  const [unkept, ...others] = await said()
  expect(unkept).toMatch(
    /^warning: nothing of what lanes settle is drawn, and none ever closes: There is no record at /,
  )
  expect(others).toEqual([`ok: ${hash} holds for what is in force`])
  const store = await recordStoreOf(loadSettings(RECORD))
  const { paused } = keysUnder('doctor-lanes')
  expect(await said()).toEqual([`ok: ${hash} holds for what is in force`])
  await client.sadd(paused, laneMark(basis, 'acme'))
  const people = 'found its decider wrong more often than was promised on the same labels'
  expect(await said()).toEqual([`warning: ${hash} is closed for acme alone, whose people ${people}`])
  await client.sadd(paused, laneMark(basis))
  expect(await said()).toEqual([`warning: ${hash} settles nothing: people ${people}`])
  const unknown = [`ok: ${hash} holds for what is in force; whether people closed it, Redis alone knows`]
  expect(await said({})).toEqual(unknown)
  expect(await said({ REDIS_URL: 'redis://127.0.0.1:1' })).toEqual(unknown)
  expect(await laneFindings(loadSettings(environment))).toEqual([])
  const [unseen] = await said({ GAVEL_REVIEW_LANE_SHARE: '0', GAVEL_REVIEW_AUDIT_SHARE: '0' })
  await feed(store).judged({ protocol: 'hate', decidedBy: 'lane', label: 'hate', versions }, 'x')
  await store.close()
  expect((await said())[0]).toMatch(
    /^warning: .*: hate~p~r1 has waited for \d+ days for somebody to look, and nothing that/,
  )
  expect(unseen).toMatch(/^warning: review\.laneShare and review\.auditShare are 0: .* no lane ever closes$/)
})

const answering = (role: string, model: string) => ({
  model: DECIDER,
  scaleFaults: [],
  rightScales: [],
  lessons: [],
  priced: true,
  shutdown: null,
  context: { tokens: 8_192, server: null },
  stopsThinking: null,
  roles: [{ role, reply: { model } }] as unknown as ModelCheck['roles'], // What is not looked at is left out.
})

it('a decider that signs by another name than its lane has settles nothing, and is warned of', () => {
  const of = (role: string, model: string) =>
    signatureFindings('model', answering(role, model), loadSettings({}, config)).map(({ detail }) => detail)
  expect(of('hate.decider', DECIDER)).toEqual([])
  expect(of('hate.judge', 'another')).toEqual([])
  expect(of('hate.decider', 'another')).toEqual([
    expect.stringContaining(`answers as another, and the first lane ${hash}`),
  ])
})

it('asks a decider what its lane asks, as a classifier has no other labels; without a lane anything of that form', () => {
  const asked = (path?: string) => roleQuestions(loadSettings({}, path)).find(({ role }) => role === 'decider')?.ask
  expect(asked(config)?.decision?.options?.map(({ value }) => value)).toEqual(['hate', 'non-hate'])
  const none = join(folder, 'no-lane.yaml')
  writeFileSync(none, JSON.stringify({ models: { roles: { decider: [DECIDER] } } }))
  expect(asked(none)?.decision?.options?.map(({ value }) => value)).toEqual(['yes', 'no'])
})

it('who is the decider alone needs no room for twenty comments', () => {
  const of = (role: string) => contextFindings('model', answering(role, DECIDER), loadSettings({})).length
  expect([of('hate.decider'), of('hate.judge')]).toEqual([0, 1])
})
