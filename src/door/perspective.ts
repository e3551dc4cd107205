import { createHash } from 'node:crypto'
import type { z } from 'zod'
import { entryOf } from '../contracts/facts/entry-of.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import { jsonOf } from './body.ts'
import type { DebateStarter } from './debates.ts'
import type { TenantRate } from './decision-rate.ts'
import { unanswered } from './in-time.ts'
import { noScore } from './no-score.ts'
import { ANALYZE, SUGGEST } from './perspective-operations.ts'
import {
  type Analysis,
  analysis,
  asJson,
  faultInParameters,
  faultInRequest,
  suggestion,
} from './perspective-requests.ts'
import { headersOf, PROBLEMS, RequestRefused } from './problem.ts'
import { type DoorCall, type DoorRoute, json } from './route.ts'
import { ATTRIBUTES, type Attribute, type AttributeQuestion, questionOf } from './scoring/attributes.ts'
import { sentencesOf, type TextPiece } from './scoring/pieces.ts'
import { type AttributeScores, SCORING_VERSION, type TextScorer, type TextToScore } from './scoring/score-text.ts'
import type { RecordSender } from './sending.ts'

export interface PerspectiveParts {
  /** Has a comment judged whose verdict follows. */
  readonly debate: DebateStarter
  readonly scorer: TextScorer
  readonly sending: RecordSender
  readonly feedbackTopic: string
  readonly overFed: TenantRate
  /** Languages in which texts are scored. */
  readonly languages: readonly string[]
  readonly clock: Clock
}

/** What may be wrong with an order for a debate. */
const DEBATED = ['protocol-paused', 'protocol', 'store-away', 'back-pressure', 'over-share'] as const

/** Longest comment, in bytes: Perspective's own. */
const MOST_BYTES = 20_480
/** Of the context, so many entries and bytes are read. */
const [MOST_ENTRIES, MOST_CONTEXT_BYTES] = [10, 20_480]

/** An error of Perspective's own, by the type that its clients look at. */
class PerspectiveError extends RequestRefused {
  readonly errorType: string
  readonly details: object
  constructor(errorType: string, message: string, details: object = {}) {
    super('invalid', message)
    this.errorType = errorType
    this.details = details
  }
}

