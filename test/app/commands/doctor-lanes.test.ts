import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import { laneFindings } from '../../../src/app/commands/doctor-lanes.ts'
import { laneMark } from '../../../src/contracts/facts/lane-mark.ts'
import { readLane } from '../../../src/protocols/lane-file.ts'
import { keysUnder } from '../../../src/store/redis/keys.ts'
import { DECIDER } from '../../support/lane-models.ts'
import { onRedis as test } from '../../support/on-redis.ts'
import { ownFolder } from '../../support/own-folder.ts'
import { plantedLane, writtenLane } from '../../support/planted-lane.ts'

const lane = plantedLane('hate', DECIDER)
const { hash } = readLane(JSON.stringify(lane))
const folder = ownFolder('doctor-lanes')
const config = join(folder, 'gavel.yaml')
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
  const environment = { ...redis.settings, GAVEL_REDIS_PREFIX: 'doctor-lanes' }
  const said = async (given: Record<string, string> = environment) =>
    (await laneFindings(loadSettings(given, config))).map(({ state, detail }) => `${state}: ${detail}`)
  const { paused } = keysUnder('doctor-lanes')
  expect(await said()).toEqual([`ok: ${hash} holds for what is in force`])
  await client.sadd(paused, laneMark(hash, 'acme'))
  const people = 'found it wrong more often than it promises'
  expect(await said()).toEqual([`warning: ${hash} is closed for acme alone, whose people ${people}`])
  await client.sadd(paused, laneMark(hash))
  expect(await said()).toEqual([`warning: ${hash} settles nothing: people ${people}`])
  const unknown = [`ok: ${hash} holds for what is in force; whether people closed it, Redis alone knows`]
  expect(await said({})).toEqual(unknown)
  expect(await said({ REDIS_URL: 'redis://127.0.0.1:1' })).toEqual(unknown)
  expect(await laneFindings(loadSettings(environment))).toEqual([])
})
