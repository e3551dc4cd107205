import { randomUUID } from 'node:crypto'
import { OpenAPIHono } from '@hono/zod-openapi'
import type { ApiKey } from '../contracts/facts/api-key.ts'
import { didYouMean } from '../contracts/facts/did-you-mean.ts'
import { withServersWords } from '../contracts/facts/errors.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { DoorOutcome, Events, Report } from '../contracts/ports/report.ts'
import { forAsker } from '../platform/asked-for.ts'
import { rates } from '../platform/rates.ts'
import { staticAnswer } from '../platform/static-answer.ts'
import type { Asker } from '../platform/who-asks.ts'
import { bodyOf, bodyRoom, CLOSE, checkBodyHeaders } from './body.ts'
import { documentOf } from './document.ts'
import { answerTimes, type Dependency } from './in-time.ts'
import { callers } from './keys.ts'
import { PROBLEM_NAMES, PROBLEMS, type ProblemName, RequestRefused, refusal } from './problem.ts'
import { requestTurns } from './request-turns.ts'
import { answerUnits, bodyUnits, type ChargedParts, readUnits, requestUnits } from './request-units.ts'
import { type Caller, type DoorRoute, json, type KeyRate } from './route.ts'
import { knownParameters } from './unknown-fields.ts'

/** Whence a request comes, as the server has seen it. */
export interface DoorClient {
  readonly asker: Asker
  /** The Host header, where there is one and the door may be asked for by it. */
  readonly host: string
  readonly isKnownHost: boolean
  /** Counts the request as theirs until it is answered; false if their tenant already holds half of the connections. */
  countFor(asker: Asker): boolean
}

export interface DoorSettings {
  readonly publicUrl: string
  readonly origins: readonly string[]
  readonly bodyBytes: number
  readonly bodies: number
  readonly rate: KeyRate
}

export interface DoorParts {
  readonly settings: DoorSettings
  readonly routes: readonly DoorRoute[]
  readonly keys: () => ReadonlyMap<string, ApiKey>
  readonly openAs: string | null
  /** Whether this is known not to answer now. */
  readonly isAway: (dependency: Dependency) => boolean
  /** Aborts when the door is about to close: what waits is answered. */
  readonly closing: AbortSignal
  readonly version: string
  readonly clock: Clock
  readonly report: Report
}

type Env = { Bindings: { from: DoorClient } }

/** The door as a function of requests, and the document that describes it. */
export interface Door {
  fetch(request: Request, from: DoorClient): Promise<Response>
  readonly document: object
}

