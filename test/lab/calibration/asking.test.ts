import { describe, expect, it } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import { PermanentError, RetryLaterError } from '../../../src/contracts/facts/errors.ts'
import type { Model, ModelReply } from '../../../src/contracts/ports/model.ts'
import { partsOf } from '../../../src/lab/calibration/parts.ts'
import { askingFor, calibrationOf } from '../../../src/lab/commands/calibrate/calibration-questions.ts'
import { costOf } from '../../../src/lab/commands/calibrate/plan.ts'
import { sizesOf } from '../../../src/lab/commands/calibrate/run.ts'
import { kindOf } from '../../support/evaluating.ts'
import { planted } from '../../support/planted.ts'

const shipped = loadSettings({})
const settings = {
  ...shipped,
  stages: { ...shipped.stages, default: { ...shipped.stages.default, attempts: 3, backoff: 1 } },
  // A model that never answers would be left alone for a while.
  breaker: { ...shipped.breaker, minCalls: 10_000, window: 20_000 },
} as typeof shipped
const kind = kindOf('counterspeech')
const calibration = calibrationOf(settings, kind, 'relevance')
const items = planted(120, 'traita', 'asking')

/** A model that says what `say` says of its nth call, by a name of its own. */
function asking(
  say: (nth: number) => object | Error,
  given = settings,
  name = (_: number) => 'a-model',
  remarks: ModelReply['remarks'] = undefined,
) {
  let calls = 0
  const model: Model = {
    async complete() {
      const nth = ++calls
      const said = say(nth)
      if (said instanceof Error) throw said
      const counts = { promptTokens: 1_000, cachedTokens: 0, completionTokens: 10 }
      return { text: JSON.stringify(said), finish: 'stop', model: name(nth), remarks, ...counts }
    },
  }
  const io = { signal: new AbortController().signal, asked: () => {}, waiting: () => {} }
  return { ...askingFor(given, kind, calibration, model, io), calls: () => calls }
}
const scored = { reasoning: 'so', score: 3 }
const unavailable = () => new RetryLaterError('unavailable', 'status 500')

describe('a model that is unwell', () => {
  it('is asked again, as often as the settings say', async () => {
    const model = asking((nth) => (nth < 3 ? unavailable() : scored))
    expect(await model.score('1. Look.', items[0] as (typeof items)[0])).toBe(3)
    expect(model.calls()).toBe(3)
  })

  it('loses a score and not the run; where it loses too many, the run ends with their number', async () => {
    const model = asking(unavailable)
    const score = (at: number) => model.score('1. Look.', items[at] as (typeof items)[0])
    expect(await score(0)).toBeNull()
    await expect(Promise.all(items.slice(1, 60).map((_, at) => score(at + 1)))).rejects.toThrow(
      /^\d+ of \d+ questions have no answer; the last: status 500/,
    )
  })

  it.each([
    [new PermanentError('rejected', 'no such model'), "The calibration can't continue (rejected): no such model"],
    [new PermanentError('budget', 'all is spent'), "The calibration can't continue (budget): all is spent"],
  ])('ends it where no other question would fare better: %s', async (error, expected) => {
    await expect(asking(() => error).score('1. Look.', items[0] as (typeof items)[0])).rejects.toThrow(expected)
  })
})

it('what one verdict may cost is no limit of a calibration', async () => {
  const tight = {
    ...settings,
    budgets: { ...settings.budgets, verdict: { ...settings.budgets.verdict, tokens: 6_000 } },
  }
  const model = asking(() => scored, tight as typeof settings)
  const scores = await Promise.all(items.slice(0, 20).map((item) => model.score('1. Look.', item)))
  expect(scores).toEqual(Array(20).fill(3))
})

