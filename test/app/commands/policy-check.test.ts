import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadSettings, PROJECT } from '../../../config/load.ts'
import { estimateTokens } from '../../../src/contracts/facts/token-estimate.ts'
import { performWords } from '../../support/commands.ts'
import { ownFolder } from '../../support/own-folder.ts'

const settings = loadSettings({
  GAVEL_MODELS_PRICES: '{ small: { prompt: 10, cached: 1, completion: 20 } }',
  GAVEL_MODELS_ROLES: '{ default: [small] }',
})
const check = (...words: string[]) => performWords(['policy', 'check', ...words], settings)

const fileOf = (text: string, name = 'mine.md') => {
  const file = join(ownFolder('policy'), name)
  writeFileSync(file, text)
  return file
}

const POLICY =
  '---\nname: Mine\nversion: 2\nprotocols: [hate]\n---\n## H1 Threats\n- threats\n# Allowed\n## A1 News\nOutput: VALID\n'

describe('gavel policy check', () => {
  test('says how each clause is read, what is left out, and what it costs', async () => {
    const { out } = await check(fileOf(POLICY))
    const text = out.join('\n')
    expect(text).toContain('Mine, version 2')
    expect(text).toMatch(/H1 .*forbids.*Threats/)
    expect(text).toMatch(/A1 .*allows.*News/)
    expect(text).toContain('line 10 is left out, answers have a form of their own: Output: VALID')
  })

  test('names headings and lines that were meant for a clause, and nothing else', async () => {
    const text = POLICY.replace(
      '# Allowed',
      '## Insults\nCovers:\n- such as "clown"\n\nH7 Spam\n- adverts\n# Allowed',
    ).replace('## H1', '# Words\nA text: any.\n# Forbidden\nB2B offers are another matter.\n## H1')
    const said = (await check(fileOf(text))).out.join('\n').split('\n')
    expect(said.filter((line) => line.includes('begins no clause'))).toEqual([
      'line 12 begins no clause, a clause is a heading with an id, as "## H6 Insults": Insults',
      'line 16 begins no clause, a clause is a heading with an id, as "## H6 Insults": H7 Spam',
    ])
    for (const name of ['hate', 'safety'])
      expect((await check(join(PROJECT, `config/policies/${name}.md`))).out.join()).not.toContain('begins no clause')
  })

  test('as JSON: a line a file, the price by the questions that hold it', async () => {
    const { out } = await check('--json', fileOf(POLICY), join(PROJECT, 'config/policies/safety.md'))
    const [mine, safety] = out.map((line) => JSON.parse(line))
    expect(mine.clauses).toEqual([
      { id: 'H1', title: 'Threats', allows: false },
      { id: 'A1', title: 'News', allows: true },
    ])
    const shown = 'Clauses that forbid:\nH1 Threats\n- threats\nClauses that allow:\nA1 News'
    expect(mine.tokens).toBe(estimateTokens(shown))
    // The judge, who may be asked for clauses once more. Ten dollars a million tokens.
    const each = mine.tokens / 100
    expect(mine.usdPerThousand).toEqual([
      { protocol: 'hate', least: expect.closeTo(each), most: expect.closeTo(2 * each) },
    ])
    expect(safety.usdPerThousand.map(({ protocol }: { protocol: string }) => protocol)).toEqual(['safety'])
  })

  test.each([
    ['three perspectives, and with a debate four turns and the judge as well', { DEBATE_WHEN: 'contested' }, 3, 9],
    ['the perspectives in one call, each alone where that fails', { DEBATE_WHEN: 'contested', BATCH_SIZE: '5' }, 1, 10],
    ['votes alone, and each voter once more for the clauses', { DECIDE: 'majority' }, 3, 6],
    ['one prompt that holds no policy', { DECIDE: 'zero-shot' }, 0, 0],
    ['votes alone, that cite nothing', { DECIDE: 'majority', CITES: 'false' }, 3, 3],
  ])('prices %s', async (_, own, least, most) => {
    const given = loadSettings({
      GAVEL_MODELS_PRICES: '{ small: { prompt: 10, cached: 1, completion: 20 } }',
      GAVEL_MODELS_ROLES: '{ default: [small] }',
      ...Object.fromEntries(Object.entries(own).map(([name, value]) => [`GAVEL_PROTOCOLS_HATE_${name}`, value])),
    })
    const { out } = await performWords(['policy', 'check', '--json', fileOf(POLICY)], given)
    const mine = JSON.parse(out[0] ?? '')
    const each = mine.tokens / 100
    expect(mine.usdPerThousand).toEqual([
      { protocol: 'hate', least: expect.closeTo(least * each), most: expect.closeTo(most * each) },
    ])
  })

  test('names every fault of every file, and prints the others', async () => {
    const twice = fileOf('## H1 A\n## H1 B\n', 'twice.md')
    await expect(check(twice, join(ownFolder('policy'), 'none.md'))).rejects.toThrow(
      /twice\.md:2: the id H1 comes twice, first on line 1\n.*none\.md: cannot be read \(ENOENT\)$/,
    )
  })

  test('names a protocol that judges by no policy', async () => {
    const file = fileOf('---\nprotocols: [hate, saftey, rumor]\n---\n## H1 A\n')
    await expect(check(file)).rejects.toThrow(
      /mine\.md: protocols: saftey, rumor: only hate and safety judge by a policy$/,
    )
  })

  test('reads no more of a policy of a megabyte than shows that it is one, and says so in one line', async () => {
    await expect(check(fileOf(`## H1 A\n${'a'.repeat(1_048_576)}`))).rejects.toThrow(
      /^[^\n]*has more than 65536 bytes$/,
    )
  })

  test('has no price where a model has none', async () => {
    const { out } = await performWords(
      ['policy', 'check', '--json', fileOf(POLICY)],
      loadSettings({ GAVEL_MODELS_PRICES: '{}', GAVEL_MODELS_ROLES: '{ default: [other] }' }),
    )
    expect(JSON.parse(out[0] ?? '').usdPerThousand).toEqual([{ protocol: 'hate', least: null, most: null }])
  })
})
