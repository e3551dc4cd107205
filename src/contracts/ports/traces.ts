import type { ThreadRef } from '../facts/thread.ts'

/** An attribute's value; numbers are written as doubles unless they are whole. */
export type TraceValue = string | number | boolean | readonly string[]

/** A span of a trace, with ids in hexadecimal and times in ms since 1970. */
export interface TraceSpan {
  readonly traceId: string
  readonly spanId: string
  /** Absent for the root. */
  readonly parentId?: string
  readonly name: string
  /** `client`: a call to another service. */
  readonly kind: 'internal' | 'client'
  readonly startMs: number
  readonly endMs: number
  readonly attributes: Readonly<Record<string, TraceValue>>
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[]
  /** Set if it failed: a code, never a model's or a stranger's words. */
  readonly failed?: string
}

/** Something that happened, as a log record; beside a span if that is known. */
export interface TraceEvent {
  readonly name: string
  readonly atMs: number
  readonly traceId?: string
  readonly spanId?: string
  readonly attributes: Readonly<Record<string, TraceValue>>
}

/**
 * How a collector answered. `accepted`: it has it all, but for so many that it `rejected` for good. `again`: it may take it later, not
 * before `delayMs`. `refused`: it never will.
 */
export type ExportOutcome =
  | { readonly end: 'accepted'; readonly rejected: number; readonly why: string }
  | { readonly end: 'again'; readonly delayMs: number; readonly why: string }
  | { readonly end: 'refused'; readonly why: string }

/** Where traces go. A call ends within a set time; what was sent twice has the same ids. */
export interface TraceSink {
  sendSpans(spans: readonly TraceSpan[], signal: AbortSignal): Promise<ExportOutcome>
  sendEvents(events: readonly TraceEvent[], signal: AbortSignal): Promise<ExportOutcome>
}

/** The trace contexts that messages of a subject came with: the newest of them. They outlive no thread. */
export interface TraceLinks {
  /** `most`: bytes that a tenant may hold; beyond it nothing is noted of a subject that has none. null: no limit. */
  note(of: ReadonlyMap<ThreadRef, readonly string[]>, most: number | null): Promise<void>
  read(ref: ThreadRef): Promise<readonly string[]>
  forget(ref: ThreadRef): Promise<void>
}
