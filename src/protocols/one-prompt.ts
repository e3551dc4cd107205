import { z } from 'zod'
import { type AnswerOrFailure, type Ask, decidedAnswer, failure } from '../contracts/facts/ask.ts'
import type { Fence, ListItem } from '../contracts/facts/fence.ts'
import { type Comment, type Post, type Snapshot, shownIn, snapshot } from '../contracts/facts/thread.ts'
import type { Ruling } from '../contracts/facts/verdict.ts'
import { type Protocol, round, type Script } from '../judging/engine/script.ts'
import { said } from './answer-fields.ts'
import { withClips } from './clips.ts'
import { both } from './faults.ts'
import type { ProtocolKind, ProtocolParts } from './kind.ts'
import { inOrder, isTurned } from './order.ts'
import { postedOn } from './posted-on.ts'
import { formUnder, type Preset, presetIn } from './preset.ts'
import { type Prompts, readPrompts } from './prompts.ts'
import { shortHash } from './short-hash.ts'

/**
 * How the one prompt asks. `zero-shot`: for the label alone; `chain-of-thought`: for reasons and then the label (Kojima et al.
 * 2022); `self-consistency`: several chains of thought, drawn at a temperature, and the label of most (Wang et al. 2023).
 */
export interface OnePrompt {
  readonly ask: 'zero-shot' | 'chain-of-thought' | 'self-consistency'
  /** How many chains of thought self-consistency draws. */
  readonly draws?: number
  /** A label of the protocol that it may not answer. */
  readonly without?: string
  /** It is wanted how likely each label is. */
  readonly decides?: true
}

/** Raised whenever the script's rounds or its asks change shape. */
const VERSION = 3

/** Most comments shown: as many as S2MAD's ablation without stance samples. */
const MOST_COMMENTS = 40
/** Wang et al. (2023) draw at 0.5 to 0.7. */
const DRAWN_AT = 0.7
const ANSWER_TOKENS = 1_024

/**
 * What a debate must beat: the subjects and labels of a protocol, judged by one prompt. The kind takes the place of the
 * protocol's own. Throws for a protocol without labels, or without a file `config/prompts/baseline/NAME.md` for what its
 * labels mean.
 */
export function onePrompt(kind: ProtocolKind, how: OnePrompt): ProtocolKind {
  return {
    name: kind.name,
    settings: kind.settings,
    make(parts) {
      const preset = presetIn(parts.settings)
      const [judged, prompts] = both(
        () => kind.make(parts),
        () => baselinePrompts(kind.name, parts.files('prompts/baseline'), preset, how),
      )
      if (judged.labels.length === 0) throw new Error(`${kind.name} has no labels that one prompt could choose from`)
      const labels = judged.labels.filter((label) => label !== how.without)
      const protocol: Protocol = {
        name: kind.name,
        version: VERSION,
        stages: [how.ask],
        subject: judged.subject,
        accepts: judged.accepts,
        mostCalls: () => how.draws ?? 1,
        paper: { calls: how.draws ?? 1, depth: 1, of: how.ask },
        faithful: true,
        labels,
        promptsHash: prompts.hash,
        settingsHash: shortHash(preset === 'paper' ? [how, preset] : how),
        script: (subject) =>
          baseline(snapshot.parse(subject), {
            fence: parts.fence,
            samplingRank: parts.samplingRank,
            protocol: kind.name,
            prompts,
            labels,
            how,
            preset,
          }),
      }
      return protocol
    },
  }
}

function baselinePrompts(
  protocol: string,
  files: ReadonlyMap<string, string>,
  preset: Preset,
  { decides }: OnePrompt,
): Prompts {
  const named = new Map([...files].map(([name, text]) => [name.replace(/\.md$/, ''), text]))
  const places = {
    system: [],
    [protocol]: ['content', 'posted?'],
    'zero-shot': ['labels'],
    'chain-of-thought': ['labels'],
    ...(decides ? { decision: [] } : {}),
  }
  const own = new Map([...named].filter(([name]) => Object.hasOwn(places, name.replace(/\.paper$/, ''))))
  return readPrompts(own, places, preset)
}

type Parts = Pick<ProtocolParts, 'fence' | 'samplingRank'> & {
  readonly protocol: string
  readonly prompts: Prompts
  readonly labels: readonly string[]
  readonly how: OnePrompt
  readonly preset: Preset
}

interface Choice {
  readonly label: string
  readonly reasoning?: string
}

function* baseline({ post: given, comments, leftOut }: Snapshot, parts: Parts): Script {
  const { how } = parts
  const post = withClips(given)
  const shown = sampled(comments, post, parts.samplingRank)
  const draws = how.ask === 'self-consistency' ? (how.draws ?? 1) : 1
  const content = { input: blocksOf(post, shown, parts), posted: parts.preset === 'paper' ? '' : postedOn(post) }
  const turned = parts.preset !== 'paper' && isTurned(parts.samplingRank, seenIn(post).join('\n'))
  const labels = inOrder(parts.labels, turned)
  const asked = Array.from({ length: draws }, (_, draw) => question(content, draw, { ...parts, labels }))
  const answers = yield* round(asked)
  const cap = comments.length - shown.length
  const degraded = leftOut + cap > 0 ? [`${leftOut + cap} comments left out, by a fixed sample`] : []
  return {
    ruling: {
      ...mostChosen(answers, degraded),
      comments: { judged: shown.length, folded: 0, author: 0, cap, load: 0 },
    },
  }
}

