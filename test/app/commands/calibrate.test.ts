import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import { startUnderstudy, type Understudy } from '../../../src/kit/understudy/server.ts'
import { askingFor, calibrationOf } from '../../../src/lab/commands/calibrate/calibration-questions.ts'
import { seededRandom } from '../../../src/lab/evaluation/statistics/random.ts'
import { commandIn } from '../../support/command-in.ts'
import { commandHere } from '../../support/commands.ts'
import { kindOf, standIn, textIn } from '../../support/evaluating.ts'
import { IN_PROOF } from '../../support/in-proof.ts'
import { startModelServer } from '../../support/model-server.ts'
import { tell } from '../../support/pipeline.ts'
import { planted, plantedAnswer, TRAITS } from '../../support/planted.ts'

const SEED = process.env.CALIBRATE_SEED ?? String(Date.now())
const KILLS = IN_PROOF ? 10 : 1
const folder = mkdtempSync(join(tmpdir(), 'gavel-calibrate-'))
let understudy: Understudy
beforeAll(async () => {
  understudy = await startUnderstudy({ latencyMs: 30 })
})
afterAll(async () => {
  await understudy.close()
  rmSync(folder, { recursive: true, force: true })
})

function gavelCalibrate(args: readonly string[]) {
  return commandHere(['calibrate', ...args], understudy.settings)
}

/** Replies to statements, two to each, with the ratings of two people. */
function ratingsFile(name: string, count: number, over: (at: number) => object = () => ({})): string {
  const lines = Array.from({ length: count }, (_, at) => ({
    id: `r${at}`,
    hateSpeech: `They of group ${at >> 1} are all thieves.`,
    // The understudy counts words that a reply takes up.
    text: at % 3 === 0 ? `Reply ${at}: no group is all thieves.` : `Reply ${at}: have you met one?`,
    ratings: { relevance: [1 + (at % 5), 1 + ((at * 3) % 5)] },
    ...over(at),
  }))
  const file = join(folder, name)
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  return file
}
const linesOf = (file: string) =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

