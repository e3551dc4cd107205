import type { Conclusion, Protocol, Script } from '../../judging/engine/script.ts'
import type { ProtocolKind } from '../../protocols/kind.ts'

/** How a question, and a lookup, fail that a recording lacks. */
const MISSING: ReadonlySet<string> = new Set(['rejected', 'library'])

/**
 * A protocol whose cases end at the first round of which an answer is missing. What they would ask next rests on that answer:
 * asked on with a failure in its place, they would be counted for questions that nobody will ask.
 */
export function stopsAtMissing(kind: ProtocolKind): ProtocolKind {
  return {
    ...kind,
    make(parts) {
      const protocol = kind.make(parts)
      return { ...protocol, script: (...given) => untilMissing(protocol.script(...given)) } satisfies Protocol
    },
  }
}

function* untilMissing(script: Script): Script {
  let step = script.next()
  while (step.done !== true) {
    const answers = yield step.value
    if (answers.some((answer) => !answer.ok && MISSING.has(answer.code))) return UNKNOWN
    step = script.next(answers)
  }
  return step.value
}

const UNKNOWN: Conclusion = {
  ruling: {
    label: null,
    scores: {},
    rationale: '',
    decidedBy: 'none',
    rounds: 0,
    evidence: { support: [], oppose: [], precedents: [] },
    degraded: ['an answer is missing'],
    comments: { judged: 0, folded: 0, author: 0, cap: 0, load: 0 },
  },
}
