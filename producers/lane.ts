import type { Verdict } from '../src/service/domain/verdict.ts'
import type { Outbox } from '../src/service/ports/cases.ts'
import type { Clock } from '../src/service/ports/clock.ts'
import { casesNamed, type Report } from '../src/service/ports/report.ts'
import { caseIdsOf, type delivery, type Parcel } from './delivery.ts'

/** Most entries sent together… */
export const SENT_AT_ONCE = 64
/**
 * …but of dead letters as many as have so few characters together: short ones, of which a careless producer makes thousands a
 * second, must not fill the outbox and so pause the intake of what can be judged.
 */
const LETTERS_AT_ONCE = { entries: 1_000, characters: 500_000 }
/** Wait before a failed delivery is retried, in ms. */
export const RETRY_MS = 1_000

export type Lane = ReturnType<typeof lane>

/** The parcels of one kind, in order: they wait for their own topics only, not for those of the other kind. */
export function lane(
  what: 'verdict' | 'dead-letter',
  deps: {
    deliver: ReturnType<typeof delivery>
    outbox: Outbox
    clock: Clock
    report: Report
    stopping: () => boolean
  },
) {
  const { deliver, outbox, clock, report, stopping } = deps
  const parcels: Parcel[] = []
  /** The last delivery failed: a topic accepts nothing. */
  let blocked = false
  let wake = () => {}

  /** Delivers the first `most` parcels, and removes them from the outbox. */
  async function once(most: number): Promise<void> {
    const batch = parcels.slice(0, most)
    try {
      await deliver(batch, !blocked)
    } catch (error) {
      tellBlocked(true, error instanceof Error ? error.message : String(error), batch)
      throw error
    }
    tellBlocked(false, '', batch)
    await outbox.done(batch.map(({ entry }) => entry))
    parcels.splice(0, batch.length)
    const published = clock()
    for (const { verdict } of batch) if (verdict !== undefined) tellPublished(verdict, published)
  }

  function tellBlocked(now: boolean, why: string, batch: readonly Parcel[]): void {
    if (now !== blocked) report('publication:held', { what, held: now, why, ...casesNamed(caseIdsOf(batch)) })
    blocked = now
  }

  function tellPublished(verdict: Verdict, published: number): void {
    const sinceDecided = Math.max(0, published - Date.parse(verdict.timing.decidedAt))
    report('verdict:published', {
      verdict,
      latencySeconds: Math.max(0, published - Date.parse(verdict.timing.receivedAt)) / 1000,
      overheadSeconds: (verdict.timing.overheadMs + sinceDecided) / 1000,
    })
  }

  return {
    /** The parcels not known to have been delivered. */
    parcels: parcels as readonly Parcel[],
    put(parcel: Parcel): void {
      parcels.push(parcel)
      wake()
    },
    /** Makes `run` notice that it must stop. */
    wake: () => wake(),
    /** Tries once to deliver all parcels. */
    async flush(): Promise<void> {
      if (parcels.length > 0) await once(parcels.length)
    },
    /** Delivers until it is told to stop. */
    async run(): Promise<void> {
      while (!stopping()) {
        if (parcels.length === 0)
          await new Promise<void>((resolve) => {
            wake = resolve
          })
        else
          try {
            await once(what === 'dead-letter' ? lettersAtOnce(parcels) : SENT_AT_ONCE)
          } catch (error) {
            const late = casesNamed(caseIdsOf(parcels.slice(0, SENT_AT_ONCE)))
            report('error', { where: 'publisher', error, ...late })
            if (!stopping()) await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
          }
      }
    },
  }
}

function lettersAtOnce(parcels: readonly Parcel[]): number {
  let [most, characters] = [0, 0]
  for (const { records } of parcels.slice(0, LETTERS_AT_ONCE.entries)) {
    characters += records.reduce((sum, { value }) => sum + value.length, 0)
    if (characters > LETTERS_AT_ONCE.characters) break
    most++
  }
  return Math.max(SENT_AT_ONCE, most)
}
