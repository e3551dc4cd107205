import { type AuditEntry, MOST_AUDITED } from '../domain/audit.ts'
import type { Audit } from '../ports/audit.ts'
import type { Clock } from '../ports/clock.ts'
import type { Report } from '../ports/report.ts'
import { seldom } from './seldom.ts'
import type { Session } from './sessions.ts'

interface Noted {
  readonly session: Pick<Session, 'by' | 'name'>
  readonly what: AuditEntry['what']
  readonly page: string
  readonly verdicts: readonly string[]
  /** Of a file that was saved. */
  readonly sha256?: string
}

/** Longest id that is noted: one in a form is whatever was sent. */
const MOST_ID = 2_000

/** Notes who saw and did what: whether it is kept; true where nobody keeps that. */
export function noter({ audit, clock, report }: { audit: Audit | null; clock: Clock; report: Report }) {
  const unnoted = seldom()
  return async ({ session, verdicts, ...rest }: Noted): Promise<boolean> => {
    const named = verdicts.slice(0, MOST_AUDITED).map((id) => id.slice(0, MOST_ID))
    const entry = {
      ...rest,
      at: new Date(clock()).toISOString(),
      by: session.by,
      session: session.name,
      verdicts: named,
    }
    try {
      await audit?.note({ schema: 1, ...entry, more: verdicts.length - named.length })
      return true
    } catch (error) {
      unnoted(() => report('error', { where: 'console', error }))
      return false
    }
  }
}
