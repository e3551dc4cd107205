import { randomBytes } from 'node:crypto'
import { didYouMean } from '../contracts/facts/did-you-mean.ts'
import { postMessage } from '../contracts/facts/messages.ts'
import type {
  Answers,
  PossibleRequest,
  VerdictAnswer,
  VerdictRequest,
  VerdictRequestOutcome,
  VerdictRequests,
} from '../contracts/ports/answers.ts'
import { StoreSuspended } from '../contracts/ports/cases.ts'
import type { Report } from '../contracts/ports/report.ts'
import type { DebatedComment, DebateStarter } from './debates.ts'
import { isAnsweredLate, unanswered } from './in-time.ts'
import { type JudgeRequest, MOST_WAIT, type ReadingParts, wantedOf } from './judge-body.ts'
import { ERASE, JUDGE, JUDGEMENT } from './judge-operations.ts'
import { overDue, overShare, RequestRefused } from './problem.ts'
import { type DoorCall, type DoorRoute, json, STORE_MS } from './route.ts'
import type { RecordSender } from './sending.ts'
import { ignoredIn, shown } from './unknown-fields.ts'
import { openQuestions, type WaiterLimits, waitersOf } from './waiters.ts'

export interface JudgeParts extends ReadingParts, WaiterLimits {
  readonly asking: VerdictRequests
  readonly answers: Pick<Answers, 'read' | 'changed'>
  readonly sending: RecordSender
  readonly pressure: () => string | null
  /** Whether a tenant has more due than its share. */
  readonly isOverDue: (tenant: string) => boolean
  readonly report: Report
}

/** A question that the store has, while its client waits. */
interface AskedRequest extends Pick<JudgeRequest, 'wait' | 'webhook' | 'stream' | 'ignored'> {
  readonly id: string
  readonly until: number
  /** It is waited for no more. */
  done(): void
}

