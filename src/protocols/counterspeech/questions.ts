import type { Ask, Decision } from '../../contracts/facts/ask.ts'
import { entryOf } from '../../contracts/facts/entry-of.ts'
import type { Fence } from '../../contracts/facts/fence.ts'
import type { DecisionPrompt } from '../decision-prompt.ts'
import { formUnder } from '../preset.ts'
import type { Prompts } from '../prompts.ts'
import { type AspectScore, aspectsAnswer, keptScoreOn, stepsAnswer, type WrittenSteps } from './answers.ts'
import type { Aspect } from './aspects.ts'
import type { CounterspeechSettings } from './settings.ts'

/** The prompt files of this protocol and the placeholders in each. Criteria stand in the aspects' files. */
export const COUNTERSPEECH_PROMPTS = {
  system: [],
  steps: ['criterion'],
  score: ['criterion', 'steps', 'hateSpeech', 'counterspeech'],
  'score-without-steps': ['criterion', 'hateSpeech', 'counterspeech'],
  'system-several': [],
  scores: ['metrics', 'hateSpeech', 'counterspeech', 'steps?'],
  metric: ['name', 'criterion', 'steps?'],
} as const

/** Longest steps, in tokens: twelve steps of some sixty words. */
export const STEPS_TOKENS = 1_600

/** A reply and what it answers. */
export interface ReplyPair {
  readonly hateSpeech: string
  readonly counterspeech: string
}

/** The questions of the paper, each an ask of its stage, for one aspect each. */
export interface CounterspeechQuestions {
  /** G-EVAL: the model writes the evaluation steps itself, from instruction and criterion; it sees no reply. */
  steps(aspect: Aspect): Ask<WrittenSteps>
  /** Figure 5: instruction, criterion, evaluation steps if there are any, and the reply with what it answers. */
  score(aspect: Aspect, steps: string | undefined, pair: ReplyPair): Ask<AspectScore>
  /** Several aspects in one call; answered by name. */
  scores(several: readonly AspectSteps[], pair: ReplyPair): Ask<Readonly<Record<string, AspectScore>>>
}

/** What stands for the reasons of a decision model, which gives none. */
const NO_REASONS = 'no reasons, as a decision model gives none'

/**
 * The question of one aspect as the role `decider` is asked it: a choice among the scores. The likeliest counts, and where it is
 * wanted the mean by their probabilities. A chat model is asked as the scorer is.
 */
function decidedScore(
  scored: Ask<AspectScore>,
  { lowest, highest }: Pick<Aspect, 'lowest' | 'highest'>,
  told: Pick<Decision, 'instructions' | 'input'>,
): Ask<AspectScore> {
  const scale = Array.from({ length: highest - lowest + 1 }, (_, at) => lowest + at)
  return {
    ...scored,
    role: 'decider',
    decision: { field: 'score', ...told, options: scale.map((score) => ({ value: String(score) })) },
    fromDecided([likely = {}]) {
      const chanceOf = (score: number) => entryOf(likely, String(score)) ?? 0
      const likeliest = scale.reduce((best, score) => (chanceOf(score) > chanceOf(best) ? score : best), lowest)
      const answer = { reasoning: NO_REASONS, score: likeliest }
      if (scored.expected === undefined) return answer
      return { ...answer, expected: scale.reduce((sum, score) => sum + score * chanceOf(score), 0) }
    },
  }
}

/** An aspect, and the steps by which it is scored; undefined where there are none. */
export interface AspectSteps {
  readonly aspect: Aspect
  readonly steps: string | undefined
}

export function questions(parts: {
  settings: CounterspeechSettings
  prompts: Prompts
  /** What a decision model is told of an aspect, where the role decider is asked for scores. */
  decided?: DecisionPrompt | undefined
  fence: Fence
}): CounterspeechQuestions {
  const { settings, prompts, decided, fence } = parts
  const system = prompts.get('system').render()
  const render = (name: keyof typeof COUNTERSPEECH_PROMPTS, values: Record<string, string>) => [
    ...system,
    ...prompts.get(name).render(values),
  ]
  const several = prompts.get('system-several').render()
  const blocksOf = ({ hateSpeech, counterspeech }: ReplyPair) => ({
    hateSpeech: fence('hate-speech', hateSpeech),
    counterspeech: fence('counterspeech', counterspeech),
  })
  const asked = {
    temperature: settings.temperature,
    maxTokens: settings.answerTokens,
    ...formUnder(settings.preset),
  }

  return {
    steps: ({ name, criterion }) => ({
      ...asked,
      maxTokens: Math.max(settings.answerTokens, STEPS_TOKENS),
      stage: 'steps',
      role: 'steps-writer',
      label: name,
      shared: true,
      messages: render('steps', { criterion }),
      answer: stepsAnswer,
    }),
    score(aspect, steps, pair) {
      const { name, criterion, answer, lowest, highest } = aspect
      const blocks = blocksOf(pair)
      const values = { criterion, ...blocks }
      const scored: Ask<AspectScore> = {
        ...asked,
        stage: 'score',
        role: 'scorer',
        label: name,
        messages: steps === undefined ? render('score-without-steps', values) : render('score', { ...values, steps }),
        answer,
        ...(settings.score === 'weighted' && {
          kept: keptScoreOn(lowest, highest),
          expected: { field: 'score', lowest, highest },
        }),
      }
      if (decided === undefined) return scored
      const instructions = decided.instructions({ criterion, steps: steps ?? '' })
      return decidedScore(scored, aspect, { instructions, input: Object.values(blocks).join('\n') })
    },
    scores(all, pair) {
      const metrics = all.flatMap(({ aspect: { name, criterion }, steps = '' }) =>
        prompts
          .get('metric')
          .render({ name, criterion, steps })
          .map(({ content }) => content),
      )
      return {
        ...asked,
        // As much for each as if it were asked alone.
        maxTokens: settings.answerTokens * all.length,
        stage: 'score',
        role: 'scorer',
        label: all.map(({ aspect }) => aspect.name).join(', '),
        messages: [
          ...several,
          ...prompts.get('scores').render({
            metrics: metrics.join('\n\n'),
            ...blocksOf(pair),
            steps: all.some(({ steps }) => steps !== undefined) ? 'yes' : '',
          }),
        ],
        answer: aspectsAnswer(all.map(({ aspect }) => aspect)),
      }
    },
  }
}
