import { createHash, randomUUID } from 'node:crypto'
import { truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { DECISION_WIRES } from '../contracts/facts/ask.ts'
import {
  FAILURE_CODES,
  type FailureCode,
  OperatorError,
  PermanentError,
  RetryLaterError,
} from '../contracts/facts/errors.ts'
import { filtered } from '../contracts/facts/filtered.ts'
import { found } from '../contracts/facts/library.ts'
import { estimateTokens } from '../contracts/facts/token-estimate.ts'
import { REMARKS } from '../contracts/facts/verdict.ts'
import type { Library, Search, SubjectRef } from '../contracts/ports/library.ts'
import type { Model, ModelReply, ModelRequest } from '../contracts/ports/model.ts'
import { appendTo, wholeLines } from './appended-lines.ts'
import { takeFolder } from './in-use.ts'
import { linesOf } from './lines.ts'
import { makeFolder } from './make-folder.ts'

/**
 * What a model was asked and said, kept in a folder as JSON Lines that other tools can read and write (docs/recordings.md):
 * `answers.jsonl` has a line an answer, `calls.jsonl` one for each call as it is made, so that calls that were lost when a
 * process was killed are known, `lookups.jsonl` one for each lookup in the library.
 */
export const ANSWERS = 'answers.jsonl'
const CALLS = 'calls.jsonl'
const LOOKUPS = 'lookups.jsonl'

const message = z.object({
  role: z.enum(['system', 'user', 'assistant']),
  content: z.string(),
  /** SHA-256 of each image's data, as `sha256:HEX`. */
  images: z.array(z.string()).optional(),
})

/** What a decision model is asked instead of `messages`. */
const decision = z.object({
  field: z.string(),
  instructions: z.string(),
  input: z.string(),
  options: z.array(z.object({ value: z.string(), description: z.string().optional() })).readonly(),
  each: z.array(z.string()).readonly().optional(),
})

/** One question, as its digest has it. */
const question = z.object({
  model: z.string(),
  messages: z.array(message).min(1),
  temperature: z.number(),
  maxTokens: z.number(),
  answer: z.object({ name: z.string(), schema: z.unknown() }),
  /** Which of several draws of the same question this is, for instance `repeat 2`; empty for the first. */
  draw: z.string().default(''),
  /** Set if probabilities of the numbers in the answer were asked for. */
  probabilities: z.literal(true).optional(),
  decision: decision.optional(),
  /** Tokens set aside for thoughts, and the requested amount of thinking; absent where its dialect has neither. */
  thinkingTokens: z.number().optional(),
  effort: z.string().optional(),
})
type Question = z.infer<typeof question>
const tokens = z.number().int().nonnegative()

/** All of a model's reply: what is left out here a replay would cost, and say, otherwise. */
const reply = z.object({
  text: z.string().nullable(),
  thoughts: z.string().optional(),
  finish: z.enum(['stop', 'length', 'refusal', 'content-filter']).default('stop'),
  probabilities: z.record(z.string(), z.array(z.tuple([z.number(), z.number()]))).optional(),
  beginnings: z.record(z.string(), z.array(z.tuple([z.string(), z.number()]))).optional(),
  decided: z
    .union([
      z.object({ wire: z.enum(DECISION_WIRES), probabilities: z.record(z.string(), z.number()) }),
      z.object({ wire: z.enum(DECISION_WIRES), each: z.array(z.record(z.string(), z.number())) }),
      z.object({ wire: z.enum(DECISION_WIRES), unreadable: z.string() }),
    ])
    .optional(),
  /** What could not be had as it was asked for. */
  remarks: z.array(z.enum(REMARKS)).optional(),
  filtered: z.array(filtered).optional(),
  model: z.string(),
  promptTokens: tokens.default(0),
  cachedTokens: tokens.default(0),
  cacheWriteTokens: tokens.optional(),
  completionTokens: tokens.default(0),
  thinkingTokens: tokens.optional(),
  tier: z.string().optional(),
  unreported: z.literal(true).optional(),
})

const answerLine = z.object({
  digest: z.string().optional(),
  /** Left out where its texts may not be kept: the digest alone then says which it is. */
  question: question.optional(),
  reply,
  /** The call's id in `calls.jsonl`, where Gavel made it. */
  call: z.string().optional(),
  /** How long the call took, in ms. */
  ms: z.number().optional(),
})

const callLine = z.object({ call: z.string(), digest: z.string(), at: z.string(), failed: z.string().optional() })

const lookupLine = z.object({
  digest: z.string(),
  found: found.extend({ tokens: z.number() }),
})
type Lookups = Pick<Library, 'find' | 'embedder'>

/** A call that was under way when its process was stopped or killed: it may have been paid for, and nobody has its answer. */
export interface InterruptedCall {
  readonly call: string
  readonly digest: string
  /** When it was made, in ISO 8601. */
  readonly at: string
}

/** A question or a lookup without an answer. */
export interface MissingRecording {
  /** Which it is, in words. */
  readonly what: string
  /** Empty for a lookup. */
  readonly model: string
  /** Tokens of its messages, about. */
  readonly promptTokens: number
}

export interface Recording {
  /** Answers that the folder holds. */
  answers(): number
  /** When the oldest of its answers was asked for, in ms; null without answers, or where of one nobody knows. */
  readonly oldest: number | null
  /** Tokens of its answers on average; 0 without answers. */
  meanCompletionTokens(): number
  /** Calls of earlier processes that a stop or a kill cut off, and whose questions have no answer to this day. */
  readonly lost: readonly InterruptedCall[]
  /**
   * A model that answers from the recording what it holds, and has `inner` asked, and recorded, what it lacks. Without
   * `inner` a call that failed when it was recorded fails again by the same name, and a missing answer is a `PermanentError`
   * with the digest in it, which `missing` lists as well. `draw` tells repetitions of a run apart.
   */
  model(inner: Model | null, draw?: string): Model
  /**
   * A library whose lookups are kept; the last of equal ones stands. Without `inner` they are answered from the recording alone,
   * and one that is missing is a `PermanentError`, which `missing` lists as well.
   */
  library(inner: Lookups, replaying: boolean): Lookups
  /** What was asked without an answer being there, by digest. */
  readonly missing: ReadonlyMap<string, MissingRecording>
  close(): Promise<void>
}

/**
 * Opens the recording in a folder, which is made if need be. A last line that a kill cut off is taken out; any other line
 * that can't be read is an `OperatorError` with its place, and so is a folder that another process works with. With `readOnly`
 * nothing is written.
 */
export async function openRecording(folder: string, { readOnly = false } = {}): Promise<Recording> {
  if (readOnly) return opened(folder, { readOnly })
  await makeFolder(folder)
  const release = await takeFolder(folder)
  try {
    const recording = await opened(folder, { readOnly })
    return { ...recording, close: () => recording.close().finally(release) }
  } catch (error) {
    await release()
    throw error
  }
}

async function opened(folder: string, { readOnly }: { readonly readOnly: boolean }): Promise<Recording> {
  const [answersFile = '', callsFile = '', lookupsFile = ''] = [ANSWERS, CALLS, LOOKUPS].map((name) =>
    join(folder, name),
  )
  const known = new Map<string, ModelReply>()
  const callsOf = new Map<string, string | undefined>()
  await eachLine(answersFile, answerLine, readOnly, ({ digest, question: asked, reply: said, call, ms }, place) => {
    const own = asked === undefined ? digest : digestOf(asked)
    if (own === undefined) throw new OperatorError(`${place} has neither a question nor its digest.`)
    if (digest !== undefined && digest !== own)
      throw new OperatorError(
        `${place}: the digest is not that of the question, which is ${own}. Leave it out, or mend it.`,
      )
    known.set(own, ms === undefined ? said : { ...said, tookMs: ms })
    callsOf.set(own, call)
  })
  const times = new Map<string, number>()
  const cut = new Map<string, InterruptedCall>()
  const failures = new Map<string, string>()
  await eachLine(callsFile, callLine, readOnly, ({ failed, ...call }) => {
    if (failed === undefined) times.set(call.call, Date.parse(call.at))
    if (failed === undefined) cut.set(call.call, call)
    else if (failed !== 'aborted') cut.delete(call.call)
    if (failed !== undefined && !OUR_STOP.has(failed)) failures.set(call.digest, failed)
  })
  const [answers, calls, finds] = readOnly
    ? []
    : [await appendTo(answersFile), await appendTo(callsFile), await appendTo(lookupsFile)]
  const lookups = new Map<string, z.infer<typeof lookupLine>['found']>()
  await eachLine(lookupsFile, lookupLine, readOnly, ({ digest, found }) => lookups.set(digest, found))
  const missing = new Map<string, MissingRecording>()
  /** Two who ask the same at once are given one answer, as a replay gives them one. */
  const inFlight = new Map<string, Promise<ModelReply>>()

  async function ask(inner: Model, request: ModelRequest, asked: Question, digest: string): Promise<ModelReply> {
    if (answers === undefined || calls === undefined) throw new Error('the recording was opened only for reading')
    const call = randomUUID()
    await calls.append({ call, digest, at: new Date().toISOString() })
    const start = performance.now()
    try {
      const given = await inner.complete(request)
      const tookMs = Math.round(performance.now() - start)
      await answers.append({ digest, question: asked, reply: given, call, ms: tookMs })
      const timed = { ...given, tookMs }
      known.set(digest, timed)
      return timed
    } catch (error) {
      const failed = error instanceof PermanentError || error instanceof RetryLaterError ? error.code : 'error'
      await calls.append({ call, digest, at: new Date().toISOString(), failed })
      throw error
    }
  }

  const oldest = [...callsOf.values()].reduce(
    (least, call) => Math.min(least, times.get(call ?? '') ?? Number.NaN),
    Number.POSITIVE_INFINITY,
  )
  return {
    answers: () => known.size,
    oldest: Number.isFinite(oldest) ? oldest : null,
    meanCompletionTokens: () =>
      known.size === 0 ? 0 : [...known.values()].reduce((sum, one) => sum + one.completionTokens, 0) / known.size,
    lost: [...cut.values()].filter(({ digest }) => !known.has(digest)),
    missing,
    model: (inner, draw = '') => ({
      async complete(request) {
        const asked = questionOf(request, draw)
        const digest = digestOf(asked)
        const said = known.get(digest)
        if (said !== undefined) return said
        if (inner === null) {
          const failed = failures.get(digest)
          if (failed !== undefined) throw new PermanentError(codeOf(failed), `failed when it was recorded: ${failed}`)
          const promptTokens = asked.messages.reduce((sum, { content }) => sum + estimateTokens(content), 0)
          missing.set(digest, {
            what: `a question of ${asked.answer.name} to ${asked.model}`,
            model: asked.model,
            promptTokens,
          })
          throw new PermanentError('rejected', `the recording in ${folder} has no answer to question ${digest}`)
        }
        const flying = inFlight.get(digest) ?? ask(inner, request, asked, digest)
        inFlight.set(digest, flying)
        return flying.finally(() => inFlight.delete(digest))
      },
    }),
    library: (inner, replaying) => ({
      embedder: inner.embedder,
      async find(wanted, subject, signal) {
        const digest = digestOfLookup(wanted, subject)
        const known = lookups.get(digest)
        if (replaying) {
          if (known !== undefined) return known
          missing.set(digest, { what: `a lookup in ${wanted.shelves.join(', ')}`, model: '', promptTokens: 0 })
          throw new PermanentError('library', `the recording in ${folder} has no lookup ${digest}`)
        }
        const now = await inner.find(wanted, subject, signal)
        if (JSON.stringify(now) !== JSON.stringify(known)) {
          lookups.set(digest, now)
          await finds?.append({ digest, found: now })
        }
        return now
      },
    }),
    async close() {
      await answers?.close()
      await calls?.close()
      await finds?.close()
    },
  }
}

/** Failures that a run brought upon itself when it was stopped: the question was not answered, and not refused either. */
const OUR_STOP: ReadonlySet<string> = new Set(['aborted', 'budget'])

/** The code of a recorded failure; what is none of Gavel's codes was an unexpected error. */
function codeOf(failed: string): FailureCode {
  return FAILURE_CODES.find((code) => code === failed) ?? 'unavailable'
}

/** What tells a question from others: all that the model is sent, and which draw it is. */
export function digestOf(of: Question): string {
  const { model, messages, temperature, maxTokens, answer, draw, probabilities, decision, thinkingTokens, effort } = of
  const sent = messages.map(({ role, content, images = [] }) => [role, content, images])
  const wanted = [
    ...(probabilities === true ? ['probabilities'] : []),
    ...(decision === undefined ? [] : [`decision ${JSON.stringify(sorted(decision))}`]),
    ...(thinkingTokens === undefined && effort === undefined
      ? []
      : [`thinking ${effort ?? ''} ${thinkingTokens ?? 0}`]),
  ]
  const canonical = JSON.stringify([
    model,
    sent,
    temperature,
    maxTokens,
    answer.name,
    sorted(answer.schema),
    draw,
    ...wanted,
  ])
  return createHash('sha256').update(canonical).digest('hex').slice(0, 32)
}

function digestOfLookup(wanted: Search, subject: SubjectRef): string {
  const canonical = JSON.stringify(sorted({ ...wanted, tenant: subject.tenant, subject: subject.id }))
  return createHash('sha256').update(canonical).digest('hex').slice(0, 32)
}

/** The same of a request as it is made: equal for two that are sent alike. */
export function digestOfRequest(request: ModelRequest): string {
  return digestOf(questionOf(request, ''))
}

function questionOf(request: ModelRequest, repeat: string): Question {
  const { model, messages, temperature, maxTokens, answer, probabilities, decision, thinkingTokens, effort } = request
  const draw = [repeat, request.draw ?? ''].filter((part) => part !== '').join(' ')
  const sent = messages.map(({ role, content, images = [] }) => ({
    role,
    content,
    ...(images.length > 0 && {
      images: images.map((data) => `sha256:${createHash('sha256').update(data).digest('hex')}`),
    }),
  }))
  return {
    model,
    messages: sent,
    temperature,
    maxTokens,
    answer,
    draw,
    ...(probabilities && { probabilities }),
    ...(decision && { decision }),
    thinkingTokens,
    effort,
  }
}

/** A JSON value with every object's keys in order, so that it is written in one way. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]))
}

/** Reads a file of JSON Lines if it is there. A last line without its end was cut off by a kill, and goes. */
async function eachLine<Line>(
  file: string,
  schema: z.ZodType<Line>,
  readOnly: boolean,
  take: (line: Line, place: string) => void,
): Promise<void> {
  const whole = await wholeLines(file)
  if (whole === null) return
  if (whole.cut && !readOnly) await truncate(file, whole.bytes)
  let nth = 0
  for await (const text of linesOf(file)) {
    nth++
    if (nth > whole.lines) return
    if (text.trim() === '') continue
    const read = schema.safeParse(jsonOf(text))
    if (!read.success) {
      const [issue] = read.error.issues
      const what = `${issue?.path.join('.') || 'the line'}: ${issue?.message ?? 'cannot be read'}`
      throw new OperatorError(`${file}:${nth} is no line of a recording (${what}).`)
    }
    take(read.data, `${file}:${nth}`)
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