/** `POST /v1/judge` and what it answers later: verdicts on what a client asks, apart from the stream. */
export function judgeRoutes(parts: JudgeParts): DoorRoute[] {
  const waiters = waitersOf(parts)
  const questions = openQuestions(parts.answers)
  return [
    {
      method: 'POST',
      path: '/v1/judge',
      scope: 'judge',
      takesBody: true,
      operation: JUDGE,
      needs: { dependency: 'redis' },
      problems: [
        'invalid',
        'too-deep',
        'tenant',
        'deleted',
        'protocol-paused',
        'protocol',
        'waiting',
        'back-pressure',
        'over-share',
        'kafka-away',
        'store-away',
      ],
      async answer(call) {
        const asked = await call.unpacked(() => call.reading(() => taken(call)))
        let isComplete = false
        try {
          const answer = await answered(call, asked)
          isComplete = answer.status === 200
          return answer
        } finally {
          if (isComplete) asked.done()
          else void questions.left(call.caller.tenant, asked.id, call.closing, asked.done)
        }
      },
    },
    {
      method: 'GET',
      path: '/v1/judgements/{id}',
      scope: 'judge',
      orScope: 'read',
      operation: JUDGEMENT,
      needs: { dependency: 'redis' },
      problems: ['invalid', 'erased', 'waiting', 'store-away'],
      async answer(call) {
        const { query, caller } = call
        const id = requestOf(call)
        const wait = waitIn(query) ?? 0
        call.within(1_000 * wait)
        if (wait > 0) questions.waitedFor(id)
        const done = waiters.enter(caller.tenant, wait > 0)
        let isOpen = wait > 0
        try {
          const answer = await complete(parts, call, id, wait)
          isOpen &&= answer.verdicts.size < answer.protocols.length
          if (query.get('transcript') !== 'true') return said(call, id, answer)
          return await call.inTurn(async () =>
            said(call, id, await complete(parts, call, id, 0, true), { withTranscripts: true }),
          )
        } finally {
          if (isOpen) void questions.left(caller.tenant, id, call.closing, done)
          else done()
        }
      },
    },
    {
      method: 'DELETE',
      path: '/v1/judgements/{id}',
      scope: 'judge',
      operation: ERASE,
      needs: { dependency: 'redis', withinMs: STORE_MS },
      problems: ['invalid', 'store-away'],
      async answer(call) {
        const id = requestOf(call)
        if (!(await stored(parts, parts.asking.erase(call.caller.tenant, id)))) throw unknownRequest()
        return new Response(null, { status: 204 })
      },
    },
  ]

  /** Reads what a body asks for, and has it asked. */
  async function taken(call: DoorCall): Promise<AskedRequest> {
    const { tenant, scopes } = call.caller
    const wanted = await wantedOf(call.body, tenant, parts, waitIn(call.query))
    if (wanted.stream && !scopes.has('send'))
      throw new RequestRefused('scope', 'stream: the key has not the scope send')
    call.within(1_000 * wanted.wait)
    if (wanted.stream) call.checkAnswers('kafka')
    await checkRoom(parts, tenant, wanted)
    call.charge({ messages: 1 + wanted.comments.length, calls: parts.asking.mostCalls(tenant, wanted) })
    const pressure = parts.pressure()
    if (pressure !== null) throw new RequestRefused('back-pressure', `intake is paused: ${pressure}`, { retryAfter: 5 })
    const done = waiters.enter(tenant, wanted.wait > 0)
    try {
      if (wanted.stream) await streamed(parts, call, wanted)
      call.ifLate(() => unanswered('redis', notKnown(wanted)))
      const { id, until } = await askedOf(parts, tenant, wanted, alreadySent(wanted))
      // All that is still needed of it, for up to a minute.
      const { wait, webhook, stream, ignored } = wanted
      return { id, until, wait, webhook, stream, ignored, done }
    } catch (error) {
      done()
      throw error
    }
  }

  async function answered(
    call: DoorCall,
    { id, until, wait, webhook, stream, ignored }: AskedRequest,
  ): Promise<Response> {
    let isTold = false
    const unfinished = () => pending(call, { id, until, verdicts: [], missing: [], ...ignoredIn(ignored) })
    // From now on it is asked, and has an address.
    call.ifLate(() => {
      isTold = isAnsweredLate(call.gone())
      return unfinished()
    })
    try {
      const answer = await complete(parts, call, id, wait)
      if (!call.gone().aborted) return said(call, id, answer, { ignored, stream })
    } catch (error) {
      const problem = error instanceof RequestRefused ? error.problem : null
      if ((problem === 'key-unknown' || problem === 'scope') && !webhook)
        await parts.asking.leave(call.caller.tenant, id)
      // It is asked: what can't be read now can be fetched.
      if (problem !== 'store-away') throw error
      if (!call.gone().aborted) return unfinished()
    }
    // Where nobody has its address nothing more is asked for it, unless a webhook is to hear of it.
    if (!webhook && !isTold) await parts.asking.leave(call.caller.tenant, id)
    return unfinished()
  }
}

/** Has a text debated whose verdicts go to the tenant's webhooks, and are kept like those of a request. */
export function debateOf(
  parts: Pick<JudgeParts, 'asking' | 'kept' | 'pressure' | 'isOverDue' | 'clock' | 'report'>,
): DebateStarter {
  const postOf = (tenant: string, { text, language }: DebatedComment) => {
    const createdAt = new Date(parts.clock()).toISOString()
    const id = `text-${randomBytes(9).toString('base64url')}`
    const lang = language === undefined ? {} : { lang: language }
    return parts.kept.post(postMessage.parse({ id, tenant, text, createdAt, ...lang }))
  }
  return {
    mostCalls(tenant, comment, protocols) {
      // Routes may go by the language, which may be known only once it is scored.
      return parts.asking.mostCalls(tenant, {
        post: postOf(tenant, comment),
        comments: [],
        protocols: protocols ?? 'any',
      })
    },
    checkRoom: (tenant, comment, protocols) =>
      checkRoom(parts, tenant, { post: postOf(tenant, comment), comments: [], protocols: protocols ?? 'any' }),
    async start(tenant, comment, protocols) {
      const pressure = parts.pressure()
      if (pressure !== null)
        throw new RequestRefused('back-pressure', `intake is paused: ${pressure}`, { retryAfter: 5 })
      const asked = { post: postOf(tenant, comment), comments: [], protocols, webhook: true, waits: false }
      const { id, until, protocols: judges } = await askedOf(parts, tenant, asked)
      return { id, until: new Date(until).toISOString(), protocols: judges }
    },
  }
}

