import { z } from 'zod'
import type { Ask } from '../domain/ask.ts'
import type { Fence } from '../domain/fence.ts'
import type { Turn } from '../domain/verdict.ts'
import type { Prompts } from '../protocols/prompts.ts'
import { said, saidList } from '../protocols/said.ts'

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
  /** The transcript's, in order; what the library answered is passed over. */
  readonly turns: readonly Pick<Turn, 'stage' | 'role' | 'answer' | 'failed'>[]
  /** Null where nothing could be decided. */
  readonly verdict: Label | null
  readonly truth: Label
}

/** What the case library keeps of a case: the lesson, and no word on whom it was about. */
export const curationAnswer = z.object({
  reasoning: said,
  keyCues: saidList(z.array(said).min(1).max(8)),
  summary: said,
})
export type Curation = z.infer<typeof curationAnswer>

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
  const taken = turns.filter(({ role }) => role !== 'library')
  if (taken.length === 0) return 'Nothing was said.'
  return taken
    .map(({ stage, answer, failed }, index) =>
      (answer ?? null) === null
        ? `${stage}, lost: ${failed?.code ?? 'no answer'}`
        : `${stage}:\n${fence('argument', quoted(answer), index + 1)}`,
    )
    .join('\n\n')
}

/** An answer as JSON, the shortest of its fields first: where a fence cuts it, it loses reasons and no score or label. */
function quoted(answer: unknown): string {
  const fields = Object.entries(z.record(z.string(), z.unknown()).catch({ answer }).parse(answer))
  const lengthOf = ([, value]: [string, unknown]) => (JSON.stringify(value) ?? '').length
  return JSON.stringify(Object.fromEntries(fields.toSorted((one, other) => lengthOf(one) - lengthOf(other))))
}

function outcome(verdict: Label | null, truth: Label): string {
  if (verdict === null) return 'The panel came to no verdict.'
  if (verdict === truth) return 'The panel was right.'
  return verdict === 'unsafe'
    ? 'A false alarm: the panel called something harmful that is not.'
    : 'A miss: the panel let something harmful pass.'
}
