import { type AnswerOrFailure, type Ask, failure } from '../../contracts/facts/ask.ts'
import { isBlank } from '../../contracts/facts/blank.ts'
import { entryOf } from '../../contracts/facts/entry-of.ts'
import type { FailureCode } from '../../contracts/facts/errors.ts'
import type { Fence } from '../../contracts/facts/fence.ts'
import { describeOddFields } from '../../contracts/facts/odd-fields.ts'
import { sameModel, type UsedSteps } from '../../contracts/facts/steps.ts'
import type { Snapshot } from '../../contracts/facts/thread.ts'
import { undecided } from '../../contracts/facts/verdict.ts'
import { type Conclusion, round, type Script, type SubScript } from '../../judging/engine/script.ts'
import { chunks } from '../chunks.ts'
import type { DecisionPrompt } from '../decision-prompt.ts'
import type { Prompts } from '../prompts.ts'
import { shortHash } from '../short-hash.ts'
import { unreadParts } from '../truncation.ts'
import type { AspectScore } from './answers.ts'
import { type Aspect, UNIFIED, unified } from './aspects.ts'
import { type AspectSteps, type CounterspeechQuestions, questions, type ReplyPair } from './questions.ts'
import type { CounterspeechSettings } from './settings.ts'
import { numbered, type Steps } from './steps.ts'

/**
 * Auto-CSEval: scores a reply to hate speech on its aspects, each asked separately and all at once, and combines the
 * scores by equation 2 if it has all that count for it. There is no label.
 */
export function* autoCsEval(
  { post }: Snapshot,
  parts: {
    settings: CounterspeechSettings
    aspects: readonly Aspect[]
    steps: Steps
    prompts: Prompts
    decided: DecisionPrompt | undefined
    fence: Fence
  },
): Script {
  const pair = { hateSpeech: post.hateSpeech ?? '', counterspeech: post.text }
  if (isBlank(pair.hateSpeech)) return { ruling: undecided('no hate speech that the reply answers') }
  if (isBlank(pair.counterspeech)) return { ruling: undecided('no words in the reply') }

  const ask = questions(parts)
  const blocks = [
    { kind: 'hate-speech', text: pair.hateSpeech },
    { kind: 'counterspeech', text: pair.counterspeech },
  ]
  const degraded = [...describeOddFields(post.odd), ...parts.steps.degraded, ...unreadParts(post, blocks, parts.fence)]
  const written = parts.settings.steps === 'model-written' ? yield* writtenSteps(ask, parts.aspects, degraded) : null
  const steps = written ?? parts.steps
  const scored = written === null ? parts.aspects : parts.aspects.filter(({ name }) => written.texts.has(name))

  const answers = yield* scores(
    scored.map((aspect) => ({ aspect, steps: steps.texts.get(aspect.name) })),
    { ask, pair, settings: parts.settings, degraded },
  )
  if (parts.settings.score === 'weighted') degraded.push(...unweighted(scored, answers))
  degraded.push(...otherModels(scored, answers, steps.used))
  return conclusion(readable(scored, answers, 'score', degraded), parts.aspects, steps.used, degraded)
}

/** Most calls that {@link autoCsEval} asks for, with so many aspects. */
export function mostCalls(settings: CounterspeechSettings, aspects: number): number {
  const batchSize = batchSizeIn(settings)
  const scored = Math.ceil(aspects / batchSize) + (batchSize === 1 ? 0 : aspects)
  return scored + (settings.steps === 'model-written' ? aspects : 0)
}

/** A call has the probabilities of one number alone, and a decider is asked for one. */
function batchSizeIn({ score, scoresBy, batchSize }: CounterspeechSettings): number {
  return score === 'weighted' || scoresBy === 'decider' ? 1 : batchSize
}

/** G-EVAL's first round. An aspect whose steps are lost is not scored: without them it would be another method. */
function* writtenSteps(
  ask: CounterspeechQuestions,
  aspects: readonly Aspect[],
  degraded: string[],
): SubScript<Pick<Steps, 'texts' | 'used'>> {
  const answers = yield* round(aspects.map((aspect) => ask.steps(aspect)))
  const written = readable(aspects, answers, 'steps', degraded)
  const texts = new Map([...written].map(([{ name }, { steps }]) => [name, numbered(steps)]))
  const used = [...texts].map(([name, text]): [string, UsedSteps] => [
    name,
    { source: 'model-written', digest: shortHash(text) },
  ])
  return { texts, used: new Map(used) }
}

/** Failures of a call that asking for each of its aspects alone may mend. */
const MENDED_ALONE: ReadonlySet<string> = new Set<FailureCode>(['unreadable', 'refused', 'content-filter', 'rejected'])

