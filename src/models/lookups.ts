import { type CallOutcome, PermanentError, RetryLaterError } from '../contracts/facts/errors.ts'
import { placeOf } from '../contracts/facts/model-name.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { Report } from '../contracts/ports/report.ts'
import { type BreakerSettings, breaker, withPass } from './breaker.ts'
import { breakerReport } from './breaker-report.ts'
import { type AskContext, ModelAvoided } from './context.ts'
import { outageDeferral } from './model-outage.ts'

/** The role of the embedder, beside those of `models.roles`: its chain has no other model. */
const EMBEDDER_ROLE = 'embedder'

/** The embedder's chain by its role; none where it is part of the process. */
export function embedderRoles({
  library: { embedder },
}: EmbedderSettings): Readonly<Record<string, readonly string[]>> {
  return embedder === 'local' ? {} : { [EMBEDDER_ROLE]: [embedder] }
}

interface EmbedderSettings {
  readonly library: { readonly embedder: string }
}

/** Lookups of the library, which have to wait where its embedder does not answer. */
export interface Lookups {
  /**
   * Makes a lookup, unless the embedder is left alone. One that it does not answer waits, as an ask does that no model of its
   * chain answers (`OutageDeferral`).
   */
  lookUp<Found>(
    context: Pick<AskContext, 'caseId' | 'accountKey' | 'askId' | 'last' | 'deadline'>,
    find: () => Promise<Found>,
  ): Promise<Found>
  /** Whether the embedder's wait is over is noticed by this, also if nothing is looked up. */
  tick(): void
}

/** What defers lookups while the settings' embedder does not answer; null where it is part of the process. */
export function lookupsOf(
  settings: EmbedderSettings & {
    readonly breaker: BreakerSettings
    readonly endpoints: Readonly<Record<string, unknown>>
  },
  parts: { readonly clock: Clock; readonly report: Report },
): Lookups | null {
  const [embedder] = embedderRoles(settings)[EMBEDDER_ROLE] ?? []
  if (embedder === undefined) return null
  const { endpoint } = placeOf(embedder, settings.endpoints)
  return lookups({ ...parts, embedder, endpoint, settings: settings.breaker })
}

export function lookups(deps: {
  embedder: string
  /** Its endpoint, by its name in the settings. */
  endpoint: string
  settings: BreakerSettings
  clock: Clock
  report: Report
}): Lookups {
  const { embedder, endpoint, settings, clock, report } = deps
  const outages = breakerReport(report, clock, () => endpoint, 'library.embedder')
  const breakers = breaker({ settings, clock, changed: outages.changed })
  const deferral = outageDeferral({ breakers, clock })
  const chain = [embedder]
  return {
    async lookUp(context, find) {
      const began = clock()
      const { accountKey } = context
      try {
        const found = await withPass(
          breakers,
          embedder,
          async (pass) => {
            try {
              const made = await find()
              breakers.note(pass, 'answered')
              return made
            } catch (error) {
              const operatorAction = error instanceof PermanentError ? error.operatorAction : undefined
              const why = error instanceof Error ? error.message : ''
              breakers.note(pass, outcomeOf(error), { accountKey, action: operatorAction, why })
              throw error
            }
          },
          (retryInMs) => {
            throw new ModelAvoided('unavailable', 'the embedder is left alone (circuit breaker open)', {
              delayMs: retryInMs,
              costsAttempt: false,
            })
          },
          accountKey,
        )
        deferral.answered(chain, context, began)
        return found
      } catch (error) {
        throw deferral.errorFor(error, chain, context)
      }
    },
    tick() {
      breakers.states()
      outages.poll()
    },
  }
}

function outcomeOf(error: unknown): CallOutcome {
  return error instanceof PermanentError || error instanceof RetryLaterError ? error.code : 'error'
}