/** The content that is asked about: its blocks, and when it was posted. */
interface Content {
  readonly input: string
  readonly posted: string
}

/** Stands in instructions where a prompt has the content itself. */
const THE_INPUT = '(the input)'

function question({ input, posted }: Content, draw: number, parts: Parts): Ask<Choice> {
  const { prompts, labels, how, preset, protocol } = parts
  const thinks = how.ask !== 'zero-shot'
  const names = labels.map((label) => `"${label}"`).join(' or ')
  const task = textOf(prompts.get(thinks ? 'chain-of-thought' : 'zero-shot').render({ labels: names }))
  const about = (content: string) => textOf(prompts.get(protocol).render({ content, posted }))
  const label = z.enum([...labels])
  return {
    stage: how.ask,
    role: 'baseline',
    ...(draw === 0 ? {} : { label: `draw ${draw + 1}`, draw: `draw ${draw + 1}` }),
    messages: [...prompts.get('system').render(), { role: 'user', content: `${about(input)}\n\n${task}` }],
    answer: thinks ? z.object({ reasoning: said, label }) : z.object({ label }),
    temperature: how.ask === 'self-consistency' ? DRAWN_AT : 0,
    maxTokens: ANSWER_TOKENS,
    ...formUnder(preset),
    ...(how.decides
      ? {
          kept: decidedAnswer(z.object({ label })),
          decision: {
            field: 'label',
            instructions: `${textOf(prompts.get('decision').render())}\n\n${about(THE_INPUT)}\n\n${task}`,
            input,
            options: labels.map((value) => ({ value })),
          },
        }
      : {}),
  }
}

function textOf(messages: readonly { readonly content: string }[]): string {
  return messages.map(({ content }) => content).join('\n\n')
}

/** A post's words, and the descriptions of its images. */
function seenIn({ text, media = [] }: Post): string[] {
  return [text, ...media.flatMap((medium) => shownIn(medium) ?? [])]
}

/** The post, what its images show, and its comments, as blocks. */
function blocksOf(post: Post, comments: readonly Comment[], { fence, preset }: Parts): string {
  const images = (post.media ?? []).flatMap((medium, index) => {
    const seen = shownIn(medium)
    return seen === undefined ? [] : [fence('image', seen, index + 1)]
  })
  const blocks = [
    ...(post.text.trim() === '' ? [] : [fence('post', post.text)]),
    ...images,
    ...(preset === 'paper' ? commentBlocks : commentList)(comments, fence),
  ]
  return blocks.join('\n')
}

function commentList(comments: readonly Comment[], fence: Fence): string[] {
  const items = comments.map(({ text }, index): ListItem => [`${index + 1}: `, { kind: 'comment', text }])
  return items.length === 0 ? [] : [fence.list('comments', items)]
}

/** Under `paper`: a block for each comment. */
function commentBlocks(comments: readonly Comment[], fence: Fence): string[] {
  return comments.map(({ text }, index) => fence('comment', text, index + 1))
}

function sampled(
  comments: readonly Comment[],
  post: Post,
  samplingRank: ProtocolParts['samplingRank'],
): readonly Comment[] {
  if (comments.length <= MOST_COMMENTS) return comments
  const ranked = comments
    .map((comment, at) => ({ at, rank: samplingRank(`baseline\0${post.id}`, comment.id) }))
    .sort((one, other) => one.rank - other.rank)
  const kept = new Set(ranked.slice(0, MOST_COMMENTS).map(({ at }) => at))
  return comments.filter((_, at) => kept.has(at))
}

/** The label of most answers, and in `scores.agreement` the share of all draws that chose it. A tie has no label. */
function mostChosen(answers: readonly AnswerOrFailure<Choice>[], degraded: readonly string[]): Ruling {
  const choices = answers.flatMap((answer) => (answer.ok ? [answer.answer] : []))
  const lost = answers.flatMap((answer, draw) => (answer.ok ? [] : [`draw ${draw + 1} failed: ${failure(answer)}`]))
  const votes = [...Map.groupBy(choices, ({ label }) => label)].sort(([, one], [, other]) => other.length - one.length)
  const [first, second] = votes
  const none = first === undefined || first[1].length === second?.[1].length
  const tied = none && first !== undefined ? [`the draws are tied between ${first[0]} and ${second?.[0]}`] : []
  return {
    label: none ? null : first[0],
    scores: none ? {} : { agreement: first[1].length / answers.length },
    rationale: none ? '' : (first[1][0]?.reasoning ?? ''),
    decidedBy: none ? 'none' : answers.length > 1 ? 'majority' : 'judge',
    rounds: 0,
    evidence: { support: [], oppose: [], precedents: [] },
    degraded: [...degraded, ...lost, ...tied],
  }
}
