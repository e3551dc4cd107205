import type { z } from 'zod'
import type { Ask } from '../../domain/ask.ts'
import type { Fence } from '../../domain/fence.ts'
import { type Medium, type Post, shownIn } from '../../domain/thread.ts'
import type { ChatMessage } from '../../domain/verdict.ts'
import { inTurns, type Prompts } from '../prompts.ts'
import { ABSTAIN, judgeAnswer, turnAnswer, zeroShotAnswer } from './answers.ts'
import { type Perspective, SIDES, type Side } from './perspectives.ts'
import type { HateSettings } from './settings.ts'

/** The prompt files of this protocol and the placeholders in each. */
export const HATE_PROMPTS = {
  system: [],
  perspective: ['criteria', 'examples', 'text', 'labels'],
  'perspective-criteria': ['criteria', 'text', 'labels'],
  'perspective-examples': ['examples', 'text', 'labels'],
  'zero-shot': ['text'],
  'debater-non-hate': ['rules', 'text'],
  'debater-hate': ['rules', 'text'],
  'round-1-non-hate': ['reference'],
  'round-1-hate': ['argument', 'reference'],
  'round-2-non-hate': ['argument'],
  'round-2-hate': ['argument'],
  judge: ['history', 'text'],
  'judge-memories': ['memories', 'text'],
} as const

/** A labelled text from a perspective's shelf, with the perspective's own name for its label. */
export interface Example {
  readonly id: string
  readonly text: string
  readonly label: string
}

/** What a debater said, or null if the turn failed. */
export type Argument = z.infer<typeof turnAnswer> | null

/** One turn of the debate: what the speaker had heard of the other before it, and what it said. */
export interface Turn {
  readonly side: Side
  readonly round: number
  /** Undefined for the first speaker. */
  readonly heard: Argument | undefined
  readonly argument: Argument
}

/** The reasons of those who took a side, by side. */
export type References = Readonly<Record<Side, readonly string[]>>

/** The questions of the paper about one text, each an ask of its stage. */
export interface Questions {
  perspective(perspective: Perspective, similar: readonly Example[]): Ask<z.infer<Perspective['answer']>>
  zeroShot(): Ask<z.infer<typeof zeroShotAnswer>>
  /** Round 1: from the side's own reference; the hate side has heard the non-hate side. */
  argue(side: Side, heard: Argument | undefined, references: References): Ask<z.infer<typeof turnAnswer>>
  /**
   * Round 2: after its own turn, refutes or agrees with what it heard. In Algorithm 2 it no longer sees its reference;
   * in the published code it still sees all of round 1.
   */
  respond(own: Turn, heard: Argument, references: References): Ask<z.infer<typeof turnAnswer>>
  /** In Algorithm 2, over the history H (who said what, in order); in the published code, over each side's memory. */
  judge(turns: readonly Turn[], references: References): Ask<z.infer<typeof judgeAnswer>>
}

const SHOWN = { both: 'perspective', criteria: 'perspective-criteria', examples: 'perspective-examples' } as const
const SPEAKER = { 'non-hate': 'Non-hate side', hate: 'Hate side' } as const

/** Shown in place of a reference or of examples if there are none. */
const NONE = 'none'
/** Shown in place of a turn that failed: that debater was not heard, which does not mean that it had nothing to say. */
const LOST = '(this turn was lost)'

