import { z } from 'zod'
import { type Ask, decidedAnswer } from '../contracts/facts/ask.ts'
import type { Dialect } from '../contracts/facts/dialect.ts'
import { type Post, snapshot } from '../contracts/facts/thread.ts'
import type { ProtocolKind, ProtocolParts } from './kind.ts'
import { onePrompt } from './one-prompt.ts'
import { shortHash } from './short-hash.ts'

const decided = decidedAnswer(z.object({ label: z.string() }))
/** The label that a decider gives a text, and how likely each label is. */
export type DecidedLabel = z.infer<typeof decided>

/** What a decider is asked of a text: which label, in one prompt and without reasons, with the probability of each. */
export interface DeciderQuestion {
  /** Of its prompts, of how much of a text it shows, and of how it is sent. */
  readonly promptsHash: string
  /** Whether it shows a text whole. */
  isWhole(text: string): boolean
  /** Of the post its text alone is shown. */
  ask(post: Pick<Post, 'id' | 'text'>): Ask<DecidedLabel>
}

/** The stage of a decider's question. */
export const DECIDE = 'decide'

/** The question of the baseline `zero-shot`, for the labels of this protocol; with this dialect it is sent. */
export function deciderQuestion(kind: ProtocolKind, parts: ProtocolParts, sent?: Dialect): DeciderQuestion {
  const protocol = onePrompt(kind, { ask: 'zero-shot', decides: true }).make(parts)
  const { version, promptsHash: prompts, settingsHash } = protocol
  const { form, system, effort, thinkingTokens, logprobs } = sent ?? {}
  return {
    // Whatever makes another question of the same text.
    promptsHash: shortHash([
      ...[version, prompts, settingsHash, parts.fence.most('post')],
      ...[form, system, effort, thinkingTokens, logprobs],
    ]),
    isWhole: (text) => parts.fence.unread('post', text) === 0,
    ask({ id, text }) {
      const { value } = protocol
        .script(snapshot.parse({ post: { id, text, createdAt: 0 }, comments: [], leftOut: 0 }), null)
        .next()
      const [asked] = Array.isArray(value) ? value : []
      if (asked === undefined) throw new Error('the one prompt asks nothing')
      return { ...asked, stage: DECIDE, role: 'decider', spared: true, kept: decided }
    },
  }
}
