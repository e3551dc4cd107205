import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { loadSettings, PROJECT } from '../../../config/load.ts'
import { roleQuestions } from '../../../src/app/commands/role-questions.ts'
import { labelName } from '../../../src/app/commands/verdicts.ts'
import { listOf, protocolName } from '../../../src/cli/options.ts'
import { didYouMean } from '../../../src/contracts/facts/did-you-mean.ts'
import { mustBeReadable } from '../../../src/data-files/lines.ts'
import { bareEnvironment } from '../../support/bare-environment.ts'
import { ownFolder } from '../../support/own-folder.ts'

const folder = ownFolder('suggestions')
function gavel(...args: string[]) {
  const flags = ['--disable-warning=TimeoutNegativeWarning', join(PROJECT, 'src', 'main.ts')]
  return spawnSync(process.execPath, [...flags, ...args], {
    cwd: folder,
    encoding: 'utf8',
    env: bareEnvironment({}),
  })
}

/** What loading a file with this text says. */
function faultsIn(text: string, environment = {}): string {
  const file = join(folder, 'mine.yaml')
  writeFileSync(file, text)
  try {
    loadSettings(environment, file)
  } catch (error) {
    return error instanceof Error ? error.message.replaceAll(file, 'mine.yaml') : String(error)
  }
  return ''
}

it('a name that is near is suggested, and none where all are far', () => {
  const names = ['hate', 'rumor', 'safety', 'counterspeech']
  expect(didYouMean('hatee', names)).toBe(' Did you mean "hate"?')
  expect(didYouMean('SAFTEY', names)).toBe(' Did you mean "safety"?')
  expect(didYouMean('counterspech', names)).toBe(' Did you mean "counterspeech"?')
  expect(didYouMean('weather', names)).toBe('')
  expect(didYouMean('', names)).toBe('')
  expect(didYouMean('x', [])).toBe('')
})

