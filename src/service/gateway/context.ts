import type { Call } from '../domain/case.ts'
import type { ThreadRef } from '../domain/thread.ts'

/** Who makes a call, and what for. */
export interface CallContext {
  readonly protocol: string
  readonly tenant: string
  readonly caseId: string
  /** Who posted what the question quotes, if that is said. */
  readonly author?: string | undefined
  /** Identifies the ask, the same at each try. */
  readonly askId: string
  /** 1 for the first attempt; the nth prefers the nth model of the role's chain. */
  readonly attempt: number
  /** If this attempt fails, the ask has failed. */
  readonly last: boolean
  /** Another model can be asked instead. */
  readonly others: boolean
  /** One of another endpoint can. */
  readonly apart?: boolean
  readonly signal: AbortSignal
  /** ms since 1970; no call begins after it, and a call in flight is cut off. */
  readonly deadline: number
  /** Awaited before anything is sent anywhere for this ask; rejects if it must not be asked any more. */
  readonly mayAsk?: () => Promise<void>
  /** Every call is added here as soon as it has ended, also if it throws. */
  readonly calls: Call[]
}

/** One attempt at an ask. */
export interface AskContext extends Omit<CallContext, 'tenant' | 'others' | 'apart'> {
  /** The subject whose content the question quotes. */
  readonly subject: ThreadRef
  /** False if every question must reach a model, as in the papers. */
  readonly remember: boolean
}

/** Whose question it is, as breakers tell questions of one account from those of others: the author's, else that of the case. */
export function askerOf({ caseId, author, tenant }: Pick<CallContext, 'caseId' | 'author' | 'tenant'>): string {
  return author === undefined ? `case ${caseId}` : `by ${tenant}/${author}`
}
