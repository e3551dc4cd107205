import { describe, expect, it } from 'vitest'
import type { Transcript, Verdict } from '../../../src/contracts/facts/verdict.ts'
import { debateOutcomeOf } from '../../../src/lab/evaluation/before-debate.ts'

const usage = { calls: 1, memoHits: 0, promptTokens: 100, cachedTokens: 0, completionTokens: 10, costUsd: 0.001 }
type Turn = Transcript['turns'][number]

/** Turns in order, each in a round of its own unless it says otherwise. */
function outcome(
  protocol: string,
  turns: readonly (Partial<Turn> & { stage: string })[],
  verdict: Partial<Verdict> = {},
) {
  const whole = turns.map((turn, round) => ({ round, role: turn.stage, usage, ...turn }))
  const debated = { held: true, why: 'contested' }
  return debateOutcomeOf(
    { label: null, scores: {}, debated, ...verdict } as Verdict,
    // Only its turns are read.
    { turns: whole } as unknown as Transcript,
    protocol,
  )
}
const stood = (...of: Parameters<typeof outcome>) => outcome(...of)?.before

const view = (answer: string) => ({ reasoning: 'r', answer })
const opinion = (answer: string, round = 0) => ({ stage: 'opinion', round, answer: view(answer) })
const JUDGE = { stage: 'judge', answer: view('Fake') }

describe('the answer before a debate', () => {
  it('of hate is the side of more than half of the perspectives asked, in however many calls', () => {
    const debate = [{ stage: 'debate' }, { stage: 'judge' }]
    const asked = ['a', 'b', 'c'].map((name) => ({ stage: 'perspective', role: `perspective (${name})` }))
    expect(stood('hate', [...asked, ...debate], { scores: { hate: 2, nonHate: 1 } })).toBe('hate')
    expect(stood('hate', [...asked, ...debate], { scores: { hate: 1, nonHate: 2 } })).toBe('non-hate')
    expect(stood('hate', [...asked, ...debate], { scores: { hate: 1, nonHate: 0 } })).toBe(null)
    const together = [{ stage: 'perspective', role: 'perspective (a, b, c)' }]
    expect(stood('hate', [...together, ...asked, ...debate], { scores: { hate: 1, nonHate: 0 } })).toBe(null)
    expect(stood('hate', [...together, ...debate], { scores: { hate: 3, nonHate: 0 } })).toBe('hate')
  })

  it('of rumor are the first opinions, or where they differ the larger side', () => {
    const debate = [{ stage: 'debate', round: 1 }, JUDGE]
    const scores = { support: 3, oppose: 5 }
    expect(stood('rumor', [opinion('Real'), opinion('Real'), ...debate], { scores })).toBe('non-rumor')
    expect(stood('rumor', [opinion('Real'), opinion('Fake'), ...debate], { scores })).toBe('rumor')
    expect(stood('rumor', [opinion('Real'), opinion('Fake'), ...debate], { scores: { support: 5, oppose: 3 } })).toBe(
      'non-rumor',
    )
    expect(stood('rumor', [opinion('Real'), opinion('Fake'), ...debate], { scores: { support: 2, oppose: 2 } })).toBe(
      null,
    )
    expect(stood('rumor', [opinion('Unclear'), opinion('Unclear'), ...debate], { scores })).toBe('unverified')
  })

  it('of a control is the verdict that its debate replaced, and all that came after that is the debate’s', () => {
    const control = (without: string) => ({ debated: { held: true, why: 'control', chance: 0.02, without } })
    const debate = [opinion('Fake', 3), opinion('Fake', 3), { stage: 'debate' }, JUDGE]
    const alone = { ...opinion('Real', 2), role: 'debater (alone)' }
    const usage = { calls: 4, tokens: 440, costUsd: 0.004 }
    const scores = { support: 0, oppose: 4 }
    expect(outcome('rumor', [alone, ...debate], { scores, label: 'rumor', ...control('non-rumor') })).toEqual({
      why: 'control',
      before: 'non-rumor',
      usage,
    })
    expect(outcome('rumor', debate, { label: 'rumor', ...control('unverified') })).toEqual({
      why: 'control',
      before: 'unverified',
      usage,
    })
    const round = [{ stage: 'strict' }, { stage: 'loose' }]
    const ruled = { stage: 'arbitrate' }
    expect(outcome('safety', [...round, ruled, ...round, ruled], { label: 'safe', ...control('unsafe') })).toEqual({
      why: 'control',
      before: 'unsafe',
      usage: { calls: 3, tokens: 330, costUsd: expect.closeTo(0.003) },
    })
    const nothing = { debated: { held: true, why: 'control', chance: 0.02 } }
    expect(outcome('rumor', [alone, ...debate], { scores, label: 'non-rumor', ...nothing })).toEqual({
      why: 'control',
      before: 'non-rumor',
      usage,
    })
    expect(outcome('rumor', debate, { label: 'unverified', ...nothing })?.before).toBe('unverified')
  })

  it('of safety is the side on which the first scores lie on average, and the arbiter comes after', () => {
    const said = (stage: string, score: number) => ({ stage, answer: { reasoning: 'r', score } })
    const scored = (strict: number, loose: number) =>
      outcome('safety', [
        { stage: 'brief' },
        said('strict', strict),
        said('loose', loose),
        said('strict', 1),
        said('loose', 1),
        { stage: 'arbitrate' },
      ])
    expect(scored(0.9, 0.2)).toEqual({
      why: 'contested',
      before: 'unsafe',
      usage: { calls: 3, tokens: 330, costUsd: expect.closeTo(0.003) },
    })
    expect(scored(0.6, 0.2)?.before).toBe('safe')
    expect(scored(0.75, 0.25)?.before).toBe(null)
    expect(stood('safety', [{ stage: 'arbitrate' }])).toBe(null)
    expect(stood('safety', [{ stage: 'strict', answer: null }, said('loose', 0.9), { stage: 'arbitrate' }])).toBe(
      'unsafe',
    )
  })

  it('is the verdict where nothing was asked after it, and there is none of a protocol without debates', () => {
    const alone = outcome('rumor', [{ stage: 'stance' }, opinion('Fake')], {
      label: 'non-rumor',
      scores: { support: 0, oppose: 1 },
    })
    expect(alone).toEqual({ why: 'contested', before: 'non-rumor', usage: { calls: 0, tokens: 0, costUsd: 0 } })
    expect(outcome('counterspeech', [{ stage: 'score' }])).toBe(null)
  })
})