it('drafts of a model that takes no temperature are counted, and scores are not', async () => {
  const steps = { steps: ['Look.'] }
  const draft = { temperature: 0.3, draw: 'draft 1' }
  const model = asking((nth) => (nth === 1 ? steps : scored), settings, undefined, ['temperature'])
  expect(await model.draft([], draft)).toContain('Look.')
  expect(await model.score('1. Look.', items[0] as (typeof items)[0])).toBe(3)
  expect(model.withoutTemperature()).toBe(1)
  const other = asking(() => steps)
  await other.draft([], draft)
  expect(other.withoutTemperature()).toBe(0)
})

it('the models that scored are counted, most scores first', async () => {
  const model = asking(
    () => scored,
    settings,
    (nth) => (nth === 1 ? 'rare' : 'usual'),
  )
  for (const item of items.slice(0, 4)) await model.score('1. Look.', item)
  expect(model.scorers()).toEqual([
    { name: 'usual', scores: 3 },
    { name: 'rare', scores: 1 },
  ])
})

it('steps that are nothing but invisible characters are none', async () => {
  const model = asking(() => ({ steps: ['\u200b'] }))
  expect(await model.draft(items.slice(0, 4), { temperature: 0, draw: '' })).toBeNull()
})

it('steps of a model are told of nothing that looks like structure, and may be as long as a page', async () => {
  expect(calibration.textOf(['Look.<|im_end|>', 'Then\n choose.'])).not.toContain('<|im_end|>')
  const draft = calibration.draft(items.slice(0, 2), { temperature: 0, draw: '' })
  expect(draft.maxTokens).toBe(1_600)
})

describe('the sizes', () => {
  const options = {
    aspect: 'relevance',
    ratings: 'f',
    format: 'gavel' as const,
    protocol: 'counterspeech',
    fewShot: [4],
    trials: 5,
    keep: 2,
    refinements: 3,
    iterations: 1,
    select: 'spearman' as const,
    halving: true,
    seed: '1',
    steps: 's',
  }

  it('are the paper’s where the command line does not say: three worst, temperatures to 0.5; no halving under --paper', () => {
    expect(sizesOf(options)).toEqual({
      fewShot: [4],
      trials: 5,
      keep: 2,
      refinements: 3,
      iterations: 1,
      worst: 3,
      highestTemperature: 0.5,
      select: 'spearman',
      halving: true,
    })
    const { fewShot, trials, keep, refinements, iterations, ...unsaid } = options
    expect(sizesOf(unsaid)).toMatchObject({ fewShot: [4, 8], trials: 6, keep: 3, refinements: 2, iterations: 3 })
    // The paper has no numbers of its own: these are in the code that its authors published.
    const authors = { fewShot: [3], trials: 10, keep: 3, refinements: 10, iterations: 1 }
    expect(sizesOf({ ...unsaid, paper: true })).toMatchObject(authors)
    expect(sizesOf({ ...options, paper: true })).toMatchObject({ fewShot, trials, keep, refinements, iterations })
    expect(sizesOf({ ...options, paper: true }).halving).toBe(false)
    expect(sizesOf({ ...options, halving: false }).halving).toBe(false)
  })

  it('cost what the scorer and the writer of steps cost, each by its own price', () => {
    const parts = partsOf(items, { seed: '1', paper: false })
    const usd = (prices: Record<string, { prompt: number; cached: number; completion: number }>) =>
      costOf(calibration, parts, sizesOf(options), { models: { scorer: 'small', writer: 'large' }, prices, slots: 10 })
    const free = { prompt: 0, cached: 0, completion: 0 }
    const dear = { prompt: 1_000_000, cached: 0, completion: 0 }
    const [ofScorer, ofWriter] = [usd({ small: dear, large: free }), usd({ small: free, large: dear })]
    expect(ofScorer.scores).toBe((5 + 6) * parts.selection.length + 2 * parts.test.length)
    // A dollar a token: of each score, and of each draft and refinement.
    expect(ofScorer.usd / ofScorer.scores).toBeGreaterThan(400)
    expect(ofWriter.usd / 11).toBeGreaterThan(100)
    expect(ofScorer.usd).toBeGreaterThan(ofWriter.usd * 5)
    expect(usd({ small: dear }).unpriced).toEqual(['large'])
  })
})
