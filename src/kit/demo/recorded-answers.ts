import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { BY_HAND } from '../../contracts/facts/by-hand.ts'
import { entryOf } from '../../contracts/facts/entry-of.ts'
import { estimateTokens } from '../../contracts/facts/token-estimate.ts'
import type { Model, ModelReply, ModelRequest } from '../../contracts/ports/model.ts'
import { readFences } from '../understudy/fences.ts'

// Answers that readers wrote by hand to the questions of one event. An answer is known by its place, not by the question's words:
// so a prompt may be worded anew.

/** An answer of somebody's, and the place of its question. */
const recordedAnswer = z.object({
  protocol: z.string(),
  post: z.string(),
  stage: z.string(),
  role: z.string(),
  /** Which of this speaker's turns it is, from 1. */
  round: z.number(),
  /** The comment that it is about, if it is about one. */
  comment: z.string().optional(),
  /** Digests of the comments, reasons and arguments that it answers: it stands only where all of them are shown again. */
  saw: z.array(z.string()).optional(),
  answer: z.record(z.string(), z.unknown()),
})
export type RecordedAnswer = z.infer<typeof recordedAnswer>

export function readRecordedAnswers(file: string): RecordedAnswer[] {
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines.filter((line) => line !== '').map((line) => recordedAnswer.parse(JSON.parse(line)))
}

/** A model that answers from these recordings where it can, after some time, and by `inner` elsewhere. */
export function recordedModel(recorded: readonly RecordedAnswer[], inner: Model, latencyMs = 0): Model {
  const byPlace = Map.groupBy(recorded, keyOf)
  return {
    async complete(request) {
      const answer = answerTo(request, byPlace)
      if (answer === null) return inner.complete(request)
      if (latencyMs > 0) await sleep(latencyMs, undefined, { signal: request.signal })
      return replyWith(answer, request)
    },
  }
}

/** What is to be recorded of an answer: of one to many comments a line for each. */
export function recordingsOf(request: ModelRequest, answer: Readonly<Record<string, unknown>>): RecordedAnswer[] {
  const place = placeOf(request)
  if (place === null) return []
  const comments = commentsIn(request)
  if (comments === null) {
    const saw = [...seenIn(request)]
    return [{ ...place, ...(saw.length === 0 ? {} : { saw }), answer }]
  }
  return scores
    .parse(answer)
    .scores.flatMap(({ comment, ...score }) =>
      comments[comment - 1] === undefined ? [] : [{ ...place, comment: comments[comment - 1], answer: score }],
    )
}

const scores = z.object({ scores: z.array(z.looseObject({ comment: z.number() })) })
const form = z.looseObject({
  required: z.array(z.string()).optional(),
  properties: z.record(z.string(), z.looseObject({ minItems: z.number().optional() })).optional(),
})

function answerTo(
  request: ModelRequest,
  recorded: ReadonlyMap<string, readonly RecordedAnswer[]>,
): Readonly<Record<string, unknown>> | null {
  const place = placeOf(request)
  if (place === null) return null
  const comments = commentsIn(request)
  if (comments === null) return fitting(request, recorded.get(keyOf(place)) ?? [])
  const found = comments.map((comment) => recorded.get(keyOf({ ...place, comment }))?.[0]?.answer)
  if (found.some((one) => one === undefined)) return null
  return { scores: found.map((one, at) => ({ comment: at + 1, ...one })) }
}

/** Of the answers for one place the one that saw most of what is shown, and nothing else. */
function fitting(request: ModelRequest, candidates: readonly RecordedAnswer[]) {
  const shown = seenIn(request)
  const { required = [] } = form.parse(request.answer.schema)
  const [best] = candidates
    .filter(
      ({ saw = [], answer }) =>
        saw.every((one) => shown.has(one)) && required.every((name) => Object.hasOwn(answer, name)),
    )
    .toSorted((one, other) => (other.saw?.length ?? 0) - (one.saw?.length ?? 0))
  return best?.answer ?? null
}

function placeOf({ of, messages }: ModelRequest) {
  if (of === undefined) return null
  const { protocol, subject, stage, role } = of
  const round = messages.filter((message) => message.role === 'assistant').length + 1
  // Batches are cut as comments come.
  return { protocol, post: subject, stage, role: role.replace(/ batch \d+$/, ''), round }
}

function keyOf({ protocol, post, stage, role, round, comment = '' }: Omit<RecordedAnswer, 'answer' | 'saw'>): string {
  return JSON.stringify([protocol, post, stage, role, round, comment])
}

/** The comments that a question asks for a score of, by their numbers; null where it asks for something else. */
function commentsIn({ of, answer }: ModelRequest): readonly string[] | null {
  const { properties = {} } = form.parse(answer.schema)
  const count = entryOf(properties, 'scores')?.minItems
  return count === undefined ? null : (of?.about ?? []).slice(0, count)
}

const KINDS: ReadonlySet<string> = new Set(['comment', 'reason', 'argument'])

function seenIn({ messages }: ModelRequest): ReadonlySet<string> {
  const heard = messages.flatMap((message) => (message.role === 'assistant' ? [] : [message.content]))
  const { fences } = readFences(heard.join('\n'))
  return new Set(fences.flatMap(({ kind, text }) => (KINDS.has(kind) ? [digestOf(text)] : [])))
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 10)
}

function replyWith(answer: Readonly<Record<string, unknown>>, { messages }: ModelRequest): ModelReply {
  const text = JSON.stringify(answer)
  return {
    text,
    finish: 'stop',
    model: BY_HAND,
    promptTokens: messages.reduce((sum, { content }) => sum + estimateTokens(content), 0),
    cachedTokens: 0,
    completionTokens: estimateTokens(text),
  }
}
