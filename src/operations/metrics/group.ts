import type { Registry } from 'prom-client'
import type { VerdictSource } from '../../contracts/facts/verdict.ts'
import type { BudgetScope, BudgetUnit } from '../../contracts/ports/budgets.ts'
import type { LimitKind } from '../../contracts/ports/call-limits.ts'
import type { Events } from '../../contracts/ports/report.ts'

/** What is measured in one deployment: the label values that are known from the settings. */
export interface MeasuredDeployment {
  readonly protocols: readonly {
    readonly name: string
    readonly stages: readonly string[]
    readonly labels: readonly string[]
    /** Ways in which it reaches a verdict, besides having none and a deletion; absent: any. */
    readonly decides?: readonly VerdictSource[]
    /** Shelves of the library that it is shown. */
    readonly shelves?: readonly string[]
  }[]
  readonly topics: readonly string[]
  /** The topics whose records are mapped to messages. */
  readonly sources?: readonly string[]
  /** Names under which models are called. */
  readonly models: readonly string[]
  /** The chains of models as the settings name them, by ROLE or PROTOCOL.ROLE. */
  readonly roles: Readonly<Record<string, readonly string[]>>
  /** The base URL under which a model is called. */
  readonly endpointOf: (model: string) => string
  /** The limits and budgets that are set now: a reload changes them. */
  readonly bounds: () => {
    readonly limits: readonly LimitKind[]
    readonly budgets: readonly { readonly scope: BudgetScope; readonly unit: BudgetUnit }[]
  }
  /** The longest that a verdict should take, in seconds. */
  readonly objectiveSeconds: number
}

/** By event: how it changes the series of a group. */
export type Handlers = { readonly [Name in keyof Events]?: (event: Events[Name]) => void }

/**
 * A group of related series: registers them, initialises those that alerts use to zero (an increase is only visible in a
 * series that existed before), and returns what each event changes. Other series are made when there is something to
 * count: a service with four protocols would have thousands that are zero for ever.
 */
export type MetricGroup = (registry: Registry, measured: MeasuredDeployment) => Handlers

/** Clocks of two machines differ: a duration measured across them is at least 0 s. */
export function duration(seconds: number): number {
  return Math.max(0, seconds)
}
