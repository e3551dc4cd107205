import type { AnswerOrFailure } from '../../contracts/facts/ask.ts'
import { authorOf } from '../../contracts/facts/author.ts'
import type { Comment } from '../../contracts/facts/thread.ts'
import type { SubScript } from '../../judging/engine/script.ts'
import { claimHash, evidenceHash, remembered } from './carry.ts'
import { capsOf, type ScoredUtterance, utterancesOf, type WeighedComments, weighComments } from './comment-weights.ts'
import type { RumorContext } from './context.ts'
import { type Gate, gateOf, sparesOpinions } from './gate.ts'
import { changeOf, type DebatedComments, debatedOf } from './material-change.ts'
import type { Utterance } from './near-identical.ts'
import type { PromptKind } from './questions.ts'
import type { RumorSettings } from './settings.ts'
import { halve, type Sides, sample, separate } from './sides.ts'
import { kindIn, type StanceScore, stances } from './stance.ts'
import { bandOf, leadIn, type ToldCounts } from './told-counts.ts'

// This decides which comments are asked about, whether the decision of the revision before holds, and how few scores are too
// few for a label.

/** If a smaller share of the comments is scored, the evidence is called thin. */
const THIN = 0.5

/** What was found out about the comments and the claim. */
export interface ScoredThread {
  readonly utterances: readonly Utterance[]
  readonly scores: ReadonlyMap<Utterance, StanceScore>
  /** Those that have a score from before, or were asked about. */
  readonly asked: readonly Utterance[]
  /** Those that were left out under load. */
  readonly unasked: readonly Utterance[]
  readonly kind: PromptKind
  /** Whether the claim's subjectivity is not known: it was asked about in vain, or need not be known. */
  readonly kindUnknown: boolean
  readonly limitations: readonly string[]
}

/**
 * Algorithm 1, lines 2 to 5 and 9: the stance of every comment that has none from the revision before, and whether the
 * claim is subjective, in one round.
 */
export function* scored(context: RumorContext): SubScript<ScoredThread> {
  const { settings, depth, ask, parentOf, rankOf, step } = context
  const { post, comments } = context.thread
  const utterances = utterancesOf(comments, settings, parentOf)
  const known = remembered(post, utterances, context.before, settings, parentOf)
  const unscored = settings.stance ? utterances.filter((utterance) => !known.scores.has(utterance)) : []
  const wanted = sample(unscored, depth.comments, firstOf, rankOf)
  const unasked = unscored.filter((utterance) => !wanted.includes(utterance))
  const needsKind = utterances.length > 0 || !sparesOpinions(context)
  const askKind = settings.promptKind === 'auto' && known.kind === null && needsKind
  const { scores, beside, degraded } = yield* stances(
    wanted,
    known.scores,
    ask,
    { ...settings, oneScorer: settings.oneScorer && step === 0 },
    askKind ? ask.subjectivity() : undefined,
  )
  const subjectivity = beside as AnswerOrFailure<{ answer: 'Yes' | 'No' }> | undefined
  const limitations = [...degraded]
  if (unasked.length > 0)
    limitations.push(`under load: ${wanted.length} of ${unscored.length} comments scored, by a fixed sample`)
  const kind = subjectivity === undefined ? (known.kind ?? fixedKind(settings)) : kindIn(subjectivity, limitations)
  return {
    utterances,
    scores,
    unasked,
    kind,
    limitations,
    asked: [...known.scores.keys(), ...wanted],
    kindUnknown: subjectivity?.ok === false || (!askKind && known.kind === null && settings.promptKind === 'auto'),
  }
}

/** The comments that count, and which of them the debaters are shown. */
export interface Evidence {
  readonly weighed: WeighedComments
  /** How many of them take which side. */
  readonly counts: ToldCounts
  /** That comments without an author decide which side leads, or is there at all, in words; empty if they do not. */
  readonly ofUnnamed: readonly string[]
  readonly gate: Gate
  /** Equation 2, by the settings. */
  readonly full: Sides
  /** The same, or fewer under load. */
  readonly sides: Sides
  /** Comments under other posts in the same words that are shown beside them. */
  readonly elsewhere: readonly Comment[]
  /** What is shown, as one hash. */
  readonly hash: string
  /** Whether the decision of the revision before rests on the same, or nearly, and its debate was not cut short. */
  readonly holds: boolean
  /** The same without its words, where how much it changes is measured. */
  readonly debated: DebatedComments | undefined
  /** Fewer comments have a score than a label needs. */
  readonly tooThin: boolean
  readonly limitations: readonly string[]
}

