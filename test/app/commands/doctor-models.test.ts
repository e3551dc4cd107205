import dns from 'node:dns'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import type { Settings } from '../../../config/schema.ts'
import { modelFindings } from '../../../src/app/commands/doctor-models.ts'
import { isOwnServer } from '../../../src/app/commands/own-server.ts'
import { DIALECTS, type DialectName } from '../../../src/kit/understudy/dialects/all.ts'
import { startUnderstudy, type Understudy, type UnderstudyOptions } from '../../../src/kit/understudy/server.ts'
import { type Completion, startMisbehaving } from '../../support/misbehaving.ts'

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

/** The settings that can be pasted, by their path. */
const advised = (lines: readonly string[], path: string) =>
  lines
    .flatMap((line) => [...line.matchAll(/^ {4}([\w.]+): (.*)$/gm)])
    .flatMap(([, at, value]) => (at === path ? [value] : []))

test('every role of a model is asked in its own form, and its answer read', async () => {
  const lines = await found('small', { dialect: 'openai-before' })
  expect(lines[0]).toMatch(
    /^ok: answered 13 test questions, one for each of its roles, in a readable form; .*; \d+ tokens in all;/,
  )
  expect(lines.join('\n')).toContain('ok: named the colour of a test image (safety.describer)')
})

test('the model that signs is named where it is another than the one that was asked', async () => {
  expect((await found('small', { dialect: 'openai-before' }))[0]).toMatch(
    /signed by another model \(understudy\), .*small/,
  )
  await running?.close()
  expect((await found('understudy', { dialect: 'openai-before' }))[0]).not.toContain('signed')
})

test('all advice on a model’s dialect is in one piece, after an attempt to stop its thinking', async () => {
  const lines = await found('nameless', { dialect: 'openai-since' })
  const all = lines.join('\n')
  expect(advised(lines, 'models.dialects')).toEqual([
    '{ "nameless": { maxTokens: max_completion_tokens, effort: none } }',
    '{ "nameless": { maxTokens: max_completion_tokens, temperature: never, thinkingTokens: 4096 } }',
  ])
  expect(all).toMatch(
    /warning: is not asked as usual: .*max_completion_tokens; no temperature is sent \(it would be 0 and 0\.2\).*It thinks.*Gavel runs as it is.*2 refused calls an hour/,
  )
  expect(all.match(/models\.dialects/g)).toHaveLength(2)
  expect(all).not.toMatch(/^broken/m)
})

test('doctor’s advice for a dialect, once followed, leaves no further advice', async () => {
  const dialects = { nameless: { maxTokens: 'max_completion_tokens', effort: 'none' } } as const
  const set = (settings: Settings): Settings => ({ ...settings, models: { ...settings.models, dialects } })
  expect((await found('nameless', { dialect: 'openai-since' }, set)).join('\n')).not.toContain('models.dialects')
})

test('which of two ways to ask is advised goes by the room that a model has', async () => {
  expect((await found('qwen3:8b', { dialect: 'ollama' })).join('\n')).toMatch(/if in doubt the first/)
  await running?.close()
  expect((await found('small', { dialect: 'ollama' })).join('\n')).toMatch(/if in doubt this one/)
})

test('a model that goes on thinking is advised to have room for it alone', async () => {
  const lines = await found('small', { dialect: 'vllm' })
  expect(advised(lines, 'models.dialects')).toEqual(['{ "small": { thinkingTokens: 4096 } }'])
  expect(lines.join('\n')).toMatch(/effort: none was tried just now, and does not stop it/)
})

test('a model that is asked not to think keeps its temperature', async () => {
  expect((await found('gpt-6-luna', { dialect: 'openai-since' })).join('\n')).not.toMatch(
    /temperature|not asked as usual/,
  )
})

test('a server that reports no usage is named, with what depends on it', async () => {
  expect((await found('small', { dialect: 'gateway-strips' })).join('\n')).toMatch(
    /warning: reports no token counts.*Gavel runs.*no budget and no limit of tokens/,
  )
  await running?.close()
  const bounded = (settings: Settings): Settings => ({
    ...settings,
    budgets: { ...settings.budgets, total: { ...settings.budgets.total, tokens: 1_000_000 } },
  })
  expect((await found('small', { dialect: 'gateway-strips' }, bounded)).join('\n')).toMatch(
    /reports no token counts.*used up early/,
  )
  await running?.close()
  expect((await found('small', { dialect: 'openai-before' })).join('\n')).not.toContain('reports no')
})

