import { type Ask, failure } from '../../contracts/facts/ask.ts'
import type { Snapshot } from '../../contracts/facts/thread.ts'
import { statedConfidence, type VerdictDebate } from '../../contracts/facts/verdict-fields.ts'
import { round, type Script, type SubScript } from '../../judging/engine/script.ts'
import { type CitedAnswer, citedIn } from '../clauses.ts'
import { controlled } from '../control.ts'
import { nameOf } from '../policy.ts'
import { ABSTAIN, type HateJudgement } from './answers.ts'
import { concluded, count, type HateDecision, nothingToJudge, type PerspectiveRound, undecided } from './conclusion.ts'
import { type HateContext, type HateParts, hateContext } from './context.ts'
import { HateDebate } from './debate.ts'
import { similarContexts } from './examples.ts'
import type { HateSide } from './perspectives.ts'
import { type HateSettings, rulesAlone } from './settings.ts'
import { answersOf, mostStanceCalls, type PerspectiveStance, stanceOf } from './stances.ts'

/** A model that repeats itself, or another, is at fault. */
const ECHOED: Pick<HateDecision, 'faults'> = { faults: ['model'] }

const OFF: VerdictDebate = { held: false, why: 'off' }

/** The base agent, or the judge alone: no perspective, no similar contexts. */
const ONE_AGENT: PerspectiveRound = { asked: 1, sided: 1, lost: 0, stances: [], examples: [], similar: new Map() }

/**
 * PREDICT: five perspectives take a stance on the text, each by its criteria and similar contexts (PRE, Algorithm 1); two
 * debaters argue from the reasons of either side, and a judge decides (DICT, Algorithm 2).
 */
export function* predict(subject: Snapshot, parts: HateParts): Script {
  const context = hateContext(subject, parts)
  if (context === null) return nothingToJudge()
  if (context.settings.decide === 'zero-shot') return concluded(context, yield* zeroShot(context), ONE_AGENT)
  const isAlone = rulesAlone(context.settings)
  const asked = isAlone ? ONE_AGENT : yield* pre(context)
  const decision = isAlone ? yield* judgedAlone(context) : yield* decided(context, asked)
  return concluded(context, yield* withClauses(context, decision, asked), asked)
}

function* decided(context: HateContext, asked: PerspectiveRound): SubScript<HateDecision> {
  const { decide, debateWhen, preset } = context.settings
  if (decide === 'majority') return majority(asked)
  // Nobody has read the text: a debate would have no references, and its label no ground.
  if (preset !== 'paper' && asked.lost === asked.asked) return undecided('no perspective answered: nothing was debated')
  const agreed = debateWhen === 'contested' && !context.appealed ? agreement(asked) : null
  if (agreed !== null) return yield* spared(context, asked, agreed)
  const debated: VerdictDebate = { held: true, why: debateWhen === 'contested' ? 'contested' : 'always' }
  return { ...(yield* dict(context, asked.stances)), debated }
}

/** The decision with its policy, and, where it is hate, the clauses that those cite who decided: the judge, else the perspectives. */
function* withClauses(
  { policy: inForce, ask, post }: HateContext,
  decision: HateDecision,
  { stances, similar }: PerspectiveRound,
): SubScript<HateDecision> {
  if (inForce === null) return decision
  const policy = nameOf(inForce.policy)
  const { judged, label, wrong, faults = [] } = decision
  if (label !== 'hate' || inForce.citing === undefined) return { ...decision, policy }
  const theirs = stances.filter(({ side }) => side === 'hate')
  const perspectives = theirs.map(
    ({ perspective, answer }): CitedAnswer => ({
      who: perspective.name,
      answer,
      again: (what) => ask.cite(ask.perspective(perspective, similar.get(perspective) ?? []), answer, what),
    }),
  )
  const judge: CitedAnswer[] | undefined = judged && [
    { who: 'the judge', answer: judged.answer, again: (what) => ask.cite(judged.asked, judged.answer, what) },
  ]
  const cited = yield* citedIn(inForce.policy, post, judge ?? perspectives)
  const named = { ...decision, policy, clauses: cited.clauses, wrong: [...wrong, ...cited.wrong] }
  return cited.wrong.length === 0 ? named : { ...named, faults: [...new Set([...faults, 'model' as const])] }
}

/** What the perspectives agree on, without a debate; a control is debated all the same, and what that decides stands. */
function* spared(context: HateContext, { stances }: PerspectiveRound, agreed: HateDecision): SubScript<HateDecision> {
  const { isControl, settings, refusals } = context
  if (!isControl) return agreed
  const { count: refused } = refusals
  const second = yield* dict(context, stances)
  const chance = settings.controlShare
  if (second.label !== null && (second.lostTurns ?? 0) === 0)
    return { ...second, debated: controlled({ held: true }, { chance, without: agreed.label }) }
  // A debate that came to nothing changes nothing.
  refusals.count = refused
  return { ...agreed, debated: controlled({ held: true }, { chance }) }
}

/** Most calls that {@link predict} asks for, with so many perspectives. */
export function mostCalls(settings: HateSettings, perspectives: number): number {
  if (settings.decide === 'zero-shot') return 1
  // The judge may be asked once more for the clauses.
  if (rulesAlone(settings)) return 1 + Number(settings.cites)
  const votes = mostStanceCalls(settings, perspectives)
  // Each debater speaks once a round, and the judge once.
  const decided = settings.decide === 'majority' ? votes : votes + 2 * settings.rounds + 1
  // Whoever decides may be asked once more for the clauses: the perspectives, or the judge alone.
  return settings.cites && settings.policies.length > 0 ? decided + perspectives : decided
}

