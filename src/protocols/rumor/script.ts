import { type Answered, type Ask, failure } from '../../domain/ask.ts'
import type { Fence } from '../../domain/fence.ts'
import { toldOdd } from '../../domain/odd-fields.ts'
import type { SamplingRank } from '../../domain/sampling-rank.ts'
import { type Comment, type Snapshot, shownIn } from '../../domain/thread.ts'
import type { ChatMessage, Ruling, WeighedCounts } from '../../domain/verdict.ts'
import { type Conclusion, round, type Script, type SubScript } from '../../engine/script.ts'
import { isTurned } from '../order.ts'
import type { Prompts } from '../prompts.ts'
import { oddInComments, partlyReadComments, unreadParts } from '../unread.ts'
import type { View } from './answers.ts'
import { capsOf, utterancesOf, type Weighed, weigh } from './brigading.ts'
import { carriedScores, claimHash, type Decision, evidenceHash, type RumorCarry, remembered } from './carry.ts'
import { depthOf } from './depth.ts'
import type { Utterance } from './near-identical.ts'
import { noParents, parentsIn, withParents } from './parents.ts'
import { claimOf, type PromptKind, type Questions, questions, type Side } from './questions.ts'
import type { RumorSettings } from './settings.ts'
import { halve, rankIn, type Sides, sample, separate, tieOf } from './sides.ts'
import { kindIn, mostCommon, stances } from './stance.ts'
import { noTimes, timesIn } from './times.ts'
import { countsIn, sideIn, strongest } from './told.ts'

/** A decision; its last three fields may be left out if there is nothing to say. */
type Reached = Pick<Decision, 'label' | 'rationale' | 'decidedBy' | 'rounds'> &
  Partial<Pick<Decision, 'degraded' | 'again' | 'models'>>

/** If a smaller share of the comments is scored, the evidence is called thin. */
const THIN = 0.5

/**
 * S2MAD, Algorithm 1: separates the comments by stance, has two debaters form their first opinion on one side each,
 * lets them debate for at most M rounds, and asks a judge if they still disagree. Fake is `rumor`, Real is `non-rumor`.
 */
