import type { Ask } from '../../domain/ask.ts'
import type { Fence } from '../../domain/fence.ts'
import type { Prompts } from '../prompts.ts'
import { keptScoreOn, type Score, stepsAnswer, type WrittenSteps } from './answers.ts'
import type { Aspect } from './aspects.ts'
import type { CounterspeechSettings } from './settings.ts'

/** The prompt files of this protocol and the placeholders in each. Criteria stand in the aspects' files. */
export const COUNTERSPEECH_PROMPTS = {
  system: [],
  steps: ['criterion'],
  score: ['criterion', 'steps', 'hateSpeech', 'counterspeech'],
  'score-without-steps': ['criterion', 'hateSpeech', 'counterspeech'],
} as const

/** A reply and what it answers. */
export interface Pair {
  readonly hateSpeech: string
  readonly counterspeech: string
}

/** The questions of the paper, each an ask of its stage, for one aspect each. */
export interface Questions {
  /** G-EVAL: the model writes the evaluation steps itself, from instruction and criterion; it sees no reply. */
  steps(aspect: Aspect): Ask<WrittenSteps>
  /** Figure 5: instruction, criterion, evaluation steps if there are any, and the reply with what it answers. */
  score(aspect: Aspect, steps: string | undefined, pair: Pair): Ask<Score>
}

export function questions(parts: { settings: CounterspeechSettings; prompts: Prompts; fence: Fence }): Questions {
  const { settings, prompts, fence } = parts
  const system = prompts.get('system').render()
  const render = (name: keyof typeof COUNTERSPEECH_PROMPTS, values: Record<string, string>) => [
    ...system,
    ...prompts.get(name).render(values),
  ]
  const asked = { temperature: settings.temperature, maxTokens: settings.answerTokens }

  return {
    steps: ({ name, criterion }) => ({
      ...asked,
      stage: 'steps',
      role: 'steps-writer',
      label: name,
      shared: true,
      messages: render('steps', { criterion }),
      answer: stepsAnswer,
    }),
    score({ name, criterion, answer, lowest, highest }, steps, pair) {
      const values = {
        criterion,
        hateSpeech: fence('hate-speech', pair.hateSpeech),
        counterspeech: fence('counterspeech', pair.counterspeech),
      }
      return {
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
    },
  }
}
