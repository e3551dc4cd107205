import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import {
  LIMIT_DEFAULTS,
  type LimitScope,
  type LimitSettings,
  type ScopeLimits,
} from '../../src/contracts/ports/call-limits.ts'
import { faultsOf, fullestOf, type Grant, meanUse, mostAtOnce } from './windows.ts'

/** What one hammering process is told. */
export interface Hammering {
  readonly url: string
  readonly prefix: string
  readonly settings: LimitSettings
  /** Wall time, ms. */
  readonly startAt: number
  readonly until: number
  /** Askers for each target. */
  readonly askers: number
  readonly targets: readonly {
    readonly name: string
    readonly scopes: readonly LimitScope[]
    readonly reserve: { readonly least: number; readonly most: number }
  }[]
}

export interface Hammered extends Grant {
  readonly target: string
  readonly refunded?: true
}

export interface Hit {
  readonly target: string
  readonly limits: ScopeLimits
  readonly calls: number
  readonly refunded: number
  readonly faults: readonly string[]
  /** The largest sums in any window. */
  readonly fullest: { readonly calls: number; readonly tokens: number; readonly atOnce: number }
  /** Mean share of the limit that binds, after the first window in which all processes hammered. */
  readonly used: number
}

const PROCESSES = 8
const PROGRAM = fileURLToPath(new URL('limit-hammering.ts', import.meta.url))

/**
 * Lets 8 processes hammer two models at once, one bound by calls and one by tokens, starting a fortieth of a window apart,
 * and recounts every grant.
 */
export async function hammerLimits(
  url: string,
  given: { windowMs: number; seconds: number; limits: ScopeLimits; askers: number },
): Promise<Hit[]> {
  const { windowMs, limits, askers } = given
  const scale = windowMs / 60_000
  const { classes } = LIMIT_DEFAULTS
  const settings = { windowMs, leaseMs: 30_000 * scale, recheckMs: Math.ceil(500 * scale), lateMs: 5_000, classes }
  const even = Math.floor((limits.tokensPerMinute ?? 0) / (limits.callsPerMinute ?? 1))
  const scopes = (model: string) => [
    { name: `model:${model}`, limits },
    { name: 'tenant:default', limits: {} },
  ]
  const targets = [
    { name: 'bound by calls', scopes: scopes('a'), reserve: { least: 1, most: even } },
    { name: 'bound by tokens', scopes: scopes('b'), reserve: { least: even, most: 5 * even } },
  ]
  const begin = Date.now() + 3_000
  const until = begin + given.seconds * 1_000
  const prefix = `hammer-${randomUUID()}`
  const gap = windowMs / 40
  const failed = new AbortController()
  const logs = await Promise.all(
    Array.from({ length: PROCESSES }, (_, n) =>
      hammering({ url, prefix, settings, startAt: begin + n * gap, until, askers, targets }, failed.signal),
    ),
  ).finally(() => failed.abort())
  const from = begin + PROCESSES * gap + windowMs
  return targets.map(({ name: target }) => {
    const all = logs.flat().filter((one) => one.target === target)
    const grants = all.filter(({ refunded }) => refunded !== true)
    return {
      target,
      limits,
      calls: grants.length,
      refunded: all.length - grants.length,
      faults: [
        ...faultsOf(grants, windowMs, limits),
        ...faultsOf(all, windowMs, { inFlight: limits.inFlight ?? Infinity }),
      ],
      fullest: { ...fullestOf(grants, windowMs), atOnce: mostAtOnce(all) },
      used: meanUse(grants, windowMs, { from, until }, limits),
    }
  })
}

async function hammering(plan: Hammering, signal: AbortSignal): Promise<Hammered[]> {
  const child = spawn(process.execPath, [PROGRAM, JSON.stringify(plan)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    signal,
  })
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', resolve)
  })
  const said = await text(child.stdout)
  const code = await ended
  if (code !== 0) throw new Error(`a hammering process ended with ${code}`)
  return said
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Hammered)
}
