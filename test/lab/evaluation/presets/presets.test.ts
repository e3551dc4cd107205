import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { loadSettings, PROJECT } from '../../../../config/load.ts'
import { makeProtocols } from '../../../../src/app/composition/make-protocols.ts'
import { entryOf } from '../../../../src/contracts/facts/entry-of.ts'
import { OperatorError } from '../../../../src/contracts/facts/errors.ts'
import { FORMATS } from '../../../../src/data-files/formats.ts'
import { PRESETS, presetNamed } from '../../../../src/lab/evaluation/presets/all.ts'
import { rowsOn } from '../../../../src/lab/evaluation/presets/preset.ts'
import type { RowPlan } from '../../../../src/lab/evaluation/rows.ts'
import { PROTOCOLS } from '../../../../src/protocols/registry.ts'
import { plainFence, plainRank } from '../../../protocols/drive.ts'

const { protocols } = loadSettings({})
const named = PRESETS.map((table) => [table.name, table] as const)

/** Every row of every table, on each of its data sets. */
const plans = PRESETS.flatMap((table) =>
  table.data.flatMap(({ name: data }) => rowsOn(table, data).map((plan) => ({ table, data, plan }))),
)

function switchesOf({ how }: RowPlan): Readonly<Record<string, unknown>> | undefined {
  return how.by === 'protocol' ? how.switches : undefined
}

const hashes = new Map<string, string>()

/** The hash of a protocol's settings, made of `given` with a row's switches over them. */
function settingsHash(name: string, given: object, switches: object): string {
  const key = JSON.stringify([name, given, switches])
  const hash = hashes.get(key) ?? hashOf(name, given, switches)
  hashes.set(key, hash)
  return hash
}

function hashOf(name: string, given: object, switches: object): string {
  const settings = { ...protocols, [name]: { enabled: true, ...given, ...switches } } as typeof protocols
  const kinds = PROTOCOLS.filter((kind) => kind.name === name)
  const [protocol] = makeProtocols(settings, plainFence, plainRank, kinds)
  if (protocol === undefined) throw new Error(`no protocol ${name}`)
  expect(protocol.faithful).toBe(true)
  return protocol.settingsHash
}

describe('the presets', () => {
  it('are the papers’ tables and figures, each under one name', () => {
    expect(PRESETS.map(({ name }) => name)).toEqual([
      's2mad-table-1',
      's2mad-table-2',
      's2mad-figure-2',
      's2mad-figure-3',
      'predict-table-1',
      'predict-table-2',
      'predict-table-4',
      'predict-table-6',
      'aetheria-table-2',
      'aetheria-table-3',
      'aetheria-table-4',
      'aetheria-costs',
      'aetheria-figure-3',
      'cseval-table-1',
      'cseval-table-2',
      'cseval-table-3',
      'cseval-table-4',
      'cseval-table-5',
    ])
  })

  it('are found by name, and an unknown name is told those that there are', () => {
    for (const [name, table] of named) expect(presetNamed(name)).toBe(table)
    for (const name of ['s2mad-table-9', 'constructor', '']) {
      expect(() => presetNamed(name)).toThrow(OperatorError)
      expect(() => presetNamed(name)).toThrow(/no preset ".*"\. There are s2mad-table-1, .*cseval-table-5\.$/)
    }
  })

  it.each(named)('%s has rows and data sets of one name each, and figures of no others', (_, table) => {
    const names = table.rows.map(({ name }) => name)
    const data = table.data.map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    expect(new Set(data).size).toBe(data.length)
    for (const { figures, switchesOn } of table.rows) {
      for (const [of, cells] of Object.entries(figures)) {
        expect(data).toContain(of)
        for (const measure of Object.keys(cells)) expect(table.measures).toContain(measure)
      }
      if (switchesOn !== undefined) expect(Object.keys(switchesOn)).toEqual(data)
    }
  })

  it('have formats that can be read', (context) => {
    const known: readonly string[] = FORMATS
    context.skip(!known.includes('unsmile'), 'the formats of the papers’ data sets are not there yet')
    const formats = PRESETS.flatMap(({ data }) => data.flatMap((one) => one.formats))
    expect(formats.filter((format) => !known.includes(format))).toEqual([])
  })

  it('have no figure with more digits than are printed', () => {
    for (const { name, rows, decimals, decimalsOf } of PRESETS)
      for (const { figures } of rows)
        for (const cells of Object.values(figures))
          for (const [measure, figure = 0] of Object.entries(cells)) {
            const digits = entryOf(decimalsOf ?? {}, measure) ?? decimals
            const printed = /^(spearman|kendall)P:/.test(measure) ? figure.toExponential(2) : figure.toFixed(digits)
            expect(Number(printed), `${name}: ${measure}`).toBe(figure)
          }
  })
})

