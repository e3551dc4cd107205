import { type Ask, failure } from '../../contracts/facts/ask.ts'
import type { Snapshot } from '../../contracts/facts/thread.ts'
import { type DebateReason, statedConfidence, type VerdictDebate } from '../../contracts/facts/verdict-fields.ts'
import { round, type Script, type SubScript } from '../../judging/engine/script.ts'
import { controlled } from '../control.ts'
import type { RumorJudgement, View } from './answers.ts'
import type { RumorCarry } from './carry.ts'
import { utterancesOf, weighComments } from './comment-weights.ts'
import { concluded, kept, nothingToJudge, type ReachedDecision, undecided } from './conclusion.ts'
import { type RumorContext, type RumorParts, rumorContext } from './context.ts'
import { RumorDebate } from './debate.ts'
import { type DebaterPrompts, debaterPrompts } from './debater-prompts.ts'
import { withOwnSupport } from './elsewhere.ts'
import { type Evidence, evidenceOf, scored } from './evidence.ts'
import { claimOf } from './questions.ts'
import type { RumorSettings } from './settings.ts'
import { sample } from './sides.ts'
import { mostStanceCalls } from './stance.ts'

/**
 * S2MAD, Algorithm 1, line by line: separates the comments by stance, has two debaters form their first opinion on one side each,
 * lets them debate for at most M rounds, and asks a judge if they still disagree. Fake is `rumor`, Real is `non-rumor`.
 */
export function* s2mad(thread: Snapshot, before: RumorCarry | null, parts: RumorParts): Script {
  const context = rumorContext(thread, before, parts)
  const { settings } = context
  if (claimOf(thread.post) === '') return nothingToJudge()
  if (settings.decide === 'vanilla') return yield* vanilla(context)

  // Lines 3–5, equation 1, and line 9: the stance s of each comment, and isSub. Neither waits for the other.
  const found = yield* scored(context)
  // Lines 6–7, equation 2: P and N, the strongest comments of each side.
  const evidence = evidenceOf(context, found)
  const conclude = (reached: ReachedDecision) => concluded(context, found, evidence, reached)
  if (evidence.tooThin) return conclude(undecided(`no verdict on less than ${settings.minScored} of the comments`))
  // What rests on scores alone costs nothing, and says by now that it is final.
  const isKept = evidence.holds && context.appealed !== true
  if (before !== null && isKept && before.decision.decidedBy !== 'scores') return kept(context, found, evidence, before)
  const prompts = debaterPrompts(context, found, evidence)
  return conclude(withOwnSupport(context, evidence, yield* decided(context, evidence, prompts)))
}

/** What follows from the gate: no opinion, one, or a debate. A control is asked both ways, and what its debate decides stands. */
function* decided(context: RumorContext, evidence: Evidence, prompts: DebaterPrompts): SubScript<ReachedDecision> {
  const { ask, settings, isControl } = context
  const { why } = evidence.gate
  if (why === 'always' || why === 'contested') return yield* argued(context, prompts, why)
  const alone = isUnverified(context, evidence)
    ? unverified(context)
    : yield* single(ask.opinion('alone', prompts.both, { last: true }))
  const spared: ReachedDecision = { ...alone, again: !evidence.gate.isSure }
  const reached = { ...spared, debated: { held: false, why } }
  if (!isControl || why === 'off') return reached
  const second = yield* argued(context, prompts, why)
  const { debated: held = { held: false } } = second
  const chance = settings.controlShare
  // A debate that came to nothing changes nothing.
  if (second.label === null) return { ...reached, debated: controlled(held, { chance }) }
  return { ...second, debated: controlled(held, { chance, without: reached.label }) }
}

/** Whether nobody is asked for an opinion: nobody takes a side, and no comment that was asked about in vain could change that, or will. */
function isUnverified({ settings, final }: RumorContext, { gate }: Evidence): boolean {
  return settings.unverified && gate.why === 'no-sides' && (!gate.mayTurn || final)
}

/** Too few people have said anything either way: perhaps they still will. */
function unverified({ settings: { minSideAuthors: least }, final }: RumorContext): ReachedDecision {
  return {
    label: 'unverified',
    unverified: { reason: final ? 'no-evidence' : 'early' },
    rationale: `Fewer than ${least} authors support the claim, and fewer than ${least} oppose it.`,
    decidedBy: 'scores',
    rounds: 0,
  }
}

/** The debate, and the judge where it ends without agreement. */
function* argued(context: RumorContext, prompts: DebaterPrompts, why: DebateReason): SubScript<ReachedDecision> {
  const { ask, depth } = context
  // Lines 10–11, equation 3: the first opinions h of D_p over P and of D_n over N.
  const debate = new RumorDebate(ask, prompts)
  debate.hear(yield* round(debate.opinions({ last: depth.rounds === 0 })))
  if (debate.unopened.length > 0) return undecided(...debate.unopened)

  // Lines 13–16, equation 4: at most M rounds, in which each answers the other's last reply.
  while (debate.rounds < depth.rounds && !isOver(context, debate))
    debate.hear(yield* round(debate.turns({ last: debate.rounds + 1 === depth.rounds })))

  // Lines 17–21, equation 5: what both debaters answer, or else what the judge J answers.
  const reached = debate.agreed ? consensus(debate) : yield* judged(ask.judge(...debate.views, prompts.judge))
  return debated(context, debate, why, reached)
}

