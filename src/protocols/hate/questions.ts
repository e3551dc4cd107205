import type { z } from 'zod'
import type { Ask } from '../../contracts/facts/ask.ts'
import type { Fence, ListItem } from '../../contracts/facts/fence.ts'
import type { ChatMessage } from '../../contracts/facts/verdict.ts'
import { askedAgain, type Citations, type CitingAnswer, type PolicyInForce, policyIn } from '../clauses.ts'
import { inOrder } from '../order.ts'
import { formUnder } from '../preset.ts'
import { inTurns, type Prompts } from '../prompts.ts'
import {
  ABSTAIN,
  type HateArgument,
  type HateJudgement,
  honestTurn,
  judgementIn,
  type StanceAnswer,
  stanceBatchAnswer,
  turnAnswer,
  type zeroShotAnswer,
  zeroShotIn,
} from './answers.ts'
import { type HateSide, type Perspective, SIDES } from './perspectives.ts'
import { asksForPlatforms, type HateSettings } from './settings.ts'

/** The prompt files of this protocol and the placeholders in each. */
export const HATE_PROMPTS = {
  system: [],
  perspective: ['criteria', 'examples', 'similar?', 'text', 'labels?'],
  policy: ['policy', 'cite?'],
  cite: ['wrong'],
  perspectives: ['annotators', 'text', 'count?', 'policy?'],
  annotator: ['number', 'criteria', 'examples?', 'similar?'],
  'perspective-criteria': ['criteria', 'text', 'labels?'],
  'perspective-examples': ['examples', 'text', 'labels?'],
  'zero-shot': ['text', 'platforms?'],
  'debater-non-hate': ['rules', 'text', 'platforms?'],
  'debater-hate': ['rules', 'text', 'platforms?'],
  'round-1-non-hate': ['argument?', 'heard?', 'missing?', 'reference', 'reasons?', 'exit?', 'gaveUp?'],
  'round-1-hate': ['argument', 'heard?', 'missing?', 'reference', 'reasons?', 'exit?', 'gaveUp?'],
  'round-2-non-hate': ['argument', 'heard?', 'own?', 'exit?'],
  'round-2-hate': ['argument', 'heard?', 'own?', 'exit?'],
  judge: ['history', 'missing?', 'text', 'labels?', 'platforms?', 'gaveUp?'],
  'judge-memories': ['memories', 'missing?', 'text', 'labels?', 'platforms?', 'gaveUp?'],
  'judge-alone': ['text', 'labels?'],
} as const

/** A labelled text from a perspective's shelf, with the perspective's own name for its label. */
export interface Example {
  readonly id: string
  readonly text: string
  readonly label: string
}

/** A perspective that is asked, and the examples that it is shown. */
interface Shown {
  readonly perspective: Perspective
  readonly similar: readonly Example[]
}

/** What a debater said, or null if the turn failed. */
export type Argument = HateArgument | null

/** One turn of the debate: what the speaker had heard of the other before it, and what it said. */
export interface HateTurn {
  readonly side: HateSide
  readonly round: number
  /** Undefined for the first speaker. */
  readonly heard: Argument | undefined
  readonly argument: Argument
  /** It says word for word what was said before. */
  readonly echo?: true
}

/** The reasons of those who took a side, by side. */
export type References = Readonly<Record<HateSide, readonly string[]>>

/** The questions of the paper about one text, each an ask of its stage. */
export interface HateQuestions {
  perspective(perspective: Perspective, similar: readonly Example[]): Ask<z.infer<Perspective['answer']>>
  /** Several perspectives in one call, each an annotator by its criteria; answered by number. */
  perspectives(asked: readonly Shown[]): Ask<Readonly<Record<string, StanceAnswer>>>
  zeroShot(): Ask<z.infer<typeof zeroShotAnswer>>
  /** Round 1: from the side's own reference; the hate side has heard the non-hate side. */
  argue(side: HateSide, heard: Argument | undefined, references: References): Ask<HateArgument>
  /**
   * Round 2: after its own turn, refutes or agrees with what it heard. In Algorithm 2 it no longer sees its reference;
   * in the published code it still sees all of round 1.
   */
  respond(own: HateTurn, heard: Argument, references: References): Ask<HateArgument>
  /** Asks for the clauses of an answer once more, told what is wrong with those that it cites. */
  cite(asked: Ask, answer: CitingAnswer, wrong: readonly string[]): Ask<Citations>
  /** In Algorithm 2, over the history H (who said what, in order); in the published code, over each side's memory. */
  judge(turns: readonly HateTurn[], references: References): Ask<HateJudgement>
  /** Of the text alone, by the policy: no perspective was asked, and nobody debates. */
  judgeAlone(): Ask<HateJudgement>
}

const SHOWN = { both: 'perspective', criteria: 'perspective-criteria', examples: 'perspective-examples' } as const
const SPEAKER = { 'non-hate': 'Non-hate side', hate: 'Hate side' } as const

/** Shown in place of a reference or of examples if there are none. */
const NONE = 'none'
/**
 * Shown in place of a turn that failed: that debater was not heard, which does not mean that it had nothing to say, nor
 * that it was beaten.
 */
