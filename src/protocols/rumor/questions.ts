import type { z } from 'zod'
import type { Ask } from '../../domain/ask.ts'
import type { Fence } from '../../domain/fence.ts'
import { type Comment, type Post, shownIn } from '../../domain/thread.ts'
import type { ChatMessage } from '../../domain/verdict.ts'
import type { Prompts } from '../prompts.ts'
import { stanceAnswer, stanceBatchAnswer, subjectivityAnswer, type View, view } from './answers.ts'
import type { RumorSettings } from './settings.ts'

/** The prompt files of this protocol and the placeholders in each. */
export const RUMOR_PROMPTS = {
  system: [],
  stance: ['claim', 'comment'],
  'stance-batch': ['claim', 'comments'],
  subjectivity: ['claim'],
  'opinion-subjective': ['claim', 'comments'],
  'opinion-objective': ['claim', 'comments'],
  debate: ['argument'],
  judge: ['claim', 'supportArgument', 'opposeArgument'],
  vanilla: ['claim', 'comments'],
} as const

export type Side = 'support' | 'oppose'
export type PromptKind = 'subjective' | 'objective'

/** Share of the longest answer that a stance answer may use for one comment; under `paper` all of it. */
const STANCE_SHARE = 80 / 700

/** The questions of the paper about one post, each an ask of its stage. */
export interface Questions {
  stance(comment: Comment): Ask<z.infer<typeof stanceAnswer>>
  stanceBatch(comments: readonly Comment[], label: string): Ask<z.infer<ReturnType<typeof stanceBatchAnswer>>>
  subjectivity(): Ask<z.infer<typeof subjectivityAnswer>>
  /** The first messages of a debater's conversation: the claim and its comments, under the prompt for its kind. */
  opening(kind: PromptKind, comments: string): ChatMessage[]
  opinion(label: string, conversation: readonly ChatMessage[]): Ask<View>
  turn(label: string, conversation: readonly ChatMessage[]): Ask<View>
  /** Equation 4's instruction: the other's last reply, to be answered. */
  rebuttal(other: View): ChatMessage[]
  judge(support: View, oppose: View): Ask<View>
  /** Table 1, a model by itself: claim and comments in one prompt, without stance and sides. */
  vanilla(comments: readonly Comment[]): Ask<View>
  /** A side's comments as text for its prompt; the text says so if there are none. */
  comments(heading: string, comments: readonly Comment[]): string
}

export function questions(post: Post, parts: { settings: RumorSettings; prompts: Prompts; fence: Fence }): Questions {
  const { settings, prompts, fence } = parts
  const claim = fence('claim', claimOf(post))
  const system = prompts.get('system').render()
  const render = (name: keyof typeof RUMOR_PROMPTS, values: Record<string, string>) => prompts.get(name).render(values)
  const asked = (stage: string, role: string, maxTokens: number) => ({
    stage,
    role,
    temperature: settings.temperature,
    maxTokens,
  })
  const argument = (reply: View) => fence('argument', said(reply))
  const stanceTokens = (comments: number) =>
    settings.preset === 'paper'
      ? settings.answerTokens
      : Math.ceil(settings.answerTokens * STANCE_SHARE) * (comments + 1)

  const ask: Questions = {
    stance: (comment) => ({
      ...asked('stance', 'scorer', stanceTokens(1)),
      messages: [...system, ...render('stance', { claim, comment: fence('comment', comment.text) })],
      answer: stanceAnswer,
      about: [comment.id],
    }),
    stanceBatch: (comments, label) => ({
      ...asked('stance', 'scorer', stanceTokens(comments.length)),
      label,
      messages: [...system, ...render('stance-batch', { claim, comments: numbered(fence, comments) })],
      answer: stanceBatchAnswer(comments.length),
      about: comments.map(({ id }) => id),
      batch: {
        count: comments.length,
        texts: comments.map(({ text }) => text),
        single: stanceBatchAnswer(1),
        subset: (items) =>
          ask.stanceBatch(
            items.flatMap((item) => comments[item] ?? []),
            label,
          ),
        pick({ scores }, nth) {
          const score = scores.find(({ comment }) => comment === nth + 1)
          return score && { scores: [{ ...score, comment: 1 }] }
        },
        merge: (answers) => ({
          scores: [...answers]
            .sort(([a], [b]) => a - b)
            .flatMap(([item, { scores }]) => scores.map((score) => ({ ...score, comment: item + 1 }))),
        }),
      },
    }),
    subjectivity: () => ({
      ...asked('subjectivity', 'scorer', settings.answerTokens),
      messages: [...system, ...render('subjectivity', { claim })],
      answer: subjectivityAnswer,
    }),
    opening: (kind, comments) => [...system, ...render(`opinion-${kind}`, { claim, comments })],
    opinion: (label, messages) => ({
      ...asked('opinion', 'debater', settings.answerTokens),
      label,
      messages,
      answer: view,
    }),
    turn: (label, messages) => ({
      ...asked('debate', 'debater', settings.answerTokens),
      label,
      messages,
      answer: view,
    }),
    rebuttal: (other) => render('debate', { argument: argument(other) }),
    judge: (support, oppose) => ({
      ...asked('judge', 'judge', settings.answerTokens),
      messages: [
        ...system,
        ...render('judge', { claim, supportArgument: argument(support), opposeArgument: argument(oppose) }),
      ],
      answer: view,
    }),
    vanilla: (comments) => ({
      ...asked('opinion', 'debater', settings.answerTokens),
      label: 'vanilla',
      messages: [...system, ...render('vanilla', { claim, comments: ask.comments('Comments', comments) })],
      answer: view,
    }),
    comments: (heading, comments) =>
      comments.length === 0 ? `${heading}: there are none.` : `${heading}:\n${numbered(fence, comments)}`,
  }
  return ask
}

/** A view as the other debater and the judge read it. */
function said(reply: View): string {
  return `${reply.reasoning}\nAnswer: ${reply.answer}`
}

function numbered(fence: Fence, comments: readonly Comment[]): string {
  return comments.map((comment, index) => fence('comment', comment.text, index + 1)).join('\n')
}

/** What the post claims: its text, and what its images are said to show. */
export function claimOf(post: Post): string {
  const images = (post.media ?? []).flatMap((medium) => {
    const words = shownIn(medium)
    return words === undefined ? [] : [`[image: ${words}]`]
  })
  return [post.text, ...images].filter((words) => words !== '').join('\n')
}