/** `comments:analyze` and `comments:suggestscore`, as Perspective documents them. */
export function perspectiveRoutes(parts: PerspectiveParts): DoorRoute[] {
  const shared = { method: 'POST', googleKeys: true, takesBody: true, refuse } as const
  return [
    {
      ...shared,
      path: '/v1alpha1/comments:analyze',
      scope: 'judge',
      operation: ANALYZE,
      needs: { dependency: 'redis', withinMs: parts.scorer.withinMs },
      problems: ['refused-content', 'model-unreadable', 'model-away', 'budget', 'limit', ...DEBATED],
      answer: (call) => call.unpacked(() => analyzed(call)),
    },
    {
      ...shared,
      path: '/v1alpha1/comments:suggestscore',
      scope: 'send',
      operation: SUGGEST,
      needs: { dependency: 'kafka', withinMs: parts.sending.withinMs },
      problems: ['kafka-away', 'back-pressure'],
      answer: (call) => call.unpacked(() => suggested(call)),
    },
  ]

  async function analyzed(call: DoorCall): Promise<Response> {
    const { base, body, query, caller, charge, gone, closing, waiting, ifLate } = call
    const given = await call.reading(async () => readAs(analysis, body, query))
    const { comment, surroundings } = commentIn(given)
    const wanted = attributesIn(given.requestedAttributes, given.dropUnsupportedAttributes === true)
    const asked = given.languages ?? []
    checkLanguages(asked, parts.languages, wanted[0]?.name, 'requestedLanguages')
    const remember = given.doNotStore !== true
    const wantsDebate = given.debate != null && given.debate !== false
    if (wantsDebate && !remember)
      throw new PerspectiveError(
        'INVALID_REQUEST',
        'A debate stores the comment until its verdict is fetched, so doNotStore is refused.',
      )
    const sentences = given.spanAnnotations === true ? sentencesOf(comment) : []
    // One sentence is the whole comment.
    const isSplit = sentences.length > 1
    const protocols = Array.isArray(given.debate) ? given.debate : null
    const pieces = parts.scorer.pieces(comment)
    // Without any attribute there is still a language to be told.
    const questions = wanted.length === 0 ? FIRST_QUESTION : wanted.map(({ name }) => questionOf(name))
    const asking = [...new Set(questions)]
    const scoreCalls = asking.length * (pieces.length + (isSplit ? 1 : 0))
    const debated = { text: comment, language: asked[0] }
    if (wantsDebate) await parts.debate.checkRoom(caller.tenant, debated, protocols)
    const debateCalls = wantsDebate ? parts.debate.mostCalls(caller.tenant, debated, protocols) : 0
    charge({ messages: wantsDebate ? 1 : 0, calls: scoreCalls + debateCalls })
    const whose = { tenant: caller.tenant, part: caller.id, remember, gone: gone(), signal: closing }
    const scored = { text: comment, pieces, surroundings, ...whose }
    const { scores, model, spans } = await waiting(
      scoresOf(parts.scorer, scored, isSplit ? sentences : null, asking),
    ).catch(noScore)
    const detected = scores.language === 'und' ? [] : [scores.language]
    if (asked.length === 0) checkLanguages(detected, parts.languages, wanted[0]?.name, 'detectedLanguages')
    const attributeScores = wanted.flatMap(({ name, threshold }) => {
      const value = scores[ATTRIBUTES[name]] / 100
      if (value < threshold) return []
      const probability = (value: number) => ({ value, type: 'PROBABILITY' })
      const spanScores = sentences.map((part, at) => {
        const own = spans[at] ?? scores
        return { ...part, score: probability(own[ATTRIBUTES[name]] / 100) }
      })
      const spanned = given.spanAnnotations === true ? { spanScores } : {}
      return [[name, { ...spanned, summaryScore: probability(value) }]]
    })
    gone().throwIfAborted()
    const language = asked[0] ?? detected[0]
    if (wantsDebate)
      ifLate(() => unanswered('redis', 'has not answered in time: whether the debate was begun is not known'))
    const debate = wantsDebate ? await parts.debate.start(caller.tenant, { text: comment, language }, protocols) : null
    return json(200, {
      attributeScores: Object.fromEntries(attributeScores),
      languages: asked.length > 0 ? asked : detected,
      detectedLanguages: detected,
      ...(given.clientToken == null ? {} : { clientToken: given.clientToken }),
      gavel: {
        model,
        version: `gavel-score-${SCORING_VERSION}`,
        ...(debate !== null && { debate: { ...debate, url: `${base}/v1/judgements/${debate.id}` } }),
      },
    })
  }

  async function suggested(call: DoorCall): Promise<Response> {
    const { body, query, caller, charge } = call
    const given = await call.reading(async () => readAs(suggestion, body, query))
    const { comment } = commentIn(given)
    const at = new Date(parts.clock()).toISOString()
    const scores = Object.entries(given.attributeScores ?? {})
    if (scores.length === 0) throw new PerspectiveError('NO_REQUESTED_ATTRIBUTES', 'No scores were suggested.')
    const records = scores.map(([name, score]) => {
      if (entryOf(ATTRIBUTES, name) === undefined) throw unknownAttribute(name)
      const subjectId = `text~${createHash('sha256').update(comment).digest('hex')}`
      const label = `${name}=${score.summaryScore?.value ?? 1}`
      const message = { subjectId, tenant: caller.tenant, protocol: 'score', label, by: caller.by, at }
      return { topic: parts.feedbackTopic, key: subjectId, value: JSON.stringify(message) }
    })
    charge({ messages: records.length })
    const [tooMany] = records.flatMap(() => parts.overFed(caller.tenant) ?? [])
    if (tooMany !== undefined) throw tooMany
    const became = await parts.sending.send(caller.tenant, records)
    if (became.includes('refused')) throw new RequestRefused('too-large', "Kafka's topic does not take it")
    return json(200, given.clientToken == null ? {} : { clientToken: given.clientToken })
  }
}

const FIRST_QUESTION: readonly AttributeQuestion[] = ['perspective']

/**
 * The scores of a text by all these questions, and those of each of its sentences, if there are some to be scored; language and model
 * of the first question. The summary is asked for by itself, so that it is the same with spans and without.
 */
async function scoresOf(
  scorer: TextScorer,
  text: TextToScore,
  sentences: readonly TextPiece[] | null,
  questions: readonly AttributeQuestion[],
): Promise<{ scores: AttributeScores; model: string; spans: readonly Omit<AttributeScores, 'language'>[] }> {
  const answers = await Promise.all(
    questions.map((one) =>
      Promise.all([scorer.attributes(text, one), sentences === null ? null : scorer.sentences(text, sentences, one)]),
    ),
  )
  const [first, ...others] = answers
  if (first === undefined) throw new Error('no question')
  const scores = Object.assign({}, ...others.map(([own]) => own.scores), first[0].scores)
  const spans = (sentences ?? []).map((_, at) =>
    Object.assign({}, ...answers.map(([, own]) => own?.scores.sentences[at])),
  )
  return { scores, model: first[0].model, spans }
}

function readAs<Given>(schema: z.ZodType<Given>, body: Buffer, query: URLSearchParams): Given {
  const fault = faultInParameters(query)
  if (fault !== null) throw new PerspectiveError('INVALID_REQUEST', fault)
  const read = schema.safeParse(jsonOf(body, asJson))
  if (read.success) return read.data
  throw new PerspectiveError('INVALID_REQUEST', faultInRequest(read.error))
}

