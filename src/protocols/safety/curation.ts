import { z } from 'zod'
import { isBlank } from '../../contracts/facts/blank.ts'
import type { ClosedCase, ClosedTurn, Curation } from '../../contracts/facts/curation.ts'
import type { Fence, ListItem } from '../../contracts/facts/fence.ts'
import type { Snapshot } from '../../contracts/facts/thread.ts'
import { said, saidList } from '../answer-fields.ts'
import { withClips } from '../clips.ts'
import { formUnder, type Preset } from '../preset.ts'
import type { Prompts } from '../prompts.ts'
import { description, paperDescription } from './answers.ts'
import { picturesOf, wordsOf } from './input.ts'

/** The curator's prompt files and the places in each. */
export const CURATOR_PROMPTS = {
  system: [],
  curate: ['subject', 'turns', 'verdict', 'truth', 'outcome'],
} as const

const LABELS = ['unsafe', 'safe'] as const

export const lessonAnswer = z.object({
  reasoning: said,
  keyCues: saidList(z.array(said).min(1).max(8)),
  summary: said,
})

interface Parts {
  readonly fence: Fence
  readonly prompts: Prompts
  readonly preset: Preset
}

/** How Aetheria learns from its cases (section 3.4). */
export function safetyCuration(parts: Parts): Curation {
  return { labels: LABELS, words: wordsInHindsight, ask: question(parts) }
}

/** Asks in hindsight what decided a case: its key cues, and a summary that can serve as a precedent. */
function question({ fence, prompts, preset }: Parts): Curation['ask'] {
  return ({ subject, turns, verdict, truth }) => ({
    stage: 'curate',
    role: 'curator',
    messages: [
      ...prompts.get('system').render(),
      ...prompts.get('curate').render({
        subject: isBlank(subject) ? 'It has no words.' : fence('post', subject),
        turns: (preset === 'paper' ? turnBlocks : turnList)(taken(turns), fence),
        verdict: verdict ?? 'none',
        truth,
        outcome: outcome(verdict, truth),
      }),
    ],
    answer: lessonAnswer,
    temperature: 0,
    maxTokens: 700,
    ...formUnder(preset),
  })
}

function taken(turns: ClosedCase['turns']): ClosedCase['turns'] {
  return turns.filter(({ role }) => role !== 'library')
}

const SILENCE = 'Nothing was said.'

function turnList(turns: ClosedCase['turns'], fence: Fence): string {
  if (turns.length === 0) return SILENCE
  const items = turns.map(({ stage, answer, failed }): ListItem => {
    if ((answer ?? null) === null) return [`${stage}: (did not arrive: ${failed?.code ?? 'no answer'})`]
    return [`${stage}: `, { kind: 'argument', text: quoted(answer) }]
  })
  return fence.list('turns', items)
}

/** Under `paper`: a block for each turn. */
function turnBlocks(turns: ClosedCase['turns'], fence: Fence): string {
  if (turns.length === 0) return SILENCE
  return turns
    .map(({ stage, answer, failed }, index) =>
      (answer ?? null) === null
        ? `${stage}, lost: ${failed?.code ?? 'no answer'}`
        : `${stage}:\n${fence('argument', quoted(answer), index + 1)}`,
    )
    .join('\n\n')
}

/** An answer as JSON, its shortest field first: if a fence cuts it, it loses reasons, and no score or label. */
function quoted(answer: unknown): string {
  const fields = Object.entries(z.record(z.string(), z.unknown()).catch({ answer }).parse(answer))
  const lengthOf = ([, value]: [string, unknown]) => (JSON.stringify(value) ?? '').length
  return JSON.stringify(Object.fromEntries(fields.toSorted((one, other) => lengthOf(one) - lengthOf(other))))
}

function outcome(verdict: string | null, truth: string): string {
  if (verdict === null) return 'The panel came to no verdict.'
  if (verdict === truth) return 'The panel was right.'
  return verdict === 'unsafe'
    ? 'A false alarm: the panel called something harmful that is not.'
    : 'A miss: the panel let something harmful pass.'
}

/** The post's text, and for each image the best words that are known, including images that `maxImages` left out. */
function wordsInHindsight({ post: given }: Snapshot, turns: readonly ClosedTurn[]): string {
  const post = withClips(given)
  const seen = descriptions(turns)
  const pictures = picturesOf(post, Number.POSITIVE_INFINITY)
  const described = pictures.map((picture) => ({
    ...picture,
    description: seen.get(picture.number) ?? picture.description,
  }))
  return wordsOf(post, described)
}

/** What the vision model saw, by the image's number. */
function descriptions(turns: readonly ClosedTurn[]): ReadonlyMap<number, string> {
  return new Map(
    turns.flatMap(({ stage, role, answer }): [number, string][] => {
      const number = /\(image (\d+)\)$/.exec(role)?.[1]
      // Those of `paper` do not say whether anything was seen.
      const read = z.object({ ...paperDescription.shape, seen: description.shape.seen.optional() }).safeParse(answer)
      return stage === 'describe' && number !== undefined && read.success && read.data.seen !== 'no'
        ? [[Number(number), read.data.description]]
        : []
    }),
  )
}
