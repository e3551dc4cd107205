import { type Ask, failure } from '../../contracts/facts/ask.ts'
import type { Snapshot } from '../../contracts/facts/thread.ts'
import type { DebateReason, VerdictDebate } from '../../contracts/facts/verdict-fields.ts'
import { round, type Script, type SubScript } from '../../judging/engine/script.ts'
import type { View } from './answers.ts'
import type { RumorCarry } from './carry.ts'
import { utterancesOf, weighComments } from './comment-weights.ts'
import { concluded, kept, nothingToJudge, type ReachedDecision, undecided } from './conclusion.ts'
import { type RumorContext, type RumorParts, rumorContext } from './context.ts'
import { RumorDebate } from './debate.ts'
import { debaterPrompts } from './debater-prompts.ts'
import { type Evidence, evidenceOf, type ScoredThread, scored, sizeOf } from './evidence.ts'
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
  const { ask, settings, depth } = context
  if (claimOf(thread.post) === '') return nothingToJudge()
  if (settings.decide === 'vanilla') return yield* vanilla(context)

  // Lines 3–5, equation 1, and line 9: the stance s of each comment, and isSub. Neither waits for the other.
  const found = yield* scored(context)
  // Lines 6–7, equation 2: P and N, the strongest comments of each side.
  const evidence = evidenceOf(context, found)
  const conclude = (reached: ReachedDecision) => concluded(context, found, evidence, reached)
  if (evidence.tooThin) return conclude(undecided(`no verdict on less than ${settings.minScored} of the comments`))
  if (before !== null && evidence.holds) return kept(context, found, evidence, before)
  const prompts = debaterPrompts(context, found, evidence)
  const spared = whySpared(context, found, evidence)
  if (spared !== null)
    return conclude({
      ...(yield* single(ask.opinion('alone', prompts.both, { last: true }))),
      debated: { held: false, why: spared },
    })

  // Lines 10–11, equation 3: the first opinions h of D_p over P and of D_n over N.
  const debate = new RumorDebate(ask, prompts)
  debate.hear(yield* round(debate.opinions({ last: depth.rounds === 0 })))
  if (debate.unopened.length > 0) return conclude(undecided(...debate.unopened))

  // Lines 13–16, equation 4: at most M rounds, in which each answers the other's last reply.
  while (debate.rounds < depth.rounds && !isOver(context, debate))
    debate.hear(yield* round(debate.turns({ last: debate.rounds + 1 === depth.rounds })))

  // Lines 17–21, equation 5: what both debaters answer, or else what the judge J answers.
  const reached = debate.agreed ? consensus(debate) : yield* single(ask.judge(...debate.views, prompts.judge))
  return conclude(debated(context, debate, reached))
}

/** Most calls that {@link s2mad} asks for, over so many comments. */
export function mostCalls(settings: RumorSettings, comments: number): number {
  if (settings.decide === 'vanilla') return 1
  const stances = settings.stance ? mostStanceCalls(settings, comments) : 0
  const kind = settings.promptKind === 'auto' ? 1 : 0
  // Two first opinions, two turns a round, and the judge; or one opinion.
  return stances + kind + (settings.debate ? 2 + 2 * settings.rounds + 1 : 1)
}

/**
 * Why one agent is asked instead of a debate: by the settings, or where no two debaters would read comments of different sides. Null
 * if there is a debate.
 */
function whySpared(
  { settings }: RumorContext,
  { asked, scores, unasked }: ScoredThread,
  { sides }: Evidence,
): DebateReason | null {
  const { support, oppose } = sides
  if (!settings.debate) return 'off'
  if (sizeOf(sides) === 0) return settings.undisputed === 'alone' ? 'no-sides' : null
  // A comment without a score may be of the other side.
  const isComplete = unasked.length === 0 && asked.every((utterance) => scores.has(utterance))
  const isOneSided = settings.stance && isComplete && (support.length === 0 || oppose.length === 0)
  return isOneSided && settings.oneSided === 'alone' ? 'one-sided' : null
}

/** Whether there is nothing left to debate. The paper debates for all M rounds. */
function isOver({ settings }: RumorContext, debate: RumorDebate): boolean {
  return settings.stopAtConsensus && debate.agreed
}

/** The decision of a debate, with the turns and rounds that it lacked. */
function debated(context: RumorContext, debate: RumorDebate, reached: ReachedDecision): ReachedDecision {
  const { rounds, lost, model } = debate
  const most = context.settings.rounds
  const cutShort = rounds < most && !isOver(context, debate)
  const wrong = [...lost, ...(cutShort ? [`under load: ${rounds} of ${most} rounds of debate`] : [])]
  return {
    ...reached,
    rounds,
    debated: { held: rounds > 0, why: whyDebated(context, debate) },
    again: lost.length > 0 || cutShort,
    degraded: [...wrong, ...(reached.degraded ?? [])],
    models: { debater: model, ...reached.models },
  }
}

/** Why the debaters answered one another, or did not. */
function whyDebated({ settings, depth }: RumorContext, debate: RumorDebate): DebateReason {
  const { rounds, stopAtConsensus, undisputed, oneSided } = settings
  if (debate.rounds > 0)
    return stopAtConsensus || undisputed === 'alone' || oneSided === 'alone' ? 'contested' : 'always'
  if (rounds === 0) return 'off'
  return depth.rounds === 0 ? 'overload' : 'unanimous'
}

function consensus({ views: [support, oppose] }: RumorDebate): ReachedDecision {
  const rationale = `Both debaters: ${support.answer}. On the supporting side: ${support.reasoning} On the opposing side: ${oppose.reasoning}`
  return { label: labelOf(support), rationale, decidedBy: 'consensus', rounds: 0 }
}

/** One agent's answer as the decision: the judge's (equation 5), or a single agent's (Table 2, "w/o Debate"). */
function* single(question: Ask<View>): SubScript<ReachedDecision> {
  const [only] = yield* round([question])
  if (!only.ok) return undecided(`${question.stage} failed: ${failure(only)}`)
  const { answer, model } = only
  return {
    label: labelOf(answer),
    rationale: answer.reasoning,
    decidedBy: 'judge',
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
  const { degraded = [], models: _, ...reached } = yield* single(ask.vanilla(shown))
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

function labelOf(of: View): 'rumor' | 'non-rumor' {
  return of.answer === 'Fake' ? 'rumor' : 'non-rumor'
}