describe('the rows of a preset', () => {
  it('have switches that their protocol has, of values that it takes', () => {
    for (const { table, data, plan } of plans) {
      const switches = switchesOf(plan)
      if (switches === undefined) continue
      const kind = PROTOCOLS.find(({ name }) => name === table.protocol)
      const { enabled: _, ...shipped } = protocols[table.protocol] ?? {}
      const read = kind?.settings.safeParse({ ...shipped, ...switches })
      expect(read?.error?.issues ?? [], `${table.name}, ${plan.name}, on ${data}`).toEqual([])
      expect(read?.success).toBe(true)
    }
  })

  it('say why where nothing judges them, and name their models where something does', () => {
    for (const { table, plan } of plans) {
      const where = `${table.name}, ${plan.name}`
      if (plan.how.by === 'overlap') {
        expect(plan.models, where).toBeUndefined()
        continue
      }
      if (plan.how.by === 'nothing') {
        expect(plan.how.why, where).toMatch(/^\S.*[^.]$/)
        expect(plan.models, where).toBeUndefined()
        continue
      }
      expect(plan.how.by, where).toBe('protocol')
      const paper = PROTOCOLS.find(({ name }) => name === table.protocol)?.paperModels?.roles ?? {}
      const roles = Object.keys(paper).filter((role) => role !== 'curator' || plan.learns === true)
      expect(Object.keys(plan.models ?? {}).toSorted(), where).toEqual(roles.toSorted())
    }
  })

  it('are not judged twice under two names', () => {
    const seen = new Map<string, string>()
    for (const { table, data, plan } of plans) {
      if (plan.how.by !== 'protocol') continue
      const hash = settingsHash(table.protocol, protocols[table.protocol] ?? {}, plan.how.switches)
      const key = JSON.stringify([table.name, data, hash, plan.models, plan.firstComments, plan.finalAge])
      expect(seen.get(key), `${table.name}: ${plan.name}`).toBeUndefined()
      seen.set(key, plan.name)
    }
  })

  it('are the same whatever the operator has switched', () => {
    const odd: Record<string, object> = {
      rumor: {
        preset: 'none',
        temperature: 1,
        decide: 'vanilla',
        debate: false,
        rounds: 4,
        stance: false,
        k: 3,
        sampleSize: 7,
        promptKind: 'subjective',
        minScored: 0.9,
        batchSize: 5,
        perAuthor: 1,
        ties: 'lot',
      },
      hate: {
        preset: 'none',
        temperature: 1,
        decide: 'zero-shot',
        rounds: 1,
        history: 'code',
        show: 'examples',
        perspectives: ['unsmile'],
        examples: 9,
        abstentions: 'apart',
        partlyRead: 'undecided',
      },
      safety: {
        preset: 'none',
        temperature: 1,
        rounds: 1,
        k: 9,
        images: false,
        models: 'all-small',
        strict: false,
        supporter: false,
        retrieval: false,
        loose: false,
        scoreFallback: 'none',
        partlyRead: 'undecided',
      },
      counterspeech: { preset: 'none', temperature: 1, steps: 'shipped', aspects: ['coherence'] },
    }
    for (const { table, plan } of plans) {
      if (plan.how.by !== 'protocol') continue
      const shipped = protocols[table.protocol] ?? {}
      const hash = (given: object) =>
        settingsHash(table.protocol, given, plan.how.by === 'protocol' ? plan.how.switches : {})
      expect(hash({ ...shipped, ...odd[table.protocol] }), `${table.name}, ${plan.name}`).toBe(hash(shipped))
    }
  })

  it('of PREDICT are judged five times over 400 texts, half of them hateful', () => {
    for (const { table, plan } of plans) {
      if (table.protocol !== 'hate') continue
      expect(plan.repeats).toBe(5)
      for (const { sample } of table.data) expect(sample).toEqual({ size: 400, balanced: true })
    }
  })
})

describe('a row that differs by data set', () => {
  const on = (table: string, row: string, data: string | null) => {
    const plan = rowsOn(presetNamed(table), data).find(({ name }) => name === row)
    return plan === undefined ? undefined : (switchesOf(plan)?.perspectives ?? plan.how)
  }

  it('asks the data set’s own agent alone, or all but it', () => {
    expect(on('predict-table-2', 'In-dataset', 'C (KOLD)')).toEqual(['kold'])
    expect(on('predict-table-6', '4-Agents', 'C (KOLD)')).toEqual(['k-haters', 'k-mhas', 'kodoli', 'unsmile'])
    expect(on('predict-table-6', '5-Agents', 'C (KOLD)')).toHaveLength(5)
  })

  it('says so on data that its paper has not; the others are judged there', () => {
    for (const data of [null, 'HateCheck', 'constructor'])
      for (const [table, row] of [
        ['predict-table-2', 'In-dataset'],
        ['predict-table-6', '4-Agents'],
      ] as const)
        expect(on(table, row, data)).toMatchObject({ by: 'nothing', why: expect.stringContaining('none of them') })
    expect(on('predict-table-6', '5-Agents', null)).toHaveLength(5)
  })
})

it('docs/presets.md has each preset with its rows, and how many of them nothing judges', () => {
  const lines = readFileSync(join(PROJECT, 'docs/presets.md'), 'utf8').split('\n')
  for (const [name, { rows }] of named) {
    const [, , , , count = ''] =
      lines
        .find((line) => line.startsWith(`| \`${name}\` `))
        ?.split('|')
        .map((cell) => cell.trim()) ?? []
    const unjudged = rows.filter(({ how }) => how.by === 'nothing').length
    expect(count, name).toBe(unjudged === 0 ? `${rows.length}` : `${rows.length}, ${unjudged} not judged`)
  }
})
