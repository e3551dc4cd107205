import { entryOf } from '../../contracts/facts/entry-of.ts'
import { PermanentError, RetryLaterError, UnknownRefusal } from '../../contracts/facts/errors.ts'
import type { FilterRefusal } from '../../contracts/facts/filtered.ts'
import { ERROR_FOR_ANSWER } from '../../contracts/facts/model-name.ts'
import { isRedirect, kindOfStatus, REFUSALS, type RefusalRow } from './refusal-table.ts'
import { type RefusedParameter, refusedParameter } from './refused-parameter.ts'
import { resetIn } from './reset-times.ts'
import { type SentRequest, wordsForOperator } from './server-words.ts'

/** The content of an error response, wherever the server has put it. */
interface RefusalText {
  readonly status: number
  /** Lower case. */
  readonly codes: ReadonlySet<string>
  readonly words: readonly string[]
  readonly filtered: readonly FilterRefusal[]
  /** Names of fields of the request that it points at: `temperature`, `body.reasoning_effort`. */
  readonly parameters: readonly string[]
  /** The error's own code, if it is a known one. */
  readonly name: string | undefined
  /** When a limit is renewed, by headers that the body repeats of a server behind this one, in ms from now. */
  readonly resetMs: number | undefined
}

/** Codes that a message may repeat. Any other may be the question, or the key, in a server that repeats what it was sent. */
const NAMED: ReadonlySet<string> = new Set([
  ...REFUSALS.flatMap(({ codes = [] }) => codes.filter((code) => /[a-z]/.test(code))),
  'invalid_request_error',
  'unsupported_parameter',
  'unsupported_value',
  'invalid_value',
  'server_error',
])

/** Longest message that is looked at, in characters, and the most texts and levels. */
const MAX_CHARS = 2_000
const MAX_TEXTS = 40
const MAX_DEPTH = 12

/** Fields that hold a code, and fields that hold words. `raw` is another server's response, as text. */
const CODES = new Set(['code', 'type', 'status', 'reason', 'error_type', 'error_code', 'status_code', 'blockReason'])
const WORDS = new Set(['message', 'error', 'detail', 'msg', 'error_msg', 'status_msg', 'param', 'raw', 'title'])
/** Fields that repeat the question or the answer: nothing in them is the server's own word. */
const ECHOES = new Set(['input', 'flagged_input', 'failed_generation', 'loc'])

/** Where servers say that a parameter is refused: OpenAI forbids log-probabilities with a 403, OpenRouter finds no endpoint that takes one (404). */
const OF_PARAMETERS = new Set([400, 403, 404, 422])

/**
 * Statuses with which a server says that it has no such interface, or that this model is not one for it; and those with which some
 * servers say so, and others that they do not take this question: Fireworks and vLLM 400, gateways 403, servers of another form 422.
 */
const NO_INTERFACE = new Set([404, 405, 501])
const PERHAPS_NO_INTERFACE = new Set([400, 403, 415, 422])

/** A response refuses a parameter by its name. */
export class ParameterNamed extends PermanentError {
  readonly parameter: RefusedParameter
  /** The status, and how the server calls the error. */
  readonly why: string
  /** What the response means where nothing such was sent. */
  readonly otherwise: PermanentError | RetryLaterError
  constructor(parameter: RefusedParameter, why: string, otherwise: PermanentError | RetryLaterError) {
    const {
      elsewhere,
      operatorAction,
    }: Pick<Partial<PermanentError>, 'elsewhere' | 'operatorAction'> = otherwise instanceof PermanentError
      ? otherwise
      : {}
    super(otherwise.code, otherwise.message, { operatorAction, elsewhere })
    this.saidByServer = otherwise.saidByServer
    this.parameter = parameter
    this.why = why
    this.otherwise = otherwise
  }
}

/**
 * The error that a failed response stands for. An endpoint may repeat the question, and words that stand there too count for nothing.
 * No message repeats what was sent or received; the server's own words stand beside it, for whoever runs this.
 */
export function failureOf(
  response: {
    readonly status: number
    readonly json: unknown
    readonly text: string
    readonly retryAfterMs?: number
    /** Where a redirect leads. */
    readonly location?: string | undefined
  },
  sent: SentRequest,
): Error {
  const said = refusalText(response.status, response.json ?? response.text)
  let words: string | undefined
  const isEchoed = (text: string) => {
    words ??= bare(JSON.stringify(sent.body))
    return words.includes(bare(text))
  }
  const isAnswer = response.status >= 200 && response.status < 300
  const named = said.name === undefined ? '' : ` (${said.name})`
  const why = `${isAnswer ? `${ERROR_FOR_ANSWER}: ` : ''}status ${said.status}${named}`
  const row = rowFor(said, isEchoed)
  const delayMs = response.retryAfterMs ?? waitIn(said.words) ?? said.resetMs
  const error = errorOf(row ?? kindOfStatus(said.status), {
    why,
    delayMs,
    filtered: said.filtered,
    problem: row === undefined ? problemOf(said.status) : undefined,
  })
  const location = isRedirect(response.status) ? response.location : undefined
  error.saidByServer = () => wordsForOperator(location === undefined ? said.words : [`Location: ${location}`], sent)
  const parameter = sent.isDecision
    ? refusedInterface(row, said.status)
    : row?.kind === 'no-images'
      ? IMAGES
      : row === undefined && OF_PARAMETERS.has(said.status)
        ? refusedParameter(said, isEchoed)
        : undefined
  if (parameter === undefined || !(error instanceof PermanentError || parameter.trait === 'decisions')) return error
  return new ParameterNamed(parameter, why, error)
}

