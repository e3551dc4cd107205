import type { FeedbackMessage } from '../domain/messages.ts'
import { spanIdOf, traceIdOf } from '../domain/trace.ts'
import type { TraceEvent } from '../ports/traces.ts'
import type { Traceable } from './spans.ts'

/** The name of such an event in the GenAI conventions. */
const RESULT = 'gen_ai.evaluation.result'

/** What a verdict says, as evaluation results beside its case: its label, and each of its scores. */
export function evaluationsOf(gavel: string, { verdictId, verdict }: Traceable): TraceEvent[] {
  const { protocol, label, scores, decidedBy, timing } = verdict
  const traceId = traceIdOf(gavel, verdictId)
  const around = { name: RESULT, atMs: Date.parse(timing.decidedAt), traceId, spanId: spanIdOf(traceId, 'case') }
  const by = decidedBy === 'human' ? `${protocol}.human` : protocol
  const given = { 'gavel.verdict.id': verdictId, 'gavel.decided_by': decidedBy }
  return [
    ...(label === null
      ? []
      : [
          { ...around, attributes: { 'gen_ai.evaluation.name': by, 'gen_ai.evaluation.score.label': label, ...given } },
        ]),
    ...Object.entries(scores).map(([name, score]) => ({
      ...around,
      attributes: { 'gen_ai.evaluation.name': `${by}.${name}`, 'gen_ai.evaluation.score.value': score, ...given },
    })),
  ]
}

/** What a person said a label should have been; beside the case of this verdict, the newest of its subject, if there is one. */
export function labelledEvent(
  gavel: string,
  { protocol, subjectId, tenant, label, createdAt }: FeedbackMessage,
  verdictId: string | null,
): TraceEvent {
  const traceId = verdictId === null ? null : traceIdOf(gavel, verdictId)
  return {
    name: RESULT,
    atMs: createdAt,
    ...(traceId === null ? {} : { traceId, spanId: spanIdOf(traceId, 'case') }),
    attributes: {
      'gen_ai.evaluation.name': `${protocol}.human`,
      'gen_ai.evaluation.score.label': label,
      'gavel.tenant': tenant,
      'gavel.subject.id': subjectId,
      ...(verdictId === null ? {} : { 'gavel.verdict.id': verdictId }),
    },
  }
}
