import { lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect } from 'vitest'
import { parse } from 'yaml'
import { PROJECT } from '../../../config/load.ts'
import { changeSettings } from '../../../src/app/commands/variant/settings-change.ts'
import { auditEntry } from '../../../src/contracts/facts/audit.ts'
import { commandHere } from '../../support/commands.ts'
import { type Shown, startModelServer } from '../../support/model-server.ts'
import { onServers } from '../../support/on-servers.ts'
import { ownFolder } from '../../support/own-folder.ts'
import { environmentOn, protocolsOn, recordsOf, settingsOf, silent } from '../../support/pipeline.ts'

const it = onServers({})
const SHIPPED = readFileSync(join(PROJECT, 'config', 'policies', 'hate.md'), 'utf8')
/** The shipped one and a clause. */
const policyOf = (version: number, insults: string) =>
  SHIPPED.replace(/version: .*/, `version: ${version}`).replace(
    '# Allowed',
    `## H6 Insults of anybody\nCovers:\n- ${insults}\n\n# Allowed`,
  )
const CONFIG = '# Ours.\nprotocols:\n  hate: { controlShare: 0, debateWhen: contested }\n'
const CASES = [
  ['target_indiv_nh', 'You are a complete fool.'],
  ['target_indiv_nh', 'I cannot stand you.'],
  ['profanity_nh', 'Damn this rain.'],
].map(([functionality, test_case], id) =>
  JSON.stringify({ case_id: `${id}`, functionality, test_case, label_gold: 'non-hateful', target_ident: '' }),
)

/** What an obedient model decides: by the side on which the policy has the clause. */
const obedient = ({ text }: Shown) => !/^Clauses that allow:/m.test(text)

