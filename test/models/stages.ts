import { loadSettings } from '../../config/load.ts'
import { makeProtocols, promptsOf } from '../../src/app/composition/make-protocols.ts'
import { fences } from '../../src/contracts/facts/fence.ts'
import { samplingRanks } from '../../src/contracts/facts/sampling-rank.ts'
import type { Snapshot } from '../../src/contracts/facts/thread.ts'
import { undecided } from '../../src/contracts/facts/verdict.ts'
import { type Protocol, round, type Script } from '../../src/judging/engine/script.ts'
import { readPrompts } from '../../src/protocols/prompts.ts'
import { CURATOR_PROMPTS, safetyCuration } from '../../src/protocols/safety/curation.ts'
import { withAppeals } from '../../src/protocols/with-appeals.ts'
import { type Asked, EVERY_DEBATE, type Replies } from '../protocols/drive.ts'

// Every question that is put to a model, over words that strangers and models chose.

export const settings = loadSettings({})
export const fence = fences('a key', settings.fences)

/** A protocol's script over what these words make of its subject. */
function made(name: string, over: object = {}): (words: Words) => Script {
  const subject = name === 'counterspeech' ? reply : snapshot
  const protocol = judging(name, over)
  return (words) => protocol.script(subject(words), null)
}

/** The same with what its author, and somebody who reported it, say against an earlier ruling. */
function appealed(name: string): (words: Words) => Script {
  const protocol = judging(name)
  return (words) => {
    const appeals = [
      { by: 'author', text: words.appeal },
      { by: 'notifier', text: 'It is still there.' },
    ] as const
    return withAppeals(protocol, appeals, fence).script(snapshot(words), null)
  }
}

function judging(name: string, over: object = {}): Protocol {
  // What comes first goes by a hash of the text: here other words must change nothing else.
  const order = name === 'counterspeech' ? {} : { order: 'fixed' }
  // Every question is asked, and in every form.
  const debated = { ...EVERY_DEBATE[name], ...(name === 'hate' ? { exits: true } : {}) }
  const own = { ...settings.protocols[name], enabled: true, ...order, ...debated, ...over }
  const given = { ...settings.protocols, [name]: own }
  const protocol = makeProtocols(given as typeof settings.protocols, fence, samplingRanks('key')).find(
    (one) => one.name === name,
  )
  if (protocol === undefined) throw new Error(`no protocol ${name}`)
  return protocol
}

/** Everything in a case that a stranger may have written, or a model after a stranger's words. */
export const BENIGN = {
  text: 'The bridge is closed.',
  alt: 'a bridge',
  comment: 'I was there.',
  parent: 'Who says so?',
  hateSpeech: 'They all lie.',
  argument: 'It is likely.',
  reason: 'It names a group.',
  example: 'Go home.',
  precedent: 'An old case.',
  precedentLabel: 'safe',
  summary: 'A summary.',
  keyCues: 'cues',
  description: 'A bridge over water.',
  briefSummary: 'In short.',
  differences: 'It differs.',
  patterns: 'None recur.',
  steps: 'Read the reply.',
  author: 'ana',
  note: 'I know this case.',
  appeal: 'The city has confirmed it.',
}
export type Place = keyof typeof BENIGN
export type Words = typeof BENIGN

const snapshot = (words: Words): Snapshot => ({
  post: {
    id: 'p',
    text: words.text,
    author: words.author,
    createdAt: 0,
    media: [{ kind: 'image', url: 'https://images.example/a.png', alt: words.alt }],
  },
  comments: [words.comment, 'No, it is open.', 'Closed since noon.', words.parent].map((text, at) => ({
    id: `c${at}`,
    ...(at === 1 || at === 2 ? { parentId: 'c3' } : {}),
    text,
    author: at === 3 ? `${words.author} too` : words.author,
    createdAt: at * 60_000,
  })),
  leftOut: 0,
})
const reply = (words: Words): Snapshot => ({
  post: { id: 'p', author: words.author, text: words.text, hateSpeech: words.hateSpeech, createdAt: 0 },
  comments: [],
  leftOut: 0,
})

const rumorReplies =
  (words: Words): Replies =>
  ({ ask, order }: Asked) => {
    if (ask.stage === 'subjectivity') return { reason: 'r', answer: 'No' }
    if (ask.stage !== 'stance') return { reasoning: words.argument, answer: ask.label === 'oppose' ? 'Fake' : 'Real' }
    const score = (comment: number) => ({ comment, reason: 'r', score: comment % 2 === 1 ? 0.5 : -0.5 })
    return ask.label === undefined
      ? { reason: 'r', score: order % 2 === 0 ? 0.5 : -0.5 }
      : { scores: [1, 2, 3, 4].map(score) }
  }

