import type { AuthorErasure, Decided, Decision, Judged, Judging, Message, Sent, Subject } from './messages.ts'

export type * from './messages.ts'

/** How a client reaches a door. */
export interface ClientSettings {
  /** Where the door is: `http://127.0.0.1:8420`. */
  readonly url: string
  /** Its API key; none for a door that asks for none. */
  readonly key?: string
  /** How often a request is made again that the door could not take: 429 and 503, after the time that the door asks for. */
  readonly retries?: number
  /** In place of the platform's own. */
  readonly fetch?: typeof fetch
}

/** What may be said of one request. */
export interface RequestOptions {
  readonly signal?: AbortSignal
}

/** What is wrong with a field; never what it held. */
export interface FieldError {
  readonly path: string
  readonly message: string
}

type ProblemField = 'type' | 'title' | 'detail' | 'instance' | 'todo' | 'errors' | 'items'

/** A request that the door refused (RFC 9457). `type` is stable, `/problems/NAME`; `todo` names the remedy. */
export class GavelProblem extends Error {
  override readonly name = 'GavelProblem'
  readonly status: number
  readonly type: string
  readonly title: string
  readonly todo: string
  /** The id of the request, by which the door's log has it. */
  readonly instance: string
  readonly errors: readonly FieldError[]
  /** What became of each message, where there were several. */
  readonly items: Sent['items']
  /** Seconds after which it may be tried again; null where the door names none. */
  readonly retryAfter: number | null

  constructor(status: number, said: Partial<Record<ProblemField, unknown>>, retryAfter: number | null) {
    const text = (value: unknown, otherwise = '') => (typeof value === 'string' ? value : otherwise)
    const title = text(said.title, `the door answered ${status}`)
    super([title, text(said.detail)].filter((part) => part !== '').join(': '))
    this.status = status
    this.type = text(said.type, 'about:blank')
    this.title = title
    this.todo = text(said.todo)
    this.instance = text(said.instance)
    this.errors = Array.isArray(said.errors) ? said.errors : []
    this.items = Array.isArray(said.items) ? said.items : []
    this.retryAfter = retryAfter
  }
}

/** A typed client of Gavel's HTTP door. Every method rejects with a `GavelProblem` where the door refuses. */
export interface GavelClient {
  /** Sends messages; resolves when Kafka has acknowledged them. Safe to repeat: the same message again is one. */
  send(messages: Message | readonly Message[], options?: RequestOptions): Promise<Sent>
  /** Judges a post, a reply or a comment now. `done` is false where verdicts are to come: ask `judgement`, or `judgeToEnd`. */
  judge(body: Judging, options?: RequestOptions): Promise<Judged>
  /** The same, asked again until every verdict is there. */
  judgeToEnd(body: Judging, options?: RequestOptions): Promise<Judged>
  /** The request and its verdicts so far; waits up to `wait` seconds for what is missing. */
  judgement(
    id: string,
    options?: RequestOptions & { readonly wait?: number; readonly transcript?: boolean },
  ): Promise<Judged>
  /** Stops the request, and erases its texts and verdicts. */
  erase(id: string, options?: RequestOptions): Promise<void>
  /** What is on its way about a streamed post or reply, or a comment on `post` that is judged by itself, and its current verdicts. */
  subject(
    id: string,
    options?: RequestOptions & {
      readonly kind?: 'post' | 'reply' | 'comment'
      readonly post?: string
      readonly standing?: boolean
      readonly transcript?: boolean
    },
  ): Promise<Subject>
  /** Begins the erasure of all that a person wrote, by the name in their messages; or tells how far it is. */
  eraseAuthor(author: string, options?: RequestOptions): Promise<AuthorErasure>
  /** How far an erasure is. */
  erasure(id: string, options?: RequestOptions): Promise<AuthorErasure>
  /** A person's verdict, or its withdrawal, in the name of the key. */
  decide(decision: Decision, options?: RequestOptions): Promise<Decided>
}

/** Longest that the door is asked to wait for verdicts, in seconds. */
const MOST_WAIT = 60

export function gavelClient(settings: ClientSettings): GavelClient {
  const base = settings.url.replace(/\/+$/, '')
  const { key, retries = 2, fetch: ask = fetch } = settings

  async function request<Answer>(
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    body: unknown,
    { signal }: RequestOptions = {},
  ): Promise<Answer> {
    for (let attempt = 0; ; attempt++) {
      const response = await ask(`${base}${path}`, {
        method,
        redirect: 'error',
        headers: {
          ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        ...(signal === undefined ? {} : { signal }),
      })
      const text = await response.text()
      if (response.ok) return (text === '' ? undefined : JSON.parse(text)) as Answer
      const problem = problemIn(response, text)
      const mayRepeat = response.status === 429 || response.status === 503
      if (!mayRepeat || attempt >= retries) throw problem
      await pause((problem.retryAfter ?? 1) * 1_000, signal)
    }
  }

  const judgement: GavelClient['judgement'] = (id, { wait, transcript, ...options } = {}) =>
    request('GET', `/v1/judgements/${encodeURIComponent(id)}${query({ wait, transcript })}`, undefined, options)

  return {
    send: (messages, options) => request('POST', '/v1/messages', messages, options),
    judge: (body, options) => request('POST', '/v1/judge', body, options),
    async judgeToEnd(body, options) {
      let judged: Judged = await request('POST', '/v1/judge', { wait: MOST_WAIT, ...body }, options)
      while (!judged.done) judged = await judgement(judged.id, { wait: MOST_WAIT, ...options })
      return judged
    },
    judgement,
    erase: (id, options) => request('DELETE', `/v1/judgements/${encodeURIComponent(id)}`, undefined, options),
    subject: (id, { kind, post, standing, transcript, ...options } = {}) =>
      request(
        'GET',
        `/v1/subjects/${encodeURIComponent(id)}${query({ kind, post, standing, transcript })}`,
        undefined,
        options,
      ),
    eraseAuthor: (author, options) =>
      request('DELETE', `/v1/authors/${encodeURIComponent(author)}`, undefined, options),
    erasure: (id, options) => request('GET', `/v1/erasures/${encodeURIComponent(id)}`, undefined, options),
    decide: (decision, options) => request('POST', '/v1/human-verdicts', decision, options),
  }
}

function query(given: Readonly<Record<string, string | number | boolean | undefined>>): string {
  const said = Object.entries(given).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  )
  return said.length === 0 ? '' : `?${said.join('&')}`
}

function problemIn(response: Response, text: string): GavelProblem {
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
  const retryAfter = Number.isFinite(seconds) && seconds >= 0 ? seconds : null
  try {
    const said: unknown = JSON.parse(text)
    return new GavelProblem(response.status, typeof said === 'object' && said !== null ? said : {}, retryAfter)
  } catch {
    // What stands before the door may answer in words of its own.
    return new GavelProblem(response.status, {}, retryAfter)
  }
}

/** Rejects with the signal's reason if it is aborted. */
function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal?.addEventListener('abort', stop, { once: true })
  })
}
