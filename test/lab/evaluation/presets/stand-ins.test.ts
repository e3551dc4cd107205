import { describe, expect, it } from 'vitest'
import { presetNamed } from '../../../../src/lab/evaluation/presets/all.ts'
import {
  namedByAnswers,
  paperModelsOf,
  whoStoodIn,
  withStandIns,
} from '../../../../src/lab/evaluation/presets/stand-ins.ts'

const TABLE = presetNamed('s2mad-table-1')
const MINE = { of: new Map<string, string>(), all: 'mine' }
const cell = (row: string, answered: Record<string, readonly string[]>) => ({
  row,
  why: null,
  answered: Object.entries(answered).map(([asked, by]) => ({ asked, by })),
})

describe('a model that stands in for a paper’s', () => {
  it('is asked in its place: one for one, and one for all others', () => {
    const row = TABLE.rows.find(({ name }) => name === 'GPT3.5 + S2MAD')
    if (row === undefined) throw new Error('no row')
    expect(withStandIns(row, MINE).models).toEqual({ scorer: 'mine', debater: 'mine', judge: 'mine' })
    const some = { of: new Map([['gpt-3.5-turbo', 'openai/gpt-4o']]), all: 'mine' }
    expect(withStandIns(row, some).models).toEqual({ scorer: 'mine', debater: 'openai/gpt-4o', judge: 'openai/gpt-4o' })
    expect(withStandIns(row, { of: some.of }).models).toMatchObject({ scorer: 'glm-3-turbo', judge: 'openai/gpt-4o' })
    expect(paperModelsOf(TABLE)).toEqual(['glm-3-turbo', 'Qwen1.5-7b-chat', 'gpt-3.5-turbo'])
  })

  it('gives its name to the rows that the paper calls by the other, each still told from the others', () => {
    const cells = TABLE.rows.map(({ name, how }) =>
      how.by === 'nothing' ? { ...cell(name, {}), why: how.why } : cell(name, { mine: ['mine'] }),
    )
    const names = namedByAnswers(cells, TABLE, MINE).map(({ row }) => row)
    expect(names).toEqual([
      'BiGCN',
      'ACLRL-BiGCN',
      'RPL',
      'T³RD',
      '[mine for Qwen1.5]',
      '[mine for Qwen1.5] + S2MAD',
      '[mine for GPT3.5]',
      '[mine for GPT3.5] + S2MAD',
    ])
    expect(whoStoodIn(cells, TABLE, MINE)).toBe(
      'Not the paper’s models: mine stood in for glm-3-turbo, Qwen1.5-7b-chat and gpt-3.5-turbo.',
    )
  })

  it('of another endpoint is called as the settings name it, though it answers without its endpoint', () => {
    const lab = { of: new Map([['gpt-3.5-turbo', 'lab/mine']]) }
    const by = (name: string) => [cell('GPT3.5', { 'lab/mine': [name], 'glm-3-turbo': ['glm-3-turbo'] })]
    const said = (name: string) => `Not the paper’s models: ${name} stood in for gpt-3.5-turbo.`
    expect(whoStoodIn(by('mine'), TABLE, lab)).toBe(said('lab/mine'))
    expect(whoStoodIn(by('yours'), TABLE, lab)).toBe(said('lab/mine (answering as yours)'))
    expect(namedByAnswers(by('mine'), TABLE, lab).map(({ row }) => row)).toEqual(['[mine for GPT3.5]'])
    // The paper's model of another endpoint is the paper's model.
    const own = { of: new Map([['gpt-3.5-turbo', 'lab/gpt-3.5-turbo']]) }
    const answered = [cell('GPT3.5', { 'lab/gpt-3.5-turbo': ['gpt-3.5-turbo-0125'], 'glm-3-turbo': ['glm-3-turbo'] })]
    expect(whoStoodIn(answered, TABLE, own)).toBeNull()
  })

  it('is told by what answered, and not by what was asked', () => {
    const own = { of: new Map() }
    const by = (name: string) => [cell('GPT3.5', { 'gpt-3.5-turbo': [name], 'glm-3-turbo': ['glm-3-turbo'] })]
    for (const dated of ['gpt-3.5-turbo', 'gpt-3.5-turbo-0125', 'openai/gpt-3.5-turbo']) {
      expect(namedByAnswers(by(dated), TABLE, own).map(({ row }) => row)).toEqual(['GPT3.5'])
      expect(whoStoodIn(by(dated), TABLE, own)).toBeNull()
    }
    expect(namedByAnswers(by('llama'), TABLE, own).map(({ row }) => row)).toEqual(['[llama for GPT3.5]'])
    expect(whoStoodIn(by('llama'), TABLE, own)).toBe(
      'Not the paper’s models: gpt-3.5-turbo (answering as llama) stood in for gpt-3.5-turbo.',
    )
    // Under another name the endpoint may well have the paper's own.
    const alias = { of: new Map([['gpt-3.5-turbo', 'gpt-35']]) }
    const [row] = namedByAnswers([cell('GPT3.5', { 'gpt-35': ['gpt-3.5-turbo-0125'] })], TABLE, alias)
    expect(row?.row).toBe('GPT3.5')
    // Nobody answered: the row is not the paper's model's all the same.
    expect(namedByAnswers([cell('GPT3.5', {})], TABLE, MINE).map(({ row }) => row)).toEqual(['[mine for GPT3.5]'])
  })
})
