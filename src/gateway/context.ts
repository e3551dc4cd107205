import type { Call } from '../domain/case.ts'
import type { ThreadRef } from '../domain/thread.ts'

/** Who makes a call, and for what. */
export interface CallContext {
  readonly protocol: string
  readonly tenant: string
  readonly caseId: string
  /** Names the ask, the same at each try. */
  readonly askId: string
  /** 1 for the first attempt; the nth prefers the nth model of the role's chain. */
  readonly attempt: number
  /** The ask has failed if this attempt does. */
  readonly last: boolean
  /** Another model can be asked instead. */
  readonly others: boolean
  readonly signal: AbortSignal
  /** ms since 1970; no call is begun after it, and one in flight is cut off. */
  readonly deadline: number
  /** Every call is written down here as soon as it has ended, also when it throws. */
  readonly calls: Call[]
}

/** One attempt at an ask. */
export interface AskContext extends Omit<CallContext, 'tenant' | 'others'> {
  /** Whose content is asked about. */
  readonly subject: ThreadRef
  /** False where every question must reach a model, as in the papers. */
  readonly remember: boolean
}
