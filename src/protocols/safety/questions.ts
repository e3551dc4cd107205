import { type Ask, lookup } from '../../contracts/facts/ask.ts'
import { isBlank } from '../../contracts/facts/blank.ts'
import type { Fence, ListItem } from '../../contracts/facts/fence.ts'
import type { Neighbour, SearchResult } from '../../contracts/facts/library.ts'
import type { SamplingRank } from '../../contracts/facts/sampling-rank.ts'
import type { Post } from '../../contracts/facts/thread.ts'
import type { ChatMessage } from '../../contracts/facts/verdict.ts'
import { askedAgain, type Citations, type CitingAnswer, type PolicyInForce, policyIn } from '../clauses.ts'
import { isTurned } from '../order.ts'
import { formUnder } from '../preset.ts'
import type { Prompts } from '../prompts.ts'
import { cutIn } from '../truncation.ts'
import {
  type Assessment,
  assessment,
  type Brief,
  briefAnswer,
  type Description,
  description,
  paperDescription,
  reportIn,
  type SafetyReport,
} from './answers.ts'
import { captioned, modalityOf, type Picture } from './input.ts'
import type { SafetySettings } from './settings.ts'

/** The prompt files of this protocol and the placeholders in each. */
export const SAFETY_PROMPTS = {
  system: [],
  'focus-text': [],
  'focus-image': [],
  'focus-both': [],
  policy: ['policy', 'cite?'],
  cite: ['wrong'],
  describe: ['caption', 'claimed?'],
  brief: ['input', 'precedents', 'known?'],
  strict: ['input', 'brief', 'opponent', 'spoken?', 'images?'],
  loose: ['input', 'brief', 'opponent', 'spoken?', 'images?'],
  turn: ['opponent', 'spoken?'],
  arbitrate: ['input', 'brief', 'log', 'trajectories', 'both?', 'debated?', 'moved?', 'missing?'],
} as const

export type SafetySide = 'strict' | 'loose'
type Agent = 'describer' | 'supporter' | SafetySide | 'arbiter'

/** One turn of the debate, as it ended. */
export interface SafetyTurn {
  readonly round: number
  readonly side: SafetySide
  /** Null if the turn failed. */
  readonly said: Assessment | null
  /** The paper's stand-in for a score that could not be read, if the settings ask for it. */
  readonly standIn: number | null
}

/** The text that a debater sees of the other, and whether it holds words of the other. */
export interface Opponent {
  readonly words: string
  readonly spoken: boolean
}

/** The parts of the case that the arbiter and the debaters see: input and brief, as in the prompts. */
export interface Grounds {
  readonly input: string
  readonly brief: string
}

/** The questions of the paper about one post, each an ask of its stage. */
export interface SafetyQuestions {
  describe(picture: Picture & { readonly url: string }): Ask<Description>
  retrieve(words: string): Ask<SearchResult>
  brief(input: string, precedents: readonly Neighbour[]): Ask<Brief>
  /** The first question of a debater's conversation. */
  opening(side: SafetySide, grounds: Grounds, opponent: Opponent): ChatMessage[]
  /** The question of each further round. */
  next(opponent: Opponent): ChatMessage[]
  /** `last`: no further turn of this debater follows. */
  turn(side: SafetySide, conversation: readonly ChatMessage[], last: boolean): Ask<Assessment>
  arbitrate(grounds: Grounds, log: readonly SafetyTurn[]): Ask<SafetyReport>
  /** The same question to a debater's model. */
  arbitrateSmall(grounds: Grounds, log: readonly SafetyTurn[]): Ask<SafetyReport>
  /** Asks for the clauses of a ruling once more, told what is wrong with those that it cites. */
  cite(asked: Ask, answer: CitingAnswer, wrong: readonly string[]): Ask<Citations>
}

/** The value of a place that only decides about a section. */
const YES = 'yes'

/** By what draws about a post are made: copies of it are drawn alike. */
export function drawnBy(post: Post): string {
  return JSON.stringify([post.text, withoutHashes(post)])
}

