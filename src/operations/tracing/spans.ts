import { contextIn, readTraceparent, spanIdOf, traceIdOf } from '../../contracts/facts/trace.ts'
import type { RulingSummary, Transcript, Turn } from '../../contracts/facts/verdict.ts'
import { readVerdictId } from '../../contracts/facts/verdict-id.ts'
import type { TraceSpan, TraceValue } from '../../contracts/ports/traces.ts'

/** A transcript with the fields of its verdict that a trace is made of; older ones lack them. */
export type TraceableTranscript = Transcript & { readonly verdict: RulingSummary }

/**
 * The trace of a case, out of its transcript: the case; in it opening, rounds, their asks with their calls, and publication. It shows how
 * long everything took and what it cost, and nothing of what was judged or said.
 *
 * Opening, judging and publication fill the case. Of each round the ask with the longest time and delay together is the slowest: these
 * asks' times add up to the verdict's `modelMs`, their delays to what neither `modelMs` nor `overheadMs` counts.
 */
export function spansOf(gavel: string, transcript: TraceableTranscript, publishedMs: number): TraceSpan[] {
  const { verdictId, verdict, turns, links = [] } = transcript
  const received = Date.parse(verdict.timing.receivedAt)
  // Several processes tell these times: by the clock of one a case may have opened a moment before its message came.
  const opened = Math.max(received, Date.parse(verdict.timing.openedAt))
  const decided = Math.max(opened, Date.parse(verdict.timing.decidedAt))
  const published = Math.max(decided, publishedMs)
  const traceId = traceIdOf(gavel, verdictId)
  const root = spanIdOf(traceId, 'case')
  const span = (
    place: string,
    parentId: string | undefined,
    rest: Pick<TraceSpan, 'name' | 'startMs' | 'endMs'> & Partial<TraceSpan>,
  ) => ({
    traceId,
    spanId: spanIdOf(traceId, place),
    kind: 'internal' as const,
    attributes: {},
    ...(parentId === undefined ? {} : { parentId }),
    ...rest,
  })
  const contexts = links.flatMap((link) => {
    const read = readTraceparent(link)
    return read === null ? [] : [contextIn(read)]
  })
  const within = (place: string, parentId: string, calls: Turn['calls'], stage: string) =>
    calls.flatMap((call, nth) => {
      if (call.startedAt === undefined || call.ms === undefined) return []
      const startMs = Date.parse(call.startedAt)
      // A call that was reported twice, as a repeated one can be, is one span for each.
      return [span(`call/${place}/${nth}/${call.id}`, parentId, callSpan(call, stage, startMs))]
    })
  const judging = spanIdOf(traceId, 'judging')
  const rounds = [
    ...Map.groupBy(
      turns.map((turn, nth) => ({ turn, nth })),
      ({ turn }) => turn.round,
    ),
  ]
  return [
    span('case', undefined, {
      name: `invoke_workflow ${verdict.protocol}`,
      startMs: received,
      endMs: published,
      attributes: { ...caseAttributes(gavel, transcript) },
      ...(contexts.length === 0 ? {} : { links: contexts }),
    }),
    span('opening', root, { name: 'opening', startMs: received, endMs: opened }),
    span('judging', root, { name: 'judging', startMs: opened, endMs: decided }),
    ...within('lost', judging, verdict.lostCalls, ''),
    ...rounds.flatMap(([round, own]) => {
      const place = `round/${round}`
      const parentId = spanIdOf(traceId, place)
      const times = own.map(({ turn }) => startAndEnd(turn))
      return [
        span(place, judging, {
          name: `round ${round}`,
          startMs: Math.min(...times.map(({ startMs }) => startMs)),
          endMs: Math.max(...times.map(({ endMs }) => endMs)),
          attributes: { 'gavel.round': round, 'gavel.asks': own.length },
        }),
        ...own.flatMap(({ turn, nth }) => {
          const ask = `ask/${nth}`
          return [
            span(ask, parentId, {
              name: isLookup(turn) ? `retrieval ${turn.stage}` : `ask ${turn.stage}`,
              ...startAndEnd(turn),
              attributes: askAttributes(turn),
              ...(turn.failed === undefined ? {} : { failed: turn.failed.code }),
            }),
            ...within(ask, spanIdOf(traceId, ask), turn.calls, turn.stage),
          ]
        }),
      ]
    }),
    span('publication', root, { name: 'publication', startMs: decided, endMs: published }),
  ]
}

