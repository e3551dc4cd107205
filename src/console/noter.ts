import { type AuditEntry, MOST_AUDITED } from '../contracts/facts/audit.ts'
import type { Audit } from '../contracts/ports/audit.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { Report } from '../contracts/ports/report.ts'
import { rates } from '../platform/rates.ts'
import type { PersonAsking } from '../platform/who-asks.ts'

interface Noted {
  readonly asker: PersonAsking
  readonly what: AuditEntry['what']
  readonly page: string
  readonly verdicts: readonly string[]
  /** What a form or a list asked for. */
  readonly asked?: AuditEntry['asked']
  /** Of a file that was saved. */
  readonly sha256?: string
}

/** Longest id that is noted: one in a form is whatever was sent. */
const MOST_ID = 2_000

/** What may be noted of one person, in characters: on average, and at once. It is kept for a year, and a page of theirs is some thousand. */
const OF_ONE = { perSecond: 8_192, burst: 2 ** 24 }

/** Notes who saw and did what. */
export function noter({ audit, clock, report }: { audit: Audit | null; clock: Clock; report: Report }) {
  const unnoted = seldom()
  const made = rates()
  const count = (person: string, units: number, own = 0) => made.take(person, OF_ONE, { units, own }, clock())
  /** Whether it is kept; true where nobody keeps that. */
  async function noted({ asker, verdicts, ...rest }: Noted): Promise<boolean> {
    const named = verdicts.slice(0, MOST_AUDITED).map((id) => id.slice(0, MOST_ID))
    const entry = {
      ...rest,
      at: new Date(clock()).toISOString(),
      by: asker.person,
      session: asker.session,
      network: asker.network,
      verdicts: named,
    }
    if (audit !== null) count(asker.person, JSON.stringify(entry).length, Number.POSITIVE_INFINITY)
    try {
      await audit?.note({ schema: 1, ...entry, more: verdicts.length - named.length })
      return true
    } catch (error) {
      unnoted(() => report('error', { where: 'console', error }))
      return false
    }
  }
  return {
    noted,
    /** Whether there is room for what they ask for next. */
    hasRoom: (person: string) => count(person, 0) === null,
  }
}

/** What anybody can bring about is reported at most once in so many ms. */
const SELDOM_MS = 10_000

/** Tells at most once in a while: what anybody can bring about, however often. */
export function seldom(): (tell: () => void) => void {
  let at = Number.NEGATIVE_INFINITY
  return (tell) => {
    if (performance.now() - at < SELDOM_MS) return
    at = performance.now()
    tell()
  }
}