const MISSING = '(this turn did not arrive)'
/** The same under `paper`. */
const LOST = '(this turn was lost)'
/** The value of a place that only decides about a section. */
const YES = 'yes'

/** What questions about one text are made of. */
interface QuestionParts {
  readonly settings: HateSettings
  readonly policy: PolicyInForce | null
  readonly prompts: Prompts
  readonly fence: Fence
  /** Whether what is otherwise second comes first. */
  readonly turned: boolean
  /** The same of one perspective's labels, each by a draw of its own: else all three would lean to one label together. */
  turnedFor(perspective: string): boolean
  /** What is said of the post's images, after its words. */
  readonly images: string
  /** What is said before its words: of a comment what it stands under and answers. */
  readonly surroundings: string
}

export function questions(words: string, parts: QuestionParts): HateQuestions {
  const { settings, prompts, fence, turned, turnedFor } = parts
  const paper = settings.preset === 'paper'
  const text = `${parts.surroundings}${fence('text', words)}${parts.images}`
  const bare = prompts.get('system').render()
  const system = inTurns([...bare, ...policyIn(prompts, parts.policy)])
  const definition = asksForPlatforms(settings) ? YES : ''
  const platforms = parts.policy === null ? definition : ''
  const rules = contentOf(system)
  const render = (name: keyof typeof HATE_PROMPTS, values: Record<string, string>) => prompts.get(name).render(values)
  const asked = (stage: string, role: string) => ({
    stage,
    role,
    temperature: settings.temperature,
    maxTokens: settings.answerTokens,
    ...formUnder(settings.preset),
  })
  const turn = (side: HateSide, told: readonly ChatMessage[]) => ({
    ...asked('debate', 'debater'),
    label: side,
    messages: inTurns([...render(`debater-${side}`, { rules, text, platforms }), ...told]),
    answer: settings.exits ? honestTurn : turnAnswer,
  })
  const ruling = (told: readonly ChatMessage[]) => ({
    ...asked('judge', 'judge'),
    messages: [...system, ...told],
    answer: judgementIn({ paper, turned, citing: parts.policy?.citing }),
  })
  const labels = choice(inOrder(SIDES, turned))
  const argument = (said: Argument) => (said === null ? (paper ? LOST : MISSING) : fence('argument', said.argument))
  const several = (kind: string, texts: readonly Labelled[]) =>
    texts.length === 0 ? NONE : (paper ? blocks : list)(fence, kind, texts)
  const reference = (reasons: readonly string[]) =>
    several(
      'reason',
      reasons.map((text) => ({ text })),
    )
  const opening = (side: HateSide, heard: Argument | undefined, references: References) =>
    render(`round-1-${side}`, {
      reference: reference(references[side]),
      reasons: references[side].length > 0 ? YES : '',
      argument: heard === undefined ? '' : argument(heard),
      heard: heard ? YES : '',
      missing: heard === null ? YES : '',
      exit: settings.exits ? YES : '',
      gaveUp: heard?.holds === 'no' ? YES : '',
    })

  return {
    perspective: (perspective, similar) => {
      const isTurned = turnedFor(perspective.name)
      const offered = inOrder(perspective.labels, isTurned)
      const values = {
        criteria: criteriaOf(perspective, offered, { paper }),
        examples: several('example', similar),
        similar: similar.length > 0 ? YES : '',
        text,
        labels: choice([...offered.map(({ name }) => name), ABSTAIN]),
      }
      return {
        ...asked('perspective', 'perspective'),
        label: perspective.name,
        messages: [...system, ...render(SHOWN[settings.show], values)],
        answer: isTurned ? perspective.turnedAnswer : perspective.answer,
      }
    },
    perspectives: (all) => ({
      ...asked('perspective', 'perspective'),
      // As much for each as if it were asked alone.
      maxTokens: settings.answerTokens * all.length,
      label: all.map(({ perspective }) => perspective.name).join(', '),
      messages: [...system, ...render('perspectives', { ...annotatorsIn(all, parts), text })],
      answer: stanceBatchAnswer(
        all.map(({ perspective: one }) => (turnedFor(one.name) ? one.turnedAnswer : one.answer)),
      ),
    }),
    zeroShot: () => ({
      ...asked('perspective', 'perspective'),
      label: 'zero-shot',
      messages: [...bare, ...render('zero-shot', { text, platforms: definition })],
      answer: zeroShotIn(turned),
    }),
    cite: (question, answer, wrong) => ({
      ...asked('cite', question.role),
      label: question.label ?? question.role,
      ...askedAgain(prompts, parts.policy, { question, answer, wrong }),
    }),
    argue: (side, heard, references) => turn(side, opening(side, heard, references)),
    respond: (own, heard, references) => {
      const begun = settings.history === 'code' ? opening(own.side, own.heard, references) : []
      const answered = render(`round-2-${own.side}`, {
        argument: argument(heard),
        heard: heard === null ? '' : YES,
        own: own.argument === null ? '' : YES,
        exit: settings.exits ? YES : '',
      })
      const inWords = paper && settings.history === 'code'
      return turn(own.side, [...begun, ...spoken(own.argument, inWords), ...answered])
    },
    judge: (turns, references) => {
      const who = (turn: HateTurn) => `${SPEAKER[turn.side]}, round ${turn.round}${noteOn(turn)}:`
      const history = () =>
        paper
          ? turns.map((one) => `${who(one)}\n${argument(one.argument)}`).join('\n\n')
          : fence.list(
              'turns',
              turns.map((one): ListItem => {
                const said = one.argument === null ? MISSING : { kind: 'argument', text: one.argument.argument }
                return [`${who(one)} `, said]
              }),
            )
      const memories = () =>
        inOrder(SIDES, turned)
          .map((side) => memoryOf(side, turns, reference(references[side]), argument))
          .join('\n\n')
      const missing = turns.some((turn) => turn.argument === null) ? YES : ''
      const gaveUp = turns.some(({ argument: given }) => given?.holds === 'no') ? YES : ''
      const told = { text, missing, gaveUp, labels, platforms }
      return ruling(
        settings.history === 'code'
          ? render('judge-memories', { memories: memories(), ...told })
          : render('judge', { history: history(), ...told }),
      )
    },
    judgeAlone: () => ruling(render('judge-alone', { text, labels })),
  }
}

