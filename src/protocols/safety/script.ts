import { type AnswerOrFailure, type Ask, failure } from '../../contracts/facts/ask.ts'
import type { Fence } from '../../contracts/facts/fence.ts'
import { type Neighbour, type SearchResult, withdrawnIn } from '../../contracts/facts/library.ts'
import { describeOddFields } from '../../contracts/facts/odd-fields.ts'
import type { SamplingRank } from '../../contracts/facts/sampling-rank.ts'
import type { Post, Snapshot } from '../../contracts/facts/thread.ts'
import { type Ruling, undecided } from '../../contracts/facts/verdict.ts'
import { statedConfidence, type VerdictDebate } from '../../contracts/facts/verdict-fields.ts'
import { round, type Script, type SubScript } from '../../judging/engine/script.ts'
import { citedIn, type PolicyInForce } from '../clauses.ts'
import { controlled, isControl } from '../control.ts'
import { nameOf } from '../policy.ts'
import type { Prompts } from '../prompts.ts'
import { missingAround, surroundingsIn } from '../surroundings.ts'
import { type FilterRefusals, unreadParts, withheldUnlessHarmful } from '../truncation.ts'
import type { SafetyReport } from './answers.ts'
import { missingForSafe } from './benign.ts'
import { debateIn, isOneSided, lastRound, lastScores, MIDDLE, SafetyDebate } from './debate.ts'
import { blocksOf, inputOf, modalityOf, type Picture, picturesOf, wordsOf } from './input.ts'
import { panelIn, type SafetyTurn } from './log.ts'
import { briefIn, drawnBy, type Grounds, questions, type SafetyQuestions } from './questions.ts'
import { isByCode, type SafetySettings } from './settings.ts'

interface Parts {
  readonly settings: SafetySettings
  /** The policy in force, if there is one. */
  readonly policy: PolicyInForce | null
  readonly prompts: Prompts
  readonly fence: Fence
  readonly samplingRank: SamplingRank
  readonly refusals: FilterRefusals
}

/**
 * Aetheria: puts images into words, briefs the debaters on the nearest precedents, has the strict and the loose debater
 * argue for N rounds with a risk score each, and lets the arbiter rule by its hierarchy.
 */
