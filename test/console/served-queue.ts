import type { AuditEntry } from '../../src/contracts/facts/audit.ts'
import type { DecisionMessage } from '../../src/contracts/facts/decision-messages.ts'
import type { Medium } from '../../src/contracts/facts/thread.ts'
import type { Turn, Verdict } from '../../src/contracts/facts/verdict.ts'
import { aVerdict } from '../support/verdicts.ts'
import { servedConsole } from './served.ts'

const T0 = Date.parse('2026-03-01T12:00:00Z')

const AUDITED: AuditEntry = {
  schema: 1,
  at: '2026-03-01T12:00:00.000Z',
  by: 'anna',
  session: 's',
  what: 'saw',
  page: '/live/stream',
  verdicts: ['rumor~bridge~r1', `rumor~${'long'.repeat(30)}~r1`],
  more: 3,
  network: '2001:db8:1234:5678::/64',
}

/** A console with a queue, as `gavel console` serves it, over a record in memory; what people decide is current at once. */
export async function servedQueue(env: Record<string, string> = {}) {
  const decided: DecisionMessage[] = []
  const at = (minutes: number) => new Date(T0 + minutes * 60_000).toISOString()
  const console = await servedConsole(
    ({ record, topics }) => ({
      auditLog: {
        find: async () => ({ entries: [AUDITED], next: { at: 0 } }),
      },
      casework: {
        tell: (entry) => topics.send('casework', entry.subjectId, entry, 150),
      },
      decide: {
        async decide(message) {
          const { subjectId, protocol, against, by, label = null, why } = message
          if (message.opinion === true) {
            decided.push(message)
            await topics.send('decisions', subjectId, { ...message, at: at(2) }, 120)
            return { of: '0@1', decided: { outcome: 'noted' } }
          }
          const subject = await record.subject({ tenant: message.tenant, id: subjectId })
          const own = (subject?.verdicts ?? []).filter(({ verdict }) => verdict.protocol === protocol)
          const last = Math.max(0, ...own.map(({ verdict }) => verdict.revision))
          if (last !== against) return { of: '0@1', decided: { outcome: 'late', last } }
          decided.push(message)
          const of = `0@${topics.ends.get('decisions') ?? 0}`
          await topics.send('decisions', subjectId, { ...message, at: at(2) }, 120)
          const verdict = aVerdict(at(2), {
            subjectId,
            protocol,
            revision: last + 1,
            decidedBy: 'human',
            rationale: why,
            label,
            decision: { by, against: null, of },
          })
          await topics.send('verdicts', subjectId, verdict, 120)
          return { of, decided: { outcome: 'stands', verdict: verdict.id } }
        },
      },
    }),
    env,
  )
  const { topics } = console
  const judged = async (
    post: { id: string; text: string; lang?: string; author?: string; media?: readonly Medium[] },
    change: Partial<Verdict> = {},
    comments: readonly string[] = [],
    turns: readonly Turn[] = [],
  ) => {
    const verdict = aVerdict(at(1), { subjectId: post.id, final: false, ...change })
    const subject = {
      post: { createdAt: T0, ...post },
      comments: comments.map((text, n) => ({ id: `${post.id}-c${n}`, text, author: `reader ${n}`, createdAt: T0 + n })),
      leftOut: 0,
    }
    await topics.send('verdicts', post.id, verdict, 60)
    await topics.send('transcripts', post.id, { schema: 1, verdictId: verdict.id, subject, turns, cut: [] }, 60)
    return verdict
  }
  return { ...console, judged, decided, link: console.nextLink() }
}
