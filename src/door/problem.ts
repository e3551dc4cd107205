import type { z } from 'zod'
import { faultIn } from '../contracts/facts/read-value.ts'
import { BytesResponse } from '../platform/bytes-response.ts'

/** What may go wrong with a request, by name: its status, what it is called, and what to do about it. */
export const PROBLEMS = {
  'bad-request': { status: 400, title: 'Not a valid HTTP request', todo: 'Send it as HTTP/1.1, with one Host header.' },
  'not-json': { status: 400, title: 'The body is not JSON', todo: 'Send JSON in UTF-8.' },
  'bad-encoding': { status: 400, title: 'The body is not UTF-8', todo: 'Encode it as UTF-8.' },
  'too-deep': { status: 400, title: 'Nested too deep', todo: 'Send fewer lists and objects within one another.' },
  invalid: {
    status: 400,
    title: 'Not as the schema has it',
    todo: 'Correct the named fields; /openapi.json has the schema.',
  },
  'bad-id': {
    status: 400,
    title: 'The address has an invalid percent escape',
    todo: 'Percent-encode ids, as encodeURIComponent does.',
  },
  'dot-segment': {
    status: 400,
    title: 'The address has a segment that is one dot or two',
    todo: 'Leave it out of the address: a proxy may resolve it.',
  },
  'key-missing': {
    status: 401,
    title: 'An API key is needed',
    todo: 'Send "Authorization: Bearer gavel_…"; gavel keys create makes a key.',
  },
  'key-unknown': {
    status: 401,
    title: 'This API key is not valid',
    todo: 'The key is unknown, revoked or expired. Create another: gavel keys create. A door that needs no key must be asked without one.',
  },
  scope: {
    status: 403,
    title: 'This key may not do this',
    todo: 'Use a key that has the scope: gavel keys create --scopes.',
  },
  tenant: {
    status: 403,
    title: 'This key belongs to another tenant',
    todo: 'Leave the tenant out, or use a key of that tenant.',
  },
  'not-found': { status: 404, title: 'There is nothing here', todo: 'See /openapi.json.' },
  method: { status: 405, title: 'This method is not allowed here', todo: 'The header Allow has those that are.' },
  'slow-request': { status: 408, title: 'The request took too long to arrive', todo: 'Send it faster, or in parts.' },
  'protocol-paused': {
    status: 409,
    title: 'This protocol is paused',
    todo: 'Ask again when it is resumed: gavel protocols resume.',
  },
  deleted: { status: 409, title: 'This was deleted', todo: 'Deleted subjects are not judged; use another id.' },
  late: {
    status: 409,
    title: 'Another revision is the last one',
    todo: 'Look at it, and decide against it, or with force.',
  },
  gone: { status: 410, title: 'This is kept no longer', todo: 'Ask for it anew.' },
  erased: { status: 410, title: 'This was erased', todo: 'It was deleted, with all its verdicts.' },
  'too-large': { status: 413, title: 'Too large', todo: 'Send less in one request.' },
  'content-type': {
    status: 415,
    title: 'The Content-Type must be JSON',
    todo: "Send the header: curl -H 'content-type: application/json', or curl's --json.",
  },
  compressed: { status: 415, title: 'Compressed bodies are not read', todo: 'Send it without Content-Encoding.' },
  host: {
    status: 421,
    title: 'The door is not asked for by this name',
    todo: 'Use another Host, or add the name to door.hosts.',
  },
  expectation: {
    status: 417,
    title: 'The header Expect asks for what is not done',
    todo: 'Leave it out, or send Expect: 100-continue.',
  },
  image: {
    status: 422,
    title: 'An image can not be looked at',
    todo: 'Send a picture at a public https address or in a data address, of at most images.maxBytes and images.maxPixels, to a model of the role describer that takes images.',
  },
  'none-accepted': { status: 422, title: 'None of the messages was accepted', todo: 'Each item has its error.' },
  protocol: {
    status: 422,
    title: 'No such protocol',
    todo: 'Name protocols that are on and judge such a subject: gavel protocols list.',
  },
  undecided: {
    status: 422,
    title: 'Such a decision can not be carried out',
    todo: 'Use a label of the protocol, and its kind of subject.',
  },
  'refused-content': {
    status: 422,
    title: "The model's filter refused this content",
    todo: 'It can be judged by another model alone.',
  },
  headers: { status: 431, title: 'The headers are too large', todo: 'Send at most 8 KiB of them.' },
  rate: {
    status: 429,
    title: 'Too many requests',
    todo: 'Wait for Retry-After, or use a key with a higher rate: gavel keys create --rate.',
  },
  'back-pressure': {
    status: 429,
    title: 'There is more to do than can be done',
    todo: 'Wait for Retry-After.',
  },
  'over-share': {
    status: 429,
    title: 'This tenant holds its share of the store',
    todo: 'Wait for Retry-After, ask for less at a time, or erase answers that were read: DELETE /v1/judgements/{id}.',
  },
  waiting: {
    status: 429,
    title: 'Too many requests wait already',
    todo: 'Wait for Retry-After, or ask with wait 0.',
  },
  budget: { status: 429, title: 'The budget is spent', todo: 'Wait until it renews, or raise it (budgets).' },
  limit: { status: 429, title: 'The limit of calls is reached', todo: 'Wait for Retry-After.' },
  failed: { status: 500, title: 'This failed', todo: 'It is logged under the request id; it may help to try again.' },
  'record-off': {
    status: 501,
    title: 'No record is kept here',
    todo: 'Keep one: gavel run --roles intake,judge,publish,record, on the machine of the door (docs/record.md).',
  },
  'model-unreadable': {
    status: 502,
    title: 'The model gave no readable answer',
    todo: 'Try again, or set another model.',
  },
  'kafka-away': {
    status: 503,
    title: 'Kafka does not acknowledge',
    todo: 'Send it again after Retry-After: a repeat counts once.',
  },
  'store-away': { status: 503, title: 'The store does not answer', todo: 'Try again after Retry-After.' },
  'model-away': { status: 503, title: 'No model answers', todo: 'Try again after Retry-After.' },
  draining: { status: 503, title: 'This process is about to end', todo: 'Try again: another process may answer.' },
} as const satisfies Record<string, { status: number; title: string; todo: string }>