export function* aetheria(subject: Snapshot, parts: Parts): Script {
  const { settings, fence } = parts
  const { post } = subject
  const ask = questions(post, parts)
  const degraded = [...describeOddFields(post.odd), ...missingAround(subject)]

  // Preprocessor: everything becomes text (section 3.2.1).
  const pictures = yield* described(post, ask, settings, degraded)
  const words = wordsOf(post, pictures)
  if (words === '') return { ruling: undecided(...degraded, 'nothing to judge: no text, and no image in words') }
  const input = `${surroundingsIn(subject, fence)}${inputOf(post, pictures, fence)}`
  const unread = unreadParts(post, blocksOf(post, pictures), fence)
  degraded.push(...unread)

  // Supporter: a brief over the K nearest precedents (section 3.2.2).
  const {
    brief,
    precedents,
    lost: briefLost,
  } = settings.supporter
    ? yield* briefed(input, words, ask, parts, degraded)
    : { brief: noBrief(settings), precedents: [], lost: false }

  // Debate, rounds of strict, then loose (sections 3.2.3 and 3.2.4), and arbiter: the hierarchical protocol (section 3.2.5).
  const argued = yield* debatedAndRuled({ input, brief }, ask, parts, post, degraded)
  const { log, judged } = argued
  const by = parts.policy === null ? {} : { policy: nameOf(parts.policy.policy) }
  const debate = {
    scores: lastScores(log),
    rounds: log.at(-1)?.round ?? 0,
    debated: argued.debated,
    evidence: { support: [], oppose: [], precedents: precedents.map(({ id }) => id) },
    ...by,
  }
  if (!judged.ok) {
    const open = undecided(...degraded, `arbitrate failed: ${failure(judged)}`)
    // By the code the debaters' votes decide then, unless they differ.
    const label = isByCode(settings) && judged.code === 'unreadable' ? panelIn(log).majority : null
    return { ruling: { ...open, ...debate, ...(label === null ? {} : { label, decidedBy: 'majority' }) } }
  }
  const { label, score: final, probability = null } = judged.answer
  if (label === 'safe' ? final > MIDDLE : final < MIDDLE)
    degraded.push(`arbitrate: the score ${final} contradicts the label ${label}`)
  const scores = { ...debate.scores, final }
  const cited = yield* clausesOf(argued.asked, judged.answer, ask, parts, post)
  degraded.push(...cited.wrong)
  const ruling: Ruling = {
    ...debate,
    ...cited.ruling,
    label,
    scores,
    rationale: rationale(judged.answer),
    decidedBy: 'arbiter',
    confidence: statedConfidence(probability),
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
  // A control is ruled on both before its further rounds and after them.
  const times = settings.debateWhen === 'contested' && settings.controlShare > 0 && rounds > 1 ? 2 : 1
  const cites = Number(settings.cites && settings.policies.length > 0)
  return looks + Number(supporter) + turns + rulings * times + cites
}

/** The clauses that the arbiter cites for `unsafe`, and what is wrong with them in the end. */
function* clausesOf(
  asked: Ask,
  answer: SafetyReport,
  ask: SafetyQuestions,
  { policy }: Parts,
  post: Post,
): SubScript<{ readonly ruling: Pick<Ruling, 'clauses' | 'faults'>; readonly wrong: readonly string[] }> {
  if (policy?.citing === undefined || answer.label !== 'unsafe') return { ruling: {}, wrong: [] }
  const arbiter = { who: 'the arbiter', answer, again: (what: readonly string[]) => ask.cite(asked, answer, what) }
  const { clauses, wrong } = yield* citedIn(policy.policy, post, [arbiter])
  return { ruling: wrong.length === 0 ? { clauses } : { clauses, faults: ['model'] }, wrong }
}

interface Argued {
  /** The question that the ruling answers. */
  readonly asked: Ask<SafetyReport>
  readonly log: readonly SafetyTurn[]
  readonly judged: AnswerOrFailure<SafetyReport>
  readonly debated: VerdictDebate
}

/**
 * The debate and the arbiter's ruling. A control, which needs no further round, has them all the same once it was ruled on, and
 * what the arbiter rules then stands.
 */
function* debatedAndRuled(
  grounds: Grounds,
  ask: SafetyQuestions,
  parts: Parts,
  post: Post,
  degraded: string[],
): SubScript<Argued> {
  const { settings, samplingRank, refusals } = parts
  const debate = new SafetyDebate(grounds, ask, parts, degraded)
  yield* debate.argues(settings.debateWhen === 'contested')
  const { log } = debate
  const { asked, judged } = yield* arbitrated(grounds, log, ask, { post, settings }, degraded)
  const debated = debateIn(log, settings)
  const first = { log: [...log], asked, judged, debated }
  if (
    debated.why !== 'unanimous' ||
    !judged.ok ||
    !isControl(samplingRank, 'safety', drawnBy(post), settings.controlShare)
  )
    return first
  const { count: refused } = refusals
  const wrong: string[] = []
  yield* debate.argues(false, wrong)
  const again = yield* arbitrated(grounds, log, ask, { post, settings }, wrong)
  const chance = settings.controlShare
  // A debate that came to nothing changes nothing.
  if (!again.judged.ok || log.some(({ said }) => said === null)) {
    refusals.count = refused
    return { ...first, debated: controlled({ held: true }, { chance }) }
  }
  degraded.push(...wrong)
  return { log, ...again, debated: controlled({ held: true }, { chance, without: judged.answer.label }) }
}

/** In place of a brief: words under `paper`, else nothing. */
function noBrief({ preset }: SafetySettings): string {
  return preset === 'paper' ? 'There is no brief.' : ''
}

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
  // Without precedents it could only say the post once more. "w/o RAG Retrieval" is a brief without them all the same.
  if (nearest.length === 0 && settings.retrieval && settings.brief === 'with-precedents')
    return { brief: noBrief(settings), precedents: [], lost: false }
  const [written] = yield* round([ask.brief(input, nearest)])
  if (!written.ok) {
    degraded.push(`brief failed: ${failure(written)}; debated without one`)
    return { brief: noBrief(settings), precedents: [], lost: true }
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
): SubScript<Pick<Argued, 'asked' | 'judged'>> {
  const last = lastRound(log)
  if (asksSmallFirst(post, settings) && isOneSided(last)) {
    const asked = ask.arbitrateSmall(grounds, log)
    const [small] = yield* round([asked])
    if (small.ok && isCertain(small.answer, last)) return { asked, judged: small }
    if (!small.ok) degraded.push(`arbitrate (small arbiter) failed: ${failure(small)}; the arbiter was asked instead`)
  }
  const asked = ask.arbitrate(grounds, log)
  const [judged] = yield* round([asked])
  return { asked, judged }
}

function asksSmallFirst(post: Post, { imageArbiter, models }: SafetySettings): boolean {
  return imageArbiter === 'small-first' && models === 'by-role' && modalityOf(post) !== 'text'
}

/** The probability from which on a small arbiter's ruling on images stands. `safe` needs more, for a miss is the worse error. */
const CERTAIN = { safe: 0.8, unsafe: 0.7 } as const

/** Whether a small arbiter is sure enough, and is of the side on which both debaters are. Who does not say is not sure. */
function isCertain({ label, probability }: SafetyReport, round: readonly SafetyTurn[]): boolean {
  const scores = round.flatMap(({ said }) => said?.score ?? [])
  const isTheirs = scores.every((one) => (label === 'safe' ? one < MIDDLE : one > MIDDLE))
  return isTheirs && (probability ?? 0) >= CERTAIN[label]
}

function rationale({ rule, categories, reasoning, evidence }: SafetyReport): string {
  const named = categories.length === 0 ? rule : `${rule} (${categories.join(', ')})`
  return [`${named}: ${reasoning}`, ...(evidence.length === 0 ? [] : [`Evidence: ${evidence.join('; ')}`])].join('\n')
}