export function questions(
  post: Post,
  parts: {
    settings: SafetySettings
    policy: PolicyInForce | null
    prompts: Prompts
    fence: Fence
    samplingRank: SamplingRank
  },
): SafetyQuestions {
  const { settings, policy, prompts, fence } = parts
  // Only for the question that shows it: an image in a post's message may be most of a megabyte.
  const isReportTurned = () => settings.order === 'lot' && isTurned(parts.samplingRank, drawnBy(post))
  const render = (name: keyof typeof SAFETY_PROMPTS, values?: Record<string, string>) =>
    prompts.get(name).render(values)
  const system = render('system')
  const briefed = merged([...system, ...policyIn(prompts, policy), ...render(`focus-${modalityOf(post)}`)])
  const asked = (stage: string, agent: Agent) => ({
    stage,
    role: roleOf(agent, settings, modalityOf(post) === 'text'),
    temperature: settings.temperature,
    maxTokens: settings.answerTokens,
    ...formUnder(settings.preset),
  })
  const ruling = ({ input, brief }: Grounds, log: readonly SafetyTurn[]) => ({
    messages: [
      ...briefed,
      ...render('arbitrate', {
        input,
        brief,
        log: logIn(log, settings, fence),
        trajectories: trajectories(log, settings),
        both: settings.strict && settings.loose ? YES : '',
        debated: log.length > 0 ? YES : '',
        // A single round shows nothing beyond its own words.
        moved: log.some(({ round }) => round > 1) ? YES : '',
        missing: log.some(({ said }) => said === null) ? YES : '',
      }),
    ],
    answer: reportIn({ paper: settings.preset === 'paper', turned: isReportTurned(), citing: policy?.citing }),
  })

  return {
    describe: ({ number, url, alt }) => {
      const caption =
        alt === null ? `The author says nothing of what image ${number} shows.` : captioned(number, alt, fence)
      return {
        ...asked('describe', 'describer'),
        label: `image ${number}`,
        messages: [...system, ...pointingAt(url, render('describe', { caption, claimed: alt === null ? '' : YES }))],
        answer: settings.preset === 'paper' ? paperDescription : description,
      }
    },
    retrieve: (words) =>
      lookup('retrieve', {
        text: words,
        ...cutIn(post),
        shelves: [settings.shelf],
        k: settings.k,
        // Descriptions of images are in English, whatever language the author writes in.
        ...(post.lang === undefined || isBlank(post.text) ? {} : { lang: post.lang }),
      }),
    brief: (input, precedents) => ({
      ...asked('brief', 'supporter'),
      messages: [
        ...briefed,
        ...render('brief', {
          input,
          precedents: precedentsIn(precedents, settings, fence),
          known: precedents.length > 0 ? YES : '',
        }),
      ],
      answer: briefAnswer(precedents.length, settings.preset),
    }),
    opening: (side, { input, brief }, { words, spoken }) => [
      ...briefed,
      ...render(side, {
        input,
        brief,
        opponent: words,
        spoken: spoken ? YES : '',
        images: modalityOf(post) === 'text' ? '' : YES,
      }),
    ],
    next: ({ words, spoken }) => render('turn', { opponent: words, spoken: spoken ? YES : '' }),
    turn: (side, messages, last) => ({
      ...asked(side, side),
      messages,
      answer: assessment,
      repeated: last ? messages.length - 1 : messages.length,
    }),
    arbitrate: (grounds, log) => ({ ...asked('arbitrate', 'arbiter'), ...ruling(grounds, log) }),
    arbitrateSmall: (grounds, log) => ({
      ...asked('arbitrate', 'strict'),
      label: 'small arbiter',
      ...ruling(grounds, log),
    }),
    cite: (question, answer, wrong) => ({
      ...asked('cite', 'arbiter'),
      role: question.role,
      ...askedAgain(prompts, policy, { question, answer, wrong }),
    }),
  }
}

/**
 * The role by which a model is chosen: in Table 3's homogeneous rows all agents but the describer have the same one. With
 * `textArbiter: small` a post without images is ruled on by a debater's model.
 */
function roleOf(agent: Agent, { models, textArbiter }: SafetySettings, textOnly: boolean): Agent {
  if (agent === 'describer') return agent
  if (models === 'by-role') return agent === 'arbiter' && textArbiter === 'small' && textOnly ? 'strict' : agent
  return models === 'all-large' ? 'arbiter' : 'strict'
}

/** Several system messages as one: some endpoints take only one. */
function merged(messages: readonly ChatMessage[]): ChatMessage[] {
  return [{ role: 'system', content: messages.map(({ content }) => content).join('\n\n') }]
}

/** The same messages, with the image on the last of them. */
function pointingAt(url: string, messages: readonly ChatMessage[]): ChatMessage[] {
  return messages.map((message, index) => (index === messages.length - 1 ? { ...message, images: [url] } : message))
}

