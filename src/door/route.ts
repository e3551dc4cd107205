import type { Scope } from '../contracts/facts/api-key.ts'
import { BytesResponse } from '../platform/bytes-response.ts'
import type { Dependency, TimeOfCall } from './in-time.ts'
import type { ProblemName, RequestRefused } from './problem.ts'
import type { ChargedParts } from './request-units.ts'

/** How much may be done: on average, and at once. */
export interface KeyRate {
  readonly perSecond: number
  readonly burst: number
}

/** Who asks: whom a key belongs to, and what it may do. */
export interface Caller {
  readonly id: string
  readonly tenant: string
  readonly scopes: ReadonlySet<Scope>
  /** Who acts, as decisions name them. */
  readonly by: string
  readonly rate: KeyRate
}

/** A request that may be answered. */
export interface DoorCall extends TimeOfCall {
  /** Of the request: on its answer, in its problem, in the log. */
  readonly id: string
  readonly caller: Caller
  readonly headers: Headers
  readonly body: Buffer
  readonly query: URLSearchParams
  /** What stands in the path for `{name}`, decoded. */
  param(name: string): string
  /** How the door was asked for: `https://gavel.example`, without a slash at its end. */
  readonly base: string
  /** Aborts when nobody waits any more, or the door is about to close. Made where it is asked for: it outlives short collections. */
  signal(): AbortSignal
  /**
   * Does work that takes long for a large answer: callers take turns, so that nobody who asks for a thousand keeps the others waiting. Rejects
   * if the caller has gone before its turn.
   */
  inTurn<Result>(work: () => Promise<Result>): Promise<Result>
  /**
   * Does work while what its body says is in memory: a large one waits for room beside the others, and its time begins anew with that.
   * Rejects if the caller has gone before.
   */
  unpacked<Result>(work: () => Promise<Result>): Promise<Result>
  /** Reads the body: a large one in turn. */
  reading<Result>(work: () => Promise<Result>): Promise<Result>
  /** Aborts when the door is about to close. */
  readonly closing: AbortSignal
  /** Charges the key for the whole request, once: the door has charged the first unit before. Throws the problem of a rate that is reached. */
  charge(parts: ChargedParts): void
  /** Throws the problem of a key that has expired, was revoked or may do less since the request came. */
  checkKey(): void
}

/** How long the store may take for what no client waits for otherwise, in ms. */
export const STORE_MS = 3_000

/** JSON Schema, with references to components. */
export type Schema = Readonly<Record<string, unknown>>

/** The description of a route in the OpenAPI document. */
export interface Operation {
  readonly operationId: string
  readonly deprecated?: true
  readonly summary: string
  readonly description?: string
  readonly parameters?: readonly {
    readonly name: string
    readonly in: 'query' | 'path'
    readonly description: string
    readonly schema: Schema
    readonly example?: unknown
  }[]
  readonly request?: { readonly schema: Schema; readonly example: unknown }
  readonly response: { readonly status: number; readonly description: string; readonly schema?: Schema }
  /** Other answers that are no problem. */
  readonly others?: readonly { readonly status: number; readonly description: string; readonly schema?: Schema }[]
}

/** A method of a path. */
export interface DoorRoute {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** As OpenAPI writes it: `/v1/subjects/{id}`. */
  readonly path: string
  /** What a key must be allowed; null where none is asked for. */
  readonly scope: Scope | null
  /** Another that is enough as well. */
  readonly orScope?: Scope
  /** Keys are also taken where Google's clients put them: `key` in the query, and `x-goog-api-key`. */
  readonly googleKeys?: true
  readonly takesBody?: true
  readonly operation: Operation
  /**
   * What it has no answer without, and how long that takes at most, in ms: later the answer is given up. Without `withinMs` the
   * route itself sets it, by `within`, once it has read the request. Absent where nothing is waited for.
   */
  readonly needs?: { readonly dependency: Dependency; readonly withinMs?: number }
  /** The problems that it has beside those of every route. */
  readonly problems: readonly ProblemName[]
  answer(call: DoorCall): Promise<Response> | Response
  /** The form of its refusals where others have laid it down. */
  refuse?(refused: RequestRefused, id: string): Response
}

/** An answer in JSON. */
export function json(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Response {
  const bytes = Buffer.from(`${JSON.stringify(body)}\n`)
  return new BytesResponse(bytes, {
    status,
    headers: { 'content-type': 'application/json', 'content-length': String(bytes.length), ...headers },
  })
}