export function* s2mad(
  subject: Snapshot,
  before: RumorCarry | null,
  parts: {
    settings: RumorSettings
    prompts: Prompts
    fence: Fence
    samplingRank: SamplingRank
    under: string
    overloaded: boolean
    tenant: string
  },
): Script {
  const { post, comments, leftOut, overAuthor = 0, tookBack = 0 } = subject
  const { settings } = parts
  const depth = depthOf(settings, parts.overloaded)
  const rankOf = rankIn(parts.samplingRank, parts.tenant, post.id)
  const tie = tieOf(settings, rankOf)
  const beside = {
    parentOf: settings.parents ? parentsIn(comments) : noParents,
    timeOf: settings.times ? timesIn(subject) : noTimes,
  }
  const { parentOf } = beside
  const turned = settings.order === 'lot' && isTurned(parts.samplingRank, claimOf(post))
  const ask = questions(post, { ...parts, ...beside, turned })
  const degraded = [...toldOdd(post.odd), ...oddInComments(comments)]
  if (comments.length === 0) degraded.push('no comments: judged on the claim alone')
  if ((post.media ?? []).some((medium) => shownIn(medium) === undefined))
    degraded.push('images without a description left out: this protocol reads words only')
  if (leftOut > 0) degraded.push(`${leftOut} comments beyond the cap left out, by a fixed sample`)
  if (overAuthor > 0) degraded.push(`${overAuthor} comments left out: per-author limit reached`)
  if (tookBack > 0) degraded.push(`${tookBack} comments left out: their authors took back others of this case`)
  degraded.push(
    ...unreadParts(post, [{ kind: 'claim', text: claimOf(post) }], parts.fence),
    ...partlyReadComments(comments, parts.fence),
  )
  if (claimOf(post) === '') return nothingToJudge()
  if (settings.decide === 'vanilla') return yield* vanilla(comments, ask, settings, rankOf, degraded)

  // Stance separation (lines 2–7) and the claim's subjectivity (line 9): neither waits for the other.
  const utterances = utterancesOf(comments, settings, parentOf)
  const known = remembered(post, utterances, before, settings, parentOf)
  const unscored = settings.stance ? utterances.filter((utterance) => !known.scores.has(utterance)) : []
  const wanted = sample(unscored, depth.comments, firstOf, rankOf)
  const askKind = settings.promptKind === 'auto' && known.kind === null
  const {
    scores,
    beside: kindAsked,
    ...stance
  } = yield* stances(
    wanted,
    known.scores,
    ask,
    { ...settings, oneScorer: settings.oneScorer && !parts.overloaded },
    askKind ? ask.subjectivity() : undefined,
  )
  degraded.push(...stance.degraded)
  const subjectivity = kindAsked as Answered<{ answer: 'Yes' | 'No' }> | undefined
  const kind = subjectivity === undefined ? (known.kind ?? fixedKind(settings)) : kindIn(subjectivity, degraded)

  // Which comments count, and on which side (equations 2 and 3).
  const heard = settings.stance
    ? [...scores].map(([utterance, { value }]) => ({ utterance, score: value }))
    : utterances.map((utterance) => ({ utterance, score: null }))
  const weighed = weigh(heard, settings, tie)
  degraded.push(...weighed.says)
  const unasked = unscored.filter((utterance) => !wanted.includes(utterance))
  if (unasked.length > 0)
    degraded.push(`under load: ${wanted.length} of ${unscored.length} comments scored, by a fixed sample`)
  const sidesOf = ({ k, sampleSize }: Pick<RumorSettings, 'k' | 'sampleSize'>) =>
    settings.stance
      ? separate(weighed.comments, k, tie)
      : halve(
          weighed.comments.map(({ comment }) => comment),
          sampleSize,
          rankOf,
        )
  const holds = (sides: Sides) =>
    before !== null &&
    settings.keepUnlessEvidenceChanged &&
    stillHolds(before, evidenceHash(post, sides, kind, beside), parts.overloaded)
  // A decision that still holds costs nothing, also under overload.
  const full = sidesOf(settings)
  const sides = holds(full) ? full : sidesOf(depth)
  if (sizeOf(sides) < sizeOf(full))
    degraded.push(`under load: ${sizeOf(sides)} of ${sizeOf(full)} comments debated, the strongest of each side`)

  const lostTurns: string[] = []
  const conclude = (reached: Reached): Conclusion => {
    const scorer = mostCommon([...scores.values()].map(({ model }) => model))
    const wrong = [...lostTurns, ...(reached.degraded ?? [])]
    const again = reached.again === true || lostTurns.length > 0
    const models = { ...reached.models, ...(scorer === undefined ? {} : { scorer }) }
    const decision: Decision = { ...reached, degraded: wrong, again, models }
    return {
      ruling: {
        ...rulingOf(decision, sides, weighed),
        degraded: [...degraded, ...wrong],
        ...(sizeOf(sides) < sizeOf(full) ? { faults: ['ours'] } : {}),
        comments: countsOf(weighed, sides, unasked, settings),
      },
      carry: {
        under: parts.under,
        claim: claimHash(post),
        kind: subjectivity === undefined || subjectivity.ok ? kind : null,
        scores: carriedScores(scores, settings, parentOf),
        evidence: evidenceHash(post, sides, kind, beside),
        shown: withParents([...sides.support, ...sides.oppose], parentOf),
        decision,
      } satisfies RumorCarry,
    }
  }

  const { scored, asked } = scoredShare([...known.scores.keys(), ...wanted], scores, settings)
  if (scored < THIN * asked) degraded.push(`thin evidence: ${scored} of ${asked} comments have a score`)
  if (scored < settings.minScored * asked)
    return conclude(undecided(`no verdict on less than ${settings.minScored} of the comments`))
  if (before !== null && holds(sides)) return conclude(before.decision)
  const counts = countsIn(weighed, settings)
  const isUndisputed = sizeOf(sides) === 0 && settings.preset !== 'paper'
  const shownTo = (...of: readonly Side[]) =>
    isUndisputed ? '' : of.map((side) => sideIn(ask, side, sides[side], settings)).join('\n\n')
  if (!settings.debate) {
    const told = { comments: shownTo('support', 'oppose'), counts, oneSided: false }
    return conclude(yield* alone(ask.opinion('alone', ask.opening(kind, told), true)))
  }

  // Initial opinions (lines 10–11, equation 3).
  const oneSided = settings.counts && settings.stance && !isUndisputed
  const debaters = [
    debater('support', ask.opening(kind, { comments: shownTo('support'), counts, oneSided })),
    debater('oppose', ask.opening(kind, { comments: shownTo('oppose'), counts, oneSided })),
  ] as const
  const opinions = yield* round([
    ask.opinion('support', debaters[0].conversation, depth.rounds === 0),
    // Where both read the same, the memo must not answer for the second.
    { ...ask.opinion('oppose', debaters[1].conversation, depth.rounds === 0), ...(isUndisputed && { draw: 'second' }) },
  ])
  const failed = opinions.flatMap((opinion, index) =>
    opinion.ok ? [] : [`opinion (${debaters[index]?.side}) failed: ${failure(opinion)}`],
  )
  if (failed.length > 0) return conclude(undecided(...failed))
  let views = [hear(debaters[0], opinions[0], lostTurns), hear(debaters[1], opinions[1], lostTurns)] as const

  // Debate (lines 13–16, equation 4): both turns of a round answer the other's previous reply.
  let rounds = 0
  while (rounds < depth.rounds && !(settings.stopAtConsensus && agreed(views))) {
    const heard = [ask.rebuttal(views[1]), ask.rebuttal(views[0])] as const
    rounds++
    const isLast = rounds === depth.rounds
    const turns = yield* round([
      ask.turn('support', [...debaters[0].conversation, ...heard[0]], isLast),
      ask.turn('oppose', [...debaters[1].conversation, ...heard[1]], isLast),
    ])
    views = [hear(debaters[0], turns[0], lostTurns, heard[0]), hear(debaters[1], turns[1], lostTurns, heard[1])]
  }

  const cutShort = rounds < settings.rounds && !(settings.stopAtConsensus && agreed(views))
  const shortened = cutShort ? [`under load: ${rounds} of ${settings.rounds} rounds of debate`] : []
  const debate = { rounds, again: cutShort, degraded: shortened }
  const models = { debater: debaters[1].model }

  // Consensus or judge (lines 17–21, equation 5).
  if (agreed(views)) {
    const rationale = `Both debaters: ${views[0].answer}. On the supporting side: ${views[0].reasoning} On the opposing side: ${views[1].reasoning}`
    return conclude({ ...debate, label: labelOf(views[0]), rationale, decidedBy: 'consensus', models })
  }
  const shown = { kind, counts, oneSided, comments: strongest(ask, sides, settings, turned) }
  const [judged] = yield* round([ask.judge(views[0], views[1], shown)])
  if (!judged.ok) return conclude({ ...undecided(...shortened, `judge failed: ${failure(judged)}`), rounds, models })
  return conclude({
    ...debate,
    label: labelOf(judged.answer),
    rationale: judged.answer.reasoning,
    decidedBy: 'judge',
    models: { ...models, judge: judged.model },
  })
}

