import { type Answered, failure } from '../../domain/ask.ts'
import type { Fence } from '../../domain/fence.ts'
import { type StepsUsed, sameModel } from '../../domain/steps.ts'
import type { Snapshot } from '../../domain/thread.ts'
import { undecided } from '../../domain/verdict.ts'
import { type Conclusion, round, type Script, type SubScript } from '../../engine/script.ts'
import type { Prompts } from '../prompts.ts'
import { shortHash } from '../short-hash.ts'
import { unreadParts } from '../unread.ts'
import type { Score } from './answers.ts'
import { type Aspect, UNIFIED, unified } from './aspects.ts'
import { type Questions, questions } from './questions.ts'
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
    fence: Fence
  },
): Script {
  const pair = { hateSpeech: post.hateSpeech ?? '', counterspeech: post.text }
  if (pair.hateSpeech.trim() === '') return { ruling: undecided('no hate speech that the reply answers') }
  if (pair.counterspeech.trim() === '') return { ruling: undecided('no words in the reply') }

  const ask = questions(parts)
  const blocks = [
    { kind: 'hate-speech', text: pair.hateSpeech },
    { kind: 'counterspeech', text: pair.counterspeech },
  ]
  const degraded = [...parts.steps.degraded, ...unreadParts(post, blocks, parts.fence)]
  const written = parts.settings.steps === 'model-written' ? yield* writtenSteps(ask, parts.aspects, degraded) : null
  const steps = written ?? parts.steps
  const scored = written === null ? parts.aspects : parts.aspects.filter(({ name }) => written.texts.has(name))

  const answers = yield* round(scored.map((aspect) => ask.score(aspect, steps.texts.get(aspect.name), pair)))
  if (parts.settings.score === 'weighted') degraded.push(...unweighted(scored, answers))
  degraded.push(...otherModels(scored, answers, steps.used))
  return conclusion(readable(scored, answers, 'score', degraded), parts.aspects, steps.used, degraded)
}

/** G-EVAL's first round. An aspect whose steps are lost is not scored: without them it would be another method. */
function* writtenSteps(
  ask: Questions,
  aspects: readonly Aspect[],
  degraded: string[],
): SubScript<Pick<Steps, 'texts' | 'used'>> {
  const answers = yield* round(aspects.map((aspect) => ask.steps(aspect)))
  const written = readable(aspects, answers, 'steps', degraded)
  const texts = new Map([...written].map(([{ name }, { steps }]) => [name, numbered(steps)]))
  const used = [...texts].map(([name, text]): [string, StepsUsed] => [
    name,
    { source: 'model-written', digest: shortHash(text) },
  ])
  return { texts, used: new Map(used) }
}

/** Aspects that another model scored than the one that their steps were found for. */
function otherModels(
  aspects: readonly Aspect[],
  answers: readonly Answered<Score>[],
  used: ReadonlyMap<string, StepsUsed>,
): string[] {
  return aspects.flatMap(({ name }, index) => {
    const { model, answeredAs: found = model } = used.get(name) ?? {}
    const answer = answers[index]
    if (found === undefined || answer?.ok !== true || sameModel(found, answer.model)) return []
    return [`the steps for ${name} were found for ${found}; ${answer.model} scored by them`]
  })
}

/** Aspects whose score is the one that was answered, where a weighted one was wanted. */
function unweighted(aspects: readonly Aspect[], answers: readonly Answered<Score>[]): string[] {
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
  answers: readonly Answered<Answer>[],
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
  given: ReadonlyMap<Aspect, Score>,
  aspects: readonly Aspect[],
  used: ReadonlyMap<string, StepsUsed>,
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
