import { type AnswerOrFailure, failure } from '../../contracts/facts/ask.ts'
import type { Fence } from '../../contracts/facts/fence.ts'
import { type Neighbour, type SearchResult, withdrawnIn } from '../../contracts/facts/library.ts'
import { describeOddFields } from '../../contracts/facts/odd-fields.ts'
import type { SamplingRank } from '../../contracts/facts/sampling-rank.ts'
import type { Post, Snapshot } from '../../contracts/facts/thread.ts'
import { type ChatMessage, type Ruling, undecided } from '../../contracts/facts/verdict.ts'
import type { VerdictDebate } from '../../contracts/facts/verdict-fields.ts'
import { round, type Script, type SubScript } from '../../judging/engine/script.ts'
import type { Prompts } from '../prompts.ts'
import { unreadParts, withheldUnlessHarmful } from '../truncation.ts'
import type { Assessment, SafetyReport } from './answers.ts'
import { missingForSafe } from './benign.ts'
import { blocksOf, inputOf, modalityOf, type Picture, picturesOf, wordsOf } from './input.ts'
import {
  aloneIn,
  briefIn,
  type Grounds,
  type Opponent,
  opponentIn,
  questions,
  type SafetyQuestions,
  type SafetySide,
  type SafetyTurn,
} from './questions.ts'
import type { SafetySettings } from './settings.ts'

interface Parts {
  readonly settings: SafetySettings
  readonly prompts: Prompts
  readonly fence: Fence
  readonly samplingRank: SamplingRank
}

/**
 * Aetheria: puts images into words, briefs the debaters on the nearest precedents, has the strict and the loose debater
 * argue for N rounds with a risk score each, and lets the arbiter rule by its hierarchy.
 */
export function* aetheria({ post }: Snapshot, parts: Parts): Script {
  const { settings, fence } = parts
  const ask = questions(post, parts)
  const degraded = describeOddFields(post.odd)

  // Preprocessor: everything becomes text (section 3.2.1).
  const pictures = yield* described(post, ask, settings, degraded)
  const words = wordsOf(post, pictures)
  if (words === '') return { ruling: undecided(...degraded, 'nothing to judge: no text, and no image in words') }
  const input = inputOf(post, pictures, fence)
  const unread = unreadParts(post, blocksOf(post, pictures), fence)
  degraded.push(...unread)

  // Supporter: a brief over the K nearest precedents (section 3.2.2).
  const {
    brief,
    precedents,
    lost: briefLost,
  } = settings.supporter
    ? yield* briefed(input, words, ask, parts, degraded)
    : { brief: NO_BRIEF, precedents: [], lost: false }

  // Debate: N rounds of strict, then loose (sections 3.2.3 and 3.2.4).
  const log = yield* debated({ input, brief }, ask, parts, degraded)

  // Arbiter: the hierarchical adjudication protocol (section 3.2.5).
  const judged = yield* arbitrated({ input, brief }, log, ask, { post, settings }, degraded)
  const debate = {
    scores: lastScores(log),
    rounds: log.at(-1)?.round ?? 0,
    debated: debateIn(log, settings),
    evidence: { support: [], oppose: [], precedents: precedents.map(({ id }) => id) },
  }
  if (!judged.ok) return { ruling: { ...undecided(...degraded, `arbitrate failed: ${failure(judged)}`), ...debate } }
  const { label, score: final } = judged.answer
  if (label === 'safe' ? final > MIDDLE : final < MIDDLE)
    degraded.push(`arbitrate: the score ${final} contradicts the label ${label}`)
  const scores = { ...debate.scores, final }
  const ruling: Ruling = {
    ...debate,
    label,
    scores,
    rationale: rationale(judged.answer),
    decidedBy: 'arbiter',
    degraded,
  }
  const missing = missingForSafe(settings, { post, unread, pictures, log, briefLost })
  return { ruling: withheldUnlessHarmful(ruling, 'unsafe', missing) }
}

/** Most calls that {@link aetheria} asks for. */
export function mostCalls(post: Post, settings: SafetySettings): number {
  const { images, maxImages, supporter, strict, loose, rounds } = settings
  const looks = images ? toDescribe(picturesOf(post, maxImages)).length : 0
  const turns = rounds * (Number(strict) + Number(loose))
  const rulings = strict && loose && asksSmallFirst(post, settings) ? 2 : 1
  return looks + Number(supporter) + turns + rulings
}

const NO_BRIEF = 'There is no brief.'

/**
 * Has all images that have a URL and no description described, in one round; an image that could not be looked at stays
 * without a description.
 */
