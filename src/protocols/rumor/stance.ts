import { type AnswerOrFailure, type Ask, failure } from '../../contracts/facts/ask.ts'
import { authorOf } from '../../contracts/facts/author.ts'
import type { FailureCode } from '../../contracts/facts/errors.ts'
import type { Comment } from '../../contracts/facts/thread.ts'
import { round, type SubScript } from '../../judging/engine/script.ts'
import { chunks } from '../chunks.ts'
import type { StancesAndKind } from './answers.ts'
import type { Utterance } from './near-identical.ts'
import type { RumorQuestions } from './questions.ts'
import type { RumorSettings } from './settings.ts'

/** A stance score and the model that gave it. */
export interface StanceScore {
  readonly value: number
  readonly model: string
}

/** The stances that were found. */
export interface Stances {
  readonly scores: ReadonlyMap<Utterance, StanceScore>
  /** The answer to what was asked in the same round. */
  readonly beside: AnswerOrFailure<unknown> | undefined
  /** What went wrong, in words. */
  readonly degraded: readonly string[]
}

/**
 * Algorithm 1, lines 2 to 5: asks for the stance of each utterance, in batches, and sends the other asks in the same
 * round. Then asks once more, together, for what a readable answer left out and, with `oneScorer`, for what was scored by
 * another model than the one that answers now, since one model's 0.6 is not another's. A batch that failed because of
 * one of its comments is asked in smaller ones, until that comment stands alone or `splitQuestions` are asked.
 */
export function* stances(
  wanted: readonly Utterance[],
  known: ReadonlyMap<Utterance, StanceScore>,
  ask: RumorQuestions,
  settings: Pick<RumorSettings, 'batchSize' | 'oneScorer' | 'splitQuestions' | 'subjectivity' | 'stancesBy'>,
  beside: ReturnType<RumorQuestions['subjectivity']> | undefined,
): SubScript<Stances> {
  const { batchSize, oneScorer, splitQuestions } = settings
  // A decider is asked for stances in one form, however many, and for nothing beside them.
  const isDecided = settings.stancesBy === 'decider'
  const stanceOf = (batch: readonly Utterance[], label: string): Ask => {
    const comments = firstsOf(batch)
    const [only] = comments
    return batchSize === 1 && !isDecided && only !== undefined ? ask.stance(only) : ask.stanceBatch(comments, label)
  }
  const batches = chunks(batchSize === 1 ? wanted : byAuthor(wanted), batchSize)
  const isJoined =
    beside !== undefined &&
    settings.subjectivity === 'with-stances' &&
    !isDecided &&
    batchSize > 1 &&
    batches.length > 0
  const asks = batches.map((batch, index) =>
    isJoined && index === 0 ? ask.stancesAndKind(firstsOf(batch), 'batch 1') : stanceOf(batch, `batch ${index + 1}`),
  )
  const answers: readonly AnswerOrFailure<unknown>[] = yield* round([
    ...asks,
    ...(beside === undefined || isJoined ? [] : [beside]),
  ])
  const read = readScores(batches, answers)
  // A batch that failed took the claim's subjectivity with it, which then is asked by itself.
  const joined = isJoined ? kindOf(answers[0]) : undefined
  const [apart] = isJoined && joined === undefined ? yield* round([beside]) : []

  const scorer = mostCommon([...read.scores.values()].map(({ model }) => model))
  const ofAnother = (scores: ReadonlyMap<Utterance, StanceScore>) =>
    [...scores].flatMap(([utterance, { model }]) => (scorer !== undefined && model !== scorer ? [utterance] : []))
  const anew = oneScorer ? [...ofAnother(known), ...ofAnother(read.scores)] : []
  const scores = new Map([...known, ...read.scores])
  const failures = new Map(read.failures)
  let left = splitQuestions
  /** These batches in smaller ones, as many as may still be asked. */
  const split = (batches: readonly Failure[]) => {
    const unscored = batches.map(({ batch }) => batch.filter((utterance) => !scores.has(utterance)))
    const smaller = inTurn(unscored.map(smallerBatches)).slice(0, left)
    left -= smaller.length
    return smaller
  }
  // Where no question got through, one comment may be the reason, or none is: the first batch is split to find out.
  const suspects = read.failedBatches.filter(({ code }) => CAUSED_BY_CONTENT.has(code) || MAYBE_BY_CONTENT.has(code))
  const someWorked = answers.some(({ ok }) => ok)
  let waiting = suspects.filter(({ code }, at) => at > 0 && !someWorked && MAYBE_BY_CONTENT.has(code))
  let again = [
    ...chunks([...read.unscored, ...anew], batchSize),
    ...split(suspects.filter((one) => !waiting.includes(one))),
  ]
  while (again.length > 0) {
    const more = yield* round(again.map((batch, index) => stanceOf(batch, `again ${index + 1}`)))
    const repeated = readScores(again, more)
    for (const [utterance, score] of repeated.scores) scores.set(utterance, score)
    for (const [utterance, code] of repeated.failures) if (read.failures.has(utterance)) failures.set(utterance, code)
    // A split in which no comment at all got a score shows that no comment is the reason.
    const someWork = scores.size > known.size
    const smaller = repeated.failedBatches.filter(
      ({ code }) => REFUSED.has(code) || (someWork && (CAUSED_BY_CONTENT.has(code) || MAYBE_BY_CONTENT.has(code))),
    )
    again = split(someWork ? [...smaller, ...waiting] : smaller)
    if (someWork) waiting = []
  }
  const unscored = Map.groupBy(
    wanted.filter((utterance) => !scores.has(utterance)),
    (utterance) => failures.get(utterance) ?? 'left out',
  )
  return {
    scores,
    beside: beside === undefined ? undefined : isJoined ? (joined ?? apart) : answers.at(-1),
    degraded: [
      ...[...unscored].map(([why, those]) => `stance: ${those.length} comments without a score (${why})`),
      ...severalScorers(scores),
    ],
  }
}

