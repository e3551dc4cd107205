import type { z } from 'zod'
import type { Ask } from '../../domain/ask.ts'
import type { Fence } from '../../domain/fence.ts'
import { type Medium, type Post, shownIn } from '../../domain/thread.ts'
import type { ChatMessage } from '../../domain/verdict.ts'
import { inTurns, type Prompts } from '../prompts.ts'
import { ABSTAIN, judgeAnswer, turnAnswer, zeroShotAnswer } from './answers.ts'
import type { Perspective, Side } from './perspectives.ts'
import type { HateSettings } from './settings.ts'

/** The prompt files of this protocol and the places in each. */
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
} as const

/** A labelled text of a perspective's shelf, its label under the perspective's own name. */
export interface Example {
  readonly id: string
  readonly text: string
  readonly label: string
}

/** What a debater said, or null where the turn failed. */
export type Argument = z.infer<typeof turnAnswer> | null

/** The debate history H of Algorithm 2: who said what, in order. */
export type History = readonly { readonly side: Side; readonly round: number; readonly argument: Argument }[]

/** The questions of the paper about one text, each an ask of its stage. */
export interface Questions {
  perspective(perspective: Perspective, similar: readonly Example[]): Ask<z.infer<Perspective['answer']>>
  zeroShot(): Ask<z.infer<typeof zeroShotAnswer>>
  /** Round 1: from the side's own reference; the hate side has heard the non-hate side. */
  argue: {
    nonHate(reference: readonly string[]): Ask<z.infer<typeof turnAnswer>>
    hate(heard: Argument, reference: readonly string[]): Ask<z.infer<typeof turnAnswer>>
  }
  /** Round 2: after its own argument, refutes or agrees with what it heard; no reference. */
  respond(side: Side, heard: Argument, own: Argument): Ask<z.infer<typeof turnAnswer>>
  judge(history: History): Ask<z.infer<typeof judgeAnswer>>
}

const SHOWN = { both: 'perspective', criteria: 'perspective-criteria', examples: 'perspective-examples' } as const
const SPEAKER = { 'non-hate': 'Non-hate side', hate: 'Hate side' } as const

/** What stands where there is no reference or no example. */
const NONE = 'none'
/** What stands for a turn that failed: nobody was heard, which is not to have nothing to say. */
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
    part: side,
    messages: inTurns([...render(`debater-${side}`, { rules, text }), ...told]),
    answer: turnAnswer,
  })
  const argument = (said: Argument) => (said === null ? LOST : fence('argument', said.argument))
  const reference = (reasons: readonly string[]) =>
    listed(reasons.map((reason, index) => fence('reason', reason, index + 1)))

  return {
    perspective: (perspective, similar) => {
      const examples = listed(similar.map((one, at) => `Label: ${one.label}\n${fence('example', one.text, at + 1)}`))
      const labels = choice([...perspective.labels.map(({ name }) => name), ABSTAIN])
      const values = { criteria: criteriaOf(perspective), examples, text, labels }
      return {
        ...asked('perspective', 'perspective'),
        part: perspective.name,
        messages: [...system, ...render(SHOWN[settings.show], values)],
        answer: perspective.answer,
      }
    },
    zeroShot: () => ({
      ...asked('perspective', 'perspective'),
      part: 'zero-shot',
      messages: [...system, ...render('zero-shot', { text })],
      answer: zeroShotAnswer,
    }),
    argue: {
      nonHate: (own) => turn('non-hate', render('round-1-non-hate', { reference: reference(own) })),
      hate: (heard, own) =>
        turn('hate', render('round-1-hate', { argument: argument(heard), reference: reference(own) })),
    },
    respond: (side, heard, own) =>
      turn(side, [...spoken(own), ...render(`round-2-${side}`, { argument: argument(heard) })]),
    judge: (history) => {
      const entries = history.map(
        (entry) => `${SPEAKER[entry.side]}, round ${entry.round}:\n${argument(entry.argument)}`,
      )
      return {
        ...asked('judge', 'judge'),
        messages: [...system, ...render('judge', { history: entries.join('\n\n'), text })],
        answer: judgeAnswer,
      }
    },
  }
}

/** A debater's own turn as it stands in its conversation; nothing where the turn failed. */
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
  return [post.text, ...images].filter((part) => part.trim() !== '').join('\n')
}

/** Whether anything is known in words of what the image shows. */
export function isDescribed(medium: Medium): boolean {
  return (shownIn(medium) ?? '').trim() !== ''
}
