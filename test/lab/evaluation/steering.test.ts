import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { obedienceOf } from '../../../src/lab/evaluation/steering/obedience.ts'
import { POLICY_PAIRS, policyOf, SIDES } from '../../../src/lab/evaluation/steering/pairs.ts'
import { readPolicy, renderPolicy } from '../../../src/protocols/policy.ts'
import { commandHere } from '../../support/commands.ts'
import { scratch } from '../../support/evaluating.ts'
import { type Shown, startModelServer } from '../../support/model-server.ts'

describe('a pair of policies', () => {
  it.each(POLICY_PAIRS)('about $name differs in what its clause does, and is read without a fault', (pair) => {
    const [forbidden, allowed] = SIDES.map((side) => readPolicy('p.md', policyOf(pair, side)))
    expect(forbidden?.clauses.map(({ id, allows }) => [id, allows])).toEqual([
      ['H1', false],
      ['X1', false],
    ])
    expect(allowed?.clauses.map(({ id, allows }) => [id, allows])).toEqual([
      ['H1', false],
      ['X1', true],
    ])
    for (const policy of [forbidden, allowed]) {
      expect(policy?.leftOut).toEqual([])
      expect(renderPolicy(policy ?? { general: [], clauses: [] })).toContain(pair.covers)
    }
  })
})

/** What an obedient model decides: by the side on which the policy has the clause. */
const obedient = ({ text }: Shown) =>
  text.search(/^X1 /m) < text.search(/^Clauses that allow:/m) || !/^Clauses that allow:/m.test(text)
const answering =
  (isHateful: (shown: Shown) => boolean) =>
  (shown: Shown): object => ({
    reason: 'R',
    label: isHateful(shown) ? 'Hateful' : 'Not hateful',
    ...(isHateful(shown) ? { clauses: [{ id: /Clauses that allow:/.test(shown.text) ? 'H1' : 'X1', quote: '' }] } : {}),
  })

describe('gavel eval --steer', () => {
  const folder = scratch()
  const file = join(folder, 'cases.jsonl')
  const texts = [
    ['profanity_nh', 'non-hateful', ['Fuck, that was tough.', 'What a bloody mess.', 'Damn this rain.']],
    ['phrase_question_h', 'hateful', ['Is it not plain that I hate them?', 'Who does not despise them?']],
    ['ident_neutral_nh', 'non-hateful', ['She is my aunt.']],
  ] as const
  let how: (shown: Shown) => boolean = obedient
  let server: Awaited<ReturnType<typeof startModelServer>>

  beforeAll(async () => {
    let id = 0
    const lines = texts.flatMap(([functionality, label_gold, all]) =>
      all.map((test_case) =>
        JSON.stringify({ case_id: `${++id}`, functionality, test_case, label_gold, target_ident: '' }),
      ),
    )
    writeFileSync(file, `${lines.join('\n')}\n`)
    writeFileSync(join(folder, 'paper.yaml'), 'protocols: { hate: { preset: paper } }\n')
    server = await startModelServer((shown) => answering(how)(shown))
  })
  afterAll(() => server.close())

  const steer = (...args: string[]) => {
    const protocol = args.includes('--protocol') ? [] : ['--protocol', 'hate']
    const all = ['eval', '--steer', ...protocol, '--data', file, '--format', 'hatecheck', ...args]
    // No control is drawn, which would be debated.
    return commandHere(all, {
      ...server.settings,
      GAVEL_PROTOCOLS_HATE_DEBATE_WHEN: 'contested',
      GAVEL_PROTOCOLS_HATE_CONTROL_SHARE: '0',
    })
  }

  it('finds that a model that reads the policy follows it, always', async () => {
    how = obedient
    const { code, out, said } = await steer('--json')
    expect(code, said).toBe(0)
    const { pairs, all, usage } = JSON.parse(out)
    expect(pairs).toMatchObject([
      {
        pair: 'swearing',
        forbidden: { followed: 3, of: 3 },
        allowed: { followed: 3 },
        both: { followed: 3 },
        undecided: 0,
      },
      { pair: 'questions', forbidden: { followed: 2, of: 2 }, allowed: { followed: 2 }, both: { followed: 2 } },
    ])
    expect(all).toMatchObject({ verdicts: { followed: 10, of: 10 }, both: { followed: 5, of: 5 } })
    expect(usage.calls).toBe(30)
  })

  it('and that one that does not follows half of them, and none of both', async () => {
    how = () => true
    const { out } = await steer('--json', '--size', '1')
    expect(JSON.parse(out).all).toMatchObject({ verdicts: { followed: 2, of: 4 }, both: { followed: 0, of: 2 } })
    const shown = await steer()
    expect(shown.out).toMatch(/swearing +│ 3 +│ 100\.0 % \[43\.9, 100\.0\] │ 0\.0 % \[0\.0, 56\.1\] │ 0\.0 %/)
    expect(shown.out).toContain('hate: 50.0 % [23.7, 76.3] of 10 verdicts follow the policy')
    expect(shown.out).toMatch(/│ all +│ 5 +│ 100\.0 % .* │ 0\.0 % .* │ 0\.0 % /)
  })

  it.each([
    ['a protocol without policies', ['--protocol', 'rumor'], /rumor judges by no policy/],
    [
      'settings under which none is read',
      ['--config', join(folder, 'paper.yaml')],
      /hate judges by no policy under these settings/,
    ],
    ['a preset', ['--preset', 's2mad-table-1'], /cannot be used with option/],
  ])('is refused for %s', async (_, args, why) => {
    const { code, said } = await steer(...args)
    expect([code === 0, said]).toEqual([false, expect.stringMatching(why)])
  })
})

it('verdicts without a label follow nothing, and are counted', () => {
  const cell = (...labels: (string | null)[]) =>
    ({
      outcomes: labels.map((label) => ({ label, usage: { calls: 1, tokens: 2, costUsd: 0.5 } })),
      unpriced: [],
      models: ['m'],
    }) as never
  const labels = { forbidden: 'hate', allowed: 'non-hate' }
  const cells = { forbidden: cell('hate', null), allowed: cell(null, 'non-hate') }
  expect(
    obedienceOf({ protocol: 'hate', seed: '1', labels }, [{ pair: 'x', functionality: 'f', cells }]),
  ).toMatchObject({
    pairs: [
      { forbidden: { followed: 1, of: 2 }, allowed: { followed: 1 }, both: { followed: 0, of: 2 }, undecided: 2 },
    ],
    usage: { calls: 4, tokens: 8, costUsd: 2 },
  })
})
