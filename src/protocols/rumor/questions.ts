import type { z } from 'zod'
import type { Ask } from '../../contracts/facts/ask.ts'
import type { Fence, ListItem } from '../../contracts/facts/fence.ts'
import type { Comment, Post } from '../../contracts/facts/thread.ts'
import type { ChatMessage } from '../../contracts/facts/verdict.ts'
import type { DecisionPrompt } from '../decision-prompt.ts'
import { describeImages, wordsOf } from '../image-descriptions.ts'
import { inOrder } from '../order.ts'
import { postedOn } from '../posted-on.ts'
import { formUnder } from '../preset.ts'
import { inTurns, type Prompts } from '../prompts.ts'
import {
  FAKE_REAL,
  judgeAnswers,
  judgementIn,
  type RumorJudgement,
  type Stance,
  type StanceBatchAnswer,
  type StancesAndKind,
  stanceAnswerIn,
  stanceBatchAnswer,
  subjectivityIn,
  type View,
  viewIn,
  YES_NO,
} from './answers.ts'
import { noParents, type ParentOf, withParents } from './parents.ts'
import type { RumorSettings } from './settings.ts'
import { decidedStances } from './stance-decision.ts'
import { stancesWithSubjectivity } from './stance-with-subjectivity.ts'
import { noTimes, type TimeOf } from './times.ts'

/** The prompt files of this protocol and the placeholders in each. */
export const RUMOR_PROMPTS = {
  system: [],
  stance: ['claim', 'comment', 'parent?', 'reasons?'],
  'stance-batch': ['claim', 'comments', 'replies?', 'reasons?'],
  subjectivity: ['claim', 'answers?', 'beside?'],
  'subjectivity-beside': ['answers'],
  'opinion-subjective': ['claim', 'comments', 'counts?', 'oneSided?', 'lacking?', 'answers?'],
  'opinion-objective': ['claim', 'comments', 'counts?', 'oneSided?', 'lacking?', 'answers?'],
  debate: ['argument', 'answers?'],
  judge: [
    'claim',
    'supportArgument',
    'opposeArgument',
    'supportFirst?',
    'opinion?',
    'oneSided?',
    'counts?',
    'comments?',
    'answers?',
    'unverified?',
  ],
  vanilla: ['claim', 'comments', 'answers?'],
} as const

export type RumorSide = 'support' | 'oppose'
export type PromptKind = 'subjective' | 'objective'

/** The value of a place that only decides about a section. */
function yesIf(shown: boolean): string {
  return shown ? 'yes' : ''
}

/** Share of the longest answer that a stance answer may use for one comment; under `paper` all of it. */
const STANCE_SHARE = 80 / 700

/** The questions of the paper about one post, each an ask of its stage. */
export interface RumorQuestions {
  stance(comment: Comment): Ask<Stance>
  stanceBatch(comments: readonly Comment[], label: string): Ask<StanceBatchAnswer>
  /** The same with the claim's subjectivity as its last item. */
  stancesAndKind(comments: readonly Comment[], label: string): Ask<StancesAndKind>
  /** `beside`: the answer has a name, as where stances stand beside it. */
  subjectivity(how?: { readonly beside: boolean }): Ask<z.infer<ReturnType<typeof subjectivityIn>>>
  /**
   * The first messages of a debater's conversation: the claim and its comments, under the prompt for its kind.
   * Without comments (an empty string) the prompt states that itself. `oneSided`: another debater is shown the other side's;
   * `lacking`: what no comment states, where the other side has none.
   */
  opening(
    kind: PromptKind,
    told: { comments: string; counts: string; oneSided: boolean; lacking: string },
  ): ChatMessage[]
  /** `last`: no turn of this debater follows, whatever is said. */
  opinion(label: string, conversation: readonly ChatMessage[], turn: { readonly last: boolean }): Ask<View>
  turn(label: string, conversation: readonly ChatMessage[], turn: { readonly last: boolean }): Ask<View>
  /** Equation 4's instruction: the other's last reply, to be answered. */
  rebuttal(other: View): ChatMessage[]
  judge(
    support: View,
    oppose: View,
    told: { kind: PromptKind; counts: string; comments: string; oneSided: boolean },
  ): Ask<RumorJudgement>
  /** Table 1, a model by itself: claim and comments in one prompt, without stance and sides; `count`: how many there are, shown or not. */
  vanilla(comments: readonly Comment[], count: number): Ask<View>
  /** A side's comments as text for its prompt; the text states it if there are none. */
  comments(heading: string, comments: readonly Comment[]): string
}