/** Every route behind the same checks; `/openapi.json` and `/problems/NAME` ask for no key. */
export function door(parts: DoorParts): Door {
  const { settings, closing, report } = parts
  const routes = [...parts.routes, ...openRoutes(() => document)]
  const app = new OpenAPIHono<Env>()
  const document = documentOf(app, parts.routes, parts.version)
  const [room, turnsOf, timeOf] = [bodyRoom(settings.bodies), requestTurns(), answerTimes(parts.isAway)]
  const tellRefused = refusalTeller(parts)
  const who = callers({ keys: parts.keys, rate: settings.rate, openAs: parts.openAs, clock: parts.clock })

  async function answer(
    route: DoorRoute,
    request: Request,
    from: DoorClient,
    param: (name: string) => string,
  ): Promise<Response> {
    const id = requestId(request.headers)
    let [began, held, holder] = [performance.now(), 0, NOBODY]
    const time = timeOf(route.needs?.dependency, request.signal)
    const respond = async () => {
      if (closing.aborted)
        throw new RequestRefused('draining', 'the door is closing', { headers: { connection: 'close' } })
      const query = new URLSearchParams(queryOf(request.url))
      const caller = route.scope === null ? NOBODY : who.identify(route, request.headers, query, from.asker.network)
      holder = caller
      // The first unit is charged before the body is read, the rest once the request's parts are known.
      const chargeRest = route.scope === null ? null : who.admit(caller)
      const charge = (parts: ChargedParts) => chargeRest?.(requestUnits(parts), bodyUnits(body))
      const asker = route.scope === null ? from.asker : countIn(from, caller)
      if (route.takesBody) checkBodyHeaders(request.headers, mayBeUntyped(route, request.headers, query))
      if (route.needs !== undefined) time.ofCall.checkAnswers(route.needs.dependency)
      const hold = (bytes: number) => {
        room.take(caller.tenant, bytes)
        held += bytes
      }
      const body = route.takesBody ? await bodyOf(request, settings.bodyBytes, hold) : Buffer.alloc(0)
      who.owe(caller, bodyUnits(body))
      began = performance.now()
      const { worked, ...turns } = turnsOf({ route, asker, time: time.ofCall, body })
      return await worked(async (waiting) => {
        if (route.needs !== undefined) time.ofCall.checkAnswers(route.needs.dependency)
        const call = {
          id,
          caller,
          headers: request.headers,
          body,
          query: knownParameters(route, query),
          param,
          charge,
          checkKey: () => (route.scope === null ? undefined : who.identifyAgain(route, request.headers, query)),
          base: settings.publicUrl === '' ? `http://${from.host}` : settings.publicUrl.replace(/\/+$/, ''),
          ...time.ofCall,
          ...turns,
          waiting,
          closing,
          signal: () => AbortSignal.any([time.ofCall.gone(), closing]),
        }
        const owes = (ms: number) => who.owe(caller, readUnits(ms))
        return forAsker(asker, { gone: time.ofCall.gone, owes }, () => route.answer(call))
      })
    }
    let response: Response
    try {
      response = await time.answer(respond())
    } catch (error) {
      const isOurs = !(error instanceof RequestRefused)
      if (isOurs && !request.signal.aborted) report('error', { where: 'door', error })
      const refused = isOurs ? new RequestRefused('failed', 'something went wrong here') : error
      response = (route.refuse ?? refusal)(refused, id)
      tellRefused(refused, response, { requestId: id, route: route.path, key: holder.id, network: from.asker.network })
    }
    who.owe(holder, answerUnits(response))
    room.free(holder.tenant, held)
    const waitedMs = time.waitedMs()
    const seconds = (performance.now() - began - waitedMs) / 1000
    const outcome = request.signal.aborted ? 'left' : outcomeOf(response.status)
    report('door:answered', { route: route.path, outcome, ownSeconds: seconds, waitSeconds: waitedMs / 1000 })
    response.headers.set('x-request-id', id)
    return response
  }

  /** Refuses a request that no route takes. */
  function turnAway(refused: RequestRefused, { headers }: Request, { asker }: DoorClient): Response {
    const id = requestId(headers)
    const response = refusal(refused, id)
    report('door:answered', { route: NO_ROUTE, outcome: outcomeOf(response.status), ownSeconds: 0, waitSeconds: 0 })
    tellRefused(refused, response, { requestId: id, route: NO_ROUTE, key: '', network: asker.network })
    return response
  }

  for (const [path, ofPath] of Map.groupBy(routes, (route) => route.path)) {
    const allow = [...new Set(ofPath.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])))].join(
      ', ',
    )
    for (const written of spellings(path)) {
      for (const route of ofPath)
        app.on(route.method, written, (context) =>
          answer(route, context.req.raw, context.env.from, (name) => context.req.param(name) ?? ''),
        )
      app.all(written, ({ req, env }) =>
        turnAway(new RequestRefused('method', `${path} takes ${allow}`, { headers: { allow } }), req.raw, env.from),
      )
    }
  }
  const paths = routes.map(({ path }) => path)
  app.notFound(({ req, env }) =>
    turnAway(new RequestRefused('not-found', `no route has this path.${nearest(req.path, paths)}`), req.raw, env.from),
  )
  app.onError((error, { req, env }) => {
    report('error', { where: 'door', error })
    return turnAway(new RequestRefused('failed', 'something went wrong here'), req.raw, env.from)
  })

  return {
    document,
    async fetch(request, from) {
      const response = await checked(request, from)
      for (const [name, value] of Object.entries(ALWAYS))
        if (!response.headers.has(name)) response.headers.set(name, value)
      if (closing.aborted) response.headers.set('connection', 'close')
      return allowed(response, request, settings.origins)
    },
  }

  async function checked(request: Request, from: DoorClient): Promise<Response> {
    if (!from.isKnownHost) return turnAway(new RequestRefused('host', 'the Host header is not allowed'), request, from)
    if (!isDecodable(request.url))
      return turnAway(new RequestRefused('bad-id', 'a percent sign is followed by no escape'), request, from)
    const isPreflight = request.method === 'OPTIONS' && request.headers.has('access-control-request-method')
    if (isPreflight && isAllowedOrigin(request, settings.origins))
      return new Response(null, { status: 204, headers: PREFLIGHT })
    return app.fetch(request, { from })
  }
}

/**
 * Whether a body may come without a Content-Type: as Google's example in Python sends it, with a key, which `identify` has accepted.
 * Without one a page of another site could send as much to a door that needs none.
 */
function mayBeUntyped({ googleKeys }: DoorRoute, headers: Headers, query: URLSearchParams): boolean {
  return googleKeys === true && (query.has('key') || headers.has('x-goog-api-key') || headers.has('authorization'))
}

const NOBODY: Caller = { id: '', tenant: '', scopes: new Set(), by: '', rate: { perSecond: 1, burst: 1 } }