/** Whether a response says that decisions are not asked for so; undefined where it says something else. */
function refusedInterface(row: RefusalRow | undefined, status: number): RefusedParameter | undefined {
  if (row?.kind === 'no-images') return { trait: 'decisions', words: '', perhaps: true }
  if (
    row !== undefined &&
    !(row.kind === 'question' || row.operatorAction === 'model' || row.operatorAction === 'permission')
  )
    return undefined
  if (NO_INTERFACE.has(status) || isRedirect(status)) return { trait: 'decisions', words: '' }
  return PERHAPS_NO_INTERFACE.has(status) ? { trait: 'decisions', words: '', perhaps: true } : undefined
}

const IMAGES: RefusedParameter = { trait: 'images', words: '' }

function errorOf(
  { kind, operatorAction }: Pick<RefusalRow, 'kind' | 'operatorAction'>,
  {
    why,
    delayMs,
    filtered,
    problem,
  }: Pick<RefusalText, 'filtered'> & {
    readonly why: string
    readonly delayMs: number | undefined
    /** What its status alone says is to be mended. */
    readonly problem: string | undefined
  },
): PermanentError | RetryLaterError {
  const wait = delayMs === undefined ? {} : { delayMs, costsAttempt: false }
  switch (kind) {
    case 'content':
      return new PermanentError('content-filter', why, { filtered })
    case 'too-long':
      return new PermanentError('rejected', `${why}: the question is too long for this model`, {
        elsewhere: 'question',
      })
    case 'no-images':
    case 'question':
      return new PermanentError('rejected', why)
    case 'load':
      // It works and is busy: however often it says so, the question was not at fault.
      return new RetryLaterError('rate-limited', why, { ...wait, costsAttempt: false })
    case 'outage':
      return new RetryLaterError('unavailable', why, wait)
    case 'unknown':
      return new UnknownRefusal('unavailable', why, wait)
    case 'operator': {
      const what = operatorAction ?? 'permission'
      // Every model of the endpoint has the same key.
      const elsewhere = what === 'key' ? 'endpoint' : 'model'
      return new PermanentError('rejected', `${why}: ${problem ?? PROBLEMS[what]}`, { elsewhere, operatorAction: what })
    }
  }
}

const PROBLEMS = {
  quota: 'the account has no quota or credit left',
  key: 'the key is not accepted',
  permission: 'the account may not do this',
  model: 'there is no such model',
} as const

function problemOf(status: number): string | undefined {
  if (status === 404) return 'there is no such model, or no such address'
  return isRedirect(status) ? 'it sends to another address, which is not followed' : undefined
}

function rowFor(said: RefusalText, isEchoed: (text: string) => boolean): RefusalRow | undefined {
  return REFUSALS.find(
    ({ status, codes = [], words }) =>
      (status === undefined || status.includes(said.status)) &&
      (codes.some((code) => said.codes.has(code)) ||
        (words !== undefined && said.words.some((text) => isMatched(words, text, isEchoed)))),
  )
}

/** Most places in one text that are looked at. */
const MAX_FOUND = 20

function isMatched(words: RegExp, text: string, isEchoed: (text: string) => boolean): boolean {
  if (!words.test(text)) return false
  return [...text.matchAll(new RegExp(words.source, 'gi'))].slice(0, MAX_FOUND).some(([one]) => !isEchoed(one))
}