/** What questions about one thread are made of. */
export interface QuestionParts {
  readonly settings: RumorSettings
  readonly prompts: Prompts
  readonly fence: Fence
  readonly parentOf?: ParentOf
  readonly timeOf?: TimeOf
  /** Whether what is otherwise second comes first. */
  readonly turned?: boolean
  /** What a decision model is told of stances, where the role decider is asked for them. */
  readonly decided?: DecisionPrompt | undefined
}

/** A question about many comments as one about each: which it has, how a part of it is asked, and how answers are joined. */
function batchOf(
  comments: readonly Comment[],
  parentOf: ParentOf,
  settings: QuestionParts['settings'],
  askAbout: (comments: readonly Comment[]) => ReturnType<RumorQuestions['stanceBatch']>,
): NonNullable<ReturnType<RumorQuestions['stanceBatch']>['batch']> {
  return {
    count: comments.length,
    texts: comments.map((comment) => JSON.stringify([comment.text, parentOf(comment)?.text ?? null])),
    single: stanceBatchAnswer(1, settings.stanceReasons),
    subset: (items) => askAbout(items.flatMap((item) => comments[item] ?? [])),
    pick({ scores }, nth) {
      const score = scores.find(({ comment }) => comment === nth + 1)
      return score && { scores: [{ ...score, comment: 1 }] }
    },
    merge: (answers) => ({
      scores: [...answers]
        .sort(([a], [b]) => a - b)
        .flatMap(([item, { scores }]) => scores.map((score) => ({ ...score, comment: item + 1 }))),
    }),
  }
}

export function questions(post: Post, parts: QuestionParts): RumorQuestions {
  const { settings, prompts, fence, parentOf = noParents, timeOf = noTimes, turned = false, decided } = parts
  const claim = `${fence('claim', claimOf(post))}${settings.preset === 'paper' ? '' : describeImages(post)}`
  // Those who judge it may have to know when it was said; a comment's stance does not hang on that.
  const dated = `${claim}${settings.times ? postedOn(post) : ''}`
  const system = prompts.get('system').render()
  const render = (name: keyof typeof RUMOR_PROMPTS, values: Record<string, string>) => prompts.get(name).render(values)
  const asked = (stage: string, role: string, maxTokens: number) => ({
    stage,
    role,
    temperature: settings.temperature,
    maxTokens,
    ...formUnder(settings.preset),
  })
  const argument = (reply: View) => fence('argument', replyText(reply))
  const stanceTokens = (comments: number) => tokensForStances(comments, settings)
  const view = viewIn(turned)
  const offered = inOrder(FAKE_REAL, turned).join(', ')
  const kinds = inOrder(YES_NO, turned).join(' or ')
  const reasons = yesIf(settings.stanceReasons === 'given')
  const listed = (comments: readonly Comment[], times: TimeOf) =>
    settings.preset === 'paper' ? numbered(fence, comments) : listOf(fence, comments, parentOf, times)

  const ask: RumorQuestions = {
    stance: (comment) => ({
      ...asked('stance', 'scorer', stanceTokens(1)),
      messages: [
        ...system,
        ...render('stance', {
          claim,
          comment: fence('comment', comment.text),
          parent: parentIn(parentOf(comment), fence),
          reasons,
        }),
      ],
      answer: stanceAnswerIn(settings.stanceReasons),
      about: withParents([comment], parentOf),
    }),
    stanceBatch: (comments, label) => {
      const shown = listed(comments, noTimes)
      const scored = {
        ...asked('stance', 'scorer', stanceTokens(comments.length)),
        label,
        messages: [
          ...system,
          ...render('stance-batch', { claim, comments: shown, replies: repliesIn(comments, parentOf), reasons }),
        ],
        answer: stanceBatchAnswer(comments.length, settings.stanceReasons),
        about: withParents(comments, parentOf),
        batch: batchOf(comments, parentOf, settings, (some) => ask.stanceBatch(some, label)),
      }
      return decided === undefined
        ? scored
        : decidedStances(scored, { prompt: decided, input: `${claim}\n${shown}`, turned })
    },
    stancesAndKind: (comments, label) => {
      const plain = ask.stanceBatch(comments, label)
      const more = render('subjectivity-beside', { answers: kinds })
      const messages = inTurns([...plain.messages, ...more])
      const asked = { ...plain, messages, maxTokens: stanceTokens(comments.length + 1) }
      return stancesWithSubjectivity(ask, comments, asked, { reasons: settings.stanceReasons, turned })
    },
    subjectivity: ({ beside } = { beside: false }) => ({
      ...asked('subjectivity', 'scorer', settings.answerTokens),
      messages: [...system, ...render('subjectivity', { claim, answers: kinds, beside: yesIf(beside) })],
      answer: subjectivityIn(turned),
    }),
    opening: (kind, { oneSided, lacking, ...told }) => {
      const also = { oneSided: yesIf(oneSided), answers: offered }
      return [...system, ...render(`opinion-${kind}`, { claim: dated, lacking, ...told, ...also })]
    },
    opinion: (label, messages, { last }) => ({
      ...asked('opinion', 'debater', settings.answerTokens),
      label,
      messages,
      answer: view,
      repeated: last ? 0 : messages.length,
    }),
    turn: (label, messages, { last }) => ({
      ...asked('debate', 'debater', settings.answerTokens),
      label,
      messages,
      answer: view,
      repeated: messages.length - (last ? 1 : 0),
    }),
    rebuttal: (other) => render('debate', { argument: argument(other), answers: offered }),
    judge: (support, oppose, { kind, counts, comments, oneSided }) => ({
      ...asked('judge', 'judge', settings.answerTokens),
      messages: [
        ...system,
        ...render('judge', {
          claim: dated,
          supportArgument: argument(support),
          opposeArgument: argument(oppose),
          supportFirst: yesIf(!turned),
          opinion: yesIf(kind === 'subjective'),
          oneSided: yesIf(oneSided),
          counts,
          comments,
          answers: judgeAnswers(turned, settings.unverified).join(', '),
          unverified: yesIf(settings.unverified),
        }),
      ],
      answer: settings.preset === 'paper' ? view : judgementIn(turned, settings.unverified),
    }),
    vanilla: (comments, count) => ({
      ...asked('opinion', 'debater', settings.answerTokens),
      label: 'vanilla',
      messages: [
        ...system,
        ...render('vanilla', {
          claim: dated,
          comments: ask.comments(headingOf(comments, count, settings), comments),
          answers: offered,
        }),
      ],
      answer: view,
    }),
    comments: (heading, comments) =>
      comments.length === 0
        ? `${heading}: there are none.`
        : `${heading}${comments.some(timeOf) ? ', with the time since the post' : ''}:\n${listed(comments, timeOf)}`,
  }
  return ask
}