/** Who asks, counted among the requests of its tenant. Throws the problem of too many. */
function countIn(from: DoorClient, { tenant, id }: Caller): Asker {
  const asker = { ...from.asker, tenant, key: id }
  if (!from.countFor(asker))
    throw new RequestRefused('back-pressure', 'other requests of this tenant hold half of the connections', {
      headers: CLOSE,
    })
  return asker
}

/** Tells of refusals: seldom of strangers' from one network, who pay nothing for one and could fill a log. */
function refusalTeller({ report, clock }: Pick<DoorParts, 'report' | 'clock'>) {
  const told = rates()
  return (
    { problem, more: { cause } }: RequestRefused,
    { status }: Response,
    of: Omit<Events['door:refused'], 'problem' | 'status' | 'why'>,
  ): void => {
    // What is refused for its rate costs its key nothing.
    const isBounded = of.key === '' || problem === 'rate'
    const isTold = !isBounded || told.take(of.key || of.network, SELDOM, { units: 1, own: 0 }, clock()) === null
    const why = cause instanceof Error ? withServersWords(cause) : cause
    if (isTold) report('door:refused', { ...of, status, problem, ...(why === undefined ? {} : { why: String(why) }) })
  }
}

/** Once in ten seconds. */
const SELDOM = { perSecond: 0.1, burst: 1 }

/** Where no route takes a request. */
const NO_ROUTE = 'none'

const ALWAYS = { 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' }

const PREFLIGHT = {
  'access-control-allow-methods': 'GET, POST, DELETE',
  'access-control-allow-headers': 'authorization, content-type, x-request-id',
  'access-control-max-age': '600',
}

function isAllowedOrigin(request: Request, origins: readonly string[]): boolean {
  return origins.includes(request.headers.get('origin') ?? '')
}

/** The answer, with what lets a web page of an allowed origin read it. */
function allowed(response: Response, request: Request, origins: readonly string[]): Response {
  if (origins.length === 0) return response
  response.headers.append('vary', 'origin')
  if (!isAllowedOrigin(request, origins)) return response
  response.headers.set('access-control-allow-origin', request.headers.get('origin') ?? '')
  response.headers.set('access-control-expose-headers', 'x-request-id, retry-after, location')
  return response
}

/** The client's own id of a request, where it is one that may stand in a log and a header; else a new one. */
function requestId(headers: Headers): string {
  const given = headers.get('x-request-id') ?? ''
  return /^[A-Za-z0-9._-]{1,128}$/.test(given) ? given : `req_${randomUUID()}`
}

function outcomeOf(status: number): DoorOutcome {
  if (status < 400) return 'answered'
  if (status === 429) return 'busy'
  if (status === 503) return 'away'
  return status < 500 || status === 501 ? 'refused' : 'failed'
}

/** How a path is written for the router; what stands for a colon in it may be escaped. */
function spellings(path: string): string[] {
  const written = path.replace(/\{(\w+)\}/g, ':$1')
  return path.includes(':') ? [written, written.replace(':', '%3A'), written.replace(':', '%3a')] : [written]
}

function queryOf(url: string): string {
  const at = url.indexOf('?')
  return at === -1 ? '' : url.slice(at + 1)
}

function isDecodable(url: string): boolean {
  try {
    decodeURIComponent(url.split('?', 1)[0] ?? '')
    return true
  } catch {
    return false
  }
}

/** Longer paths are no slip of the pen. */
const LONGEST_SLIP = 100

/** The path that was probably meant, in words. */
function nearest(asked: string, paths: readonly string[]): string {
  if (asked.length > LONGEST_SLIP) return ''
  return didYouMean(asked, paths) || didYouMean(`/v1${asked}`, paths)
}

/** Routes that say what the door is. */
function openRoutes(document: () => object): DoorRoute[] {
  const open = { method: 'GET', scope: null, problems: [] } as const
  const described = staticAnswer('application/json', () => `${JSON.stringify(document())}\n`)
  const response = { status: 200, description: '', schema: {} }
  return [
    {
      ...open,
      path: '/openapi.json',
      operation: { operationId: 'document', summary: 'This document', response },
      answer: ({ headers }) => described(headers),
    },
    {
      ...open,
      path: '/problems/{name}',
      operation: { operationId: 'problem', summary: 'A problem, with advice', response },
      answer({ param }) {
        const name = PROBLEM_NAMES.find((known) => known === param('name')) as ProblemName | undefined
        if (name === undefined) throw new RequestRefused('not-found', 'no problem has this name')
        return json(200, { type: `/problems/${name}`, ...PROBLEMS[name] })
      },
    },
  ]
}