/** Most calls for which {@link stances} asks about so many comments, the claim's subjectivity aside. */
export function mostStanceCalls(
  { batchSize, oneScorer, splitQuestions }: Pick<RumorSettings, 'batchSize' | 'oneScorer' | 'splitQuestions'>,
  comments: number,
): number {
  const batches = Math.ceil(comments / batchSize)
  if (batchSize === 1) return oneScorer ? 2 * batches : batches
  // Batches of √n, of their roots and so on to single comments are fewer than two for each comment.
  return 2 * batches + Math.min(splitQuestions, 2 * comments)
}

/** The claim's subjectivity out of an answer about stances; undefined where it was not answered. */
function kindOf(reply: AnswerOrFailure<unknown> | undefined): AnswerOrFailure<unknown> | undefined {
  if (reply?.ok !== true) return undefined
  const { subjectivity } = reply.answer as StancesAndKind
  return subjectivity && { ...reply, answer: subjectivity }
}

/** The comment that stands for each utterance. */
function firstsOf(batch: readonly Utterance[]): Comment[] {
  return batch.flatMap(({ comments: [first] }) => first ?? [])
}

interface ReadScores {
  readonly scores: ReadonlyMap<Utterance, StanceScore>
  /** Utterances without a readable score in a readable answer. */
  readonly unscored: readonly Utterance[]
  /** Utterances without a score because their question failed, and the failure's name. */
  readonly failures: ReadonlyMap<Utterance, string>
  readonly failedBatches: readonly Failure[]
}

/** A batch of several that failed, and the failure's name. */
interface Failure {
  readonly batch: readonly Utterance[]
  readonly code: string
}

/** What a batch holds was refused: a single comment of it is enough. */
const REFUSED: ReadonlySet<string> = new Set<FailureCode>(['refused', 'content-filter'])
/** Failures that a single comment causes, or a model's answer about it. */
const CAUSED_BY_CONTENT: ReadonlySet<string> = new Set<FailureCode>(['refused', 'content-filter', 'unreadable'])
/** Failures that it may cause: a question that is too long, or refused without a word of why; a server that fails at it. */
const MAYBE_BY_CONTENT: ReadonlySet<string> = new Set<FailureCode>(['rejected', 'unavailable', 'timeout'])