/** A part of the comments is named as one. */
function headingOf({ length }: readonly Comment[], count: number, { preset }: RumorSettings): string {
  return preset === 'paper' || length === count ? 'Comments' : `Comments, ${length} of ${count} by a draw`
}

/** The longest answer about the stance of so many comments. */
function tokensForStances(comments: number, { preset, answerTokens }: RumorSettings): number {
  return preset === 'paper' ? answerTokens : Math.ceil(answerTokens * STANCE_SHARE) * (comments + 1)
}

/** A view as the other debater and the judge read it. */
function replyText(reply: View): string {
  return `${reply.reasoning}\nAnswer: ${reply.answer}`
}

function numbered(fence: Fence, comments: readonly Comment[]): string {
  return comments.map((comment, index) => fence('comment', comment.text, index + 1)).join('\n')
}

/** All in one block, each with its time and with what it answers, where these are known. */
function listOf(fence: Fence, comments: readonly Comment[], parentOf: ParentOf, timeOf: TimeOf): string {
  const items = comments.map((comment, index): ListItem => {
    const [parent, time] = [parentOf(comment), timeOf(comment)]
    return [
      `${index + 1}${time === undefined ? '' : ` (${time})`}: `,
      { kind: 'comment', text: comment.text },
      ...(parent === undefined ? [] : [' in answer to ', { kind: 'parent', text: parent.text }]),
    ]
  })
  return fence.list('comments', items)
}

function repliesIn(comments: readonly Comment[], parentOf: ParentOf): string {
  return yesIf(comments.some((comment) => parentOf(comment) !== undefined))
}

function parentIn(parent: Comment | undefined, fence: Fence): string {
  return parent === undefined ? '' : fence('parent', parent.text)
}

/** What the post claims. */
export const claimOf = wordsOf

/** All that questions tell of the post. */
export function describePost(post: Post): { readonly words: string; readonly posted: string } {
  return { words: claimOf(post) + describeImages(post), posted: postedOn(post) }
}
