import { InvalidArgumentError, Option } from 'commander'
import { durationMs, notNegative, positiveWhole, protocolName, time } from '../../../cli/options.ts'

export interface WhatIfOptions {
  readonly protocol: string
  readonly policy?: string
  readonly settings?: string
  readonly prompts?: string
  readonly model?: string
  /** ms since 1970, or so long ago. */
  readonly since: { readonly at: number } | { readonly ago: number }
  readonly until?: number
  readonly tenant?: readonly string[]
  readonly budget?: number
  readonly sample?: number
  readonly out?: string
}

const WEEK_MS = 7 * 86_400_000

export const WHAT_IF_OPTIONS = [
  new Option('--protocol <name>', 'whose cases are replayed').argParser(protocolName).makeOptionMandatory(),
  new Option('--policy <path>', 'try this policy, or those of this folder'),
  new Option('--settings <file>', 'try these settings'),
  new Option('--prompts <folder>', 'try these prompts of the protocol'),
  new Option('--model <name>', 'try this model in every role'),
  new Option('--since <time>', 'cases decided from this time on, or for so long: 30d')
    .argParser(timeOrAge)
    .default({ ago: WEEK_MS }, '7d'),
  new Option('--until <time>', 'cases decided before this time').argParser(time),
  new Option('--tenant <names...>', 'cases of these tenants'),
  new Option('--budget <usd>', 'ask new questions for at most so many US dollars').argParser(notNegative),
  new Option('--sample <n>', 'ask new questions of at most so many cases').argParser(positiveWhole),
  new Option('--out <folder>', 'keep answers and report here (default: a folder in .gavel/what-if)'),
]

/** A time, or how long ago it was. */
function timeOrAge(text: string): WhatIfOptions['since'] {
  try {
    return /^\d{4}-/.test(text) ? { at: time(text) } : { ago: durationMs(text) }
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error
    throw new InvalidArgumentError('must be a duration as 30d, or a time in ISO 8601, as 2026-01-31T12:00:00Z')
  }
}