/** A text without case, white space, quotes and escapes: an endpoint may repeat it in its own spelling. */
function bare(text: string): string {
  return text.toLowerCase().replace(/&(quot|#39|#34|apos|amp|lt|gt);|\\[nrtu"'\\/]|[\s"'`\\]/g, '')
}

/** Codes, words and categories of a response, from any place where servers put them. */
function refusalText(status: number, body: unknown): RefusalText {
  const codes = new Set<string>()
  const words: string[] = []
  const filtered: FilterRefusal[] = []
  const parameters: string[] = []
  let [inner, name]: [number | undefined, string | undefined] = [undefined, undefined]
  let resetMs: number | undefined
  const see = (value: unknown, field: string, depth: number) => {
    if (field === 'param' || field === 'loc') parameters.push(...pathsIn(value))
    if (depth > MAX_DEPTH || words.length >= MAX_TEXTS || ECHOES.has(field)) return
    if (typeof value === 'string' || typeof value === 'number') {
      const text = String(value).slice(0, MAX_CHARS)
      if (CODES.has(field) || field === 'param') codes.add(text.toLowerCase())
      if (field === 'code' && /^[45]\d\d$/.test(text)) inner ??= Number(text)
      if (field === 'code' && NAMED.has(text.toLowerCase())) name ??= text
      // A wait stands in fields of their own, too.
      if (field === 'retryDelay') words.push(`retryDelay ${text}`)
      if (field === 'estimated_time') words.push(`retry after ${text}s`)
      if (!WORDS.has(field)) return
      const json = /^\s*[[{]/.test(text) ? jsonIn(String(value)) : undefined
      if (json === undefined) words.push(text)
      else see(json, 'error', depth + 1)
      return
    }
    if (Array.isArray(value)) {
      for (const one of value.slice(0, MAX_TEXTS)) see(one, field, depth + 1)
      return
    }
    if (typeof value !== 'object' || value === null) return
    if (field === 'headers') {
      resetMs ??= resetIn(value)
      return
    }
    for (const [key, one] of Object.entries(value).slice(0, 100)) {
      if (/^content_filter_results?$/.test(key)) filtered.push(...categoriesIn(one))
      else if (key === 'reasons' || key === 'categories') {
        const found = Array.isArray(one) ? one.slice(0, 20).flatMap((category) => named(category)) : []
        filtered.push(...found)
        // OpenRouter shows by this alone that its moderation, and not a permission, is behind a 403.
        if (found.length > 0 && field === 'metadata' && status === 403) codes.add('content_filter')
      } else see(one, key, depth + 1)
    }
  }
  see(body, 'error', 0)
  const failedCheck = words
    .map((text) => /Failed check: (\w{1,60})/.exec(text)?.[1])
    .find((check) => check !== undefined)
  if (failedCheck !== undefined) filtered.push(...named(failedCheck))
  // A gateway that answers 200 gives the status of the server behind it in the code.
  return {
    status: status >= 200 && status < 300 ? (inner ?? status) : status,
    codes,
    words,
    filtered,
    parameters,
    name,
    resetMs,
  }
}

/** A field of the request: `param` is its name, FastAPI's `loc` the way to it. */
function pathsIn(value: unknown): string[] {
  const path = Array.isArray(value) ? value.slice(0, MAX_DEPTH).map(String).join('.') : value
  // Anything else may be the question.
  return typeof path === 'string' && /^[\w.$[\]-]{1,100}$/.test(path) ? [path] : []
}

/** Azure's results by category: those that were filtered, with their severity. */
export function categoriesIn(results: unknown): FilterRefusal[] {
  if (Array.isArray(results)) return results.slice(0, 20).flatMap((one) => categoriesIn(one))
  if (typeof results !== 'object' || results === null) return []
  return Object.entries(results)
    .slice(0, 20)
    .flatMap(([category, result]) => {
      if (typeof result !== 'object' || result === null || !('filtered' in result) || result.filtered !== true)
        return []
      const severity = 'severity' in result && typeof result.severity === 'string' ? word(result.severity) : undefined
      return named(category).map((one) => (severity === undefined ? one : { ...one, severity }))
    })
}

function named(category: unknown): FilterRefusal[] {
  const name = typeof category === 'string' ? word(category) : undefined
  return name === undefined ? [] : [{ category: name }]
}

/** A name that a server gave, if it looks like one: some servers repeat the question there. */
function word(text: string): string | undefined {
  const name = text.toLowerCase().replace(/[\s-]+/g, '_')
  return /^[a-z][a-z0-9_/]{0,39}$/.test(name) ? name : undefined
}

/** A wait that is named in words, in ms: `try again in 1m47.5s`, `retry after 20 seconds`, `retryDelay 58s`. */
function waitIn(words: readonly string[]): number | undefined {
  for (const text of words) {
    const [, said] =
      /(?:(?:try again|retry)(?: again)? (?:in|after)|retryDelay\W{1,4}|estimated_time\W{1,4}) ?((?:\d{1,6}(?:\.\d{1,12})? ?(?:ms|h|m|s)[a-z]{0,8} ?){1,3})/i.exec(
        text,
      ) ?? []
    if (said === undefined) continue
    const ms = [...said.matchAll(/(\d{1,6}(?:\.\d{1,12})?) ?(ms|h|m|s)/gi)].reduce(
      (sum, [, amount, unit]) => sum + Number(amount) * (entryOf(UNITS, unit?.toLowerCase() ?? 's') ?? 0),
      0,
    )
    if (ms > 0) return Math.ceil(ms)
  }
  return undefined
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text.slice(0, 16_384))
  } catch {
    return undefined
  }
}