/** The score of each aspect, in order: asked alone, or `batchSize` in a call, and then alone where that call brought no answers. */
function* scores(
  wanted: readonly AspectSteps[],
  how: { ask: CounterspeechQuestions; pair: ReplyPair; settings: CounterspeechSettings; degraded: string[] },
): SubScript<AnswerOrFailure<AspectScore>[]> {
  const { ask, pair, settings, degraded } = how
  const alone = ({ aspect, steps }: AspectSteps) => ask.score(aspect, steps, pair)
  const batchSize = batchSizeIn(settings)
  if (batchSize === 1) return [...(yield* round(wanted.map(alone)))]
  const batches = chunks(wanted, batchSize)
  // The one that is left over is asked as one.
  const asks = batches.map((batch): Ask<unknown> => {
    const [only] = batch
    return batch.length === 1 && only !== undefined ? alone(only) : ask.scores(batch, pair)
  })
  const replies: readonly AnswerOrFailure<unknown>[] = yield* round(asks)
  const answers = new Map<AspectSteps, AnswerOrFailure<AspectScore>>()
  const again: AspectSteps[] = []
  for (const [at, batch] of batches.entries()) {
    const reply = replies[at]
    if (reply === undefined) throw new Error('a call without an answer')
    if (batch.length > 1 && !reply.ok && MENDED_ALONE.has(reply.code)) {
      degraded.push(`aspects in one call failed: ${failure(reply)}; each asked alone`)
      again.push(...batch)
    } else
      for (const one of batch)
        answers.set(one, batch.length > 1 ? ofAspect(reply, one) : (reply as AnswerOrFailure<AspectScore>))
  }
  const repeated = yield* round(again.map(alone))
  for (const [nth, one] of again.entries()) {
    const reply = repeated[nth]
    if (reply !== undefined) answers.set(one, reply)
  }
  return wanted.flatMap((one) => answers.get(one) ?? [])
}

function ofAspect(reply: AnswerOrFailure<unknown>, { aspect }: AspectSteps): AnswerOrFailure<AspectScore> {
  if (!reply.ok) return reply
  const answer = entryOf(reply.answer as Readonly<Record<string, AspectScore>>, aspect.name)
  if (answer === undefined) throw new Error(`an answer without ${aspect.name}`)
  return { ...reply, answer }
}

/** Aspects that another model scored than the one that their steps were found for. */
function otherModels(
  aspects: readonly Aspect[],
  answers: readonly AnswerOrFailure<AspectScore>[],
  used: ReadonlyMap<string, UsedSteps>,
): string[] {
  return aspects.flatMap(({ name }, index) => {
    const { model, answeredAs: found = model } = used.get(name) ?? {}
    const answer = answers[index]
    if (found === undefined || answer?.ok !== true || sameModel(found, answer.model)) return []
    return [`the steps for ${name} were found for ${found}; ${answer.model} scored by them`]
  })
}

/** Aspects whose score is the one that was answered, where a weighted one was wanted. */
function unweighted(aspects: readonly Aspect[], answers: readonly AnswerOrFailure<AspectScore>[]): string[] {
  return aspects.flatMap(({ name }, index) => {
    const answer = answers[index]
    return answer?.ok === true && answer.answer.expected === undefined
      ? [`no probabilities for ${name}: its score is the one that was answered`]
      : []
  })
}

/** The answers by aspect; each that failed is named. */
function readable<Answer>(
  aspects: readonly Aspect[],
  answers: readonly AnswerOrFailure<Answer>[],
  stage: string,
  degraded: string[],
): ReadonlyMap<Aspect, Answer> {
  const read = new Map<Aspect, Answer>()
  for (const [index, aspect] of aspects.entries()) {
    const answer = answers[index]
    if (answer === undefined) throw new Error(`no answer for ${aspect.name}`)
    if (answer.ok) read.set(aspect, answer.answer)
    else degraded.push(`${stage} (${aspect.name}) failed: ${failure(answer)}`)
  }
  return read
}

function conclusion(
  given: ReadonlyMap<Aspect, AspectScore>,
  aspects: readonly Aspect[],
  used: ReadonlyMap<string, UsedSteps>,
  degraded: readonly string[],
): Conclusion {
  const scores = new Map([...given].map(([{ name }, { score, expected = score }]) => [name, expected]))
  const whole = unified(aspects, scores)
  const missing = aspects.filter((aspect) => aspect.unified && !given.has(aspect)).map(({ name }) => name)
  const lines = [...given].map(
    ([{ name, highest }, { score, expected = score, reasoning }]) =>
      `${name} ${Number(expected.toFixed(2))} of ${highest}: ${reasoning}`,
  )
  return {
    ruling: {
      label: null,
      scores: { ...Object.fromEntries(scores), ...(whole === null ? {} : { [UNIFIED]: whole }) },
      rationale: lines.join('\n'),
      decidedBy: given.size === 0 ? 'none' : 'scores',
      rounds: 0,
      evidence: { support: [], oppose: [], precedents: [] },
      degraded: [...degraded, ...(missing.length === 0 ? [] : [`no unified score without ${missing.join(', ')}`])],
      steps: Object.fromEntries(aspects.map(({ name }) => [name, used.get(name) ?? { source: 'none' as const }])),
    },
  }
}
