import type { DeadLetterReason, Outcome } from '../domain/messages.ts'
import type { Verdict } from '../domain/verdict.ts'

/** Everything that Gavel says about its own work. Ids are for the log; they never become labels. */
export interface Events {
  /** Input messages got their outcome. */
  'messages:settled': { topic: string; outcome: Outcome; count: number }
  /** A message could not be read or judged. */
  'message:dead': { topic: string; partition: number; offset: string; reason: DeadLetterReason; detail: string }
  /** Fetching stopped, or went on, because of the backlog. */
  'intake:paused': { strains: readonly string[]; reason: string }
  'intake:resumed': Record<string, never>
  'case:opened': { caseId: string; protocol: string; final: boolean }
  'case:concluded': { caseId: string; protocol: string; rounds: number }
  /** A worker found that another has taken its case over; its result was thrown away. */
  'case:fenced': { caseId: string }
  /** An open case had no live job and got one. */
  'case:revived': { caseId: string }
  /** An ask was picked up; `waitSeconds` is its time in the stage's queue. */
  'ask:started': { protocol: string; stage: string; waitSeconds: number }
  'ask:ended': { protocol: string; stage: string; seconds: number; outcome: 'answered' | 'failed' | 'retry' | 'stale' }
  /** A job whose worker gave no sign of life was given to another. */
  'job:stalled': { queue: string }
  /** One call to a model came to its end. */
  'call:ended': {
    protocol: string
    stage: string
    model: string
    outcome: string
    seconds: number
    promptTokens: number
    completionTokens: number
    costUsd: number
  }
  /** Questions, or pieces of one, were answered without being asked; and the tokens that they took when they were. */
  'memo:hit': { protocol: string; stage: string; hits: number; promptTokens: number; completionTokens: number }
  /** A limit was reached, of a model or a tenant, and the call waits. */
  'call:limited': { scope: string; waitMs: number }
  /** A budget had no room for a call. */
  'budget:refused': { scope: string; unit: string; why: string }
  /** A model is kept away from, tried again, or back. */
  'breaker:changed': { model: string; to: 'closed' | 'open' | 'half-open' }
  /** A verdict was acknowledged by Kafka. */
  'verdict:published': { verdict: Verdict; latencySeconds: number; overheadSeconds: number }
  'kafka:lag': { topic: string; messages: number; seconds: number }
  'stage:backlog': { protocol: string; stage: string; states: Record<string, number>; oldestWaitingSeconds: number }
  /** Counts of shared state: open cases, the outbox, threads with a due time. */
  /** Asks of this process that hold a model slot, and asks that wait for one. */
  'slots:counted': { busy: number; waiting: number }
  /** Whether a protocol opens cases now. */
  'protocol:watched': { protocol: string; paused: boolean }
  /** The share of its `maxmemory` that Redis uses, 0 where it has none; whether it lost what it had acknowledged. */
  'store:watched': { memoryShare: number; lost: boolean }
  /** Redis lost what it had acknowledged: nothing is opened or taken in until it has been recovered. */
  'store:lost': { why: string; advice: string }
  'store:recovered': Record<string, never>
  /** Redis refuses writes, for want of memory; and takes them again. */
  'store:full': { advice: string }
  'store:writable': Record<string, never>
  /** How long this process has been without a working consumer. */
  'consumer:watched': { downSeconds: number }
  /** `clockLagSeconds` is null while the stream's clock has not started. */
  'state:counted': { openCases: number; outbox: number; due: number; clockLagSeconds: number | null }
  /** What is published to a topic waits, since the broker does not take it there; or goes on. */
  'publication:held': { what: 'verdict' | 'dead-letter'; held: boolean; why: string }
  /** Something outside failed and will be tried again. */
  'trouble:met': { where: string; error: unknown }
  'service:started': { roles: readonly string[]; httpPort: number }
  /** The key of fences and draws was not set, or is another than before. */
  'key:unset': { advice: string }
  'key:changed': { advice: string }
  /** The port can be reached from other machines, and asks for no token. */
  'service:exposed': { host: string; advice: string }
  'service:stopping': { reason: string }
  'service:stopped': Record<string, never>
}

/** Tells whoever listens. Never throws and never waits: an observer can't hurt the work. */
export type Report = <Name extends keyof Events>(name: Name, event: Events[Name]) => void

export type Listener = Report

/** One report for many listeners; a listener that throws is told to `complain`, and the others still hear. */
export function broadcast(listeners: readonly Listener[], complain: (error: unknown) => void): Report {
  return (name, event) => {
    for (const listen of listeners) {
      try {
        listen(name, event)
      } catch (error) {
        try {
          complain(error)
        } catch {
          // Whoever would be told is gone too.
        }
      }
    }
  }
}