describe('a misspelt', () => {
  it.each([
    [['juge', 'x.jsonl'], /unknown command 'juge'[\s\S]*Did you mean judge\?/],
    [['library', 'imprt', 'x'], /unknown command 'imprt'[\s\S]*Did you mean import\?/],
    [['judge', 'x.jsonl', '--protocl', 'hate'], /unknown option '--protocl'[\s\S]*Did you mean --protocol\?/],
    [['judge', 'x.jsonl', '--protocol', 'rumour'], /there are .*rumor.*\. Did you mean "rumor"\?/],
  ])('command, option or protocol is named with the right one, as a mistake of usage: %j', (args, said) => {
    const { status, stderr } = gavel(...args)
    expect(stderr).toMatch(said)
    expect(status).toBe(2)
  })

  it('value of a list is named with the right one', () => {
    expect(() => listOf(['intake', 'judge'], 'roles')('intake, jugde')).toThrow('Did you mean "judge"?')
    expect(listOf(['intake', 'judge'], 'roles')('judge,intake')).toEqual(['judge', 'intake'])
  })

  it('setting is named with its line and the right one', () => {
    const text = '# mine\nmodels:\n  slotz: 8\nprotocols:\n  rumor:\n    rouns: 3\n    k: many\n'
    const said = faultsIn(text)
    expect(said).toMatch(/models: .*slotz.* Did you mean "slots"\? \(mine\.yaml, line 3\)/)
    expect(said).toMatch(/protocols\.rumor: .*rouns.* Did you mean "rounds"\? \(mine\.yaml, line 6\)/)
    expect(faultsIn('routes:\n  rumour: []\n')).toMatch(
      /routes: .*rumour.* Did you mean "rumor"\? \(mine\.yaml, line 2\)/,
    )
    expect(faultsIn('http.prot: 1\n')).toMatch(/http: .*prot.* Did you mean "port"\? \(mine\.yaml, line 1\)/)
  })

  it('setting below a name of one’s own is named with the right one', () => {
    expect(faultsIn('limits:\n  models:\n    m: { callPerMinute: 3 }\n')).toMatch(
      /limits\.models\.m: .*callPerMinute.* Did you mean "callsPerMinute"\? \(mine\.yaml, line 3\)/,
    )
    expect(faultsIn('endpoints:\n  mine: { baseUrl: "http://h/v1", apiKye: x }\n')).toContain('Did you mean "apiKey"?')
  })

  it('word is named with the right one, in a list too; what is no word has its line alone', () => {
    const text = 'budgets:\n  whenSpent: degarde\nroutes:\n  hate: [{ topics: [post] }]\nprotocols.rumor.k: many\n'
    const [, ...said] = faultsIn(text).split('\n')
    expect(said).toEqual([
      expect.stringMatching(/budgets\.whenSpent: .* Did you mean "degrade"\? \(mine\.yaml, line 2\)$/),
      expect.stringMatching(/routes\.hate\.0\.topics\.0: .* Did you mean "posts"\? \(mine\.yaml, line 4\)$/),
      expect.stringMatching(/protocols\.rumor\.k: [^?]*number[^?]* \(mine\.yaml, line 5\)$/),
    ])
    // What a variable sets stands on no line.
    expect(faultsIn('http:\n  port: 1\n', { GAVEL_HTTP_PORT: 'x' })).toMatch(
      /http\.port: .* \(set by GAVEL_HTTP_PORT\)$/,
    )
  })

  it('file is named with the one that lies beside it', async () => {
    writeFileSync(join(folder, 'posts.jsonl'), '')
    await expect(mustBeReadable(join(folder, 'post.jsonl'))).rejects.toThrow(
      /post\.jsonl cannot be read: there is no such file\. Did you mean "posts\.jsonl"\?$/,
    )
    await expect(mustBeReadable(join(folder, 'nowhere', 'x'))).rejects.toThrow(/there is no such file\.$/)
    await expect(mustBeReadable(folder)).rejects.toThrow(/it is a folder\.$/)
    await expect(mustBeReadable(join(folder, 'posts.jsonl'))).resolves.toBeUndefined()
  })

  it('role is refused, and named with its line', () => {
    expect(faultsIn('models:\n  roles:\n    jugde: [m]\n')).toMatch(
      /models\.roles\.jugde: nobody has this role\. Did you mean "judge"\? \(mine\.yaml, line 3\)/,
    )
    expect(faultsIn('models:\n  roles:\n    hate.judg: [m]\n')).toMatch(
      /nobody has this role\. Did you mean "hate\.judge"\?/,
    )
    for (const role of ['judge', 'hate.judge', 'curator', 'steps-writer', 'baseline', 'rumor.baseline'])
      expect(faultsIn(`models:\n  roles:\n    ${role}: [m]\n`)).toBe('')
  })

  it('variable is named with the right one', () => {
    expect(faultsIn('', { GAVEL_HTTP_PROT: '1' })).toContain('Did you mean "GAVEL_HTTP_PORT"?')
  })

  it('protocol or label of an option is named with the right one', () => {
    expect(() => protocolName('hatt')).toThrow('Did you mean "hate"?')
    expect(protocolName('hate')).toBe('hate')
    expect(() => labelName('unsave')).toThrow('Did you mean "unsafe"?')
    for (const known of ['hate', 'non-hate', 'none']) expect(labelName(known)).toBe(known)
  })
})

it('an option that takes one value is refused where it is given twice', () => {
  const { status, stderr } = gavel('judge', 'x.jsonl', '--protocol', 'hate', '--protocol', 'rumor')
  expect(stderr).toMatch(/option '--protocol <name>' was given twice/)
  expect(status).toBe(2)
})

it('every role that a protocol asks can be given models', () => {
  const asked = roleQuestions(loadSettings({})).map(({ role }) => role)
  expect(asked).toEqual(expect.arrayContaining(['rumor.judge', 'moderator']))
  for (const role of asked) {
    const roles = { default: ['small'], [role]: ['large'] }
    expect(loadSettings({ GAVEL_MODELS_ROLES: JSON.stringify(roles) }).models.roles[role]).toEqual(['large'])
  }
})
