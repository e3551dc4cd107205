import type { DecisionMessage } from '../domain/decisions.ts'
import type { Decided } from './decisions.ts'

/** The outcome of a decision. */
export interface Heard {
  /** Its PARTITION@OFFSET on its topic. */
  readonly of: string
  /** Null where nothing was heard in time: it is carried out as soon as a service reads it. */
  readonly decided: Decided | null
}

/** Decides in a person's name: sends a decision, and waits for what comes of it. */
export interface Deciding {
  /**
   * Whoever calls this has checked the message by its schema, and who `by` is. Rejects if it is not known whether the decision
   * stands on its topic; the same message may be sent again, and counts once.
   */
  decide(message: DecisionMessage, signal: AbortSignal): Promise<Heard>
}