/** Throws where the tenant holds too much for it: before it is on any topic, and before it is charged. */
async function checkRoom(
  parts: Pick<JudgeParts, 'asking' | 'isOverDue' | 'report'>,
  tenant: string,
  wanted: PossibleRequest,
): Promise<void> {
  if (parts.isOverDue(tenant)) throw overDue()
  if (!(await stored(parts, parts.asking.hasRoom(tenant, wanted)))) throw overShare()
}

async function askedOf(
  parts: Pick<JudgeParts, 'asking' | 'report'>,
  tenant: string,
  wanted: VerdictRequest,
  sent = '',
): Promise<Extract<VerdictRequestOutcome, { kind: 'asked' }>> {
  const { post, comments, protocols, webhook, waits } = wanted
  const outcome = await stored(parts, parts.asking.ask(tenant, { post, comments, protocols, webhook, waits }))
  switch (outcome.kind) {
    case 'asked':
      return outcome
    case 'deleted':
      throw new RequestRefused('deleted', 'the subject of this id was deleted')
    case 'over-share':
      throw overShare(sent)
    case 'paused':
      throw new RequestRefused('protocol-paused', `paused: ${outcome.protocols.join(', ')}`)
    case 'unjudged':
      throw new RequestRefused('protocol', unjudgedBy(outcome))
  }
}

function unjudgedBy({ protocols, judging }: { protocols: readonly string[]; judging: readonly string[] }): string {
  const those = judging.length === 0 ? 'none judges such a subject' : `${judging.join(', ')} judge such a subject`
  const [name = ''] = protocols
  if (name === '') return `no protocol judges it by itself: name some in protocols (${those})`
  return `${shown(name)} is off, unknown, or does not judge such a subject: ${those}.${didYouMean(shown(name), judging)}`
}

/** Puts it on the topics. Throws the problem of a message that its topic does not take. */
async function streamed({ sending }: Pick<JudgeParts, 'sending'>, call: DoorCall, wanted: JudgeRequest): Promise<void> {
  call.ifLate(() => unanswered('kafka', `has not acknowledged all of it: sent again ${sameId(wanted)} it counts once`))
  const became = await sending.send(call.caller.tenant, wanted.records)
  const at = became.indexOf('refused')
  if (at === -1) return
  const { hateSpeech, around } = wanted.post
  const first = around !== undefined ? 'comment' : hateSpeech === undefined ? 'post' : 'reply'
  throw new RequestRefused('too-large', `Kafka's topic does not take ${at === 0 ? first : `comments.${at - 1}`}`)
}

/** What is not known of a question that the store has not acknowledged. */
function notKnown(wanted: JudgeRequest): string {
  const asked = wanted.webhook
    ? 'whether it was asked is not known: its verdicts may come by webhook, and once more if it is asked again'
    : 'whether it was asked is not known, and it is safe to ask again: what nobody has the address of is dropped'
  return `has not answered in time: ${asked}${alreadySent(wanted)}`
}

/** How to ask again so that what its topics have already counts once; empty if they have nothing of it. */
function alreadySent(wanted: JudgeRequest): string {
  return wanted.stream ? `. Its messages are on their topics: ask again ${sameId(wanted)}, or without "stream"` : ''
}

/** How a repeat of its messages is known as such. The id may be one that was made up here. */
function sameId({ post, records }: JudgeRequest): string {
  const isOurs = /^req-[\w-]{12}$/.test(post.id)
  return `under the same ${records.length === 1 ? 'id' : 'ids'}${isOurs ? ` (${post.id})` : ''}`
}

/** What the store answers. Where it does not, the request is refused for now. */
async function stored<Result>(parts: Pick<JudgeParts, 'report'>, work: Promise<Result>): Promise<Result> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof StoreSuspended)) parts.report('error', { where: 'door', error })
    throw new RequestRefused('store-away', 'the store does not take or answer it now', { retryAfter: 3 })
  }
}