/** Table 1's vanilla rows: one model, one call, over the claim and its comments, without stance and sides. */
function* vanilla(
  comments: readonly Comment[],
  ask: Questions,
  settings: RumorSettings,
  rankOf: (comment: Comment) => number,
  degraded: readonly string[],
): Script {
  const unheard = utterancesOf(comments, settings).map((utterance) => ({ utterance, score: null }))
  const weighed = weigh(unheard, settings, tieOf(settings, rankOf))
  const all = weighed.comments.map(({ comment }) => comment)
  const shown = sample(all, settings.sampleSize, (comment) => comment, rankOf)
  const [only] = yield* round([ask.vanilla(shown)])
  const { degraded: wrong = [], ...reached } = only.ok
    ? { label: labelOf(only.answer), rationale: only.answer.reasoning, decidedBy: 'judge' as const, rounds: 0 }
    : undecided(`opinion failed: ${failure(only)}`)
  const { folded, author, says } = weighed
  return {
    ruling: {
      ...reached,
      scores: { support: 0, oppose: 0 },
      evidence: { support: [], oppose: [], precedents: [] },
      degraded: [...degraded, ...says, ...wrong],
      comments: { judged: shown.length, folded, author, cap: all.length - shown.length, load: 0 },
    },
  }
}

/**
 * How many of the comments have a score; of each author at most as many as may weigh, those with a score first: many
 * comments by one account that can't be scored are no lack of evidence.
 */
