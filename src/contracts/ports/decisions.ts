import type { DecisionMessage } from '../facts/decision-messages.ts'
import type { DeadLetterReason } from '../facts/messages.ts'
import type { ThreadRef } from '../facts/thread.ts'
import type { Fault, Ruling } from '../facts/verdict.ts'
import type { VerdictTexts } from './cases.ts'
import type { MessagePlace } from './threads.ts'

/** A person's decision, as it stands on its topic. */
export interface HumanDecision {
  readonly ref: ThreadRef
  readonly protocol: string
  readonly place: MessagePlace
  /** The part that a repeat shares with it. A lost acknowledgement puts a repeat on the topic at another place. */
  readonly same: string
  /** It takes the human verdict back; else it gives a label. */
  readonly withdraw: boolean
  readonly label: string | null
  /** The revision that the person saw; 0 for none. */
  readonly against: number
  readonly force: boolean
  readonly opinion: boolean
  /** An opinion that asks for no review, whatever its label: of a golden item. */
  readonly golden?: boolean | undefined
  /** An image could not be shown to the person as it was judged. */
  readonly unseen?: true | undefined
  /** The policy and its clauses that the label rests on, as they were checked. */
  readonly cited?: (Pick<Ruling, 'policy' | 'clauses'> & { degraded?: string[]; faults?: Fault[] }) | undefined
  readonly by: string
  readonly why: string
}

/** The data from which a human verdict is written. */
export interface DecisionBasis {
  /** The part of its ids before their number. */
  readonly scope: string
  readonly number: number
  /** The number of the last published verdict; 0 if there is none. */
  readonly published: number
  /** The machines' last ruling, beneath the human verdict if one stands; JSON, null if none is kept. */
  readonly machine: string | null
  /** The subject's messages are there: it can be judged anew. */
  readonly isLive: boolean
}

/**
 * The outcome of a decision. `late`: against a revision that is no longer the last; `unknown`: its subject is not known;
 * `noted`: a second opinion. `verdict` is the id of the one that it brought about, null if the subject is judged anew.
 */
export type DecisionResult =
  | { readonly outcome: 'stands' | 'withdrawn'; readonly verdict: string | null }
  | { readonly outcome: 'late'; readonly last: number }
  | { readonly outcome: 'duplicate' | 'deleted' | 'unknown' | 'noted' }
  /** The last verdict is on its way to the topic: try again. */
  | { readonly outcome: 'waiting' }
  /** It can't be one of this protocol, or of this subject. */
  | { readonly outcome: 'refused'; readonly why: string; readonly reason?: DeadLetterReason }

/** The last verdict of a subject and protocol that people brought about. */
export interface DecidedVerdict {
  readonly verdict: string
  /** A human verdict; else what took its place when it was withdrawn. */
  readonly stands: boolean
  readonly revision: number
  readonly label: string | null
  readonly by: string
  /** The decision's PARTITION@OFFSET. */
  readonly of: string
}

/** People's decisions on a thread in one protocol. */
export interface DecidedRevision {
  /** The id of the human verdict that stands; null if none does. */
  readonly stands: string | null
  /** The last verdict that people brought about: that one, or what took its place. */
  readonly top: string | null
  readonly label: string | null
  readonly revision: number
  readonly of: string
  readonly by: string
  /** That verdict, until it is published. */
  readonly deciding: string | null
  /** Where the last decision stood that was handled. */
  readonly last: MessagePlace | undefined
  /** The outcome of that one, and the part that its repeats share with it. */
  readonly became: { readonly same: string; readonly decided: DecisionResult } | undefined
  /** The reviews that were requested beneath it. */
  readonly asked: readonly string[]
  /** The machines' last ruling beneath it, JSON. */
  readonly machine: string | null
}

/** Decisions of people. Each step is atomic, and a decision is carried out once, however often it is read. */
export interface DecisionStore {
  /**
   * Carries out a decision. `write` writes the verdict that it brings about, or null to have the subject judged anew; it is called
   * again if the subject changes meanwhile. Throws `StoreSuspended`.
   */
  decide(
    decision: HumanDecision,
    scope: string,
    now: number,
    write: (on: DecisionBasis) => LabelledVerdict | null,
  ): Promise<DecisionResult>
  /** The outcome of a decision, kept for an hour; null if there is none yet. */
  told(of: string): Promise<DecisionResult | null>
  /** Tells what came of one that was not carried out. */
  tell(of: string, decided: DecisionResult): Promise<void>
  /** The number of a protocol's last published verdict, as long as the store knows it; else 0. */
  published(ref: ThreadRef, protocol: string): Promise<number>
  /** By protocol. */
  decided(ref: ThreadRef): Promise<ReadonlyMap<string, DecidedVerdict>>
}

export interface LabelledVerdict extends VerdictTexts {
  readonly label: string | null
}

/** Carries out a decision as it was read from its place, or returns why it can't be one. */
export type DecisionHandler = (message: DecisionMessage, place: MessagePlace) => Promise<DecisionResult>

/** A decision's name: its place on its topic. */
export function decisionName({ partition, offset }: Pick<MessagePlace, 'partition' | 'offset'>): string {
  return `${partition}@${offset}`
}

/** The outcome of a decision. */
export interface DecisionReceipt {
  /** Its PARTITION@OFFSET on its topic. */
  readonly of: string
  /** Null where nothing was heard in time: it is carried out as soon as a service reads it. */
  readonly decided: DecisionResult | null
}

/** Decides in a person's name: sends a decision, and waits for what comes of it. */
export interface DecisionDesk {
  /**
   * The caller has checked the message by its schema, and who `by` is. Rejects if it is not known whether the decision
   * stands on its topic; the same message may be sent again, and counts once.
   */
  decide(message: DecisionMessage, signal: AbortSignal): Promise<DecisionReceipt>
}
