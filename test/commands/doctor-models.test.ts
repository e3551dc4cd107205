import { afterEach, expect, test } from 'vitest'
import { loadSettings } from '../../config/load.ts'
import type { Settings } from '../../config/schema.ts'
import { modelFindings } from '../../src/commands/doctor-models.ts'
import { DIALECTS } from '../../src/tools/understudy/dialects/all.ts'
import { startUnderstudy, type Understudy, type UnderstudyOptions } from '../../src/tools/understudy/server.ts'

let running: Understudy | undefined
afterEach(() => running?.close())

const signal = new AbortController().signal

async function found(model: string, options: UnderstudyOptions, change: (settings: Settings) => Settings = (it) => it) {
  running = await startUnderstudy(options)
  const settings = loadSettings({ ...running.settings })
  const roles = { default: [model] }
  const findings = await modelFindings(change({ ...settings, models: { ...settings.models, roles } }), signal)
  return findings.map(({ state, detail, todo = '' }) => `${state}: ${detail} → ${todo}`)
}

test('every role of a model is asked in its own form, and its answer read', async () => {
  const lines = await found('small', { dialect: 'openai-before' })
  expect(lines[0]).toMatch(/^ok: answered all 12 test questions in a readable form.*understudy/)
  expect(lines.join('\n')).toMatch(/ok: did not refuse a test image \(safety\.describer\)/)
  expect(lines.join('\n')).toMatch(/warning: has no price.*models\.prices/)
})

test('what a model refuses is learnt, and named with its setting', async () => {
  const lines = (await found('nameless', { dialect: 'openai-since' })).join('\n')
  expect(lines).toMatch(
    /ok: refused 2 parameters.*max_completion_tokens.*no temperature is sent.*models\.dialects\."nameless": \{ maxTokens: max_completion_tokens, temperature: never \}/,
  )
  expect(lines).toMatch(/warning: can't be given a temperature \(Gavel would ask for 0 and 0\.2\)/)
  expect(lines).not.toContain('broken')
})

test('a model that is told to think nothing loses no temperature', async () => {
  expect((await found('gpt-6-luna', { dialect: 'openai-since' })).join('\n')).not.toMatch(/temperature|refused /)
})

test('a server that reports no usage is named', async () => {
  const lines = (await found('small', { dialect: 'gateway-strips' })).join('\n')
  expect(lines).toMatch(/warning: reports no token counts/)
  expect((await found('small', { dialect: 'openai-before' })).join('\n')).not.toContain('reports no usage')
})

test('a model that is switched off is named with the day', async () => {
  expect((await found('gpt-4o-mini', { dialect: 'openai-before' })).join('\n')).toMatch(
    /warning: will be retired on 2027-01-14/,
  )
})

test('a model that takes no images is named for the role that needs one', async () => {
  const lines = (await found('small', { dialect: 'vllm' })).join('\n')
  expect(lines).toMatch(
    /broken: no readable answer as safety\.describer, whose question contains an image: .*takes no images.* → .*models\.roles\."safety\.describer"/,
  )
  expect(lines).not.toContain('Gavel noticed')
})

test('a tier that a model refuses is named with its setting', async () => {
  const tiers = { scorer: 'flex' } as const
  const onFlex = (settings: Settings): Settings => ({ ...settings, models: { ...settings.models, tiers } })
  const refuses = [{ parameter: 'service_tier', says: 'Unsupported service_tier: {value}' }]
  const row = { ...DIALECTS['openai-before'], refuses }
  expect((await found('small', { dialect: row }, onFlex)).join('\n')).toMatch(
    /no tier is asked for.*\nwarning: refuses the tier that is set \(flex\).*models\.tiers/,
  )
  expect((await found('small', { dialect: 'openai-since' }, onFlex)).join('\n')).not.toContain('refuses the tier')
})

test('log-probabilities that cannot be had are named where the settings want them', async () => {
  const weighted = (settings: Settings): Settings => ({
    ...settings,
    protocols: {
      ...settings.protocols,
      counterspeech: { ...settings.protocols.counterspeech, score: 'weighted' } as never,
    },
  })
  expect((await found('nameless', { dialect: 'openai-since' }, weighted)).join('\n')).toMatch(
    /warning: gives no log-probabilities/,
  )
})

test('models of an endpoint without a key are named, and nobody is asked', async () => {
  const findings = await modelFindings(loadSettings({}), signal)
  expect(findings).toMatchObject([{ state: 'broken', detail: expect.stringContaining('no key') }])
})