function scoredShare(
  all: readonly Utterance[],
  scores: ReadonlyMap<Utterance, unknown>,
  settings: RumorSettings,
): { scored: number; asked: number } {
  const capOf = capsOf(all.map(firstOf), settings)
  const byAuthor = [...Map.groupBy(all, (utterance) => firstOf(utterance).author)]
  return byAuthor.reduce(
    (sum, [author, own]) => {
      const scored = Math.min(own.filter((utterance) => scores.has(utterance)).length, capOf(author))
      // Of those that name nobody, where others do, as many without a score count as of one author: one may be behind all.
      const isCapped = author !== undefined || Number.isFinite(capOf())
      const most = isCapped ? (settings.perAuthor ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY
      const unscored = Math.min(
        own.filter((utterance) => !scores.has(utterance)).length,
        Math.max(0, most - (author === undefined ? 0 : scored)),
      )
      return { scored: sum.scored + scored, asked: sum.asked + scored + unscored }
    },
    { scored: 0, asked: 0 },
  )
}

/** A post that has only undescribed images contains no claim that could be read. */
function nothingToJudge(): Conclusion {
  const decided = undecided('no words to judge: images without a description are left out')
  return {
    ruling: { ...decided, scores: { support: 0, oppose: 0 }, evidence: { support: [], oppose: [], precedents: [] } },
  }
}

/** A debater and its conversation so far: its opening, its own replies, and the other's as it was shown them. */
interface Debater {
  readonly side: Side
  conversation: ChatMessage[]
  view: View | null
  /** The model that spoke last. */
  model: string
}

function debater(side: Side, conversation: ChatMessage[]): Debater {
  return { side, conversation, view: null, model: '' }
}

/**
 * Adds a reply to the conversation. After a failed reply the debater keeps its last readable view, and the failure is
 * reported.
 */
function hear(speaker: Debater, reply: Answered<View>, lost: string[], told: readonly ChatMessage[] = []): View {
  if (reply.ok) {
    const said: ChatMessage = { role: 'assistant', content: JSON.stringify(reply.answer) }
    speaker.conversation = [...speaker.conversation, ...told, said]
    speaker.view = reply.answer
    speaker.model = reply.model
  } else lost.push(`a debate turn (${speaker.side}) failed: ${failure(reply)}; the last readable view stands`)
  if (speaker.view === null) throw new Error('a debater without an opinion entered the debate')
  return speaker.view
}

function agreed([a, b]: readonly [View, View]): boolean {
  return a.answer === b.answer
}

function labelOf(of: View): 'rumor' | 'non-rumor' {
  return of.answer === 'Fake' ? 'rumor' : 'non-rumor'
}

function undecided(...why: string[]): Reached & { degraded: string[] } {
  return { label: null, rationale: '', decidedBy: 'none', rounds: 0, degraded: why }
}

/** Table 2, "w/o Debate": one agent, one call, over the comments of both sides. */
function* alone(opinion: Ask<View>): SubScript<Reached> {
  const [only] = yield* round([opinion])
  if (!only.ok) return undecided(`opinion failed: ${failure(only)}`)
  const { answer, model } = only
  return {
    ...{ label: labelOf(answer), rationale: answer.reasoning, decidedBy: 'judge', rounds: 0 },
    models: { debater: model },
  }
}

function fixedKind(settings: RumorSettings): PromptKind {
  return settings.promptKind === 'subjective' ? 'subjective' : 'objective'
}

/** Whether the previous decision rests on what the debaters would be shown now, and its debate was not cut short. */
function stillHolds({ decision: { label, again }, evidence }: RumorCarry, shown: string, overloaded: boolean): boolean {
  return label !== null && (overloaded || !again) && evidence === shown
}

function sizeOf({ support, oppose }: Sides): number {
  return support.length + oppose.length
}

function rulingOf(
  { label, rationale, decidedBy, rounds, models }: Decision,
  { support, oppose }: Sides,
  { comments }: Weighed,
): Omit<Ruling, 'degraded'> {
  const idsOf = (side: readonly Comment[]) => side.map(({ id }) => id)
  return {
    ...{ label, rationale, decidedBy, rounds, models },
    scores: {
      support: comments.filter(({ score }) => score !== null && score > 0).length,
      oppose: comments.filter(({ score }) => score !== null && score < 0).length,
    },
    evidence: { support: idsOf(support), oppose: idsOf(oppose), precedents: [] },
  }
}

/** What happened to the snapshot's comments. */
function countsOf(
  { comments, folded, author }: Weighed,
  sides: Sides,
  unasked: readonly Utterance[],
  settings: RumorSettings,
): WeighedCounts {
  const judged = settings.stance ? comments.length : sizeOf(sides)
  const load = unasked.reduce((sum, utterance) => sum + utterance.comments.length, 0)
  return { judged, folded, author, cap: comments.length - judged, load }
}

function firstOf({ comments: [first] }: Utterance): Comment {
  if (first === undefined) throw new Error('an utterance without comments')
  return first
}
