import { z } from 'zod'
import type { Ask } from '../domain/ask.ts'
import type { Fence } from '../domain/fence.ts'
import type { Turn } from '../domain/verdict.ts'
import type { Prompts } from '../protocols/prompts.ts'

/** The curator's prompt files and the places in each. */
export const CURATOR_PROMPTS = {
  system: [],
  curate: ['subject', 'turns', 'verdict', 'truth', 'outcome'],
} as const

type Label = 'unsafe' | 'safe'

/** A case whose true label is known, with the whole argument that led to its verdict. */
export interface ClosedCase {
  /** The post in words. */
  readonly subject: string
  /** The transcript's, in order; what the library answered is passed over, and what failed, which has no answer. */
  readonly turns: readonly Pick<Turn, 'stage' | 'role' | 'answer'>[]
  /** Null where nothing could be decided. */
  readonly verdict: Label | null
  readonly truth: Label
}

/** What the case library keeps of a case: the lesson, and no word on whom it was about. */
export const curationAnswer = z.object({
  reasoning: z.string(),
  keyCues: z.array(z.string().refine(isSaid, 'a cue is empty')).min(1).max(8),
  summary: z.string().refine(isSaid, 'the summary is empty'),
})
export type Curation = z.infer<typeof curationAnswer>

/** How much of one turn is quoted, in characters: the argument, not its length, is what the curator learns from. */
const MOST_OF_A_TURN = 2_000

/** Asks in hindsight for what decided a case (section 3.4 of Aetheria): its key cues, and a summary to serve as a precedent. */
export function curation(fence: Fence, prompts: Prompts): (closed: ClosedCase) => Ask<Curation> {
  return ({ subject, turns, verdict, truth }) => ({
    stage: 'curate',
    role: 'curator',
    messages: [
      ...prompts.get('system').render(),
      ...prompts.get('curate').render({
        subject: subject.trim() === '' ? 'It has no words.' : fence('post', subject),
        turns: turnsIn(turns, fence),
        verdict: verdict ?? 'none',
        truth,
        outcome: outcome(verdict, truth),
      }),
    ],
    answer: curationAnswer,
    temperature: 0,
    maxTokens: 700,
  })
}

function turnsIn(turns: ClosedCase['turns'], fence: Fence): string {
  const heard = turns.filter(({ role, answer }) => role !== 'library' && answer !== null)
  if (heard.length === 0) return 'Nothing was said.'
  return heard
    .map(({ stage, answer }, index) => {
      const said = JSON.stringify(answer)
      return `${stage}:\n${fence('argument', said.slice(0, MOST_OF_A_TURN), index + 1)}`
    })
    .join('\n\n')
}

function outcome(verdict: Label | null, truth: Label): string {
  if (verdict === null) return 'The panel came to no verdict.'
  if (verdict === truth) return 'The panel was right.'
  return verdict === 'unsafe'
    ? 'A false alarm: the panel called something harmful that is not.'
    : 'A miss: the panel let something harmful pass.'
}

function isSaid(text: string): boolean {
  return text.trim() !== ''
}
