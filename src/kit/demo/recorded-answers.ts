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
  /**
   * Digests of the comments, reasons, arguments and counts that it answers: it stands only where these are shown again, and no
   * others. Of a score, the digest of its comment's words.
   */
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
  return scores.parse(answer).scores.flatMap(({ comment, ...score }) => {
    const asked = comments[comment - 1]
    return asked === undefined ? [] : [{ ...place, comment: asked.id, saw: [asked.digest], answer: score }]
  })
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
  const found = comments.map(({ id, digest }) => {
    const candidates = recorded.get(keyOf({ ...place, comment: id })) ?? []
    return candidates.find(({ saw }) => saw?.includes(digest))?.answer
  })
  if (found.some((one) => one === undefined)) return null
  return { scores: found.map((one, at) => ({ comment: at + 1, ...one })) }
}

/** Of the answers for one place the one to what is shown, no more and no less. */
function fitting(request: ModelRequest, candidates: readonly RecordedAnswer[]) {
  const shown = seenIn(request)
  const { required = [] } = form.parse(request.answer.schema)
  const found = candidates.find(
    ({ saw = [], answer }) =>
      saw.length === shown.size &&
      saw.every((one) => shown.has(one)) &&
      required.every((name) => Object.hasOwn(answer, name)),
  )
  return found?.answer ?? null
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

/** The comments that a question asks for a score of, in the order of their numbers; null where it asks for something else. */
function commentsIn(request: ModelRequest): readonly { readonly id: string; readonly digest: string }[] | null {
  const { properties = {} } = form.parse(request.answer.schema)
  const count = entryOf(properties, 'scores')?.minItems
  if (count === undefined) return null
  const words = readFences(heardIn(request)).fences.flatMap(({ kind, text }) => (kind === 'comment' ? [text] : []))
  return (request.of?.about ?? []).slice(0, count).map((id, at) => ({ id, digest: digestOf(words[at] ?? '') }))
}

const KINDS: ReadonlySet<string> = new Set(['comment', 'reason', 'argument'])
/** How many comments take which side, as debaters are told: an answer may repeat it. */
const COUNTS = /(\d+) for the claim, (\d+) against it, (\d+) neither/

function seenIn(request: ModelRequest): ReadonlySet<string> {
  const { fences, outside } = readFences(heardIn(request))
  const counts = COUNTS.exec(outside.join('\n'))?.slice(1)
  return new Set([
    ...fences.flatMap(({ kind, text }) => (KINDS.has(kind) ? [digestOf(text)] : [])),
    ...(counts === undefined ? [] : [digestOf(`counts ${counts.join(' ')}`)]),
  ])
}

function heardIn({ messages }: ModelRequest): string {
  return messages.flatMap((message) => (message.role === 'assistant' ? [] : [message.content])).join('\n')
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