/** What a side's debater remembers of the debate, in the published code. */
function memoryOf(
  side: HateSide,
  turns: readonly HateTurn[],
  reference: string,
  argument: (said: Argument) => string,
): string {
  return [
    `${SPEAKER[side]}, its reference:\n${reference}`,
    ...turns
      .filter((turn) => turn.side === side)
      .flatMap(({ round, heard, argument: given, echo }) => [
        ...(heard === undefined ? [] : [`${SPEAKER[side]}, round ${round}, heard:\n${argument(heard)}`]),
        `${SPEAKER[side]}, round ${round}, said${noteOn({ argument: given, echo })}:\n${argument(given)}`,
      ]),
  ].join('\n\n')
}

/** Each perspective under its number, with what it would be shown alone; and how many they are. */
function annotatorsIn(all: readonly Shown[], { settings, policy, prompts, fence, turnedFor }: QuestionParts) {
  const annotators = all
    .map(({ perspective, similar }, at) => {
      const shown = settings.show === 'both' ? similar : []
      const values = {
        number: String(at + 1),
        criteria: criteriaOf(perspective, inOrder(perspective.labels, turnedFor(perspective.name)), { paper: false }),
        examples: list(fence, 'example', shown),
        similar: shown.length > 0 ? YES : '',
      }
      return contentOf(prompts.get('annotator').render(values))
    })
    .join('\n\n')
  return { annotators, count: String(all.length), policy: policy === null ? '' : YES }
}

function contentOf(messages: readonly ChatMessage[]): string {
  return messages.map(({ content }) => content).join('\n\n')
}

type Labelled = { readonly text: string; readonly label?: string }

/** A block for each text, under its label. */
function blocks(fence: Fence, kind: string, texts: readonly Labelled[]): string {
  return texts
    .map(({ text, label }, at) => `${label === undefined ? '' : `Label: ${label}\n`}${fence(kind, text, at + 1)}`)
    .join('\n')
}

/** All texts in one block, each after its label. */
function list(fence: Fence, kind: string, texts: readonly Labelled[]): string {
  const items = texts.map(({ text, label }, at): ListItem => {
    return [`${at + 1}${label === undefined ? '' : ` (${label})`}: `, { kind, text }]
  })
  return fence.list(`${kind}s`, items)
}

/** What the judge should know of a turn beside its words: that a debater gives up, or that something said twice is no second reason. */
function noteOn({ argument, echo }: Pick<HateTurn, 'argument'> & { readonly echo?: true | undefined }): string {
  if (argument?.holds === 'no') return ' (gives up its side)'
  return echo ? ' (repeats an earlier turn)' : ''
}

/** A debater's own turn in its conversation, as the published code has it once more `inWords`; empty if the turn failed. */
function spoken(own: Argument, inWords: boolean): ChatMessage[] {
  if (own === null) return []
  const answer = JSON.stringify(own)
  return [{ role: 'assistant', content: inWords ? `${answer}\n\nSo this is what I argue: ${own.argument}` : answer }]
}

function criteriaOf(
  { terms, tie }: Perspective,
  labels: readonly Perspective['labels'][number][],
  { paper }: { readonly paper: boolean },
): string {
  const pointsOf = (one: Perspective['labels'][number]) => (paper ? (one.paper ?? one.criteria) : one.criteria)
  const lists = labels.map((one) => [`${one.name}:`, ...pointsOf(one).map((point) => `- ${point}`)].join('\n'))
  return [...(terms === undefined ? [] : [terms]), ...lists, ...(tie === undefined ? [] : [tie])].join('\n')
}

function choice(labels: readonly string[]): string {
  return labels.map((label) => JSON.stringify(label)).join(' or ')
}
