import { unpricedFinding, unpricedRefusal } from '../../config/models.ts'
import type { Settings } from '../../config/schema.ts'
import { entryOf } from '../contracts/facts/entry-of.ts'
import { OperatorError } from '../contracts/facts/errors.ts'
import type { SamplingRank } from '../contracts/facts/sampling-rank.ts'
import type { Report } from '../contracts/ports/report.ts'
import { generations, otherShape } from '../judging/engine/generations.ts'
import { type Router, router } from '../judging/engine/routes.ts'
import type { Protocol } from '../judging/engine/script.ts'
import { fingerprint, type Identity, identityOf } from './identity.ts'
import { isLiveSecret } from './live-secrets.ts'
import type { ReloadOutcome } from './reload-socket.ts'

interface Made {
  readonly protocols: readonly Protocol[]
  readonly samplingRank: SamplingRank
  readonly prompts: string
}

/**
 * The protocols and routes of these settings, and `reload`, which replaces them, and the result of `now`, by what `read` finds. Open cases
 * end with the prompts and settings that they were opened with. What is read is taken whole or not at all: it changes nothing where it
 * has a fault, or where part of it needs a restart; either is reported, and what `reload` returns.
 */
export function reloading(
  first: Settings,
  /** The protocols of settings, their sampling, and a fingerprint of all prompts. */
  make: (settings: Settings) => Made,
  {
    read,
    taken = () => {},
    judges,
    report,
  }: {
    readonly read: () => Settings
    /** Called with what replaces the settings. */
    readonly taken?: (next: Settings) => void
    readonly judges: boolean
    readonly report: Report
  },
) {
  let settings = first
  const { protocols: made, samplingRank, prompts: firstPrompts } = make(first)
  let prompts = firstPrompts
  const { protocols, replace } = generations(made)
  let routes: Router = router(protocols, first.routes, samplingRank)

  /** Takes what it finds, or names the settings that a restart alone can change. Throws an `OperatorError` that names every fault. */
  function take(next: Settings): { changed: string[] } | { fixed: string[] } {
    const refusal = judges ? unpricedRefusal(next) : null
    if (refusal !== null) throw new OperatorError(refusal)
    const { paths, fixed } = changedSettings(settings, next)
    if (fixed.length > 0) return { fixed }
    const made = make(next)
    const others = made.protocols.flatMap((one) => otherShapeOf(protocols, one))
    if (others.length > 0) return { fixed: others }
    const before = new Map(protocols.map((one) => [one.name, one]))
    const lanesOf = (one: Protocol | undefined) => (one?.lanes ?? []).map(({ hash }) => hash).join(' ')
    const texts = made.protocols.filter((one) => before.get(one.name)?.promptsHash !== one.promptsHash)
    const lanes = made.protocols.filter((one) => lanesOf(before.get(one.name)) !== lanesOf(one))
    const files = [...texts.map(({ name }) => `prompts of ${name}`), ...lanes.map(({ name }) => `lanes of ${name}`)]
    // From here on nothing throws: all of it or nothing.
    const nextRoutes = router(protocols, next.routes, samplingRank)
    replace(made.protocols)
    ;[routes, settings, prompts] = [nextRoutes, next, made.prompts]
    taken(next)
    return { changed: [...paths, ...files] }
  }

  let unpriced = ''
  /** Tells of models without a price under a budget in dollars, once while they are the same. */
  function tellUnpriced(): void {
    const found = judges ? unpricedFinding(settings) : null
    if (found !== null && found.detail !== unpriced)
      report('service:unpriced', { detail: found.detail, advice: found.todo ?? '' })
    unpriced = found?.detail ?? ''
  }

  function attempt(): ReloadOutcome {
    try {
      const taken = take(read())
      if ('fixed' in taken) {
        const fixed = { paths: taken.fixed, advice: NEEDS_RESTART }
        report('settings:fixed', fixed)
        return { outcome: 'fixed', ...fixed }
      }
      report('settings:reloaded', { ...taken, settings: fingerprint(settings), prompts })
      return { outcome: 'reloaded', ...taken }
    } catch (error) {
      const refused = { why: error instanceof Error ? error.message : String(error), advice: STANDS }
      report('settings:refused', refused)
      return { outcome: 'refused', ...refused }
    }
  }

  return {
    protocols,
    samplingRank,
    tellUnpriced,
    routes: {
      names: routes.names,
      get takeComments() {
        return routes.takeComments
      },
      of: (...subject) => routes.of(...subject),
      at: (...subject) => routes.at(...subject),
    } satisfies Router as Router,
    now: () => settings,
    prompts: () => prompts,
    /** Of this process, with the settings that are current whenever it is asked. */
    identity: (roles: readonly string[]): Identity => ({
      ...identityOf(first, roles),
      get settings() {
        return fingerprint(settings)
      },
    }),
    reload(): ReloadOutcome {
      const result = attempt()
      tellUnpriced()
      return result
    },
  }
}

export const NEEDS_RESTART =
  'Nothing of the new settings is applied: these need a restart, one replica after the other. docs/reload.md'
export const STANDS = 'Nothing has changed: mend what is named, and reload again. docs/reload.md'

function otherShapeOf(protocols: readonly Protocol[], next: Protocol): string[] {
  const one = protocols.find(({ name }) => name === next.name)
  const other = one === undefined ? 'enabled' : otherShape(one, next)
  return other === undefined ? [] : [`protocols.${next.name} (${other})`]
}

/** What a running process can take anew; `enabled` of a protocol is not among it: queues and series are made for what is on. */
const TAKEN_ANEW: ReadonlySet<string> = new Set(['protocols', 'routes', 'limits', 'budgets', 'vetoes'])
const SWITCH = /^protocols\.[^.]+\.enabled$/

/** The paths at which two settings differ, without their values; those of them that only a restart can change, and those of secrets. */
export function changedSettings(
  one: Settings,
  other: Settings,
): { readonly paths: string[]; readonly fixed: string[]; readonly secrets: string[] } {
  const paths = pathsOf(one, other, []).map((names) => ({ names, path: names.join('.') }))
  // Where there were none at the start, nothing compares.
  const isFixed = (top: string) => !TAKEN_ANEW.has(top) || (top === 'vetoes' && Object.keys(one.vetoes).length === 0)
  const needsRestart = (names: readonly string[]) => isFixed(names[0] ?? '') && !isLiveSecret(names, one, other)
  const fixed = paths.filter(({ names, path }) => needsRestart(names) || SWITCH.test(path))
  const secrets = paths.filter(({ names }) => isLiveSecret(names, one, other))
  const named = (some: typeof paths) => some.map(({ path }) => path)
  return { paths: named(paths), fixed: named(fixed), secrets: named(secrets) }
}

function pathsOf(one: unknown, other: unknown, at: readonly string[]): (readonly string[])[] {
  if (isMapping(one) && isMapping(other)) {
    const names = new Set([...Object.keys(one), ...Object.keys(other)])
    return [...names].flatMap((name) => pathsOf(entryOf(one, name), entryOf(other, name), [...at, name]))
  }
  return JSON.stringify(one) === JSON.stringify(other) ? [] : [at]
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
