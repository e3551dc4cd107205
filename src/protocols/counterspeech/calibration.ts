import type { CalibratedAspect, Calibration, MisratedExample, RatedExample } from '../../contracts/facts/calibration.ts'
import type { Fence, ListItem } from '../../contracts/facts/fence.ts'
import type { UsedSteps } from '../../contracts/facts/steps.ts'
import { formUnder } from '../preset.ts'
import type { Prompts } from '../prompts.ts'
import { refinedSteps, stepsAnswer } from './answers.ts'
import type { Aspect } from './aspects.ts'
import { questions, STEPS_TOKENS } from './questions.ts'
import type { CounterspeechSettings } from './settings.ts'
import { numbered } from './steps.ts'

/** The prompt files of a calibration and the placeholders in each. */
export const CALIBRATION_PROMPTS = {
  system: [],
  draft: ['criterion', 'examples'],
  refine: ['criterion', 'steps', 'cases'],
} as const

/** How the evaluation steps of one aspect are found (section 3.3, Algorithm 1). */
export function stepsCalibration(
  aspect: Aspect,
  parts: {
    settings: CounterspeechSettings
    stepsNow: string | undefined
    sourceNow: UsedSteps['source']
    prompts: Prompts
    calibrationPrompts: Prompts
    fence: Fence
  },
): Calibration {
  const { prompts, calibrationPrompts, fence, settings } = parts
  const ask = questions({ settings, prompts, fence })
  const paper = settings.preset === 'paper'
  const { name, lowest, highest, criterion } = aspect
  const named: CalibratedAspect = { name, lowest, highest }
  const render = (prompt: keyof typeof CALIBRATION_PROMPTS, values: Record<string, string>) => [
    ...calibrationPrompts.get('system').render(),
    ...calibrationPrompts.get(prompt).render({ criterion, ...values }),
  ]
  const asked = {
    role: 'steps-writer',
    answer: stepsAnswer,
    maxTokens: Math.max(settings.answerTokens, STEPS_TOKENS),
    ...formUnder(settings.preset),
  }
  const refined = paper ? stepsAnswer : refinedSteps
  return {
    aspect: named,
    stepsNow: parts.stepsNow,
    sourceNow: parts.sourceNow,
    textOf: numbered,
    score: (steps, text) => ask.score(aspect, steps, text),
    draft: (examples, { temperature, draw }) => ({
      ...asked,
      stage: 'draft',
      label: draw,
      draw,
      temperature,
      messages: render('draft', {
        examples: paper ? exampleBlocks(examples, fence, named) : exampleList(examples, fence),
      }),
    }),
    refine: (steps, worst, { temperature, draw }) => ({
      ...asked,
      stage: 'refine',
      temperature: temperature ?? settings.temperature,
      ...(draw === '' ? {} : { draw, label: draw }),
      answer: refined,
      messages: render('refine', {
        steps: paper ? steps : fence('steps', steps),
        cases: paper ? caseBlocks(worst, fence, named) : caseList(worst, fence),
      }),
    }),
  }
}

function exampleList(examples: readonly RatedExample[], fence: Fence): string {
  const items = examples.map((example, at) => [...pair(example, at + 1), `; ${expertsOn(example.rating)}`])
  return fence.list('examples', items)
}

function caseList(worst: readonly MisratedExample[], fence: Fence): string {
  const items = worst.map((one, at) => [
    ...pair(one, at + 1),
    `; the model's score: ${rounded(one.score)}; ${expertsOn(one.rating)}`,
  ])
  return fence.list('cases', items)
}

function pair({ hateSpeech, counterspeech }: RatedExample, number: number): ListItem {
  return [
    `${number}: statement `,
    { kind: 'hate-speech', text: hateSpeech },
    ', reply ',
    { kind: 'counterspeech', text: counterspeech },
  ]
}

function expertsOn(rating: number): string {
  return `the experts' rating: ${rounded(rating)}`
}

/** Under `paper`: two blocks for each example. */
function exampleBlocks(examples: readonly RatedExample[], fence: Fence, aspect: CalibratedAspect): string {
  return examples
    .map((example, at) => `${blocks(example, fence, at + 1)}\nThe experts' rating: ${rated(example.rating, aspect)}`)
    .join('\n\n')
}

/** Under `paper`: two blocks for each case. */
function caseBlocks(worst: readonly MisratedExample[], fence: Fence, aspect: CalibratedAspect): string {
  return worst
    .map(
      (one, at) =>
        `${blocks(one, fence, at + 1)}\nThe model's score: ${rated(one.score, aspect)}\nThe experts' rating: ${rated(one.rating, aspect)}`,
    )
    .join('\n\n')
}

function blocks({ hateSpeech, counterspeech }: RatedExample, fence: Fence, item: number): string {
  return `${fence('hate-speech', hateSpeech, item)}\n${fence('counterspeech', counterspeech, item)}`
}

/** Under `paper`: with the aspect's name and scale. */
function rated(value: number, { name, lowest, highest }: CalibratedAspect): string {
  return `${rounded(value)} (${name}, ${lowest} to ${highest})`
}

/** A mean of raters with two digits behind the point at most. */
function rounded(value: number): number {
  return Number(value.toFixed(2))
}
