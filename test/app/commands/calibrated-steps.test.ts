import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commandIn } from '../../support/command-in.ts'
import { startModelServer } from '../../support/model-server.ts'
import { planted, plantedAnswer, TRAITS } from '../../support/planted.ts'

// A team's own aspect, from its file and its ratings to verdicts that rest on the steps that were found.

const RULE = TRAITS[7] as string
const folder = mkdtempSync(join(tmpdir(), 'gavel-calibrated-'))
let model: Awaited<ReturnType<typeof startModelServer>>
beforeAll(async () => {
  model = await startModelServer(plantedAnswer('7'), { model: 'planted-model-2026-01-01' })
  mkdirSync(join(folder, 'aspects'))
  write(
    'aspects/warmth.yaml',
    'scale: [1, 5]\nbetter: higher\ncriterion: Warmth (1 to 5) towards those who are attacked.\n',
  )
  write('settings.yaml', 'protocols: { counterspeech: { aspects: [relevance, ./aspects/warmth.yaml] } }\n')
  const rated = planted(160, RULE, '7').map(({ id, hateSpeech, counterspeech, ratings }) => ({
    id,
    hateSpeech,
    text: counterspeech,
    ratings: { warmth: ratings },
  }))
  write('ratings.jsonl', rated.map((line) => `${JSON.stringify(line)}\n`).join(''))
})
afterAll(async () => {
  await model.close()
  rmSync(folder, { recursive: true, force: true })
})

function write(file: string, text: string): void {
  writeFileSync(join(folder, file), text)
}
const gavel = (args: readonly string[], environment: Record<string, string> = {}) =>
  commandIn(folder, [...args, '--config', 'settings.yaml'], { ...model.settings, ...environment })

const STEPS = {
  GAVEL_PROTOCOLS_COUNTERSPEECH_STEPS: 'calibrated',
  GAVEL_PROTOCOLS_COUNTERSPEECH_STEPS_FOR: './.gavel/steps',
}
const reply = { type: 'counterspeech', id: 'c1', hateSpeech: 'They all lie.', createdAt: '2026-01-01T12:00:00Z' }
const verdictOn = async (text: string, environment: Record<string, string> = STEPS) => {
  write('reply.jsonl', `${JSON.stringify({ ...reply, text })}\n`)
  const { code, out, said } = await gavel(
    ['judge', 'reply.jsonl', '--protocol', 'counterspeech', '--json'],
    environment,
  )
  expect(code, said).toBe(0)
  return JSON.parse(out.split('\n')[0] ?? '')
}

describe('a team’s own aspect', () => {
  it('is calibrated on its ratings: the rule is found, its gain on unseen replies shown, and the steps written', async () => {
    const args = ['calibrate', '--aspect', 'warmth', '--ratings', 'ratings.jsonl', '--yes']
    const { code, out, said } = await gavel([...args, '--few-shot', '16', '--trials', '6', '--iterations', '1'])
    expect(code, said).toBe(0)
    expect(out).toMatch(
      /On the same \d+ unseen items: ρ -?0\.\d+ before \(without steps\), 0\.\d+ now \(p < 0\.001\), difference \+\d\.\d+ \[0\.\d+, \d\.\d+\]\./,
    )
    expect(out).toContain('Written: .gavel/steps/warmth.md')
    expect(said).toContain('set protocols.counterspeech.steps to calibrated and stepsFor to .gavel/steps.')
    const file = readFileSync(join(folder, '.gavel/steps/warmth.md'), 'utf8')
    expect(file).toMatch(
      /^<!-- Calibrated by Gavel.*\naspect: warmth\nscale: 1 to 5\nmodel: gpt-6-luna\nanswered as: planted-model-2026-01-01\n/,
    )
    expect(file).toContain(`1. A reply is the better for having ${RULE}.`)
    expect(existsSync(join(folder, '.gavel/steps/relevance.md'))).toBe(false)
  })

  it('joins the verdict by these steps, which names them and where they come from', async () => {
    const [with_, without] = [await verdictOn(`see ${RULE}`), await verdictOn('see nothing')]
    expect(with_.scores.warmth).toBeGreaterThan(without.scores.warmth)
    expect(with_.steps).toMatchObject({
      warmth: {
        source: 'calibrated',
        answeredAs: 'planted-model-2026-01-01',
        ratings: expect.stringMatching(/^\w{16}$/),
      },
      relevance: { source: 'shipped' },
    })
    expect(with_.degraded).toEqual([
      'no calibrated steps for relevance (stepsFor: ./.gavel/steps); the shipped ones were used',
    ])
  })

  it('is said in `degraded` where another model scores by its steps, and the doctor lists where steps come from', async () => {
    const other = await startModelServer(plantedAnswer('7'), { model: 'another-model' })
    try {
      const { degraded } = await verdictOn(`see ${RULE}`, { ...STEPS, ...other.settings })
      expect(degraded).toContain(
        'the steps for warmth were found for planted-model-2026-01-01; another-model scored by them',
      )
    } finally {
      await other.close()
    }
    const stepsFound = async (environment: Record<string, string>) => {
      const { out } = await gavel(['doctor', '--json'], { ...STEPS, ...environment })
      const findings = JSON.parse(out) as { what: string; state: string; detail: string }[]
      return findings.filter(({ what }) => what.startsWith('steps of '))
    }
    const calibrated =
      /^calibrated for gpt-6-luna, which answered as planted-model-2026-01-01 \(ratings \w{16}, 20.*Z\)/
    expect(await stepsFound({})).toEqual([
      expect.objectContaining({ state: 'warning', detail: 'shipped, and the settings ask for calibrated ones' }),
      { what: 'steps of counterspeech for warmth', state: 'ok', detail: expect.stringMatching(calibrated) },
    ])
    const [, warmth] = await stepsFound({ GAVEL_MODELS_ROLES_DEFAULT: 'gpt-4o' })
    expect(warmth).toMatchObject({
      state: 'warning',
      detail: expect.stringMatching(/; gpt-4o scores$/),
      todo: expect.stringContaining('gavel calibrate --aspect warmth'),
    })
  })

  it('has a score weighted by probabilities where that is set and the endpoint gives them, from the memo too', async () => {
    const odds = [
      [2, 0.25],
      [4, 0.75],
    ] as const
    const other = await startModelServer(() => ({ reasoning: 'so', score: 4 }), { odds })
    try {
      const lines = ['c1', 'c2'].map((id) => `${JSON.stringify({ ...reply, id, text: 'Do they?' })}\n`)
      write('twice.jsonl', lines.join(''))
      const environment = {
        ...other.settings,
        GAVEL_PROTOCOLS_COUNTERSPEECH_SCORE: 'weighted',
        GAVEL_CASES_MAX_OPEN: '1',
      }
      const { code, out, said } = await gavel(
        ['judge', 'twice.jsonl', '--protocol', 'counterspeech', '--json'],
        environment,
      )
      expect(code, said).toBe(0)
      const verdicts = out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
      for (const { scores } of verdicts) expect(scores).toMatchObject({ relevance: 3.5, warmth: 3.5 })
      expect(verdicts.map(({ usage }) => usage.memoHits)).toEqual([0, 2])
      expect(other.calls()).toBe(2)
    } finally {
      await other.close()
    }
  })
})