it('a policy is published once the model was seen to follow what changed, by one person at a time, and taken back', {
  timeout: 180_000,
}, async ({ stack }) => {
  const folder = ownFolder('publish')
  for (const name of ['policies', 'mounted']) mkdirSync(join(folder, name))
  let follows = obedient
  const model = await startModelServer((shown) => ({
    reason: 'R',
    label: follows(shown) ? 'Hateful' : 'Not hateful',
    ...(follows(shown) ? { clauses: [{ id: /^X1 /m.test(shown.text) ? 'X1' : 'H1', quote: '' }] } : {}),
  }))
  const { GAVEL_PROTOCOLS_HATE_DEBATE_WHEN: _, ...own } = environmentOn(stack, protocolsOn('hate'))
  const environment = { ...own, ...model.settings }
  const [target, config] = [join(folder, 'mounted', 'gavel.yaml'), join(folder, 'gavel.yaml')]
  writeFileSync(target, CONFIG)
  // As Kubernetes mounts it.
  symlinkSync(target, config)
  const house = join(folder, 'policies', 'house.md')
  writeFileSync(house, policyOf(40, 'calling anybody an idiot'))
  writeFileSync(join(folder, 'cases.jsonl'), `${CASES.join('\n')}\n`)
  const gavel = (...words: string[]) => commandHere([...words, '--config', config, '--by', 'ann'], environment)
  const publish = (...more: string[]) => gavel('policy', 'publish', house, '--protocol', 'hate', ...more)
  const variants = () => parse(readFileSync(config, 'utf8')).protocols.hate.variants ?? {}
  const data = ['--data', join(folder, 'cases.jsonl')]
  try {
    expect((await publish()).said).toMatch(/Changed: H6, so the pairs on single persons are to be judged/)
    const priced = await publish(...data)
    expect([priced.code, priced.said]).toEqual([
      0,
      expect.stringMatching(/4 verdicts on single persons .* about \$0\.\d+/),
    ])
    follows = () => true
    const refused = await publish(...data, '--budget', '1')
    expect([refused.code, refused.said]).toEqual([
      1,
      expect.stringMatching(/too few verdicts follow .* single persons/),
    ])
    expect(readFileSync(config, 'utf8'), 'nothing was changed').toBe(CONFIG)
    const asked = model.calls()
    expect(asked).toBeGreaterThan(0)

    follows = obedient
    const done = await publish(...data, '--budget', '1')
    expect([done.code, done.out], done.said).toEqual([0, expect.stringContaining('version 40, is live by')])
    const { policies, policiesPath } = variants()['house-40']
    const kept = join(policiesPath, `${policies}.md`)
    expect(variants()).toEqual({
      'house-40': { ramp: 1, policies: [expect.stringMatching(/^house\.published-[0-9a-f]{8}$/)], policiesPath },
    })
    expect([dirname(policiesPath), readdirSync(policiesPath)]).toEqual([join(folder, 'published'), [`${policies}.md`]])
    expect(readFileSync(config, 'utf8')).toContain('# Ours.')
    expect((await publish('--skip-steer')).said).toMatch(/is live already/)
    // Who goes on writing changes nothing that is live, and who edits what is live is refused.
    const text = readFileSync(house, 'utf8')
    writeFileSync(house, policyOf(41, 'calling anybody a fool'))
    expect(readFileSync(kept, 'utf8')).toBe(text)
    writeFileSync(house, text)
    writeFileSync(kept, policyOf(40, 'nothing at all'))
    expect((await gavel('variant', 'back', 'house-40')).said).toMatch(/was edited since it was published/)
    writeFileSync(kept, text)

    // Another has published another text of the same version.
    mkdirSync(join(folder, 'hers'))
    writeFileSync(join(folder, 'hers', 'house.md'), policyOf(40, 'calling anybody a liar'))
    const hers = (...more: string[]) =>
      gavel('policy', 'publish', join(folder, 'hers', 'house.md'), '--protocol', 'hate', ...more)
    const conflict = await hers('--skip-steer')
    expect([conflict.code, conflict.said.trim().split('\n').length, conflict.said]).toEqual([
      1,
      1,
      expect.stringMatching(
        /version 40, and another text of this version is live .*somebody else has published meanwhile/,
      ),
    ])
    writeFileSync(join(folder, 'hers', 'house.md'), policyOf(50, 'calling anybody a liar'))
    expect((await hers('--skip-steer')).code).toBe(0)
    expect(Object.keys(variants())).toEqual(['house-50', 'house-40'])
    expect((await gavel('variant', 'back', 'house-50')).code).toBe(0)
    expect((await publish('--skip-steer')).said, 'the one before is live again').toMatch(/is live already/)
    // One that stands behind it judges what it is said to judge.
    const first = await gavel('variant', 'ramp', 'house-50', '25%')
    expect([first.code, first.out, Object.keys(variants())], first.said).toEqual([
      0,
      expect.stringMatching(/house-50 judges 25 % .*\nhate: house-40 judges 75 %/),
      ['house-50', 'house-40'],
    ])
    const live = await gavel('variant', 'live', 'house-40')
    expect([live.code, live.out, Object.keys(variants())], live.said).toEqual([
      0,
      expect.stringMatching(/house-40 judges 100 % .*\nhate: house-50 judges 0 %/),
      ['house-40', 'house-50'],
    ])
    writeFileSync(
      join(folder, 'hers', 'house.md'),
      policyOf(60, 'calling anybody an idiot, or asking whether they are one'),
    )
    const lacking = await hers(...data)
    expect([lacking.code, lacking.said]).toEqual([1, expect.stringMatching(/the file has no text on questions/)])
    const audited = (await recordsOf(environment, 'audit')).map((json) => auditEntry.parse(JSON.parse(json)))
    expect(audited.map(({ by, page }) => `${by} ${page.replace(/[0-9a-f]{16}/, 'HASH')}`)).toEqual([
      'ann /policy/hate/house-40/HASH/steer-4-of-4',
      'ann /policy/hate/house-50/HASH/steer-skipped',
      'ann /variant/hate/house-50/0',
      'ann /variant/hate/house-50/0.25',
      'ann /variant/hate/house-40/1',
    ])
    expect([
      lstatSync(config).isSymbolicLink(),
      readdirSync(folder).sort(),
      readdirSync(join(folder, 'mounted')),
    ]).toEqual([true, ['cases.jsonl', 'gavel.yaml', 'hers', 'mounted', 'policies', 'published'], ['gavel.yaml']])

    // Somebody else writes the file between its being read and being replaced.
    const theirs = `${CONFIG}# Theirs.\n`
    const change = {
      text: (before: string) => {
        writeFileSync(target, theirs)
        return before
      },
      isDone: () => true,
      by: 'ann',
      page: '/variant/hate/x/1',
    }
    const invocation = { environment, terminal: silent, settings: () => settingsOf(environment) }
    await expect(changeSettings(config, change, invocation)).rejects.toThrow(
      /was changed meanwhile, and stays as it is/,
    )
    expect(readFileSync(config, 'utf8')).toBe(theirs)

    for (const [text, why] of [
      [`${SHIPPED}${'more '.repeat(200_000)}`, /has more than 65536 bytes/],
      [SHIPPED.replace('protocols: [hate]', 'protocols: [safety]'), /is not for hate/],
      [SHIPPED.replace('## H2 ', '## H1 '), /the id H1 comes twice/],
      [SHIPPED.replace('## H2 ', '## Н2 '), /letters that only look like plain ones|heading/],
    ] as const) {
      writeFileSync(house, text)
      const bad = await publish('--skip-steer')
      expect([bad.code, bad.said]).toEqual([1, expect.stringMatching(why)])
    }
    expect((await gavel('policy', 'publish', 'none.md', '--protocol', 'hate')).said).toMatch(
      /cannot be read \(ENOENT\)/,
    )
    expect((await gavel('policy', 'publish', 'none.md', '--protocol', 'rumor')).said).toMatch(/judges by no policy/)
    expect(readFileSync(config, 'utf8')).toBe(theirs)
  } finally {
    await model.close()
  }
})