/** A look-up in the library asks no model. */
function isLookup({ messages, calls }: Turn): boolean {
  return messages.length === 0 && calls.length === 0
}

function startAndEnd({ startedAt, ms }: Turn): { startMs: number; endMs: number } {
  const startMs = Date.parse(startedAt)
  return { startMs, endMs: startMs + ms }
}

function caseAttributes(
  gavel: string,
  { verdictId, verdict, turns, cut }: TraceableTranscript,
): Record<string, TraceValue> {
  const { protocol, tenant, subjectId, revision, final, label, decidedBy, faults, usage, timing, heldMs } = verdict
  return {
    'gen_ai.operation.name': 'invoke_workflow',
    'gen_ai.workflow.name': protocol,
    'gen_ai.conversation.id': verdictId,
    'gavel.name': gavel,
    'gavel.tenant': tenant,
    'gavel.subject.id': subjectId,
    ...postAttribute(readVerdictId(verdictId)?.postId),
    'gavel.revision': revision,
    'gavel.final': final,
    ...(label === null ? {} : { 'gavel.label': label }),
    'gavel.decided_by': decidedBy,
    ...(faults.length === 0 ? {} : { 'gavel.faults': faults }),
    'gavel.model_ms': timing.modelMs,
    'gavel.held_ms': heldMs,
    'gavel.overhead_ms': timing.overheadMs,
    'gavel.calls': usage.calls,
    'gavel.memo_hits': usage.memoHits,
    'gavel.cost_usd': usage.costUsd,
    ...tokensOf(usage),
    // The turns of a transcript that was too long for its topic are not in it.
    ...(turns.length === 0 && usage.calls > 0 ? { 'gavel.cut': true } : cut.length > 0 ? { 'gavel.cut': false } : {}),
  }
}

/** Of a comment, whose id is unique within its post alone: the post. */
export function postAttribute(postId: string | undefined): Record<string, TraceValue> {
  return postId === undefined ? {} : { 'gavel.post.id': postId }
}

function askAttributes(turn: Turn): Record<string, TraceValue> {
  const { stage, role, round, model, memo, heldMs = 0, calls, usage, failed } = turn
  return {
    'gavel.stage': stage,
    'gavel.role': role,
    'gavel.round': round,
    'gavel.tries': calls.length,
    'gavel.memo': memo,
    'gavel.held_ms': heldMs,
    'gavel.outcome': failed?.code ?? 'answered',
    'gavel.cost_usd': usage.costUsd,
    ...(model === '' ? {} : { 'gen_ai.response.model': model }),
    ...(isLookup(turn) ? { 'gen_ai.operation.name': 'retrieval' } : {}),
    ...tokensOf(usage),
  }
}

function callSpan(
  { id, outcome, model = '', ms = 0, costUsd = 0, ...tokens }: Turn['calls'][number],
  stage: string,
  startMs: number,
) {
  return {
    name: `chat ${model}`,
    kind: 'client' as const,
    startMs,
    endMs: startMs + ms,
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': model,
      'gavel.call.id': id,
      'gavel.stage': stage,
      'gavel.outcome': outcome,
      'gavel.cost_usd': costUsd,
      ...tokensOf(tokens),
      ...(outcome === 'answered' ? {} : { 'error.type': outcome }),
    },
    ...(outcome === 'answered' ? {} : { failed: outcome }),
  }
}

/** By the names of the GenAI conventions. */
function tokensOf(usage: {
  readonly promptTokens?: number | undefined
  readonly cachedTokens?: number | undefined
  readonly cacheWriteTokens?: number | undefined
  readonly completionTokens?: number | undefined
  readonly thinkingTokens?: number | undefined
}): Record<string, TraceValue> {
  const named = {
    'gen_ai.usage.input_tokens': usage.promptTokens,
    'gen_ai.usage.cache_read.input_tokens': usage.cachedTokens,
    'gen_ai.usage.cache_write.input_tokens': usage.cacheWriteTokens,
    'gen_ai.usage.output_tokens': usage.completionTokens,
    'gen_ai.usage.reasoning.output_tokens': usage.thinkingTokens,
  }
  return Object.fromEntries(
    Object.entries(named).flatMap(([name, value]) => (value === undefined || value === 0 ? [] : [[name, value]])),
  )
}
