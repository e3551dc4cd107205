import type { AgreementFigure } from '../facts/agreement.ts'
import type { AppealOutcome } from '../facts/appeal-messages.ts'
import type { RefusedSetting } from '../facts/broker-refusal.ts'
import type { DialectTrait } from '../facts/dialect.ts'
import type { CallOutcome, OutageReason } from '../facts/errors.ts'
import type { FilterRefusal } from '../facts/filtered.ts'
import type { DeadLetterReason, Outcome } from '../facts/messages.ts'
import type { ShadowVerdict } from '../facts/shadow-verdict.ts'
import type { ThreadRef } from '../facts/thread.ts'
import type { Verdict } from '../facts/verdict.ts'
import type { BudgetScope, BudgetUnit, RefusalReason } from './budgets.ts'
import type { LimitKind } from './call-limits.ts'
import type { DecisionResult } from './decisions.ts'
import type { OpenAppeals, RecordSize } from './record.ts'
import type { LaneAudit, LaneInUse, ReviewState } from './review.ts'

/** The parts of Gavel that report errors: the values of the metric label `where`. */
export const ERROR_SOURCES = [
  'answers',
  'backlog',
  'backpressure',
  'budgets',
  'bullmq',
  'certificates',
  'clock',
  'decisions',
  'door',
  'console',
  'erasure',
  'gateway',
  'jetstream',
  'kafka',
  'kafkajs',
  'keys',
  'limits',
  'listener',
  'memo',
  'memory',
  'opener',
  'opening',
  'partitions',
  'dialects',
  'protocols',
  'publisher',
  'record',
  'reconciler',
  'redis',
  'script',
  'sources',
  'store',
  'stream',
  'unworked',
  'webhooks',
  'worker',
] as const
export type ErrorSource = (typeof ERROR_SOURCES)[number]

/** Where an error occurred: its source and, after a space and only for the log, which one: `worker rumor.stance`. */
export type ErrorPlace = ErrorSource | `${ErrorSource} ${string}`

/** The source of an error, without the part that is only for the log. */
export function sourceOf(place: ErrorPlace): ErrorSource {
  const space = place.indexOf(' ')
  return (space === -1 ? place : place.slice(0, space)) as ErrorSource
}

/** Why an endpoint's word on its usage is not taken: there is none, or it is more than ten times what the call can use. */
export const UNMETERED = ['missing', 'beyond'] as const
export type UnmeteredReason = (typeof UNMETERED)[number]

/** How an attempt at an ask ended; `stale`: its case had moved on without it. */
export const ASK_OUTCOMES = ['answered', 'failed', 'retry', 'stale'] as const
export type AskOutcome = (typeof ASK_OUTCOMES)[number]

/** Why intake is paused, no case opens, or the door takes no question. */
export const PRESSURE_KINDS = [
  'due-depth',
  'outbox-depth',
  'letters-depth',
  'outbox-age',
  'store-lost',
  'store-full',
  'store-near-full',
  'store-refused',
] as const
export type PressureKind = (typeof PRESSURE_KINDS)[number]

/**
 * The fault of Redis: it would lose data or hold two versions of them (`split-accepted`: the settings accept that), or
 * it answers and refuses, or its sentinels do not answer.
 */
export const REDIS_FAULTS = [
  'eviction',
  'split',
  'split-accepted',
  'database',
  'rights',
  'scripts',
  'out-of-memory',
  'disk',
  'no-replicas',
  'read-only',
  'loading',
  'master-down',
  'cluster-down',
  'access',
  'sentinels',
] as const
export type RedisFault = (typeof REDIS_FAULTS)[number]

/** Where deleted subjects are erased besides their own threads: on shelves of the library, and in cases that were shown them. */
export const ERASED_FROM = ['shelves', 'cases'] as const
type ErasedFrom = (typeof ERASED_FROM)[number]

/** How much waits, and how long the oldest of it has waited; 0 if nothing does. */
export interface WaitingCount {
  readonly waiting: number
  readonly oldestSeconds: number
}

/** Where something waits longer than the objective allows: unread, as a thread that is due, an open case, or an unpublished record. */
export const OVERDUE_AT = ['kafka', 'due', 'open', 'outbox'] as const
export type OverduePlace = (typeof OVERDUE_AT)[number]