function* described(
  post: Post,
  ask: SafetyQuestions,
  settings: SafetySettings,
  degraded: string[],
): SubScript<Picture[]> {
  const pictures = picturesOf(post, settings.maxImages)
  const leftOut = (post.media ?? []).length - pictures.length
  if (leftOut > 0) degraded.push(`${leftOut} images beyond the first ${settings.maxImages} left out`)
  for (const { number, url, alt, description } of pictures)
    if (url === null && description === null)
      degraded.push(
        `image ${number} has no URL; ${alt === null ? 'nothing is known about it' : 'only alt text is available'}`,
      )

  if (!settings.images) {
    const visible = pictures.filter(({ url, description }) => url !== null || description !== null)
    if (visible.length > 0) degraded.push(`images are off: ${visible.length} not looked at`)
    return pictures.map((picture) => ({ ...picture, description: null }))
  }
  const seen = toDescribe(pictures)
  const answers = yield* round(seen.map((picture) => ask.describe(picture)))
  const descriptions = new Map<number, string>()
  for (const [index, { number }] of seen.entries()) {
    const reply = answers[index]
    if (reply?.ok && reply.answer.seen === 'no')
      degraded.push(`describe (image ${number}): the model did not see it; a placeholder stands for it`)
    else if (reply?.ok) descriptions.set(number, reply.answer.description)
    else if (reply !== undefined)
      degraded.push(`describe (image ${number}) failed: ${failure(reply)}; a placeholder stands for it`)
  }
  return pictures.map((picture) => ({
    ...picture,
    description: descriptions.get(picture.number) ?? picture.description,
  }))
}

/** Those that have a URL and no description. */
function toDescribe(pictures: readonly Picture[]) {
  return pictures.flatMap((picture) =>
    picture.url === null || picture.description !== null ? [] : [{ ...picture, url: picture.url }],
  )
}

/** The supporter's brief, and the precedents that it compares with. */
function* briefed(
  input: string,
  words: string,
  ask: SafetyQuestions,
  { settings, fence }: Parts,
  degraded: string[],
): SubScript<{ brief: string; precedents: Neighbour[]; lost: boolean }> {
  const nearest: Neighbour[] = []
  if (settings.retrieval) {
    const [found] = yield* round([ask.retrieve(words)])
    nearest.push(...neighboursIn(found, degraded))
  }
  const [written] = yield* round([ask.brief(input, nearest)])
  if (!written.ok) {
    degraded.push(`brief failed: ${failure(written)}; debated without one`)
    return { brief: NO_BRIEF, precedents: [], lost: true }
  }
  const spokenOf = new Set(written.answer.precedents.map(({ precedent }) => precedent))
  const precedents = nearest.filter((_, index) => spokenOf.has(index + 1))
  if (precedents.length < nearest.length)
    degraded.push(`brief: ${nearest.length - precedents.length} of ${nearest.length} precedents left out`)
  return { brief: briefIn(written.answer, nearest, fence), precedents, lost: false }
}

function neighboursIn(found: AnswerOrFailure<SearchResult>, degraded: string[]): Neighbour[] {
  if (!found.ok) {
    degraded.push(`retrieve failed: ${failure(found)}; no precedents`)
    return []
  }
  if (found.answer.weak !== null) degraded.push(`precedents are weak: ${found.answer.weak}`)
  return found.answer.shelves.flatMap((looked) => {
    const { neighbours, problem } = looked
    const withdrawn = withdrawnIn(looked)
    if (problem !== null) degraded.push(`no precedents: ${problem}`)
    else if (withdrawn !== null) degraded.push(`precedents left out: ${withdrawn}`)
    return neighbours
  })
}

/** Whether the debaters answered one another in a second round, and why. */
function debateIn(log: readonly SafetyTurn[], { rounds, furtherRounds }: SafetySettings): VerdictDebate {
  if (log.length === 0 || rounds < 2) return { held: false, why: 'off' }
  const held = (log.at(-1)?.round ?? 0) > 1
  if (furtherRounds !== 'straddling') return { held, why: 'always' }
  return { held, why: held ? 'contested' : 'unanimous' }
}

/** All turns, in order. A debater hears the other's last readable turn. */
function* debated(grounds: Grounds, ask: SafetyQuestions, parts: Parts, degraded: string[]): SubScript<SafetyTurn[]> {
  const { settings, fence } = parts
  const sides = (['strict', 'loose'] as const).filter((side) => settings[side])
  const conversations: Record<SafetySide, ChatMessage[]> = { strict: [], loose: [] }
  const log: SafetyTurn[] = []
  for (let n = 1; n <= settings.rounds; n++) {
    for (const side of sides) {
      const heard = opponent(side, log, settings, fence)
      const before = conversations[side]
      const asked = before.length === 0 ? ask.opening(side, grounds, heard) : [...before, ...ask.next(heard)]
      const [reply] = yield* round([ask.turn(side, asked, n === settings.rounds)])
      if (reply.ok) conversations[side] = [...asked, { role: 'assistant', content: JSON.stringify(reply.answer) }]
      log.push(turnOf(n, side, reply, log, settings, degraded))
    }
    if (settings.furtherRounds === 'straddling' && isOneSided(log.slice(-sides.length))) break
  }
  return log
}