/**
 * Algorithm 1, PRE (Perspective-based REasoning): each perspective's stance on the text t, and its reason. Those of one side are
 * its reference.
 */
function* pre(context: HateContext): SubScript<PerspectiveRound> {
  const { perspectives } = context
  // Lines 4–6: a perspective is its criteria and its similar contexts.
  const similar = yield* similarContexts(context)
  // Lines 7–11: each agent's stance S and reason R. None waits for another.
  const answers = yield* answersOf(context, similar)
  // Lines 12–17: R goes to h_Ref or to nh_Ref, by S.
  const stances = perspectives.flatMap((one) => stanceOf(context, one, answers.get(one)))
  const lost = perspectives.filter((one) => answers.get(one)?.ok !== true).length
  const examples = [...similar.values()].flat()
  return { asked: perspectives.length, sided: stances.length, lost, stances, examples, similar }
}

/**
 * Algorithm 2, DICT (Debate using InCongruent references): two rounds over the references, then the judge, however the stances
 * fell.
 */
function* dict(
  { ask, settings, sides: [first = 'non-hate', second = 'hate'] }: HateContext,
  stances: readonly PerspectiveStance[],
): SubScript<HateDecision> {
  const reasonsOf = (side: HateSide) => stances.filter((stance) => stance.side === side).map(({ reason }) => reason)
  const references = { 'non-hate': reasonsOf('non-hate'), hate: reasonsOf('hate') }
  // Lines 2–4: the history H, and a debater for each side.
  const debate = new HateDebate(ask, references, settings)

  // Round 1, lines 7–10: arguments, each from its own reference.
  const opening = yield* debate.argues(first)
  const reply = yield* debate.argues(second, opening)

  // Round 2, lines 13–16: refute or agree.
  if (settings.rounds === 2 && !debate.isOver) {
    const response = yield* debate.responds(opening, reply)
    if (!debate.isOver) yield* debate.responds(reply, response)
  }

  // Lines 18–20: the judge's outcome.
  const { lost } = debate
  const wrong = [...lost, ...debate.echoes]
  const rounds = debate.history.at(-1)?.round ?? 0
  const decision = yield* ruledBy(ask.judge(debate.history, references), { rounds, wrong })
  return { ...decision, lostTurns: lost.length, ...(debate.echoes.length > 0 && ECHOED) }
}

/** The judge alone, by the policy, in place of PRE and DICT. */
function* judgedAlone({ ask }: HateContext): SubScript<HateDecision> {
  return { ...(yield* ruledBy(ask.judgeAlone(), { rounds: 0, wrong: [] })), debated: OFF }
}

/** What the judge answers, after so many rounds, with what went wrong in them. */
function* ruledBy(
  asked: Ask<HateJudgement>,
  { rounds, wrong }: Pick<HateDecision, 'rounds' | 'wrong'>,
): SubScript<HateDecision> {
  const [judged] = yield* round([asked])
  if (!judged.ok) return { ...undecided(...wrong, `judge failed: ${failure(judged)}`), rounds }
  const { label, reason, probability = null } = judged.answer
  const confidence = statedConfidence(probability)
  const ruled = { asked, answer: judged.answer }
  return { label, rationale: reason, decidedBy: 'judge', rounds, confidence, wrong, judged: ruled }
}

/** Tables 1 and 2, majority voting (section 4.3): the side that more than half of all those asked voted for. */
function majority({ asked, stances }: PerspectiveRound): HateDecision {
  if (stances.length === 0) return undecided('majority: no perspective took a side')
  const { hate, nonHate } = count(stances)
  if (Math.max(hate, nonHate) * 2 <= asked)
    return undecided(`majority: ${hate} to ${nonHate}, neither more than half of ${asked}`)
  const label: HateSide = hate > nonHate ? 'hate' : 'non-hate'
  const rationale = reasonsFor(label, stances)
  const confidence = { value: Math.max(hate, nonHate) / (hate + nonHate), how: 'perspectives' }
  return { label, rationale, decidedBy: 'majority', rounds: 0, debated: OFF, confidence, wrong: [] }
}

/**
 * The side that every perspective asked took of its own accord, where there are two at least; else null. A perspective that
 * failed, or could not tell, agrees with nobody.
 */
function agreement({ asked, stances }: PerspectiveRound): HateDecision | null {
  const [first] = stances
  if (first === undefined || stances.length < Math.max(2, asked)) return null
  if (stances.some(({ side, abstained }) => side !== first.side || abstained === true)) return null
  const rationale = reasonsFor(first.side, stances)
  const debated: VerdictDebate = { held: false, why: 'unanimous' }
  const confidence = { value: 1, how: 'perspectives' }
  return { label: first.side, rationale, decidedBy: 'consensus', rounds: 0, debated, confidence, wrong: [] }
}

function reasonsFor(label: HateSide, stances: readonly PerspectiveStance[]): string {
  const theirs = stances.filter(({ side }) => side === label)
  return theirs.map(({ perspective, reason }) => `${perspective.title}: ${reason}`).join('\n')
}

/** Table 1, the base agent: one call, without criteria and similar contexts. */
function* zeroShot({ ask, settings }: HateContext): SubScript<HateDecision> {
  const [reply] = yield* round([ask.zeroShot()])
  if (!reply.ok) return undecided(`zero-shot failed: ${failure(reply)}`)
  const { label, reason } = reply.answer
  if (label !== ABSTAIN) return { label, rationale: reason, decidedBy: 'judge', rounds: 0, debated: OFF, wrong: [] }
  if (settings.abstentions === 'apart') return undecided('zero-shot abstained')
  const wrong = ['zero-shot abstained: filed under non-hate']
  return { label: 'non-hate', rationale: reason, decidedBy: 'judge', rounds: 0, debated: OFF, wrong }
}