const hateReplies =
  (words: Words): Replies =>
  ({ ask }: Asked) => {
    if (ask.lookup !== undefined) {
      const labels: Record<string, string> = { 'k-haters': 'normal', 'k-mhas': 'not_hate_speech', unsmile: 'clean' }
      const shelves = ask.lookup.shelves.map((shelf) => ({
        shelf,
        neighbours: [
          {
            id: shelf,
            text: words.example,
            label: labels[shelf] ?? 'NOT',
            similarity: 0.9,
            metadata: { note: words.note },
          },
        ],
        problem: null,
      }))
      return { shelves, weak: null }
    }
    if (ask.stage === 'debate') return { argument: words.argument, holds: 'yes' }
    if (ask.stage === 'judge') return { reason: words.reason, label: 'hate' }
    const label = ['Offensive', 'Hate Speech', 'Hateful'].find(
      (one) => ask.answer.safeParse({ reason: 'r', label: one }).success,
    )
    return { reason: words.reason, label }
  }

const safetyReplies =
  (words: Words): Replies =>
  ({ ask }: Asked) => {
    switch (ask.stage) {
      case 'describe':
        return { seen: 'yes', description: words.description }
      case 'retrieve': {
        const metadata = { keyCues: words.keyCues, summary: words.summary, note: words.note }
        const neighbour = { id: 'n', text: words.precedent, label: words.precedentLabel, similarity: 0.9, metadata }
        return { shelves: [{ shelf: 'precedents', neighbours: [neighbour], problem: null }], weak: null }
      }
      case 'brief': {
        const compared = { precedent: 1, keyCues: [words.keyCues], differences: words.differences }
        return { summary: words.briefSummary, precedents: [compared], patterns: words.patterns }
      }
      case 'arbitrate':
        return { reasoning: 'r', evidence: [], rule: 'default-safe', categories: [], score: 0.2, label: 'safe' }
      default:
        return { reasoning: words.argument, score: 0.5 }
    }
  }

const counterspeechReplies =
  (words: Words): Replies =>
  ({ ask }: Asked) =>
    ask.stage === 'steps' ? { steps: [words.steps, 'Score it.'] } : { reasoning: words.argument, score: 1 }

/** The curator's question about a case that is closed, over the words of a transcript. */
function* curated(words: Words): Script {
  const asked = safetyCuration({
    fence,
    preset: 'none',
    prompts: readPrompts(promptsOf('curator'), CURATOR_PROMPTS),
  }).ask
  const turns = [
    { stage: 'brief', role: 'supporter', answer: { summary: words.briefSummary, patterns: words.patterns } },
    { stage: 'strict', role: 'strict', answer: { reasoning: words.argument, score: 0.5 } },
  ]
  yield* round([asked({ subject: `${words.text}\n${words.alt}`, turns, verdict: 'safe', truth: 'unsafe' })])
  return { ruling: undecided() }
}

export interface Stage {
  readonly name: string
  readonly script: (words: Words) => Script
  readonly replies: (words: Words) => Replies
  /** Where what stands is seen by a model. */
  readonly places: readonly Place[]
  /** Its model's own words stand outside every block, as what is to be done. */
  readonly unfenced?: true
}

const PREDICT = ['k-haters', 'k-mhas', 'kodoli', 'kold', 'unsmile']

export const STAGES: readonly Stage[] = [
  {
    name: 'rumor',
    script: made('rumor'),
    replies: rumorReplies,
    places: ['text', 'alt', 'comment', 'parent', 'argument'],
  },
  {
    name: 'rumor, a comment at a time',
    script: made('rumor', { batchSize: 1 }),
    replies: rumorReplies,
    places: ['text', 'comment', 'parent'],
  },
  {
    name: 'hate',
    script: made('hate', { perspectives: PREDICT }),
    replies: hateReplies,
    places: ['text', 'alt', 'example', 'reason', 'argument'],
  },
  {
    name: 'hate, by its published code',
    script: made('hate', { perspectives: PREDICT, history: 'code' }),
    replies: hateReplies,
    places: ['reason', 'argument'],
  },
  {
    name: 'safety',
    script: made('safety'),
    replies: safetyReplies,
    places: [
      'text',
      'alt',
      'description',
      'precedent',
      'precedentLabel',
      'summary',
      'keyCues',
      'briefSummary',
      'differences',
      'patterns',
      'argument',
    ],
  },
  {
    name: 'counterspeech',
    script: made('counterspeech'),
    replies: counterspeechReplies,
    places: ['text', 'hateSpeech'],
  },
]