export type ProblemName = keyof typeof PROBLEMS

export const PROBLEM_NAMES = Object.keys(PROBLEMS) as ProblemName[]

/** A field at fault: its path, and what is wrong with it; never what it held. */
interface FieldError {
  readonly path: string
  readonly message: string
}

interface More {
  /** Seconds after which it may be tried again. */
  readonly retryAfter?: number
  readonly errors?: readonly FieldError[]
  /** What became of each message, where there were several. */
  readonly items?: readonly unknown[]
  readonly headers?: Readonly<Record<string, string>>
  /** What failed behind it, for the log alone. */
  readonly cause?: unknown
}

/** Most fields at fault that an answer names, and the longest words about them, in characters. */
const [MOST_FAULTS, MAX_DETAIL_CHARS] = [20, 1_000]

/**
 * A request that is refused, and why, in words that quote nothing of it. Of many faults the first are named: whatever was sent, the
 * answer is small.
 */
export class RequestRefused extends Error {
  override readonly name = 'Refused'
  readonly problem: ProblemName
  readonly more: More
  constructor(problem: ProblemName, detail: string, { errors, ...more }: More = {}) {
    super(detail.length > MAX_DETAIL_CHARS ? `${detail.slice(0, MAX_DETAIL_CHARS)}…` : detail)
    this.problem = problem
    this.more = errors === undefined ? more : { ...more, errors: firstOf(errors) }
  }
}

function firstOf(errors: readonly FieldError[]): readonly FieldError[] {
  if (errors.length <= MOST_FAULTS) return errors
  const named = errors.slice(0, MOST_FAULTS - 1)
  return [...named, { path: '', message: `and ${errors.length - named.length} more` }]
}

/** The refusal of a body by what a schema found wrong with it. */
export function invalidBody({ issues }: z.ZodError): RequestRefused {
  const errors = firstOf(issues.map((issue) => ({ path: issue.path.join('.'), message: faultIn(issue) })))
  return new RequestRefused('invalid', errors.map(saidOf).join('; '), { errors })
}

function saidOf({ path, message }: FieldError): string {
  return path === '' ? message : `${path}: ${message}`
}

/** Problem details (RFC 9457), with what to do. */
function problemOf({ problem, message, more }: RequestRefused, instance: string) {
  const { status, title, todo } = PROBLEMS[problem]
  const { errors, items } = more
  return {
    type: `/problems/${problem}`,
    title,
    status,
    detail: message,
    instance,
    todo,
    ...(errors && { errors }),
    ...(items && { accepted: 0, refused: items.length, items }),
  }
}

/** The body of an answer to what can't be read as a request, and its type. */
export function unreadable(problem: ProblemName) {
  const refused = new RequestRefused(problem, 'it could not be read as a request')
  return { type: 'application/problem+json', body: `${JSON.stringify(problemOf(refused, 'none'))}\n` }
}

/** The answer to a request that is refused. */
export function refusal(refused: RequestRefused, instance: string): Response {
  const { status } = PROBLEMS[refused.problem]
  const body = Buffer.from(`${JSON.stringify(problemOf(refused, instance))}\n`)
  return new BytesResponse(body, {
    status,
    headers: {
      'content-type': 'application/problem+json',
      'content-length': String(body.length),
      'x-request-id': instance,
      ...headersOf(refused),
    },
  })
}

/** Headers that go with a refusal, in whatever form its body is. */
export function headersOf({ problem, more }: RequestRefused): Record<string, string> {
  const { status } = PROBLEMS[problem]
  const seconds = more.retryAfter ?? (status === 429 || status === 503 ? 1 : undefined)
  return {
    ...(seconds === undefined ? {} : { 'retry-after': String(Math.max(1, Math.ceil(seconds))) }),
    ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
    ...more.headers,
  }
}

/** The refusal of what would be judged, where as much of its tenant is due as may be. */
export function overDue(): RequestRefused {
  return new RequestRefused(
    'over-share',
    'more of what this tenant sent and asked is due than its share (shares.tenant of intake.pauseAtDue)',
    { retryAfter: 5 },
  )
}

/** A tenant holds its share of Redis. `sent`: what its topics have already. */
export function overShare(sent = ''): RequestRefused {
  return new RequestRefused(
    'over-share',
    `what this tenant sent, asked and was answered holds its share of the store${sent}`,
    { retryAfter: 5 },
  )
}
