import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadSettings, PROJECT } from '../../config/load.ts'
import { makeProtocols } from '../../src/app/composition/make-protocols.ts'
import type { JsonSchema } from '../../src/kit/contracts/json-schema.ts'
import { schemaOfSettings } from '../../src/kit/contracts/settings.ts'
import { PROTOCOLS } from '../../src/protocols/registry.ts'
import { plainFence, plainRank } from './drive.ts'

const { protocols, models } = loadSettings({})
const document = (name: string) => readFileSync(join(PROJECT, name), 'utf8')

describe('what is shipped is what the documents say', () => {
  // The design's table of the four protocols, and the papers' numbers behind it.
  test.each<[string, object]>([
    ['rumor', { preset: 'none', k: 20, rounds: 2, temperature: 0.2, batchSize: 20, sampleSize: 40, stance: true }],
    [
      'hate',
      { preset: 'none', decide: 'debate', show: 'both', perspectives: [], examples: 3, rounds: 2, temperature: 0 },
    ],
    ['safety', { preset: 'none', k: 3, rounds: 2, supporter: true, retrieval: true, strict: true, loose: true }],
    ['counterspeech', { preset: 'none', steps: 'shipped', stepsFor: 'default', temperature: 0 }],
  ])('%s has the numbers of its paper', (name, numbers) => {
    expect(protocols[name]).toMatchObject({ enabled: true, ...numbers })
  })

  test('safety has small models for the debaters and large ones for the arbiter, the describer and the curator', () => {
    expect(models.roles).toEqual({
      default: ['gpt-6-luna'],
      arbiter: ['gpt-6.1-terra'],
      describer: ['gpt-6.1-terra'],
      curator: ['gpt-6.1-terra'],
    })
    expect(protocols.safety).toMatchObject({ models: 'by-role' })
  })

  test('no benign label without all that it rests on', () => {
    expect(protocols.safety).toMatchObject({ partlyRead: 'undecided', unseen: 'undecided' })
    expect(protocols.hate).toMatchObject({ partlyRead: 'undecided', unheard: 'undecided', minPerspectives: 0.5 })
  })

  test.each([
    ['rumor', 47],
    ['hate', 10],
    ['safety', 6],
    ['counterspeech', 4],
  ])('the README’s calls a verdict of %s are its paper’s: %i', (name, calls) => {
    const [row = ''] = document('README.md').match(new RegExp(`^\\| \`${name}\` .*$`, 'm')) ?? []
    expect(row.split('|').at(-2)).toMatch(new RegExp(`\\b${calls}\\b`))
  })

  test('docs/rumor.md names what is folded and weighed as it is shipped', () => {
    const text = document('docs/rumor.md')
    for (const measure of [/\b6 words\b/, /\b10 words\b/, /\bone (?:word )?in five\b/, /\b5 letters\b/])
      expect(text).toMatch(measure)
    expect(protocols.rumor).toMatchObject({ perAuthor: 3, unnamed: 20 })
  })
})

/** The settings of each protocol in a schema of all settings. */
const settingsIn = ({ properties }: JsonSchema) =>
  PROTOCOLS.flatMap(({ name }) =>
    Object.entries(properties?.protocols?.properties?.[name]?.properties ?? {}).map(
      ([setting, schema]) => [name, setting, schema] as const,
    ),
  )

describe('a setting is taken up to the bounds that its schema file has, and not beyond', () => {
  const rows = settingsIn(JSON.parse(document('config/schemas/settings.schema.json'))).flatMap(
    ([protocol, name, { anyOf, ...own }]) =>
      (anyOf ?? [own])
        .filter(({ type }) => type === 'integer' || type === 'number')
        .map(({ minimum, maximum }) => [protocol, name, minimum, maximum ?? 1e9] as [string, string, number, number]),
  )

  test.each(rows)('%s.%s from %d to %d', (protocol, name, low, high) => {
    const { enabled: _, ...given } = protocols[protocol] ?? {}
    const schema = PROTOCOLS.find((kind) => kind.name === protocol)?.settings
    const taken = (value: number) => schema?.safeParse({ ...given, [name]: value }).success
    expect([taken(low), taken(low - 1), taken(high)], 'run: npm run schemas').toEqual([true, false, true])
    if (high < 1e9) expect(taken(high + 1), 'run: npm run schemas').toBe(false)
  })
})

describe('what a preset changes is what the documents say', () => {
  const described = settingsIn(schemaOfSettings(document('config/gavel.yaml')))
  const rows = described.map(([protocol, name, { description = '' }]) => {
    const { savings = {}, setByPaper = [] } = PROTOCOLS.find((kind) => kind.name === protocol) ?? {}
    const saves = Object.values(savings).some((switches) => name in switches)
    return [protocol, name, { said: String(description), saves, isSetByPaper: setByPaper.includes(name) }] as const
  })

  test.each(rows)('%s.%s', (protocol, name, { said, saves, isSetByPaper }) => {
    const code = `src/protocols/${protocol}/settings.ts`
    const comment = `config/gavel.yaml, the comment of protocols.${protocol}.${name}:`
    expect(said.startsWith('(saving)'), `${comment} "(saving)" is its first word exactly if it is one in ${code}`).toBe(
      saves,
    )
    if (said.startsWith('(departure)'))
      expect(isSetByPaper, `${code}: ${name} is no departure there, but it is one in config/gavel.yaml`).toBe(true)
    if (isSetByPaper)
      expect(said, `${comment} it begins with "(departure)", or says what it is under \`paper\``).toMatch(
        /^\((departure|saving)\)|paper/,
      )
    if (saves) expect(document(`docs/${protocol}.md`), `docs/${protocol}.md names each saving`).toContain(`\`${name}`)
  })
})

describe('a protocol says that it keeps to its paper', () => {
  const withPresets = PROTOCOLS.filter(({ settings }) => 'preset' in settings.shape)
  test.each(withPresets.map(({ name }) => name))('under preset paper, and under no other: %s', (name) => {
    const faithful = (preset: string) => {
      const given = { [name]: { ...protocols[name], enabled: true, preset } } as typeof protocols
      return makeProtocols(given, plainFence, plainRank).map((protocol) => protocol.faithful)
    }
    expect(faithful('paper')).toEqual([true])
    expect(faithful('none')).toEqual([false])
  })
})