/**
 * How a request at the door ended: `refused` by a fault of its own, `busy` for what others do, `away` because something that it needs does not
 * answer, `failed` by a fault of ours; `left`: its client had gone.
 */
export const DOOR_OUTCOMES = ['answered', 'refused', 'busy', 'away', 'failed', 'left'] as const
export type DoorOutcome = (typeof DOOR_OUTCOMES)[number]

/** How far a group is behind in one partition. */
export interface PartitionLag {
  readonly topic: string
  readonly partition: number
  readonly messages: number
  /** For how long its end has been beyond what the group has committed, as far as it was watched; null before it was. */
  readonly seconds: number | null
}

/** The kinds of published records: proposals go with verdicts; what asks for reviews, what became of decisions, and what sinks get, by itself. */
export const PUBLISHED_KINDS = ['verdict', 'dead-letter', 'decision', 'sink'] as const
export type PublishedKind = (typeof PUBLISHED_KINDS)[number]
/**
 * What a broker refused: records of a kind that this process publishes, what its door or its console writes, or the record with
 * which it is tried at the start.
 */
export const REFUSED_KINDS = [...PUBLISHED_KINDS, 'door-record', 'console-record', 'trial'] as const
export type RefusedKind = (typeof REFUSED_KINDS)[number]

/** How many calls to a model this process may have in flight now, by what the model has been seen to bear. */
export interface ModelCapacity {
  readonly model: string
  readonly limit: number
}

/** How much of a limit or a budget is used: 1 is all of it. `name` is empty for the budget of everything together. */
export interface UsedShare {
  readonly scope: 'model' | 'tenant' | 'total'
  readonly name: string
  readonly unit: 'calls' | 'tokens' | 'in-flight' | 'usd'
  readonly share: number
}

/** Whether a model is called (`closed`), avoided (`open`), or tried by a few probes (`half-open`). */
export type BreakerState = 'closed' | 'open' | 'half-open'

/** The ids to which a line of the log belongs, if known; `gavel show` uses the same. */
export interface Ids {
  readonly caseId?: string
  /** An ask's key in the case's journal. */
  readonly key?: string
  /** The id of a call to a model. */
  readonly callId?: string
}

/** The cases of a line of the log about many: how many there are, and some of them. */
export interface ManyIds {
  readonly cases?: number
  readonly caseIds?: readonly string[]
}

/** Most cases that one line of the log names. */
const MOST_CASES = 5

/** The ids of these cases for one line of the log, each once; nothing if there is none. */
export function casesNamed(caseIds: Iterable<string>): ManyIds {
  const all = [...new Set(caseIds)]
  return all.length === 0 ? {} : { cases: all.length, caseIds: all.slice(0, MOST_CASES) }
}

/** How a try to send a verdict to a receiver ended; `parked`: it was the last; `dropped`: it is not tried, for want of room. */
export const WEBHOOK_OUTCOMES = ['sent', 'failed', 'parked', 'dropped'] as const
export type WebhookOutcome = (typeof WEBHOOK_OUTCOMES)[number]

/** What became of a record of a topic of `sources`. */
export const SOURCE_OUTCOMES = ['mapped', 'passed-over', 'unmapped'] as const
export type SourceOutcome = (typeof SOURCE_OUTCOMES)[number]

/** How a first lane stands: it settles cases, holds for something else than what is in force, or was closed, for all or for some tenants. */
export const LANE_STATES = ['open', 'void', 'closed', 'closed-in-part'] as const
export interface LaneState {
  readonly protocol: string
  /** Its hash, and whose posts alone it settles; null: those of all tenants without one of their own. */
  readonly lane: string
  readonly tenant: string | null
  readonly state: (typeof LANE_STATES)[number]
  /** Why it settles nothing, in words; empty where it does. */
  readonly why: string
}

/**
 * What became of an event that the reader of Jetstream has read. `passed`: it is none of those that are taken; `duplicate`: it was sent before;
 * `erasure`: the account is gone, and all that it wrote is erased; `refused`: Kafka never takes it.
 */
export const JETSTREAM_OUTCOMES = [
  'post',
  'comment',
  'edit',
  'deletion',
  'erasure',
  'duplicate',
  'passed',
  'invalid',
  'too-large',
  'refused',
] as const
export type JetstreamOutcome = (typeof JETSTREAM_OUTCOMES)[number]

