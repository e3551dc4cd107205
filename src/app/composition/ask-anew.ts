import { setTimeout as sleep } from 'node:timers/promises'
import type { Settings } from '../../../config/schema.ts'
import { type ModelCall, usageOf } from '../../contracts/facts/case.ts'
import type { OperatorError } from '../../contracts/facts/errors.ts'
import type { ThreadRef } from '../../contracts/facts/thread.ts'
import { noUsage } from '../../contracts/facts/verdict.ts'
import type { Library } from '../../contracts/ports/library.ts'
import type { Model } from '../../contracts/ports/model.ts'
import type { Report } from '../../contracts/ports/report.ts'
import { failedAttempt } from '../../judging/engine/failed-attempt.ts'
import type { NewAnswer, NewQuestion } from '../../judging/recorded/replay-recorded.ts'
import { askContext } from '../../models/context.ts'
import { type GatewayStores, gatewayOf, memoryGatewayStores } from './gateway.ts'

/** The run was stopped, and what it has answered stays. */
export class StoppedAsking extends Error {}

/** No answer of a replay is late. */
const NO_DEADLINE_MS = 30 * 86_400_000

/** The recorded case that a question is of. */
export interface AskedCase {
  readonly id: string
  readonly subject: ThreadRef
}

export interface AskingParts {
  readonly model: Model
  /** In place of those in memory. */
  readonly stores?: Partial<GatewayStores> | undefined
  /** Opened when a lookup is a new one. */
  readonly library: () => Pick<Library, 'find' | 'embedder'>
  readonly secret: string
  readonly report: Report
  readonly signal: AbortSignal
  /** Why nobody is asked any more; null while somebody is. */
  readonly dead: () => OperatorError | null
  /** Awaited before anything is sent; rejects if it must not be. */
  readonly mayAsk: (of: AskedCase) => Promise<void>
  /** What all answers together may cost at most, in US dollars; infinite: the budgets of the settings alone hold. */
  readonly usd: number
}

/**
 * Has new questions of recorded cases answered, through the gateway of the service. A question fails (`budget`)
 * unless the longest answer that it may have is paid for.
 */
export function askingAnew(
  settings: Settings,
  protocol: string,
  { model, stores: given = {}, library, secret, report, signal, dead, mayAsk, usd }: AskingParts,
): (of: AskedCase, question: NewQuestion) => Promise<NewAnswer> {
  // Which answer a case gets must not depend on which case came before it.
  const memo = { ...settings.memo, enabled: false }
  // Nobody waits for a budget to renew.
  const budgets = {
    ...settings.budgets,
    whenSpent: 'degrade' as const,
    ...(usd < Number.POSITIVE_INFINITY && only(usd)),
  }
  const alone = { ...settings, memo, budgets }
  const stores = { ...memoryGatewayStores(alone, Date.now), ...given }
  const gateway = gatewayOf(alone, { stores, secret, clock: Date.now, report, model })
  const { attempts, backoff } = settings.stages.default ?? { attempts: 1, backoff: 0 }
  const deadline = Date.now() + NO_DEADLINE_MS

  return async (of, { key, ask }) => {
    const { subject } = of
    if (ask.lookup !== undefined) {
      await mayAsk(of)
      const {
        tokens: _,
        shown: __,
        ...answer
      } = await library().find(ask.lookup, { ...subject, id: subject.postId }, signal)
      return { answer, model: library().embedder, usage: noUsage() }
    }
    const calls: ModelCall[] = []
    let [number, heldMs] = [1, 0]
    for (;;) {
      const last = number >= attempts
      try {
        const context = askContext({
          ask,
          protocol,
          subject,
          caseId: of.id,
          askId: `${of.id}/${key}`,
          attempt: number,
          last,
          remember: false,
          signal,
          deadline,
          calls,
          mayAsk: () => mayAsk(of),
        })
        const { answer, failed, model } = await gateway.ask(context)
        return { answer, model, usage: usageOf(calls), ...(failed === undefined ? {} : { failed }) }
      } catch (error) {
        if (signal.aborted || dead() !== null) throw new StoppedAsking()
        const failure = failedAttempt(error, { last, heldMs, signal }, { deadline, now: Date.now() })
        if (failure.next === 'throw') throw error
        if (failure.next === 'fail') {
          const { answer, failed, model } = failure.settled
          return { answer, model, usage: usageOf(calls), ...(failed === undefined ? {} : { failed }) }
        }
        const wait = failure.end.end === 'deferred' ? failure.end.delayMs : backoff * 2 ** (number - 1)
        if (failure.end.end === 'deferred') heldMs += wait
        else number++
        await sleep(wait, undefined, { signal }).catch(() => {
          throw new StoppedAsking()
        })
      }
    }
  }
}

/** One budget for everything, which never renews. */
function only(usd: number): Pick<Settings['budgets'], 'verdict' | 'tenant' | 'tenants' | 'total'> {
  const [none, per] = [{ tokens: null, usd: null }, Number.MAX_SAFE_INTEGER]
  return { verdict: none, tenant: { ...none, per }, tenants: {}, total: { tokens: null, usd, per } }
}
