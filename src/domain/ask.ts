import type { z } from 'zod'
import type { ChatMessage } from './verdict.ts'

/**
 * One question to a model. Scripts make asks; the engine has them answered. An ask is a pure function of the case and
 * of the answers before it, so that a replay asks the same again.
 */
export interface Ask<Answer = unknown> {
  /** The stage whose queue answers it: `stance`, `debate`, … */
  readonly stage: string
  /** Who speaks, which is also the key under which the settings choose a model: `scorer`, `debater`, … */
  readonly role: string
  /** Told apart in transcripts where one role speaks more than once in a round: `support`, `batch 2`, … */
  readonly part?: string
  readonly messages: readonly ChatMessage[]
  /** What a readable answer looks like. Reasoning stands before the label, so that a model reasons first. */
  readonly answer: z.ZodType<Answer>
  readonly temperature: number
  /** Longest answer, in tokens. */
  readonly maxTokens: number
}

/** How an ask ended: an answer that fits its schema, or the name of its failure. Never a default. */
export type Answered<Answer> =
  | { readonly ok: true; readonly answer: Answer }
  | { readonly ok: false; readonly code: string; readonly detail: string }