/**
 * Splits a batch of n into about √n batches of √n: with as few calls as by halves, a comment stands alone after fewer
 * rounds.
 */
function smallerBatches(batch: readonly Utterance[]): (readonly Utterance[])[] {
  return chunks(byAuthor(batch), Math.max(1, Math.floor(Math.sqrt(batch.length))))
}

/** The first of each list, then the second of each, and so on: what is not asked any more is missing from all alike. */
function inTurn<Item>(lists: readonly (readonly Item[])[]): Item[] {
  const most = Math.max(0, ...lists.map(({ length }) => length))
  return Array.from({ length: most }, (_, nth) => lists.flatMap((list) => list.slice(nth, nth + 1))).flat()
}

/** The batch with each author's comments together, so that one account's spoil few parts of it; the most busy first. */
function byAuthor(batch: readonly Utterance[]): Utterance[] {
  const [nobodys, named] = [[], []] as [Utterance[][], Utterance[][]]
  for (const [author, own] of Map.groupBy(batch, ({ comments: [first] }) => authorOf(first ?? {})))
    (author === undefined ? nobodys : named).push(own)
  return [...named.sort((a, b) => b.length - a.length), ...nobodys].flat()
}

function readScores(
  batches: readonly (readonly Utterance[])[],
  answers: readonly AnswerOrFailure<unknown>[],
): ReadScores {
  const scores = new Map<Utterance, StanceScore>()
  const unscored: Utterance[] = []
  const failures = new Map<Utterance, string>()
  const failedBatches: Failure[] = []
  for (const [index, batch] of batches.entries()) {
    const reply = answers[index] as AnswerOrFailure<
      { score: number } | { scores: { comment: number; score: number }[] }
    >
    if (!reply.ok) {
      for (const utterance of batch) failures.set(utterance, reply.code)
      if (batch.length > 1) failedBatches.push({ batch, code: reply.code })
      continue
    }
    const given = 'scores' in reply.answer ? reply.answer.scores : [{ comment: 1, score: reply.answer.score }]
    const byNumber = new Map(given.map(({ comment, score }) => [comment, score]))
    for (const [at, utterance] of batch.entries()) {
      const value = byNumber.get(at + 1)
      if (value === undefined) unscored.push(utterance)
      else scores.set(utterance, { value, model: reply.models?.[at] || reply.model })
    }
  }
  return { scores, unscored, failures, failedBatches }
}

/** For `degraded`, if a revision's scores are from more than one model: the most common model first. */
function severalScorers(scores: ReadonlyMap<Utterance, StanceScore>): string[] {
  const counts = countsOf([...scores.values()].map(({ model }) => model))
  if (counts.length < 2) return []
  return [`stance: scores of several models (${counts.map(([model, count]) => `${model}: ${count}`).join(', ')})`]
}

/** The model that most of the scores are from; undefined if there are none. */
export function mostCommon(models: readonly string[]): string | undefined {
  return countsOf(models)[0]?.[0]
}

/** How often each occurs, the most common first, then by name. */
function countsOf(models: readonly string[]): [string, number][] {
  const counts = new Map<string, number>()
  for (const model of models) counts.set(model, (counts.get(model) ?? 0) + 1)
  return [...counts].sort(([a, more], [b, less]) => less - more || (a < b ? -1 : 1))
}

/** Without a readable answer, uses the prompt for factual claims, which covers all comments; `degraded` names that. */
export function kindIn(
  subjectivity: AnswerOrFailure<{ answer: 'Yes' | 'No' }>,
  degraded: string[],
): 'subjective' | 'objective' {
  if (subjectivity.ok) return subjectivity.answer.answer === 'Yes' ? 'subjective' : 'objective'
  degraded.push(`subjectivity failed: ${failure(subjectivity)}; the prompt for claims of facts was used`)
  return 'objective'
}
