import type { AppealWords } from '../facts/appeal-messages.ts'
import type { Verdict } from '../facts/verdict.ts'
import type { LeftOutReason } from '../facts/what-if-report.ts'

/** How the models rule once they have been told what is said against a ruling of theirs. It is advice for who decides, and no verdict. */
export interface HeardRuling {
  readonly label: string | null
  readonly rationale: string
  /** How many questions were asked for it: those alone that the words can bear on. */
  readonly questions: number
  /** What was left out, or failed, in words. */
  readonly degraded: readonly string[]
}

/**
 * Why there is none. `no-place`: an objection has no place in this protocol, or nothing that it can bear on is asked here; `budget`: a
 * budget has no room for it.
 */
export type UnheardReason = LeftOutReason | 'no-place' | 'budget'

/** Has the debate of a machine's ruling go on with what people say against it. */
export interface AppealHearings {
  /** Rejects if the signal aborts. What it costs is booked as of a case of its own, whoever asks and however often. */
  hear(ruled: Verdict, appeals: readonly AppealWords[], signal: AbortSignal): Promise<HeardRuling | UnheardReason>
}