export function questions(words: string, parts: { settings: HateSettings; prompts: Prompts; fence: Fence }): Questions {
  const { settings, prompts, fence } = parts
  const text = fence('text', words)
  const system = prompts.get('system').render()
  const rules = system.map(({ content }) => content).join('\n\n')
  const render = (name: keyof typeof HATE_PROMPTS, values: Record<string, string>) => prompts.get(name).render(values)
  const asked = (stage: string, role: string) => ({
    stage,
    role,
    temperature: settings.temperature,
    maxTokens: settings.answerTokens,
  })
  const turn = (side: Side, told: readonly ChatMessage[]) => ({
    ...asked('debate', 'debater'),
    label: side,
    messages: inTurns([...render(`debater-${side}`, { rules, text }), ...told]),
    answer: turnAnswer,
  })
  const argument = (said: Argument) => (said === null ? LOST : fence('argument', said.argument))
  const reference = (reasons: readonly string[]) =>
    listed(reasons.map((reason, index) => fence('reason', reason, index + 1)))
  const opening = (side: Side, heard: Argument | undefined, references: References) =>
    render(`round-1-${side}`, {
      reference: reference(references[side]),
      ...(heard === undefined ? {} : { argument: argument(heard) }),
    })
  const memory = (side: Side, turns: readonly Turn[], references: References) =>
    [
      `${SPEAKER[side]}, its reference:\n${reference(references[side])}`,
      ...turns
        .filter((turn) => turn.side === side)
        .flatMap(({ round, heard, argument: given }) => [
          ...(heard === undefined ? [] : [`${SPEAKER[side]}, round ${round}, heard:\n${argument(heard)}`]),
          `${SPEAKER[side]}, round ${round}, said:\n${argument(given)}`,
        ]),
    ].join('\n\n')

  return {
    perspective: (perspective, similar) => {
      const examples = listed(similar.map((one, at) => `Label: ${one.label}\n${fence('example', one.text, at + 1)}`))
      const labels = choice([...perspective.labels.map(({ name }) => name), ABSTAIN])
      const values = { criteria: criteriaOf(perspective), examples, text, labels }
      return {
        ...asked('perspective', 'perspective'),
        label: perspective.name,
        messages: [...system, ...render(SHOWN[settings.show], values)],
        answer: perspective.answer,
      }
    },
    zeroShot: () => ({
      ...asked('perspective', 'perspective'),
      label: 'zero-shot',
      messages: [...system, ...render('zero-shot', { text })],
      answer: zeroShotAnswer,
    }),
    argue: (side, heard, references) => turn(side, opening(side, heard, references)),
    respond: (own, heard, references) => {
      const begun = settings.history === 'code' ? opening(own.side, own.heard, references) : []
      const answered = render(`round-2-${own.side}`, { argument: argument(heard) })
      return turn(own.side, [...begun, ...spoken(own.argument), ...answered])
    },
    judge: (turns, references) => {
      const history = () =>
        turns.map((one) => `${SPEAKER[one.side]}, round ${one.round}:\n${argument(one.argument)}`).join('\n\n')
      const memories = () => SIDES.map((side) => memory(side, turns, references)).join('\n\n')
      return {
        ...asked('judge', 'judge'),
        messages: [
          ...system,
          ...(settings.history === 'code'
            ? render('judge-memories', { memories: memories(), text })
            : render('judge', { history: history(), text })),
        ],
        answer: judgeAnswer,
      }
    },
  }
}

/** A debater's own turn in its conversation; empty if the turn failed. */
function spoken(own: Argument): ChatMessage[] {
  return own === null ? [] : [{ role: 'assistant', content: JSON.stringify(own) }]
}

function criteriaOf({ labels }: Perspective): string {
  return labels
    .map(({ name, criteria }) => [`${name}:`, ...criteria.map((point) => `- ${point}`)].join('\n'))
    .join('\n')
}

function choice(labels: readonly string[]): string {
  return labels.map((label) => JSON.stringify(label)).join(' or ')
}

function listed(blocks: readonly string[]): string {
  return blocks.length === 0 ? NONE : blocks.join('\n')
}

/** The words that are judged: the post's text, and what its images are said to show. */
export function wordsOf(post: Post): string {
  const images = (post.media ?? []).filter(isDescribed).map((medium) => `[image: ${shownIn(medium)}]`)
  return [post.text, ...images].filter((words) => words.trim() !== '').join('\n')
}

/** Whether anything is known in words about what the image shows. */
export function isDescribed(medium: Medium): boolean {
  return (shownIn(medium) ?? '').trim() !== ''
}