/** The same models at a host that is nobody's own. */
const elsewhere = (settings: Settings): Settings => {
  const { port } = new URL(settings.openai.baseUrl)
  return { ...settings, openai: { ...settings.openai, baseUrl: `http://api.127-0-0-1.example:${port}/v1` } }
}

test.each([
  ['in an error', { status: 400, body: { error: { code: 'content_filter', message: 'Filtered.' } } }],
  [
    'in an answer',
    ({ choices }: Completion) => {
      for (const choice of choices)
        Object.assign(choice, { finish_reason: 'content_filter', message: { content: null } })
    },
  ],
])(
  'a filter that refuses the threat to be scored, %s, is a warning: no text is called harmless by it',
  async (_, change) => {
    const server = await startMisbehaving(({ text }) =>
      text.includes('I will kill you and your family') ? change : null,
    )
    const { models, ...settings } = loadSettings({ ...server.settings })
    const all = { ...settings, models: { ...models, roles: { default: ['small'] } } }
    const findings = (await modelFindings(all, signal)).filter(({ detail }) => detail.includes('moderator'))
    await server.close()
    expect(findings.map(({ state, detail }) => `${state}: ${detail}`)).toEqual([
      expect.stringMatching(/^ok: answered 12 of 13 .*\(not as moderator: see below\)/),
      expect.stringMatching(/^warning: refused to score a threat of murder as moderator.*never call them harmless$/),
    ])
  },
)

/** The findings about a model whose every answer is changed so. */
async function foundWith(change: (choice: Completion['choices'][number]) => void): Promise<string[]> {
  const server = await startMisbehaving(
    () =>
      ({ choices }) =>
        choices.forEach(change),
  )
  const { models, ...settings } = loadSettings({ ...server.settings })
  const findings = await modelFindings({ ...settings, models: { ...models, roles: { default: ['small'] } } }, signal)
  await server.close()
  return findings.map(({ state, detail, todo = '' }) => `${state}: ${detail} → ${todo}`)
}

test('an answer that its server takes for thoughts is read, and said to be lost where more stands beside it', async () => {
  const alone = await foundWith(({ message }) => Object.assign(message, { reasoning: message.content, content: null }))
  expect(alone[0]).toMatch(/^ok: answered 13 test questions, one for each of its roles, in a readable form;/)
  expect(alone.join('\n')).not.toMatch(/^broken/m)
  const beside = await foundWith(({ message }) =>
    Object.assign(message, { reasoning: `So: ${message.content} That is it.`, content: null }),
  )
  const broken = beside.filter((line) => line.startsWith('broken: no readable answer'))
  expect(broken).not.toEqual([])
  for (const line of broken) expect(line).toMatch(/→ All that it wrote is in the reasoning of .*--reasoning-parser/)
  expect(beside.join('\n')).not.toContain('json_object')
})

test('an error inside an answer is called that, and its server said to be reached', async () => {
  const lines = await foundWith((choice) =>
    Object.assign(choice, { finish_reason: 'error', error: { code: 502, message: 'Provider returned error' } }),
  )
  expect(lines.join('\n')).toMatch(
    /^broken: .*: an error in place of an answer: status 502: the server says "Provider returned error" → .* is reached, and it or/m,
  )
  expect(lines.join('\n')).not.toMatch(/status 200|Check OPENAI_BASE_URL/)
})

test('what questions without an image are refused for as well is no matter of images', async () => {
  const server = await startMisbehaving(() => ({ status: 502, body: '<title>502 Bad Gateway</title>' }))
  const settings = loadSettings({ ...server.settings })
  const roles = { default: ['small'], 'safety.describer': ['large'], 'safety.arbiter': ['large'] }
  const findings = await modelFindings({ ...settings, models: { ...settings.models, roles } }, signal)
  await server.close()
  const [broken] = findings.filter(({ what, state }) => what.includes('large') && state === 'broken')
  expect(broken?.detail).toMatch(/no readable answer as safety\.describer, safety\.arbiter: status 502/)
  expect(broken?.todo).toMatch(/^Check OPENAI_BASE_URL/)
})