/** Most calls that {@link s2mad} asks for, over so many comments. */
export function mostCalls(settings: RumorSettings, comments: number): number {
  if (settings.decide === 'vanilla') return 1
  const stances = settings.stance ? mostStanceCalls(settings, comments) : 0
  const kind = settings.promptKind === 'auto' ? 1 : 0
  if (!settings.debate) return stances + kind + 1
  // One opinion, where a control is asked both ways; then two first opinions, two turns a round, and the judge.
  const spared = settings.debateWhen === 'contested' && settings.controlShare > 0 ? 1 : 0
  return stances + kind + spared + 2 + 2 * settings.rounds + 1
}

/** Whether there is nothing left to debate. The paper debates for all M rounds. */
function isOver({ settings }: RumorContext, debate: RumorDebate): boolean {
  return (settings.stopAtConsensus && debate.agreed) || (settings.endsAtEcho && debate.echoes.length > 0)
}

/** The decision of a debate, with the turns and rounds that it lacked. */
function debated(
  context: RumorContext,
  debate: RumorDebate,
  why: DebateReason,
  reached: ReachedDecision,
): ReachedDecision {
  const { rounds, lost, model } = debate
  const { rounds: most, endsAtEcho } = context.settings
  // Who agrees may say so in the other's words.
  const echoes = endsAtEcho && !debate.agreed ? debate.echoes : []
  const cutShort = rounds < most && !isOver(context, debate)
  const wrong = [...lost, ...echoes, ...(cutShort ? [`under load: ${rounds} of ${most} rounds of debate`] : [])]
  return {
    ...reached,
    rounds,
    debated: { held: rounds > 0, why: whyDebated(context, debate, why) },
    again: lost.length > 0 || cutShort,
    // A model that repeats itself, or another, is at fault.
    faults: echoes.length > 0 ? ['model'] : [],
    degraded: [...wrong, ...(reached.degraded ?? [])],
    models: { debater: model, ...reached.models },
  }
}

/** Why the debaters answered one another, or did not. */
function whyDebated({ settings, depth }: RumorContext, debate: RumorDebate, why: DebateReason): DebateReason {
  if (debate.rounds > 0) return why
  if (settings.rounds === 0) return 'off'
  return depth.rounds === 0 ? 'overload' : 'unanimous'
}

function consensus({ views: [support, oppose] }: RumorDebate): ReachedDecision {
  const rationale = `Both debaters: ${support.answer}. On the supporting side: ${support.reasoning} On the opposing side: ${oppose.reasoning}`
  return { label: LABELS[support.answer], rationale, decidedBy: 'consensus', rounds: 0 }
}

/** Equation 5: the judge's answer. Where it finds that neither was shown, it is sure of no label. */
function* judged(question: Ask<RumorJudgement>): SubScript<ReachedDecision> {
  const [judgement] = yield* round([question])
  if (!judgement.ok) return undecided(`judge failed: ${failure(judgement)}`)
  const { answer, model } = judgement
  const { reasoning: rationale, probability: value = null } = answer
  const reached = { rationale, decidedBy: 'judge', rounds: 0, models: { [question.role]: model } } as const
  if (answer.answer === 'Unverified') return { ...reached, label: 'unverified', unverified: { reason: 'torn' } }
  return { ...reached, label: LABELS[answer.answer], confidence: statedConfidence(value) }
}

/** A single agent's answer as the decision (Table 2, "w/o Debate"). */
function* single(question: Ask<View>): SubScript<ReachedDecision> {
  const [only] = yield* round([question])
  if (!only.ok) return undecided(`${question.stage} failed: ${failure(only)}`)
  const { answer, model } = only
  return {
    label: LABELS[answer.answer],
    rationale: answer.reasoning,
    decidedBy: 'single',
    rounds: 0,
    models: { [question.role]: model },
  }
}

/** Table 1's vanilla rows: one model, one call, over the claim and its comments, without stance and sides. */
function* vanilla({ thread, ask, settings, rankOf, tie, limitations }: RumorContext): Script {
  const unheard = utterancesOf(thread.comments, settings).map((utterance) => ({ utterance, score: null }))
  const weighed = weighComments(unheard, settings, tie)
  const all = weighed.comments.map(({ comment }) => comment)
  const shown = sample(all, settings.sampleSize, (comment) => comment, rankOf)
  const { degraded = [], models: _, ...reached } = yield* single(ask.vanilla(shown, all.length))
  const debated: VerdictDebate = { held: false, why: 'off' }
  const { folded, author } = weighed
  return {
    ruling: {
      ...reached,
      debated,
      scores: { support: 0, oppose: 0 },
      evidence: { support: [], oppose: [], precedents: [] },
      degraded: [...limitations, ...weighed.limitations, ...degraded],
      comments: { judged: shown.length, folded, author, cap: all.length - shown.length, load: 0 },
    },
  }
}

const LABELS = { Fake: 'rumor', Real: 'non-rumor' } as const