/** Everything that Gavel reports about its own work. Ids are for the log; they never become labels. */
export interface Events {
  /** Input messages got their outcome. */
  'messages:settled': { topic: string; outcome: Outcome; count: number }
  /** A message could not be read or judged. */
  'message:dead': Ids & { topic: string; partition: number; offset: string; reason: DeadLetterReason; detail: string }
  /** Records of a topic of `sources` were mapped to messages, or meant by no entry, or could not be mapped. */
  'source:read': { topic: string; outcome: SourceOutcome; count: number }
  /** Fetching was paused because of the backlog, or resumed. */
  'intake:paused': { signals: readonly PressureKind[]; reason: string }
  'intake:resumed': Record<string, never>
  /** Intake would pause by this measure, these tenants have more of it than their shares, and others have messages to read: it reads on for them. Or no more. */
  'shares:kept': { by: PressureKind; tenants: readonly string[] }
  'shares:ended': { by: PressureKind }
  /** No case opens while verdicts pile up; what comes meanwhile waits in the store. Or cases open again. */
  'opening:paused': { signals: readonly PressureKind[]; reason: string }
  'opening:resumed': Record<string, never>
  /** So much is due that less is asked of each case, or is no longer: the step of cases.overload, 0 for none. */
  'overload:step': { step: number }
  'case:opened': { caseId: string; protocol: string; final: boolean }
  'case:concluded': { caseId: string; protocol: string; rounds: number }
  /** A worker found that another has taken its case over; its result was discarded, and `why` is the reason in words. */
  'case:fenced': { caseId: string; why: string }
  /** An open case had no live job and got one. */
  'case:revived': { caseId: string }
  /** Items learnt from deleted subjects were erased from the shelves. */
  'shelves:erased': { subjects: number; items: number }
  /** Cases were cleaned of what they were shown of a deleted subject; those that were not published begin again. */
  'cases:cleaned': { cases: number; restarted: number }
  /** All that somebody wrote was erased, by so many deletions. `erasure` names it without telling who it was. */
  'author:erased': { erasure: string; sent: number }
  /** The erasures that wait. */
  'erasures:counted': Readonly<Record<ErasedFrom, WaitingCount>>
  /** An ask was picked up; `waitSeconds` is its time in the stage's queue. */
  'ask:started': Ids & { protocol: string; stage: string; waitSeconds: number }
  'ask:ended': Ids & { protocol: string; stage: string; seconds: number; outcome: AskOutcome }
  /** A job whose worker sent no heartbeat for too long was given to another. */
  'job:stalled': { queue: string }
  /** A worker could not renew the locks of jobs that it is still running: others may run them, too. */
  'job:lapsed': ManyIds & { queue: string; jobs: number }
  /** The event loop lags: from now on this process takes this part of its slots. 1: it takes them all again. */
  'loop:lagged': { share: number; lagMs: number }
  /** The part of its slots that this process takes has changed, also step by step while it climbs again. */
  'slots:shared': { share: number }
  /** An endpoint's filter refused a question, or stopped its answer. */
  'call:filtered': Ids & { protocol: string; stage: string; model: string; found: readonly FilterRefusal[] }
  /**
   * An endpoint refused a call or failed in it, and said why in words of its own: a line without keys, and without words of the question.
   * Reported once a minute for each kind of failure of a model.
   */
  'call:refused': Ids & { protocol: string; stage: string; model: string; why: string; said: string }
  /** A call to a model ended. */
  'call:ended': Ids & {
    protocol: string
    stage: string
    model: string
    outcome: CallOutcome
    seconds: number
    promptTokens: number
    completionTokens: number
    /** The part of these that were thoughts. */
    thinkingTokens: number
    costUsd: number
    /** Why tokens and cost are an estimate; absent where the endpoint's word is taken. */
    unmetered?: UnmeteredReason
  }
  /**
   * An endpoint does not report the usage of its calls to this model, or reports an impossible one: budgets book the most that each can use,
   * and verdicts an estimate. Reported once an hour.
   */
  'model:unmetered': { model: string; why: UnmeteredReason }
  /** A shelf of the library was searched for a case; `found`: it had something to show. */
  'shelf:searched': Ids & { protocol: string; shelf: string; found: boolean }
  /** Questions, or items of a batch, were answered from the memo; and the tokens that their answers had cost. */
  'memo:hit': Ids & { protocol: string; stage: string; hits: number; promptTokens: number; completionTokens: number }
  /** A limit of a model or a tenant was reached, and the call waits. */
  'call:limited': Ids & { scope: LimitKind; waitMs: number }
  /** A budget had no room for a call. */
  'budget:refused': Ids & { scope: BudgetScope; unit: BudgetUnit; why: RefusalReason }
  /** A model's refusals have shown what it takes; once for each thing. */
  'dialect:learnt': { model: string; parameter: DialectTrait; lesson: string; setting: string }
  /** A tenant's budget, or the total one, is spent, and when it renews; and that there is room again after that. */
  'budget:spent': { scope: BudgetScope; unit: BudgetUnit; tenant?: string; renewsInSeconds: number; advice: string }
  'budget:renewed': { scope: BudgetScope; unit: BudgetUnit; tenant?: string; afterSeconds: number }
  /** A model's circuit breaker changed its state; and why the model is, or was, left alone. */
  'breaker:changed': { model: string; to: BreakerState; reason: OutageReason }
  /** This process leaves a model alone, or does so for another reason; `why`: what its last failed call said. */
  'model:away': { model: string; reason: OutageReason; why: string; advice: string }
  /** A model that was left alone answers again, and has gone on to for a while: from when to when it was away. */
  'model:answers': { model: string; reason: OutageReason; since: string; until: string; afterSeconds: number }
  /** A proposal was acknowledged by Kafka. */
  'proposal:published': { protocol: string; differs: boolean }
  /** A request for a review was. */
  'review:published': { protocol: string; why: string }
  /** How long ago the decision arrived that a partition waits to carry out, in seconds; 0 where none waits. */
  'decision:waits': { partition: number; seconds: number }
  /** A decision was handled. */
  'decision:handled': { protocol: string; outcome: DecisionResult['outcome'] | 'opinion'; overrules: boolean }
  /** A variant in the shadow has judged a case, or has waited for the service. */
  'shadow:judged': { protocol: string; variant: string; asked: NonNullable<ShadowVerdict['asked']> }
  'shadow:waited': { protocol: string; variant: string; seconds: number }
  /** A verdict was acknowledged by Kafka. */
  'verdict:published': { verdict: Verdict; latencySeconds: number; overheadSeconds: number }
  /**
   * How far the group is behind, by partition, and how many unread messages are overdue for a verdict; null if this process
   * does not export it, or can't know it now.
   */
  'kafka:lag': { partitions: readonly PartitionLag[] | null; overdue: number | null }
  /** The partitions that this process reads now; none where its consumer has died or left. */
  'partitions:assigned': { partitions: readonly { readonly topic: string; readonly partition: number }[] }
  /** The content of the record. */
  'record:counted': { size: RecordSize }
  /** The review queue, and the agreement of people's verdicts. */
  'review:counted': { state: ReviewState; now: number }
  /** Stories whose verdicts contradict one another, that wait for people, and since when the oldest does, ms since 1970. */
  'stories:counted': { waiting: number; since: number | null; now: number }
  /** Appeals that wait for people, and what became of others. */
  'appeals:counted': { appeals: OpenAppeals; now: number }
  /** The statement of reasons of an action was given up: no receiver gets it. `why`: what it lacks, in words of the settings. */
  'statement:given-up': { tenant: string; action: string; why: string }
  'appeals:ended': { outcomes: readonly Pick<AppealOutcome, 'outcome'>[] }
  'agreement:counted': { figures: readonly AgreementFigure[] }
  /** How many messages of each topic the record has still to read. */
  'record:lag': { topics: ReadonlyMap<string, number> }
  /** The record can't be written: its file is damaged or full; or it can again. */
  'record:stopped': { why: string; advice: string }
  'record:resumed': Record<string, never>
  /** The record missed messages that the topics no longer have. */
  'record:holes': { holes: number; advice: string }
  /** The settings and prompts were read again and are current: what changed, by its path, and their fingerprints. */
  'vetoes:loaded': { lists: readonly { name: string; kind: string; entries: number | null }[] }
  'vetoes:refused': { why: string; advice: string }
  'settings:reloaded': { changed: readonly string[]; settings: string; prompts: string }
  /** They were read again and nothing of them was taken: they have faults, or differ where a restart alone can change them. */
  'settings:refused': { why: string; advice: string }
  'settings:fixed': { paths: readonly string[]; advice: string }
  /** When the certificate of a server ends, or Gavel's own for it, ms since 1970. */
  'certificate:looked-at': { of: string; name: string; endsAt: number }
  /** It does so within two weeks, or has. */
  'certificate:ends': { of: string; name: string; at: string; advice: string }
  /** No socket could be made by which a command has this process read its settings again. */
  'reload:closed': { why: string; advice: string }
  /** How many cases' traces the collector has, and how many spans and events it will never accept. */
  'traces:accepted': { count: number }
  'traces:rejected': { count: number; why: string }
  /** The collector takes nothing now, or does again. */
  'traces:held': { held: boolean; why: string }
  /** When the oldest message was published whose trace waits for the collector, ms since 1970; null: none waits here. */
  'traces:waiting': { oldest: number | null }
  /** Jobs of a stage's queue by state. */
  'stage:backlog': { protocol: string; stage: string; states: Record<string, number>; oldestWaitingSeconds: number }
  /** Asks of this process that hold a model slot, and asks that wait for one. */
  'slots:counted': { busy: number; waiting: number; all: number; models: readonly ModelCapacity[] }
  /** Whether a protocol opens cases now. */
  'protocol:watched': { protocol: string; paused: boolean }
  /** First lanes as they stand; and one of them when that is another than before. */
  'lane:watched': { states: readonly LaneState[] }
  /** What people say of what lanes settled. */
  'lane:audited': { audits: readonly (LaneInUse & LaneAudit)[]; now: number }
  'lane:changed': LaneState & { advice: string }
  /**
   * The share of its `maxmemory` that Redis uses, or of its machine if it has no limit, null while it does not answer; and
   * whether it lost acknowledged data.
   */
  'store:watched': { memoryShare: number | null; lost: boolean }
  /** Redis lost acknowledged data: nothing is opened or read until it has been recovered. */
  'store:lost': { why: string; advice: string }
  'store:recovered': Record<string, never>
  /** Redis refuses writes because its memory is full; or accepts them again. */
  'store:full': { advice: string }
  'store:writable': Record<string, never>
  /** Redis answers and refuses, for another reason than its memory; `store:writable` when it takes writes again. */
  'store:refused': { fault: RedisFault; advice: string }
  /** All that is wrong with Redis now, as of the last look at its settings, its refusal or its sentinels. */
  'redis:faults': { of: 'settings' | 'refusal' | 'sentinels'; faults: readonly RedisFault[] }
  /** Redis would lose data or hold two versions of them, since a setting was changed or another server took over; or no more. */
  'redis:unsafe': { faults: readonly RedisFault[]; advice: string }
  'redis:safe': Record<string, never>
  /** No sentinel answers, and publication waits; or one does again. */
  'sentinels:silent': { advice: string }
  'sentinels:answer': Record<string, never>
  /** The reader of Jetstream read events; it has a stream of this relay, from the time `from` on, or lost it and tries the next after a while. */
  'jetstream:read': { outcome: JetstreamOutcome; count: number }
  'jetstream:connected': { relay: string; from: string }
  'jetstream:disconnected': { relay: string; why: string; waitMs: number }
  /** What lies between these times was not to be had. */
  'jetstream:gap': { from: string; to: string; seconds: number; advice: string }
  /** It reads nothing because of the backlog, or goes on. */
  'jetstream:paused': { reason: string }
  'jetstream:resumed': Record<string, never>
  /** Whether it has a stream, null where another process reads; and how far what it takes is behind. */
  'jetstream:watched': { reads: boolean | null; lagSeconds: number }
  /** How long this process has had no working consumer. */
  'consumer:watched': { downSeconds: number }
  /**
   * Counts of shared state. `clockLagSeconds` is null while the stream's clock has not started; `overdue` is what has
   * waited longer for its verdict than the objective allows.
   */
  'state:counted': {
    openCases: number
    outbox: number
    due: number
    clockLagSeconds: number | null
    overdue: readonly { readonly protocol: string; readonly at: OverduePlace; readonly count: number }[]
    tenants: ReadonlyMap<string, number>
  }
  /** The used shares of limits and budgets, if there are any. */
  'capacity:used': { limits: readonly UsedShare[]; budgets: readonly UsedShare[] }
  /** Whether this process exports the shared state. Whatever it has exported before is not known any more if it does not. */
  'state:exported': { here: boolean }
  /** A loop of this process was started, or one of its runs has succeeded. */
  'loop:succeeded': { loop: ErrorPlace }
  /** A broker refuses records until a setting is changed; or it takes them again. `advice` names the setting. */
  'publication:closed': { what: RefusedKind; setting: RefusedSetting; closed: boolean; advice: string }
  /** Records wait because the broker accepts none for their topic; or publication resumed. */
  'publication:held': ManyIds & { what: PublishedKind; held: boolean; why: string }
  /** An operation outside of any one message or ask failed, and will be retried. `thread`: what it was about, where there is no case. */
  error: Ids & ManyIds & { where: ErrorPlace; error: unknown; thread?: ThreadRef }
  /** The HTTP door takes requests on this port. */
  'door:opened': { host: string; doorPort: number; keys: number }
  /**
   * The door answered a request; `route` is none where no route takes it. `ownSeconds`: from when it had been read, without `waitSeconds`,
   * which it waited for a model or a verdict; from when the last verdict was decided it is the door's own again.
   */
  'door:answered': { route: string; outcome: DoorOutcome; ownSeconds: number; waitSeconds: number }
  /** Kafka acknowledged a batch of the door's, or did not. */
  'door:sent': { records: number; seconds: number }
  /**
   * The door refused a request; told at most once in ten seconds of those from one network without a known key. `key` is the id of its
   * key; empty where it has none. `network`: whence it came, in IPv6 the first 64 bits. `why`: what failed behind it, if its client is not
   * told.
   */
  'door:refused': {
    requestId: string
    route: string
    status: number
    problem: string
    key: string
    network: string
    why?: string
  }
  /** A browser blocked something in a page of the console that does not belong there. */
  'console:blocked': Record<never, never>
  /** A verdict was sent to a receiver, is tried again later, is tried no more, or is not tried. `caseId` is the verdict's id. */
  'webhook:tried': Ids & { hook: string; outcome: WebhookOutcome; why: string }
  /** Waiting and parked deliveries to receivers, in all processes. */
  'webhooks:counted': { waiting: number; parked: number; oldestSeconds: number }
  /** The door's keys were read, or could not be: then those that were known still count, since that many seconds. */
  'keys:read': { keys: number; ageSeconds: number }
  'service:started': { roles: readonly string[]; httpPort: number }
  /** The key of fences and sampling is not set, or has changed. */
  'key:unset': { advice: string }
  'key:changed': { advice: string }
  /** The port can be reached from other machines without a token. */
  'service:exposed': { host: string; advice: string }
  /** A dependency that does not answer is waited for; its name and its error. */
  /** Topics were created, and wait for leaders of their partitions. */
  'topics:waiting': { topics: readonly string[] }
  'service:waiting': { for: Readonly<Record<string, string>>; httpPort: number }
  /** Much waits for its verdict for longer than the objective allows, by where it waits; and then little does again, `left`. */
  'service:behind': { overdue: Readonly<Record<OverduePlace, number>>; advice: string }
  'service:caught-up': { since: string; afterSeconds: number; mostOverdue: number; left: number }
  /** A total budget in dollars a day, which no setting sets, for a deployment that had published nothing. */
  'budget:fresh': { usd: number; free: readonly string[]; advice: string }
  /** A budget in dollars and models that have no price, which the settings take for free. */
  'service:unpriced': { detail: string; advice: string }
  /** At a stop, calls in flight are cut off before they would time out: their answers are paid and lost. */
  'service:short-drain': { drainMs: number; callTimeoutMs: number; advice: string }
  /** A setting is set by a name that it had in an earlier version; it is read. */
  'settings:replaced': { setting: string; now: string }
  'service:stopping': { reason: string }
  'service:stopped': Record<string, never>
  /** A stop was forced, with so many calls in flight: the exit code is 1. */
  'service:cut-off': { calls: number; advice: string }
}

/** Tells all listeners. Never throws and never waits: an observer can't harm the work. */
export type Report = <Name extends keyof Events>(name: Name, event: Events[Name]) => void

export type Listener = Report