function precedentsIn(precedents: readonly Neighbour[], { preset }: SafetySettings, fence: Fence): string {
  if (precedents.length === 0) return 'There are none: no earlier case could be found.'
  if (preset !== 'paper')
    return fence.list(
      'precedents',
      precedents.map(({ text, label, metadata: { summary, keyCues } }, index): ListItem => {
        const known = (heading: string, kind: string, words: string | undefined) =>
          words === undefined ? [] : [`, ${heading} `, { kind: `precedent-${kind}`, text: words }]
        return [
          `${index + 1}: `,
          { kind: 'precedent', text },
          ...known('judged', 'label', label),
          ...known('its key cues', 'cues', keyCues),
          ...known('its summary', 'summary', summary),
        ]
      }),
    )
  return precedents
    .map(({ text, label, metadata: { summary, keyCues } }, index) => {
      // Each in its own block, so that no text can pose as a label or a summary.
      const known = (heading: string, kind: string, words: string) =>
        `${heading}:\n${fence(`precedent${kind}`, words, index + 1)}`
      return [
        known(`Earlier case ${index + 1}, judged`, '-label', label),
        ...(keyCues === undefined ? [] : [known('Its key cues', '-cues', keyCues)]),
        ...(summary === undefined ? [] : [known('Its summary', '-summary', summary)]),
        known('Its text', '', text),
      ].join('\n')
    })
    .join('\n\n')
}

/** The brief as debaters and arbiter read it, with the precedents' labels as the shelf has them. */
export function briefIn(brief: Brief, precedents: readonly Neighbour[], fence: Fence): string {
  const compared = brief.precedents.map(({ precedent, keyCues, differences }) => {
    const label = precedents[precedent - 1]?.label ?? ''
    return `Precedent ${precedent} (judged: ${label}). Key cues: ${keyCues.join('; ')}. Differences: ${differences}`
  })
  return fence('brief', [`Summary: ${brief.summary}`, ...compared, `Patterns: ${brief.patterns}`].join('\n'))
}

/** The text that a debater sees of the other's last turn; `isKnown`: it has seen it before, since a later one was lost. */
export function opponentIn(side: SafetySide, said: Assessment, fence: Fence, isKnown = false): string {
  const who = isKnown ? `The ${side} debater's new turn did not arrive. Before, it` : `The ${side} debater`
  return `${who} said, with a risk score of ${said.score}:\n${fence('argument', said.reasoning)}`
}

/** The text for a debater without another. */
export function aloneIn(other: SafetySide, settings: SafetySettings): string {
  return unlessPaper(
    settings,
    `There is no ${other} debater in this debate`,
    ': examine the case, and what you said of it, by yourself.',
  )
}

/** In the paper's ablations a debater is missing, and the arbiter's prompt does not say what to do then. */
function unlessPaper({ preset }: SafetySettings, fact: string, advice: string): string {
  return preset === 'paper' ? `${fact}.` : `${fact}${advice}`
}

function logIn(log: readonly SafetyTurn[], settings: SafetySettings, fence: Fence): string {
  if (log.length === 0)
    return unlessPaper(
      settings,
      'No debate was held',
      '. Look for benign contexts and for concrete violations yourself; that nobody argued for either is no evidence.',
    )
  const sides = new Set(log.map(({ side }) => side))
  const missing = (['strict', 'loose'] as const).filter((side) => !sides.has(side))
  return [
    ...(settings.preset === 'paper' ? paperTurnsIn(log, fence) : [turnsIn(log, fence)]),
    ...missing.map((side) =>
      unlessPaper(settings, `There was no ${side} debater`, ': look yourself for what it would have put forward.'),
    ),
  ].join('\n\n')
}

function turnsIn(log: readonly SafetyTurn[], fence: Fence): string {
  return fence.list(
    'turns',
    log.map(({ round, side, said }): ListItem => {
      const who = `Round ${round}, ${side} debater`
      if (said === null) return [`${who}: (this turn did not arrive)`]
      return [`${who}, risk score ${said.score}: `, { kind: 'argument', text: said.reasoning }]
    }),
  )
}

/** The images as models see them: a hash of one may come later than the image, and whoever sends it could draw lots by it. */
function withoutHashes({ media = [] }: Post) {
  return media.map(({ sha256: _, pdq: __, ...shown }) => shown)
}

function paperTurnsIn(log: readonly SafetyTurn[], fence: Fence): string[] {
  return log.map(({ round, side, said }, index) =>
    said === null
      ? `Round ${round}, ${side} debater: this turn could not be had.`
      : `Round ${round}, ${side} debater, risk score ${said.score}:\n${fence('argument', said.reasoning, index + 1)}`,
  )
}

/** Both debaters' scores, round by round. */
function trajectories(log: readonly SafetyTurn[], settings: SafetySettings): string {
  if (log.length === 0) return 'None.'
  return (['strict', 'loose'] as const)
    .filter((side) => settings[side])
    .map((side) => {
      const scores = log.filter((turn) => turn.side === side).map(scoreIn)
      return `${side} debater: ${scores.join(' → ')}`
    })
    .join('\n')
}

function scoreIn({ said, standIn }: SafetyTurn): string {
  if (said !== null) return String(said.score)
  return standIn === null ? 'no score' : `${standIn} (a stand-in: no score could be read)`
}
