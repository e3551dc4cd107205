import { describe, expect, it } from 'vitest'
import type { AnswerOrFailure } from '../../../src/contracts/facts/ask.ts'
import type { Conclusion, Script } from '../../../src/judging/engine/script.ts'
import { stopsAtMissing } from '../../../src/lab/baselines/first-missing.ts'
import type { ProtocolKind } from '../../../src/protocols/kind.ts'

/** Two rounds without questions; it says how many it has been through. */
function* rounds(): Script {
  let through = 0
  yield []
  through++
  yield []
  through++
  return { ruling: { degraded: [`${through} rounds`] } } as unknown as Conclusion
}
const kind = { name: 'two', make: () => ({ script: rounds }) } as unknown as ProtocolKind

function runOf(answers: readonly AnswerOrFailure<unknown>[][]) {
  const script = stopsAtMissing(kind)
    .make({} as Parameters<ProtocolKind['make']>[0])
    .script({}, null)
  let step = script.next()
  let asked = 0
  while (step.done !== true) step = script.next(answers[asked++] ?? [])
  return { asked, degraded: step.value.ruling.degraded }
}

describe('a case whose recording lacks an answer', () => {
  it.each(['rejected', 'library'])('asks nothing after the round in which it was missing (%s)', (code) => {
    expect(runOf([[{ ok: false, code, detail: '' }]])).toEqual({ asked: 1, degraded: ['an answer is missing'] })
  })

  it('goes on after an answer, and after a call that failed when it was recorded', () => {
    const answered = { ok: true, answer: {}, model: 'some' } as const
    const failed = { ok: false, code: 'unavailable', detail: '' } as const
    expect(runOf([[answered], [failed]])).toEqual({ asked: 2, degraded: ['2 rounds'] })
    expect(runOf([[failed], [answered]])).toEqual({ asked: 2, degraded: ['2 rounds'] })
  })
})