/**
 * The arbiter's ruling. With `imageArbiter: small-first`, a post with images is first ruled on by a small arbiter, if the last
 * round left both debaters on one side. Its ruling stands if it is certain; otherwise the arbiter rules, and does not see it.
 */
function* arbitrated(
  grounds: Grounds,
  log: readonly SafetyTurn[],
  ask: SafetyQuestions,
  { post, settings }: { readonly post: Post; readonly settings: SafetySettings },
  degraded: string[],
): SubScript<AnswerOrFailure<SafetyReport>> {
  const last = lastRound(log)
  if (asksSmallFirst(post, settings) && isOneSided(last)) {
    const [small] = yield* round([ask.arbitrateSmall(grounds, log)])
    if (small.ok && isCertain(small.answer, last)) return small
    if (!small.ok) degraded.push(`arbitrate (small arbiter) failed: ${failure(small)}; the arbiter was asked instead`)
  }
  const [judged] = yield* round([ask.arbitrate(grounds, log)])
  return judged
}

function asksSmallFirst(post: Post, { imageArbiter, models }: SafetySettings): boolean {
  return imageArbiter === 'small-first' && models === 'by-role' && modalityOf(post) !== 'text'
}

/** The scores from which on a small arbiter's ruling on images stands. `safe` needs more, for a miss is the worse error. */
const CERTAIN = { safe: 0.2, unsafe: 0.7 } as const

/** Whether a ruling has a score far from the middle, and is of the side on which both debaters are. */
function isCertain({ label, score }: SafetyReport, round: readonly SafetyTurn[]): boolean {
  const scores = round.flatMap(({ said }) => said?.score ?? [])
  return label === 'safe'
    ? score <= CERTAIN.safe && scores.every((one) => one < MIDDLE)
    : score >= CERTAIN.unsafe && scores.every((one) => one > MIDDLE)
}

function lastRound(log: readonly SafetyTurn[]): readonly SafetyTurn[] {
  return log.filter(({ round }) => round === log.at(-1)?.round)
}

/** The score that neither label has. */
const MIDDLE = 0.5

/** Whether both debaters spoke, and both scores lie on the same side of the middle. One at the middle lies on neither. */
function isOneSided(round: readonly SafetyTurn[]): boolean {
  const scores = round.flatMap(({ said }) => said?.score ?? [])
  if (scores.length < 2) return false
  return scores.every((score) => score < MIDDLE) || scores.every((score) => score > MIDDLE)
}

function turnOf(
  n: number,
  side: SafetySide,
  reply: AnswerOrFailure<Assessment>,
  log: readonly SafetyTurn[],
  settings: SafetySettings,
  degraded: string[],
): SafetyTurn {
  if (reply.ok) return { round: n, side, said: reply.answer, standIn: null }
  const standIn = settings.scoreFallback === 'paper' && reply.code === 'unreadable' ? lastScore(side, log) : null
  const instead = standIn === null ? 'it has no score' : `${standIn} stands in for its score`
  degraded.push(`round ${n} (${side}) failed: ${failure(reply)}; ${instead}`)
  return { round: n, side, said: null, standIn }
}

/** The paper's fallback: 0.5 in the first round, then the previous score. */
function lastScore(side: SafetySide, log: readonly SafetyTurn[]): number {
  const scores = log.flatMap((turn) => (turn.side === side ? [turn.said?.score ?? turn.standIn] : []))
  return scores.findLast((score) => score !== null) ?? 0.5
}

function opponent(side: SafetySide, log: readonly SafetyTurn[], settings: SafetySettings, fence: Fence): Opponent {
  const other = side === 'strict' ? 'loose' : 'strict'
  const silent = (words: string): Opponent => ({ words, spoken: false })
  if (!settings[other]) return silent(aloneIn(other, settings))
  const turns = log.filter((turn) => turn.side === other)
  const last = turns.findLast(({ said }) => said !== null)?.said
  const isKnown = settings.preset !== 'paper' && turns.at(-1)?.said === null
  if (last) return { words: opponentIn(other, last, fence, isKnown), spoken: true }
  if (turns.length === 0) return silent(`The ${other} debater has not spoken yet: you open the debate.`)
  return silent(
    settings.preset === 'paper'
      ? `What the ${other} debater said could not be had.`
      : `What the ${other} debater said did not arrive.`,
  )
}

/** The last readable score of each debater; a debater without one is left out. */
function lastScores(log: readonly SafetyTurn[]): Record<string, number> {
  return Object.fromEntries(log.flatMap(({ side, said }) => (said === null ? [] : [[side, said.score]])))
}

function rationale({ rule, categories, reasoning, evidence }: SafetyReport): string {
  const named = categories.length === 0 ? rule : `${rule} (${categories.join(', ')})`
  return [`${named}: ${reasoning}`, ...(evidence.length === 0 ? [] : [`Evidence: ${evidence.join('; ')}`])].join('\n')
}