test('a price that is missing is harmless without a budget in dollars, and said otherwise with one', async () => {
  const lines = await found('small', { dialect: 'openai-before' })
  expect(lines.join('\n')).toMatch(/warning: has no price.*Gavel runs, and this is harmless/)
  expect(advised(lines, 'models.prices')).toEqual(['{ "small": { prompt: 0, cached: 0, completion: 0 } }'])
  await running?.close()
  // Zeros would hide for ever what is paid for.
  const paid = await found('small', { dialect: 'openai-before' }, elsewhere)
  expect(advised(paid, 'models.prices')).toEqual(['{ "small": { prompt: PRICE, cached: PRICE, completion: PRICE } }'])
  await running?.close()
  const budget = (settings: Settings): Settings => ({
    ...settings,
    budgets: { ...settings.budgets, total: { ...settings.budgets.total, usd: 5 } },
  })
  const bounded = (await found('small', { dialect: 'openai-before' }, budget)).join('\n')
  expect(bounded).toMatch(/warning: has no price.*does not start/)
  expect(bounded).not.toContain('harmless')
})

test('a model that is switched off is named with the day, and the chains that have it', async () => {
  const roles = {
    default: ['gpt-4o-mini'],
    arbiter: ['other', 'gpt-4o-mini'],
    'hate.judge': ['gpt-4o-mini'],
    judge: ['other'],
  }
  const chains = (settings: Settings): Settings => ({ ...settings, models: { ...settings.models, roles } })
  const lines = await found('gpt-4o-mini', { dialect: 'openai-before' }, chains)
  expect(lines.join('\n')).toMatch(/warning: will be retired on 2027-01-14.*Gavel runs until then/)
  expect(advised(lines, 'models.roles')).toEqual([
    '{ default: ["NEW-MODEL"], arbiter: ["other", "NEW-MODEL"], "hate.judge": ["NEW-MODEL"] }',
  ])
})

test('a model that takes no images is a warning, and none where another of the chain takes them', async () => {
  const lines = await found('small', { dialect: 'vllm' })
  expect(lines[0]).toMatch(/^ok: answered 12 of 13 test questions.*\(not as safety\.describer: see below\)/)
  expect(lines.join('\n')).toMatch(
    /warning: takes no images: .*safety\.describer \(status 400.*\)\. Gavel runs.*label: null[\s\S]*protocols\.safety: \{ images: false \}/,
  )
  expect(advised(lines, 'models.roles')).toEqual(['{ "safety.describer": ["ENDPOINT/MODEL"] }'])
  expect(lines.join('\n')).not.toMatch(/^broken/m)
  await running?.close()
  const other = await startUnderstudy({ dialect: 'openai-before' })
  const place = { baseUrl: other.settings.OPENAI_BASE_URL, apiKey: 'key', apiKeyFile: '', headers: {}, query: {} }
  const chain = (settings: Settings): Settings => ({
    ...settings,
    endpoints: { other: { ...place, answerFormat: 'json_schema' } },
    models: { ...settings.models, roles: { default: ['small', 'other/gpt-4o'] } },
  })
  const both = (await found('small', { dialect: 'vllm' }, chain)).join('\n')
  await other.close()
  expect(both).toMatch(/ok: takes no images: .*, and other\/gpt-4o is asked instead/)
})

test('a server that drops images unseen is found out by what its model says of one', async () => {
  const lines = await found('small', { dialect: 'gateway-strips' })
  expect(lines.join('\n')).toMatch(
    /^warning: took a test image and did not name its colour \(safety\.describer\)[\s\S]* gavel judge look\.jsonl/m,
  )
  expect(lines.join('\n')).not.toContain('ok: named the colour')
  expect(advised(lines, 'models.roles')).toEqual(['{ "safety.describer": ["ENDPOINT/MODEL"] }'])
  expect(advised(lines, 'protocols.safety')).toEqual(['{ images: false }'])
})

test('without images in posts nothing is said of them', async () => {
  const blind = (settings: Settings): Settings => ({
    ...settings,
    protocols: { ...settings.protocols, safety: { ...settings.protocols.safety, images: false } as never },
  })
  expect((await found('small', { dialect: 'vllm' }, blind)).join('\n')).not.toContain('image')
})

test.each<[DialectName, string, RegExp]>([
  ['vllm', 'Qwen/Qwen3-32B', /^ok: has a context of 40960 tokens \(vLLM\)/m],
  ['lm-studio', 'qwen/qwen3-14b', /^ok: has a context of 32768 tokens \(LM Studio\)/m],
  [
    'llama-cpp',
    'gpt-oss-20b.gguf',
    /^warning: has a context of 8192 tokens \(llama\.cpp\).* → Do this first: .*--ctx-size 16384/m,
  ],
  [
    'ollama',
    'qwen3:8b',
    /^warning: has a context of 4096 tokens \(Ollama\).* → Do this first: .*OLLAMA_CONTEXT_LENGTH=16384/m,
  ],
  ['ollama', 'small', /^warning: Gavel could not see how many tokens.* → Look at the context first/m],
])('the context is named that %s gives %s, and how it gets more', async (dialect, model, line) => {
  expect((await found(model, { dialect })).join('\n')).toMatch(line)
})

