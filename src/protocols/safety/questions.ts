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
import { captioned, type Modality, modalityOf, type Picture } from './input.ts'
import { logIn, type Opponent, panelOf, type SafetySide, type SafetyTurn, trajectories, unlessPaper } from './log.ts'
import { isByCode, type SafetySettings } from './settings.ts'

/** The places of which one has a value, by what the post is made of. */
const MODALITY = ['textOnly?', 'imageOnly?', 'textAndImage?'] as const

/** The prompt files of this protocol and the placeholders in each. */
export const SAFETY_PROMPTS = {
  system: [],
  'focus-text': [],
  'focus-image': [],
  'focus-both': [],
  policy: ['policy', 'cite?'],
  cite: ['wrong'],
  describe: ['caption', 'claimed?'],
  brief: ['input', 'precedents', 'known?', ...MODALITY],
  strict: ['input', 'brief', 'opponent', 'spoken?', 'images?', ...MODALITY],
  loose: ['input', 'brief', 'opponent', 'spoken?', 'images?', ...MODALITY],
  turn: ['opponent', 'spoken?'],
  arbitrate: [
    'input',
    'brief',
    'log',
    'trajectories',
    'both?',
    'debated?',
    'moved?',
    'missing?',
    'panel?',
    ...MODALITY,
  ],
} as const

type Agent = 'describer' | 'supporter' | SafetySide | 'arbiter'

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

const PLACE_OF = { text: 'textOnly', image: 'imageOnly', both: 'textAndImage' } as const

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
  const modality = modalityOf(post)
  const byCode = isByCode(settings)
  const madeOf = { textOnly: '', imageOnly: '', textAndImage: '', [PLACE_OF[modality]]: YES }
  const briefedOn = (focus: Modality | null) =>
    merged([...system, ...policyIn(prompts, policy), ...(focus === null ? [] : render(`focus-${focus}`))])
  // By the code there is one guide to risks for all that has images.
  const briefed = briefedOn(byCode && modality !== 'text' ? 'both' : modality)
  const asked = (stage: string, agent: Agent) => ({
    stage,
    role: roleOf(agent, settings, modality === 'text'),
    temperature: settings.temperature,
    maxTokens: settings.answerTokens,
    ...formUnder(settings.preset),
  })
  const ruling = ({ input, brief }: Grounds, log: readonly SafetyTurn[]) => ({
    messages: [
      // By the code the arbiter of a text reads the categories, not the principles of the others.
      ...(byCode ? briefedOn('both') : briefed),
      ...render('arbitrate', {
        ...madeOf,
        input,
        brief,
        log: logIn(log, settings, fence),
        trajectories: trajectories(log, settings),
        both: settings.strict && settings.loose ? YES : '',
        debated: log.length > 0 ? YES : '',
        // A single round shows nothing beyond its own words.
        moved: log.some(({ round }) => round > 1) ? YES : '',
        missing: log.some(({ said }) => said === null) ? YES : '',
        panel: byCode ? panelOf(log) : '',
      }),
    ],
    answer: reportIn({ paper: settings.preset === 'paper', turned: isReportTurned(), citing: policy?.citing }),
  })

  return {
    describe: ({ number, url, of, alt }) => {
      const said =
        alt === null ? `The author says nothing of what image ${number} shows.` : captioned(number, alt, fence)
      const caption = of === null ? said : `Image ${number} is ${of}.\n${said}`
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
        // By the code who sums up text and images reads no categories.
        ...(byCode && modality === 'both' ? briefedOn(null) : briefed),
        ...render('brief', {
          ...madeOf,
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
        ...madeOf,
        input,
        brief,
        opponent: words,
        spoken: spoken ? YES : '',
        images: modality === 'text' ? '' : YES,
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

/** The images as models see them: a hash of one may come later than the image, and whoever sends it could draw lots by it. */
function withoutHashes({ media = [] }: Post) {
  return media.map(({ sha256: _, pdq: __, ...shown }) => shown)
}
