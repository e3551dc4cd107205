import { expect, test } from 'vitest'
import { z } from 'zod'
import type { Ask } from '../../../src/contracts/facts/ask.ts'
import { noUsage, type Turn } from '../../../src/contracts/facts/verdict.ts'
import { questionDigests } from '../../../src/judging/engine/question-digests.ts'
import { type Protocol, round, type Script } from '../../../src/judging/engine/script.ts'
import type { RecordedAnswers } from '../../../src/judging/recorded/recorded-answers.ts'
import { type NewQuestion, replayCase } from '../../../src/judging/recorded/replay-recorded.ts'

const scores = z.object({ scores: z.array(z.object({ item: z.number(), score: z.number() })) })
type Scores = z.infer<typeof scores>

/** A question about these words, all of them in one call. */
const about = (texts: readonly string[]): Ask<Scores> => ({
  stage: 'score',
  role: 'scorer',
  messages: [{ role: 'user', content: `Score ${texts.join(', ')}.` }],
  answer: scores,
  temperature: 0,
  maxTokens: 10 * texts.length,
  batch: {
    count: texts.length,
    texts,
    single: scores,
    subset: (items) => about(items.flatMap((item) => texts[item] ?? [])),
    pick: (answer, nth) => {
      const found = answer.scores.find(({ item }) => item === nth)
      return found && { scores: [{ ...found, item: 0 }] }
    },
    merge: (answers) => ({
      scores: [...answers].flatMap(([item, one]) => one.scores.map((score) => ({ ...score, item }))),
    }),
  },
})

/** Its label is what was scored. */
const scoring = (texts: readonly string[]): Protocol =>
  ({
    name: 'scoring',
    *script(): Script {
      const [answer] = yield* round([about(texts)])
      const label = answer.ok
        ? answer.answer.scores.map(({ item, score }) => `${texts[item]}${score}`).join(' ')
        : answer.code
      const evidence = { support: [], oppose: [], precedents: [] }
      return { ruling: { label, scores: {}, rationale: '', decidedBy: 'judge', rounds: 1, evidence, degraded: [] } }
    },
  }) as Partial<Protocol> as Protocol // All of a protocol that a replay asks for.

/** A case of which these words were scored, or could not be. */
function recordedOf(texts: readonly string[], said: Pick<Turn, 'answer' | 'failed'>): RecordedAnswers {
  const questions = questionDigests(about(texts))
  const turn = {
    round: 0,
    stage: 'score',
    role: 'scorer',
    model: 'm',
    asked: 'm',
    questions,
    usage: noUsage(),
    ...said,
  } as Turn // All of a turn that a replay reads.
  const start = { subject: {}, carry: null, overloaded: false, tenant: 'default', final: true }
  const known =
    said.failed === undefined ? questions.map((digest, nth) => [digest, { turn, nth, own: true }] as const) : []
  return {
    id: 'x',
    start,
    turns: new Map([['0.0', turn]]),
    known: new Map(known),
    sent: new Map(),
  } as unknown as RecordedAnswers // Of what it is a case nobody asks.
}

const replayed = async (texts: readonly string[], recorded: RecordedAnswers) => {
  const asked: NewQuestion[] = []
  const { ruling, newQuestions } = await replayCase(
    scoring(texts),
    recorded,
    () => true,
    async (question) => {
      asked.push(question)
      const answer = {
        scores: Array.from({ length: question.ask.batch?.count ?? 0 }, (_, item) => ({ item, score: 9 })),
      }
      return { answer, model: 'm', usage: noUsage() }
    },
  )
  return { label: ruling.label, newQuestions, asked: asked.map(({ ask }) => ask.messages[0]?.content) }
}

test('of a batch the items without an answer are asked about, and the others keep theirs', async () => {
  const recorded = recordedOf(['a', 'b'], {
    answer: {
      scores: [
        { item: 0, score: 1 },
        { item: 1, score: 2 },
      ],
    },
  })
  expect(await replayed(['c', 'b', 'd'], recorded)).toEqual({
    label: 'b2 c9 d9',
    newQuestions: 1,
    asked: ['Score c, d.'],
  })
  expect(await replayed(['b', 'a'], recorded)).toEqual({ label: 'b2 a1', newQuestions: 0, asked: [] })
})

test('an item that its model left out, and a batch that failed, stay as they were', async () => {
  const without = recordedOf(['a', 'b'], { answer: { scores: [{ item: 1, score: 2 }] } })
  expect(await replayed(['a', 'b'], without)).toEqual({ label: 'b2', newQuestions: 0, asked: [] })
  expect(await replayed(['b', 'a', 'c'], without)).toMatchObject({ label: 'b2 c9', asked: ['Score c.'] })
  const failed = recordedOf(['a', 'b'], { answer: null, failed: { code: 'timeout', detail: 'late' } })
  expect(await replayed(['a', 'b'], failed)).toEqual({ label: 'timeout', newQuestions: 0, asked: [] })
  expect(await replayed(['b', 'a'], failed)).toEqual({ label: 'b9 a9', newQuestions: 1, asked: ['Score b, a.'] })
})