/** Equations 2 and 3: which comments count, and which stand on which side. */
export function evidenceOf(context: RumorContext, found: ScoredThread): Evidence {
  const { settings, depth, tie, rankOf, before, step } = context
  const { scores, kind } = found
  const scoredUtterances = settings.stance
    ? [...scores].map(([utterance, { value }]) => ({ utterance, score: value }))
    : found.utterances.map((utterance) => ({ utterance, score: null }))
  const weighed = weighComments(scoredUtterances, settings, tie)
  const sidesOf = ({ k, sampleSize }: Pick<RumorSettings, 'k' | 'sampleSize'>) =>
    settings.stance
      ? separate(weighed.comments, k, tie)
      : halve(
          weighed.comments.map(({ comment }) => comment),
          sampleSize,
          rankOf,
        )
  const counts = countsOf(weighed)
  const gate = gateOf(context, weighed, {
    failed: found.asked.filter((utterance) => !scores.has(utterance)).map(firstOf),
    unasked: found.unasked.map(firstOf),
  })
  const told = { kind, gate: gate.why, band: settings.counts && settings.stance ? bandOf(counts) : '' }
  const elsewhere = shownElsewhere(context, { weighed })
  const hashOf = (sides: Sides) => evidenceHash(context.thread.post, sides, { ...told, elsewhere }, context)
  const lead = leadIn(counts)
  const debatedIn = (sides: Sides) => debatedOf(sides, { kind, gate: gate.why, lead, parentOf: context.parentOf })
  const isNearly = (sides: Sides) =>
    settings.materialChange > 0 &&
    before?.debated !== undefined &&
    // What the decision may quote is still shown.
    String(before.elsewhere ?? []) === String(elsewhere.map(({ id }) => id)) &&
    // A decision about other words is about another claim.
    before.claim === claimHash(context.thread.post) &&
    changeOf(before.debated, debatedIn(sides)) < settings.materialChange
  const holds = (sides: Sides) =>
    settings.keepUnlessEvidenceChanged &&
    before !== null &&
    before.decision.label !== null &&
    (step > 0 || !before.decision.again) &&
    (before.evidence === hashOf(sides) || isNearly(sides))
  // A decision that still holds costs nothing, also under overload.
  const full = sidesOf(settings)
  const sides = holds(full) ? full : sidesOf(depth)
  const share = scoredShare(found.asked, scores, settings)
  return {
    weighed,
    counts,
    ofUnnamed: ofUnnamed(context, scoredUtterances, counts),
    gate,
    full,
    sides,
    elsewhere,
    hash: hashOf(sides),
    holds: holds(sides),
    debated: settings.materialChange > 0 ? debatedIn(sides) : undefined,
    tooThin: share.scored < settings.minScored * share.asked,
    limitations: [
      ...weighed.limitations,
      ...(sizeOf(sides) < sizeOf(full)
        ? [`under load: ${sizeOf(sides)} of ${sizeOf(full)} comments debated, the strongest of each side`]
        : []),
      ...(share.scored < THIN * share.asked
        ? [`thin evidence: ${share.scored} of ${share.asked} comments have a score`]
        : []),
    ],
  }
}

function countsOf({ comments }: WeighedComments): ToldCounts {
  const of = (sign: number) => comments.filter(({ score }) => Math.sign(score ?? 0) === sign).length
  return { support: of(1), oppose: of(-1), neither: of(0) }
}

/**
 * Whether without all comments that name no author another side would lead, or a side would be empty, in words: anybody may
 * write as nobody, as often as they like. Where nobody is named, not even who wrote the post, names say nothing.
 */
function ofUnnamed(
  { settings, tie, thread: { post, comments } }: RumorContext,
  scored: readonly ScoredUtterance[],
  counts: ToldCounts,
): string[] {
  const isNamed = ({ author }: Pick<Comment, 'author'>) => author !== undefined
  if (settings.unnamed === null || comments.every(isNamed)) return []
  if (!isNamed(post) && !comments.some(isNamed)) return []
  const named = scored.flatMap(({ utterance, score }) => {
    const theirs = utterance.comments.filter(isNamed)
    return theirs.length === 0 ? [] : [{ utterance: { ...utterance, comments: theirs }, score }]
  })
  const without = countsOf(weighComments(named, settings, tie))
  const isEmptied = (side: 'support' | 'oppose') => counts[side] > 0 && without[side] === 0
  if (leadIn(counts) === leadIn(without) && !isEmptied('support') && !isEmptied('oppose')) return []
  return [
    `comments without an author make the difference: ${counts.support} support and ${counts.oppose} oppose, ${without.support} and ${without.oppose} without them`,
  ]
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
  const byAuthor = [...Map.groupBy(all, (utterance) => authorOf(firstOf(utterance)))]
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

function fixedKind(settings: RumorSettings): PromptKind {
  return settings.promptKind === 'subjective' ? 'subjective' : 'objective'
}

export function sizeOf({ support, oppose }: Sides): number {
  return support.length + oppose.length
}

function firstOf({ comments: [first] }: Utterance): Comment {
  if (first === undefined) throw new Error('an utterance without comments')
  return first
}

/** The comments under other posts that debaters are shown: at most as many as comments of its own count. */
function shownElsewhere(
  { settings, thread: { elsewhere = [] } }: Pick<RumorContext, 'settings' | 'thread'>,
  { weighed }: Pick<Evidence, 'weighed'>,
): readonly Comment[] {
  return settings.elsewhere ? elsewhere.slice(0, weighed.comments.length) : []
}