function commentIn({ comment, context }: Pick<Analysis, 'comment' | 'context'>): {
  comment: string
  surroundings: readonly string[]
} {
  const written = comment?.text ?? ''
  if (written.trim() === '') throw new PerspectiveError('COMMENT_EMPTY', 'Comment must be non-empty.')
  if (Buffer.byteLength(written) > MOST_BYTES)
    throw new PerspectiveError('COMMENT_TOO_LONG', 'Comment text was too many bytes.')
  const { article, parentComment } = context?.articleAndParentComment ?? {}
  const before = [...(context?.entries ?? []), article, parentComment].flatMap((one) => (one?.text ? [one.text] : []))
  if (before.length > MOST_ENTRIES || Buffer.byteLength(before.join('')) > MOST_CONTEXT_BYTES)
    throw new PerspectiveError('INVALID_REQUEST', 'Context was too long.')
  return { comment: written.toWellFormed(), surroundings: before.map((one) => one.toWellFormed()) }
}

interface RequestedAttribute {
  readonly name: Attribute
  readonly threshold: number
}

function attributesIn(asked: Analysis['requestedAttributes'], drops: boolean): RequestedAttribute[] {
  const entries = Object.entries(asked ?? {})
  if (entries.length === 0) throw new PerspectiveError('NO_REQUESTED_ATTRIBUTES', 'No requested attributes.')
  return entries.flatMap(([written, { scoreType, scoreThreshold }]) => {
    // `TOXICITY@1` pins the version of the scores; another version is another attribute.
    const [name = '', version] = written.split('@')
    const isKnown = Object.hasOwn(ATTRIBUTES, name) && (version === undefined || version === `${SCORING_VERSION}`)
    if (!isKnown) {
      if (drops) return []
      throw unknownAttribute(written)
    }
    if (scoreType != null && !/^(?:PROBABILITY|SCORE_TYPE_UNSPECIFIED)$/.test(scoreType))
      throw new PerspectiveError('INVALID_REQUEST', 'Only the score type PROBABILITY is supported.')
    return [{ name: name as Attribute, threshold: scoreThreshold ?? 0 }]
  })
}

function unknownAttribute(name: string): PerspectiveError {
  return new PerspectiveError(
    'INVALID_REQUEST',
    `Unknown requested attribute: ${/^[\w@.-]{1,64}$/.test(name) ? name : '(no name)'}`,
  )
}

function checkLanguages(
  given: readonly string[],
  known: readonly string[],
  attribute: string | undefined,
  as: 'detectedLanguages' | 'requestedLanguages',
): void {
  const names = known.map((language) => language.toLowerCase())
  const isKnown = (language: string) => {
    const tag = language.toLowerCase()
    return names.includes(tag) || names.includes(tag.split('-')[0] ?? '')
  }
  const unknown = given.filter((language) => !isKnown(language)).map((one) => (/^[\w-]{1,35}$/.test(one) ? one : 'und'))
  if (unknown.length === 0) return
  throw new PerspectiveError(
    'LANGUAGE_NOT_SUPPORTED_BY_ATTRIBUTE',
    `Attribute ${attribute} does not support request languages: ${unknown.join(',')}`,
    { languageNotSupportedByAttributeError: { [as]: unknown, attribute } },
  )
}

/** Google's names of statuses. */
const STATUSES: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  409: 'ABORTED',
  408: 'DEADLINE_EXCEEDED',
  413: 'INVALID_ARGUMENT',
  415: 'INVALID_ARGUMENT',
  422: 'FAILED_PRECONDITION',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
}

/** Refusals in the form of Google's errors. A wrong key is a 400 there, a missing one a 403. */
function refuse(refused: RequestRefused, id: string): Response {
  const { problem } = refused
  const code = problem === 'key-unknown' ? 400 : problem === 'key-missing' ? 403 : PROBLEMS[problem].status
  const info = { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', domain: 'googleapis.com' }
  const details =
    refused instanceof PerspectiveError
      ? [{ '@type': TYPE, errorType: refused.errorType, ...refused.details }]
      : problem === 'key-unknown'
        ? [{ ...info, reason: 'API_KEY_INVALID' }]
        : []
  const message = problem === 'key-unknown' ? 'API key not valid. Please pass a valid API key.' : refused.message
  const { 'www-authenticate': _, ...headers } = headersOf(refused)
  return json(
    code,
    { error: { code, message, status: STATUSES[code] ?? 'UNKNOWN', details } },
    { 'x-request-id': id, ...headers },
  )
}

const TYPE = 'type.googleapis.com/google.commentanalyzer.v1alpha1.Error'
