import { expect } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import { keepScales } from '../../../src/app/commands/doctor-scales.ts'
import { placeNameOf, withoutScalesLookup } from '../../../src/models/openai/models-of-endpoints.ts'
import { redisDialects } from '../../../src/store/dialect/redis.ts'
import { keysUnder } from '../../../src/store/redis/keys.ts'
import { onRedis } from '../../support/on-redis.ts'

const ENVIRONMENT = {
  OPENAI_API_KEY: 'none',
  OPENAI_BASE_URL: 'https://user:secret@models.example/v1',
  GAVEL_ENDPOINTS: '{"own": {"baseUrl": "http://127.0.0.1:9/v1"}}',
}
const SETTINGS = loadSettings(ENVIRONMENT)
const met = (model: string, wrong: readonly string[], right: readonly string[] = []) => ({
  model,
  scaleFaults: wrong.map((scale) => ({ role: 'r', scales: [scale], why: 'w' })),
  rightScales: right,
})

onRedis(
  'doctor keeps which scales a model does not keep to, by its server and its name there, and forgets those that are right',
  async ({ client }) => {
    const keys = keysUnder('kept-scales')
    const kept = redisDialects(client, keys)
    const keep = (...checks: ReturnType<typeof met>[]) => keepScales(checks, SETTINGS, kept)
    const without = async (model: string, settings = SETTINGS) => {
      const known = await redisDialects(client, keys).read()
      return withoutScalesLookup(settings, (place) => known.get(place))(model)
    }
    expect(await keep(met('small', ['0 to 1', '1 to 5']), met('own/small', [], ['0 to 1']))).toBe(true)
    expect([await without('small'), await without('own/small')]).toEqual([['0 to 1', '1 to 5'], []])
    // Neither user nor password of an address stands there.
    expect(JSON.stringify(await client.hgetall(keys.dialects))).not.toMatch(/secret|user/)
    expect([...(await kept.read()).keys()]).toEqual(['models.example/v1 small'])

    // What was not answered this time stays as it was met.
    await keep(met('small', [], ['1 to 5']))
    expect(await without('small')).toEqual(['0 to 1'])
    // Wrong in one role and right in another is wrong.
    await keep(met('small', ['-1 to 1'], ['-1 to 1']))
    expect(await without('small')).toEqual(['0 to 1', '-1 to 1'])

    const set = (withoutScales: string) =>
      loadSettings({ ...ENVIRONMENT, GAVEL_MODELS_DIALECTS: `{"small": {"withoutScales": ${withoutScales}}}` })
    expect(await without('small', set('[]'))).toEqual([])
    expect(await without('small', set('["0 to 100"]'))).toEqual(['0 to 100'])
    expect(
      await without('small', loadSettings({ ...ENVIRONMENT, GAVEL_MODELS_DIALECTS: '{"small": {"tiers": false}}' })),
    ).toEqual(['0 to 1', '-1 to 1'])

    await keep(met('small', [], ['0 to 1', '-1 to 1']))
    expect(await client.exists(keys.dialects)).toBe(0)
  },
)

onRedis('what a later version says of a model, and this one cannot read, is left out', async ({ client }) => {
  const keys = keysUnder('later-version')
  await client.hset(keys.dialects, 'one', '{"mood":"good"}', 'other', '{"withoutScales":["0 to 1"]}')
  expect([...(await redisDialects(client, keys).read())]).toEqual([['other', { withoutScales: ['0 to 1'] }]])
})

onRedis('where nothing can be kept, doctor is told so', async ({ client }) => {
  const kept = {
    ...redisDialects(client, keysUnder('read-only')),
    keep: async () => {
      throw new Error('NOPERM')
    },
  }
  expect(await keepScales([met('small', ['0 to 1'])], SETTINGS, kept)).toBe(false)
  expect(placeNameOf('own/small', SETTINGS)).toBe('127.0.0.1:9/v1 small')
})