test("the context of a model at another's server is named only where it is too small", async () => {
  const listing = (tokens: number) => ({
    ...DIALECTS['openai-before'],
    models: [{ id: 'small', context_length: tokens } as { id: string }],
  })
  const lookup = vi
    .spyOn(dns, 'lookup')
    .mockImplementation(((_: string, __: unknown, done: (...all: unknown[]) => void) =>
      done(null, [{ address: '127.0.0.1', family: 4 }])) as never)
  try {
    expect((await found('small', { dialect: listing(8_000) }, elsewhere)).join('\n')).toMatch(
      /warning: has a context of 8000 tokens, and/,
    )
    await running?.close()
    expect((await found('small', { dialect: listing(100_000) }, elsewhere)).join('\n')).not.toContain('context')
    await running?.close()
    expect((await found('small', { dialect: 'openai-before' }, elsewhere)).join('\n')).not.toContain('context')
  } finally {
    lookup.mockRestore()
  }
})

test.each<[DialectName, string]>([
  ['openai-since', 'nameless'],
  ['ollama', 'qwen3:8b'],
  ['gateway-strips', 'a/b'],
  ['openai-before', 'gpt-4o-mini'],
])('what can be pasted is read as settings: of %s', async (dialect, model) => {
  const all = (await found(model, { dialect })).join('\n')
  const lines = [...all.matchAll(/^ {4}([a-z]+\.[\w.]+: \{.*)$/gm)].flatMap(([, line = '']) => [line])
  expect(lines.length).toBeGreaterThan(0)
  const folder = mkdtempSync(join(tmpdir(), 'gavel-advised-'))
  for (const line of lines) {
    writeFileSync(join(folder, 'mine.yaml'), `${line.replaceAll('PRICE', '1')}\n`)
    expect(() => loadSettings({}, join(folder, 'mine.yaml')), line).not.toThrow()
  }
  rmSync(folder, { recursive: true })
})

test("one's own server is distinguished from others", () => {
  const own = [
    'http://localhost:1/v1',
    'http://[::1]:1/v1',
    'http://192.168.7.1/v1',
    'http://172.31.0.1/v1',
    'http://box/v1',
    'http://gpu.lan/v1',
  ]
  const others = [
    'https://api.openai.com/v1',
    'https://172.32.0.1/v1',
    'https://11.0.0.1/v1',
    'https://[2606:4700::1]/v1',
  ]
  expect(own.filter((url) => !isOwnServer(url))).toEqual([])
  expect(others.filter(isOwnServer)).toEqual([])
})

test('a tier that a model refuses is named with its setting', async () => {
  const tiers = { scorer: 'flex' } as const
  const onFlex = (settings: Settings): Settings => ({ ...settings, models: { ...settings.models, tiers } })
  const refuses = [{ parameter: 'service_tier', says: 'Unsupported service_tier: {value}' }]
  const row = { ...DIALECTS['openai-before'], refuses }
  expect((await found('small', { dialect: row }, onFlex)).join('\n')).toMatch(
    /no tier is asked for[\s\S]*\nwarning: refuses the tier that is set \(flex\).*models\.tiers/,
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

test('how a decider is asked is told, and that one tells no probabilities', async () => {
  const deciding = (settings: Settings): Settings => ({
    ...settings,
    models: { ...settings.models, roles: { ...settings.models.roles, decider: settings.models.roles.default ?? [] } },
  })
  const told = async (dialect: DialectName) => {
    await running?.close()
    return (await found('nameless', { dialect }, deciding)).join('\n')
  }
  expect(await told('vllm')).toMatch(/asked for decisions over systemone[\s\S]*decisions: systemone/)
  const gemini = await told('gemini')
  expect(gemini).toMatch(/asked for decisions in a chat[\s\S]*decisions: chat/)
  expect(gemini).toMatch(/warning: tells over no interface for decisions, nor by log-probabilities/)
  expect(await told('openai-since')).not.toMatch(/asked for decisions|tells over no interface/)
})

test('models of an endpoint without a key are named, and nobody is asked', async () => {
  const findings = await modelFindings(loadSettings({}), signal)
  expect(findings).toMatchObject([{ state: 'broken', detail: expect.stringContaining('no key') }])
})