/** What the settings allow beside them: other ways through the same questions, and the curator's. */
export const OTHERWISE: readonly Stage[] = [
  {
    name: 'rumor, the model by itself',
    script: made('rumor', { decide: 'vanilla' }),
    replies: rumorReplies,
    places: ['text', 'alt', 'comment'],
  },
  {
    name: 'hate, by the three readings',
    script: made('hate', {}),
    replies: hateReplies,
    places: ['text', 'reason', 'argument'],
  },
  {
    name: 'rumor, the judge with comments',
    script: made('rumor', { judgeComments: 3 }),
    replies: rumorReplies,
    places: ['comment', 'parent'],
  },
  {
    name: 'hate, the judge alone',
    script: made('hate', { debateWhen: 'never' }),
    replies: hateReplies,
    places: ['text', 'alt'],
  },
  {
    name: 'hate, the text alone',
    script: made('hate', { decide: 'zero-shot' }),
    replies: (words) => () => ({ reason: words.reason, label: 'hate' }),
    places: ['text', 'alt'],
  },
  {
    name: 'counterspeech, by steps that the model writes',
    script: made('counterspeech', { steps: 'model-written' }),
    replies: counterspeechReplies,
    places: ['text', 'hateSpeech'],
    unfenced: true,
  },
  {
    name: 'the curator',
    script: curated,
    replies: (words) => () => ({ reasoning: words.argument, keyCues: [words.keyCues], summary: words.summary }),
    places: ['text', 'alt', 'briefSummary', 'patterns', 'argument'],
  },
]

/** What people say who object to a ruling: they know what it was, and want another. */
export const APPEALED: readonly Stage[] = STAGES.filter(({ name }) => ['rumor', 'hate', 'safety'].includes(name)).map(
  (stage) => ({ ...stage, name: `${stage.name}, with appeals`, script: appealed(stage.name), places: ['appeal'] }),
)

/** Where calls are saved: perspectives, aspects, and stances and subjectivity, in one question. */
const thriftyReplies: Record<string, (words: Words) => Replies> = {
  rumor: (words) => (asked) => {
    const [said] = [rumorReplies(words)].map((replies) => (typeof replies === 'function' ? replies(asked) : undefined))
    return asked.ask.stage === 'stance' ? { subjectivity: { reason: 'r', answer: 'No' }, ...(said as object) } : said
  },
  hate: (words) => (asked) => {
    const label = (one: string) => ({ reason: words.reason, label: one })
    const each = ['Offensive', 'Hate Speech', 'Offensive', 'Offensive', 'Hate Speech'].map(label)
    // They don't agree, so that there is a debate.
    const mixed = [label('Not Offensive'), ...each.slice(1)]
    const several = Object.fromEntries(mixed.map((one, at) => [`annotator${at + 1}`, one]))
    if (asked.ask.stage === 'perspective') return several
    const replies = hateReplies(words)
    return typeof replies === 'function' ? replies(asked) : undefined
  },
  counterspeech: (words) => () => {
    const scored = { reasoning: words.argument, score: 1 }
    return { relevance: scored, aggressiveness: scored, coherence: scored, suitableness: scored }
  },
  // The debaters agree, and the small arbiter is not sure: both arbiters are asked.
  safety: (words) => (asked) => {
    const { stage, label } = asked.ask
    if (stage === 'strict' || stage === 'loose') return { reasoning: words.argument, score: 0.1 }
    const replies = safetyReplies(words)
    const said = typeof replies === 'function' ? replies(asked) : undefined
    return label === 'small arbiter' ? { ...(said as object), score: 0.5 } : said
  },
}

export const IN_THRIFTY: readonly Stage[] = Object.entries(thriftyReplies).flatMap(([name, replies]) =>
  STAGES.filter((stage) => stage.name === name).map((stage) => ({
    ...stage,
    name: `${name}, preset thrifty`,
    replies,
    script: made(name, { preset: 'thrifty', ...(name === 'hate' ? { perspectives: PREDICT } : {}) }),
  })),
)

/** The same in the papers' wording. */
export const IN_PAPER = ['rumor', 'hate', 'safety', 'counterspeech'].flatMap((name) =>
  STAGES.filter((stage) => stage.name === name).map((stage) => ({
    ...stage,
    name: `${name}, preset paper`,
    script: made(name, { preset: 'paper' }),
  })),
)
