import { type Answered, failure } from '../../domain/ask.ts'
import type { Fence } from '../../domain/fence.ts'
import type { Snapshot } from '../../domain/thread.ts'
import { type Conclusion, round, type Script, type SubScript } from '../../engine/script.ts'
import type { Prompts } from '../prompts.ts'
import { unreadParts } from '../unread.ts'
import type { Score } from './answers.ts'
import { ASPECTS, type Aspect, HIGHEST, type Scores, unified } from './aspects.ts'
import { type Questions, questions } from './questions.ts'
import type { CounterspeechSettings } from './settings.ts'
import { numbered, type Steps } from './steps.ts'

/**
 * Auto-CSEval: scores a reply to hate speech on four aspects, each asked separately and all at once, and combines the
 * scores by equation 2 if it has all four. There is no label.
 */
export function* autoCsEval(
  { post }: Snapshot,
  parts: { settings: CounterspeechSettings; steps: Steps; prompts: Prompts; fence: Fence },
): Script {
  const pair = { hateSpeech: post.hateSpeech ?? '', counterspeech: post.text }
  if (pair.hateSpeech.trim() === '') return conclusion(new Map(), ['no hate speech that the reply answers'])
  if (pair.counterspeech.trim() === '') return conclusion(new Map(), ['no words in the reply'])

  const ask = questions(parts)
  const blocks = [
    { kind: 'hate-speech', text: pair.hateSpeech },
    { kind: 'counterspeech', text: pair.counterspeech },
  ]
  const degraded = [...parts.steps.degraded, ...unreadParts(post, blocks, parts.fence)]
  const written = parts.settings.steps === 'model-written' ? yield* writtenSteps(ask, degraded) : null
  const steps = written ?? parts.steps.texts
  const aspects = written === null ? ASPECTS : ASPECTS.filter((aspect) => written.has(aspect))

  const answers = yield* round(aspects.map((aspect) => ask.score(aspect, steps.get(aspect), pair)))
  return conclusion(readable(aspects, answers, 'score', degraded), degraded)
}

/** G-EVAL's first round. An aspect whose steps are lost is not scored: without them it would be another method. */
function* writtenSteps(ask: Questions, degraded: string[]): SubScript<ReadonlyMap<Aspect, string>> {
  const answers = yield* round(ASPECTS.map((aspect) => ask.steps(aspect)))
  const written = readable(ASPECTS, answers, 'steps', degraded)
  return new Map([...written].map(([aspect, { steps }]) => [aspect, numbered(steps)]))
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
    if (answer === undefined) throw new Error(`no answer for ${aspect}`)
    if (answer.ok) read.set(aspect, answer.answer)
    else degraded.push(`${stage} (${aspect}) failed: ${failure(answer)}`)
  }
  return read
}

function conclusion(given: ReadonlyMap<Aspect, Score>, degraded: readonly string[]): Conclusion {
  const scores: Scores = Object.fromEntries([...given].map(([aspect, { score }]) => [aspect, score]))
  const whole = unified(scores)
  const missing = ASPECTS.filter((aspect) => !given.has(aspect))
  const lines = [...given].map(([aspect, said]) => `${aspect} ${said.score} of ${HIGHEST[aspect]}: ${said.reasoning}`)
  return {
    ruling: {
      label: null,
      scores: { ...scores, ...(whole === null ? {} : { unified: whole }) },
      rationale: lines.join('\n'),
      decidedBy: given.size === 0 ? 'none' : 'scores',
      rounds: 0,
      evidence: { support: [], oppose: [], precedents: [] },
      degraded: [...degraded, ...(whole === null ? [`no unified score without ${missing.join(', ')}`] : [])],
    },
  }
}