describe('gavel calibrate', () => {
  it('prints the plan with its cost, and asks nothing without --yes', async () => {
    const args = ['--aspect', 'relevance', '--ratings', ratingsFile('plan.jsonl', 60)]
    const calls = understudy.calls().length
    const { code, said } = await gavelCalibrate(args)
    expect(code, said).toBe(0)
    expect(said).toContain('Items: 16 for drafts, 24 for selection, 20 unseen.')
    expect(said).toContain('The unseen items answer 10 statements: with fewer than 20 no gain can be shown.')
    expect(said).toMatch(/The raters' agreement is -?\d\.\d\d/)
    // 2 × 6 drafts and 3 × 3 × 2 refinements, each scored on 24 items, and both steps on the 20 unseen ones.
    expect(said).toMatch(
      /At most 12 drafts, 18 refinements and 760 scores, and repairs of unreadable answers: about \d+ tokens, \$\d\.\d\d/,
    )
    expect(understudy.calls().length).toBe(calls)
  })

  it(`killed ${KILLS} times and run again asks no recorded answer twice, and ends alike`, async () => {
    // Its drafts differ, and refinements gain: a calibration of several iterations.
    const model = await startModelServer(plantedAnswer('kills'), { latencyMs: 40 })
    const rated = planted(160, TRAITS[5] as string, 'kills').map(({ id, hateSpeech, counterspeech, ratings }) => ({
      id,
      hateSpeech,
      text: counterspeech,
      ratings: { relevance: ratings },
    }))
    const file = join(folder, 'kills.jsonl')
    writeFileSync(file, rated.map((line) => `${JSON.stringify(line)}\n`).join(''))
    const run = (out: string, killAfterMs?: number) =>
      commandIn(
        folder,
        [
          'calibrate',
          '--aspect',
          'relevance',
          '--ratings',
          file,
          '--yes',
          '--json',
          '--few-shot',
          '4,8',
          '--iterations',
          '1',
          '--steps',
          join(folder, `steps of ${out}`),
          '--out',
          join(folder, out),
        ],
        model.settings,
        killAfterMs === undefined ? {} : { kill: { calls: model.calls, afterMs: killAfterMs } },
      )
    const ended = ({ out }: { out: string }, of: string) => out.replaceAll(`steps of ${of}`, 'steps')
    try {
      const whole = await run('whole')
      expect(whole.code, whole.said).toBe(0)
      const inOneRun = model.calls()
      const random = seededRandom(SEED)
      for (let kill = 0; kill < KILLS; kill++) await run('killed', random.below(900))
      const last = await run('killed')
      expect(JSON.parse(ended(last, 'killed'))).toEqual(JSON.parse(ended(whole, 'whole')))
      const [answers, calls] = ['answers.jsonl', 'calls.jsonl'].map((name) => linesOf(join(folder, 'killed', name)))
      expect(new Set(answers?.map(({ digest }) => digest)).size).toBe(answers?.length)
      expect(answers?.length).toBe(inOneRun)
      const answered = new Set(answers?.map(({ call }) => call))
      const lost = (calls ?? []).filter(({ call }) => !answered.has(call)).length
      tell(`seed ${SEED}: ${answers?.length} answers over ${KILLS} kills, ${lost} calls lost in flight`)
      expect(model.calls() - inOneRun).toBeLessThanOrEqual(inOneRun + lost)
    } finally {
      await model.close()
    }
  }, 240_000)

  it.each([
    [
      'ratings that are all outside the scale',
      'relevance',
      60,
      { ratings: { relevance: 6 } },
      /no rating of relevance on its scale, 1 to 5: all 60 are missing or outside it/,
    ],
    ['an aspect that nobody rated', 'coherence', 60, {}, /has no rating of coherence/],
    ['an aspect that there is not', 'beauty', 60, {}, /there is no aspect beauty, but relevance, aggressiveness/],
    ['too few ratings', 'relevance', 12, {}, /too few: the development part has \d+ items, and needs 10/],
    ['ratings that are all alike', 'relevance', 60, { ratings: { relevance: 3 } }, /are alike: nothing can be learnt/],
  ])('ends with one clear line for %s', async (_, aspect, count, over, expected) => {
    const { code, out, said } = await gavelCalibrate([
      '--aspect',
      aspect,
      '--ratings',
      ratingsFile('bad.jsonl', count, () => over),
    ])
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(said.trim().split('\n')).toHaveLength(1)
    expect(said).toMatch(expected)
  })

  it('asks nothing where no gain could be shown, where steps could not be written, and for sizes that are none', async () => {
    const few = ratingsFile('few.jsonl', 60)
    const calls = understudy.calls().length
    const ended = async (...args: string[]) => {
      const { code, said } = await gavelCalibrate(['--aspect', 'relevance', '--ratings', few, '--yes', ...args])
      expect(code).not.toBe(0)
      return said
    }
    expect(await ended()).toContain(
      'Nothing was asked: with fewer than 20 unseen statements no steps could be adopted.',
    )
    expect(await ended('--paper', '--steps', few)).toContain(`--steps ${few} is a file; name a folder.`)
    expect(await ended('--trials', '2.5')).toContain('must be a whole number above 0')
    expect(await ended('--few-shot', '4,4.5')).toContain('must be a whole number above 0')
    expect(understudy.calls().length).toBe(calls)
  })

  it('says which lines do not rate the aspect, what has no price, and what --max-cost lacks', async () => {
    const file = ratingsFile('others.jsonl', 130, (at) => (at < 6 ? { ratings: { Relevance: 3 } } : {}))
    const args = ['calibrate', '--aspect', 'relevance', '--ratings', file]
    const environment = { ...understudy.settings, GAVEL_MODELS_ROLES_DEFAULT: 'my-own' }
    const plan = await commandHere(args, environment)
    expect(plan.said).toContain('6 lines have no rating of relevance; they rate Relevance.')
    expect(plan.said).toContain('The settings have no price of my-own (models.prices): it counts as free here.')
    const { code, said } = await commandHere([...args, '--yes', '--max-cost', '1'], environment)
    expect(code).toBe(1)
    expect(said).toContain('--max-cost needs a price of my-own, and models.prices has none')
  })

  it('under --paper writes the best candidate of Algorithm 1, whether or not it beats the steps of before, and says it', async () => {
    const model = await startModelServer(plantedAnswer('paper'))
    try {
      const rated = planted(60, TRAITS[5] as string, 'paper').map(({ id, hateSpeech, counterspeech, ratings }) => ({
        id,
        hateSpeech,
        text: counterspeech,
        ratings: { relevance: ratings },
      }))
      const file = join(folder, 'paper.jsonl')
      writeFileSync(file, rated.map((line) => `${JSON.stringify(line)}\n`).join(''))
      const steps = join(folder, 'paper-steps')
      const args = ['calibrate', '--aspect', 'relevance', '--ratings', file, '--yes', '--paper', '--steps', steps]
      const run = (environment = {}) =>
        commandHere([...args, '--few-shot', '12', '--iterations', '1'], { ...model.settings, ...environment })
      const first = await run()
      expect(first.out).toContain(`Written: ${join(steps, 'relevance.md')}`)
      expect(first.out).not.toContain('are not shown to follow')
      const stepsIn = () => readFileSync(join(steps, 'relevance.md'), 'utf8').split('-->').at(-1)?.trim()
      const best = stepsIn()
      // From the same ratings nothing better comes a second time: the argmax is written all the same.
      const again = await run({ GAVEL_PROTOCOLS_COUNTERSPEECH_STEPS_FOR: steps })
      expect(again.out).toContain(`Written: ${join(steps, 'relevance.md')}`)
      expect(again.out).toMatch(
        /the best of \d+ candidates, and are not shown to follow the raters better than the calibrated steps of before/,
      )
      expect(stepsIn()).toBe(best)
      // What stands where steps are written stays beside them.
      writeFileSync(join(steps, 'relevance.md'), '1. Precious.')
      expect((await run()).out).toContain(`Written: ${join(steps, 'relevance.md')}`)
      expect(readFileSync(join(steps, 'relevance.md.old'), 'utf8')).toBe('1. Precious.')
    } finally {
      await model.close()
    }
  })

  it('under --paper returns the planted argmax that loses to the shipped steps; without it they stay', async () => {
    let drafted = 0
    const model = await startModelServer(async ({ text, stage }) => {
      if (stage === 'draft') return { steps: [`Losing candidate ${++drafted}.`] }
      if (stage === 'refine') return { findings: 'none', steps: [`Losing refinement ${++drafted}.`] }
      const [, quality = '1', place = '0'] = /quality (\d) of (\d+)/.exec(text) ?? []
      const [rating, at] = [Number(quality), Number(place)]
      // The shipped steps score as people do, the third draft half the time, all others by chance.
      const isArgmax = text.includes('Losing candidate 3.')
      const score = !text.includes('Losing') || (isArgmax && at % 2 === 0) ? rating : 1 + ((at * 7 + 3) % 5)
      return { reasoning: 'so', score }
    })
    try {
      const file = ratingsFile('losing.jsonl', 120, (at) => {
        const rating = 1 + Math.floor(seededRandom(`rating ${at}`).unit() * 5)
        return { text: `A reply with quality ${rating} of ${at}.`, ratings: { relevance: [rating] } }
      })
      const run = async (...more: string[]) => {
        drafted = 0
        const args = [
          'calibrate',
          '--aspect',
          'relevance',
          '--ratings',
          file,
          '--yes',
          '--trials',
          '5',
          '--few-shot',
          '4',
        ]
        return commandHere([...args, '--steps', join(folder, `losing${more}`), ...more], model.settings)
      }
      const paper = await run('--paper')
      expect(paper.out).toContain('1. Losing candidate 3.')
      expect(paper.out).toMatch(
        /the best of \d+ candidates, and are not shown to follow the raters better than the shipped steps/,
      )
      expect(readFileSync(join(folder, 'losing--paper', 'relevance.md'), 'utf8')).toMatch(
        /1\. Losing candidate 3\.\s*$/,
      )
      const own = await run()
      expect(own.out).toContain('No gain on unseen items: the steps of relevance stay as they are.')
      expect(existsSync(join(folder, 'losing', 'relevance.md'))).toBe(false)
    } finally {
      await model.close()
    }
  })

  it('writes no steps that several models scored by', async () => {
    const model = await startModelServer(plantedAnswer('paper'), { model: (call) => `model-${call % 2}` })
    try {
      const rated = planted(60, TRAITS[5] as string, 'paper').map(({ id, hateSpeech, counterspeech, ratings }) => ({
        id,
        hateSpeech,
        text: counterspeech,
        ratings: { relevance: ratings },
      }))
      const file = join(folder, 'mixed.jsonl')
      writeFileSync(file, rated.map((line) => `${JSON.stringify(line)}\n`).join(''))
      const steps = join(folder, 'mixed-steps')
      const args = ['calibrate', '--aspect', 'relevance', '--ratings', file, '--yes', '--paper', '--steps', steps]
      const { code, out } = await commandHere([...args, '--few-shot', '12', '--iterations', '1'], model.settings)
      expect(code).toBe(0)
      expect(out).toContain('Several models scored, but steps are for one model: nothing is written.')
      expect(existsSync(steps)).toBe(false)
    } finally {
      await model.close()
    }
  })

  it('says where the model scores all alike, and leaves the steps as they are', async () => {
    const steps = join(folder, 'alike')
    const file = ratingsFile('alike.jsonl', 124, (at) => ({ text: `Reply ${at}: have you met one?` }))
    const args = ['--aspect', 'relevance', '--ratings', file, '--yes', '--steps', steps]
    const { code, said } = await gavelCalibrate(args)
    expect(code).toBe(1)
    expect(said).toContain('The model gave all 50 items the same score under every candidate')
    expect(existsSync(steps)).toBe(false)
  })

  it('writes no steps that were found for the understudy', async () => {
    const steps = join(folder, 'steps')
    const { out } = await gavelCalibrate([
      '--aspect',
      'relevance',
      '--ratings',
      ratingsFile('none.jsonl', 124),
      '--yes',
      '--steps',
      steps,
    ])
    expect(out).toMatch(/Scored by understudy \(\d+\)\./)
    expect(out).toContain('The understudy is no language model: nothing is written.')
    expect(existsSync(steps)).toBe(false)
  })
})

describe('the questions of a calibration', () => {
  const settings = loadSettings({})
  const calibration = calibrationOf(settings, kindOf('counterspeech'), 'suitableness')
  const rated = { hateSpeech: 'They all lie.', counterspeech: 'Do they?', rating: 2.5 }

  it('show a draft the criterion and each example with its rating, in fences, at its temperature', async () => {
    const ask = calibration.draft([rated, { ...rated, counterspeech: 'No.', rating: 1 }], {
      temperature: 0.3,
      draw: 'draft 1',
    })
    const text = textIn({ messages: ask.messages } as never)
    expect(ask).toMatchObject({ stage: 'draft', role: 'steps-writer', temperature: 0.3, draw: 'draft 1' })
    expect(text).toMatch(
      /Evaluation criterion:\nSuitableness, a whole number from 1 to 3.*Examples:\n<<examples:(\d{16})>>\n1: statement "They all lie\.", reply "Do they\?"; the experts' rating: 2\.5\n2: statement "They all lie\.", reply "No\."; the experts' rating: 1\n<<end:\1>>/s,
    )
  })

  it('show a refinement the steps, each case with score and rating, and the four ways to refine them', () => {
    const ask = calibration.refine('1. Look at it.', [{ ...rated, score: 1 }], { temperature: 0.3, draw: 'draw 2' })
    expect(ask).toMatchObject({ temperature: 0.3, draw: 'draw 2', role: 'steps-writer' })
    const text = textIn({ messages: ask.messages } as never)
    expect(text).toMatch(
      /The steps:\n<<steps:(\d{16})>>\n1\. Look at it\.\n<<end:\1>>\n.*; the model's score: 1; the experts' rating: 2\.5\n<<end:/s,
    )
    // What was found comes first, so that a model reasons before it writes.
    expect(Object.keys(ask.answer.toJSONSchema().properties ?? {})).toEqual(['findings', 'steps'])
    for (const way of ['change parts', 'into other words', 'add a rule', 'whatever else brings'])
      expect(text).toContain(way)
  })

  it('ask for the same score once, take unreadable ones for none, and fence what people wrote', async () => {
    let asked = 0
    const model = standIn(({ answer }) =>
      answer.name === 'score' ? { reasoning: 'so', score: ++asked > 2 ? 99 : 2 } : {},
    )
    const asking = askingFor(settings, kindOf('counterspeech'), calibration, model, {
      signal: new AbortController().signal,
      asked: () => {},
      waiting: () => {},
    })
    const item = { ...rated, id: 'r1', unit: 'u', ratings: [2.5] }
    expect(await Promise.all([asking.score('1. Look.', item), asking.score('1. Look.', item)])).toEqual([2, 2])
    expect(model.shown).toHaveLength(1)
    expect(await asking.score('1. Other steps.', item)).toBe(2)
    expect(await asking.score('1. Third.', item)).toBeNull()
    expect(textIn(model.shown[0] as never)).toMatch(
      /Evaluation steps:\n1\. Look\.\n.*<<counterspeech:\w+>>\nDo they\?/s,
    )
  })
})