/** The answer once it is complete, or as it is after so many seconds, when the client has gone, or when the door closes. */
async function complete(
  parts: JudgeParts,
  call: DoorCall,
  id: string,
  seconds: number,
  transcripts = false,
): Promise<VerdictAnswer> {
  const { tenant } = call.caller
  const over = new AbortController()
  const signal = AbortSignal.any([
    call.gone(),
    call.closing,
    over.signal,
    AbortSignal.timeout(Math.round(seconds * 1000)),
  ])
  let hasWaited = false
  try {
    for (;;) {
      // Waited for before it is read: what comes in between is heard.
      const changed = seconds === 0 ? null : parts.answers.changed(id, signal).catch(() => undefined)
      const answer = await stored(parts, parts.answers.read(tenant, id, { transcripts }))
      if (answer === null) throw unknownRequest()
      if (answer.erased) throw new RequestRefused('erased', 'its subject was deleted, or it was erased')
      const isComplete = answer.verdicts.size >= answer.protocols.length
      // By two clocks, perhaps: never more than it has waited.
      if (isComplete && hasWaited) call.waitedTooLong(sinceDecided(answer, parts.clock()))
      if (isComplete || signal.aborted || changed === null) return answer
      hasWaited = true
      await call.waiting(changed)
      call.checkKey()
    }
  } finally {
    over.abort()
  }
}

/** How long ago the last of these verdicts was decided, in ms. */
function sinceDecided({ verdicts }: VerdictAnswer, now: number): number {
  const times = [...verdicts.values()].map((text) => Date.parse(JSON.parse(text).decidedAt))
  return now - Math.max(...times)
}

function said(
  call: DoorCall,
  id: string,
  answer: VerdictAnswer,
  {
    withTranscripts = false,
    ignored = [],
    stream,
  }: { withTranscripts?: boolean; ignored?: readonly string[]; stream?: boolean } = {},
): Response {
  const verdicts = [...answer.verdicts.values()].map((text) => ({ ...JSON.parse(text), subject: answer.subjectId }))
  const isByLane = stream !== undefined && verdicts.some(({ decidedBy }) => decidedBy === 'lane')
  const more = { ...(isByLane ? { supersededBy: stream ? ['stream', 'person'] : [] } : {}), ...ignoredIn(ignored) }
  const missing = answer.protocols.filter((name) => !answer.verdicts.has(name))
  const transcripts = withTranscripts
    ? { transcripts: [...answer.transcripts.values()].map((text) => JSON.parse(text)) }
    : {}
  if (missing.length > 0) return pending(call, { id, until: answer.until, verdicts, missing, ...more })
  const until = new Date(answer.until).toISOString()
  const body = { id, url: urlOf(call, id), until, done: true, verdicts, missing, ...transcripts, ...more }
  return json(200, body)
}

function pending(
  call: DoorCall,
  given: { id: string; until: number; verdicts: unknown[]; missing: readonly string[]; ignored?: readonly string[] },
): Response {
  const { id, until, ...rest } = given
  const body = { id, url: urlOf(call, id), until: new Date(until).toISOString(), done: false, ...rest }
  return json(202, body, { location: `/v1/judgements/${id}`, 'retry-after': '1' })
}

function urlOf({ base }: DoorCall, id: string): string {
  return `${base}/v1/judgements/${id}`
}

/** The id of a request as the path has it: anything else is none, and asks no store. */
function requestOf({ param }: DoorCall): string {
  const id = param('id')
  if (!/^[0-9a-f]{32}$/.test(id)) throw unknownRequest()
  return id
}

function unknownRequest(): RequestRefused {
  return new RequestRefused('not-found', 'there is no such judgement, or it is kept no longer')
}

/** The seconds that the query says, as `1` or `1s`; null where it says none. */
function waitIn(query: URLSearchParams): number | null {
  const text = query.get('wait')
  if (text === null) return null
  const seconds = Number(text.replace(/s$/, ''))
  if (!/^[\d.]+s?$/.test(text) || !(seconds >= 0 && seconds <= MOST_WAIT))
    throw new RequestRefused('invalid', `wait: 0 to ${MOST_WAIT} seconds`)
  return seconds
}
