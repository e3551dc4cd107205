import { type Answered, type Ask, failure } from '../../domain/ask.ts'
import type { FailureCode } from '../../domain/errors.ts'
import { round, type SubScript } from '../../engine/script.ts'
import type { Utterance } from './near-identical.ts'
import type { Questions } from './questions.ts'
import type { RumorSettings } from './settings.ts'

/** A stance score and the model that gave it. */
export interface Score {
  readonly value: number
  readonly model: string
}

/** The stances that were found. */
export interface Stances {
  readonly scores: ReadonlyMap<Utterance, Score>
  /** The answer to what was asked in the same round. */
  readonly beside: Answered<unknown> | undefined
  /** What went wrong, in words. */
  readonly degraded: readonly string[]
}

/**
 * Algorithm 1, lines 2 to 5: asks for the stance of each utterance, in batches, and sends the other asks in the same
 * round. Then asks once more: together, for what a readable answer left out; in smaller batches, for what was in an
 * unreadable or refused one; and, with `oneScorer`, for what was scored by another model than the one that answers now,
 * since one model's 0.6 is not another's.
 */
export function* stances(
  wanted: readonly Utterance[],
  known: ReadonlyMap<Utterance, Score>,
  ask: Questions,
  { batchSize, oneScorer }: Pick<RumorSettings, 'batchSize' | 'oneScorer'>,
  beside: Ask | undefined,
): SubScript<Stances> {
  const batches = chunks(wanted, batchSize)
  const asks = batches.map((batch, index) => stanceOf(batch, ask, batchSize, `batch ${index + 1}`))
  const answers = yield* round([...asks, ...(beside === undefined ? [] : [beside])])
  const read = readScores(batches, answers)

  const scorer = mostCommon([...read.scores.values()].map(({ model }) => model))
  const ofAnother = (scores: ReadonlyMap<Utterance, Score>) =>
    [...scores].flatMap(([utterance, { model }]) => (scorer !== undefined && model !== scorer ? [utterance] : []))
  const anew = oneScorer ? [...ofAnother(known), ...ofAnother(read.scores)] : []
  const again = [...chunks([...read.leftOut, ...anew], batchSize), ...read.failedBatches.flatMap(smallerBatches)]
  const more = yield* round(again.map((batch, index) => stanceOf(batch, ask, batchSize, `again ${index + 1}`)))
  const repeated = readScores(again, more)

  const scores = new Map([...known, ...read.scores, ...repeated.scores])
  const whyNot = (utterance: Utterance) =>
    read.failures.has(utterance) ? (repeated.failures.get(utterance) ?? read.failures.get(utterance)) : 'left out'
  const failures = Map.groupBy(
    wanted.filter((utterance) => !scores.has(utterance)),
    whyNot,
  )
  return {
    scores,
    beside: beside === undefined ? undefined : answers.at(-1),
    degraded: [
      ...[...failures].map(([why, those]) => `stance: ${those.length} comments without a score (${why})`),
      ...severalScorers(scores),
    ],
  }
}

function stanceOf(batch: readonly Utterance[], ask: Questions, batchSize: number, label: string): Ask {
  const comments = batch.flatMap(({ comments: [first] }) => first ?? [])
  const [only] = comments
  return batchSize === 1 && only !== undefined ? ask.stance(only) : ask.stanceBatch(comments, label)
}

interface ReadScores {
  readonly scores: ReadonlyMap<Utterance, Score>
  /** Utterances without a readable score in a readable answer. */
  readonly leftOut: readonly Utterance[]
  /** Utterances without a score because their question failed, and the failure's name. */
  readonly failures: ReadonlyMap<Utterance, string>
  /** Batches that failed because of their question or answer, and not because the call failed. */
  readonly failedBatches: readonly (readonly Utterance[])[]
}

/** Failures that a single comment of a batch can cause. */
const CAUSED_BY_CONTENT: ReadonlySet<string> = new Set<FailureCode>(['unreadable', 'refused', 'content-filter'])

/**
 * Splits a batch of n into about √n batches of √n, so that one comment costs few others their score, with few calls.
 */
function smallerBatches(batch: readonly Utterance[]): (readonly Utterance[])[] {
  return chunks(batch, Math.floor(Math.sqrt(batch.length)))
}

function readScores(batches: readonly (readonly Utterance[])[], answers: readonly Answered<unknown>[]): ReadScores {
  const scores = new Map<Utterance, Score>()
  const leftOut: Utterance[] = []
  const failures = new Map<Utterance, string>()
  const failedBatches: (readonly Utterance[])[] = []
  for (const [index, batch] of batches.entries()) {
    const reply = answers[index] as Answered<{ score: number } | { scores: { comment: number; score: number }[] }>
    if (!reply.ok) {
      for (const utterance of batch) failures.set(utterance, reply.code)
      if (batch.length > 1 && CAUSED_BY_CONTENT.has(reply.code)) failedBatches.push(batch)
      continue
    }
    const given = 'scores' in reply.answer ? reply.answer.scores : [{ comment: 1, score: reply.answer.score }]
    const byNumber = new Map(given.map(({ comment, score }) => [comment, score]))
    for (const [at, utterance] of batch.entries()) {
      const value = byNumber.get(at + 1)
      if (value === undefined) leftOut.push(utterance)
      else scores.set(utterance, { value, model: reply.models?.[at] || reply.model })
    }
  }
  return { scores, leftOut, failures, failedBatches }
}

/** For `degraded`, if a revision's scores are from more than one model: the most common model first. */
function severalScorers(scores: ReadonlyMap<Utterance, Score>): string[] {
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

/** Without a readable answer, uses the prompt for factual claims, which covers all comments; `degraded` says so. */
export function kindIn(
  subjectivity: Answered<{ answer: 'Yes' | 'No' }>,
  degraded: string[],
): 'subjective' | 'objective' {
  if (subjectivity.ok) return subjectivity.answer.answer === 'Yes' ? 'subjective' : 'objective'
  degraded.push(`subjectivity failed: ${failure(subjectivity)}; the prompt for claims of facts was used`)
  return 'objective'
}

function chunks<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  )
}
