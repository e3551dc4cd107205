import { entryOf } from '../../domain/entry-of.ts'

export interface QueueSettings {
  /** Of all keys in Redis. */
  readonly prefix: string
  /** Cases advanced at once in this process. */
  readonly caseConcurrency: number
  /** By `PROTOCOL.STAGE` or `STAGE`; `default` for the rest. */
  readonly stages: Readonly<Record<string, StageSettings>>
  /** If a worker does not renew a job's lock for this long, another worker runs the job, in ms. */
  readonly lockMs: number
  /** How often a worker looks for such jobs, in ms. */
  readonly stalledCheckMs: number
}

interface StageSettings {
  /** Asks answered at once in this process. */
  readonly concurrency: number
  /** Of these, most of one share; absent: half. */
  readonly perAuthor?: number | undefined
  readonly attempts: number
  /** Pause after the first attempt, in ms; twice as long after each further one. */
  readonly backoff: number
}

/** A stage of a protocol; it has its own queue. */
export interface Stage {
  readonly protocol: string
  readonly stage: string
}

/** The stage's name in settings, metrics and log lines, and its queue's. */
export function stageName({ protocol, stage }: Stage): string {
  return `${protocol}.${stage}`
}

/** Throws if the settings have no `default`. */
export function stageSettings({ stages }: QueueSettings, of: Stage): StageSettings {
  const found = entryOf(stages, stageName(of)) ?? entryOf(stages, of.stage) ?? stages.default
  if (found === undefined) throw new Error('settings.stages.default is missing')
  return found
}
