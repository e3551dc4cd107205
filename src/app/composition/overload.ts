import type { Settings } from '../../../config/schema.ts'
import { entryOf } from '../../contracts/facts/entry-of.ts'
import { inOneStep, type OverloadSteps } from '../../contracts/facts/overload.ts'
import type { ProtocolKind } from '../../protocols/kind.ts'
import { PROTOCOLS } from '../../protocols/registry.ts'

/** Settings of earlier versions that are still read: each by where it is, and what it is called now. */
const REPLACED = {
  overloadedAtDue: 'cases.overload.single.atDue and cases.overload.sample.atDue',
  overloadedRounds: 'cases.overload.single.rounds',
  overloadedK: 'cases.overload.sample.perSide',
  overloadedComments: 'cases.overload.sample.comments',
} as const

/** From how many due threads on each step is in force, by the settings under whichever name. */
export function overloadSteps({ overload, overloadedAtDue }: Settings['cases']): OverloadSteps {
  if (overloadedAtDue === undefined) return overload
  return { ...inOneStep(overload, overloadedAtDue), hold: overload.hold }
}

/** The protocols' settings, with what is spared under load for those that can spare it and do not say themselves. */
export function withSpares(
  { protocols, cases: { overload } }: Pick<Settings, 'protocols' | 'cases'>,
  kinds: readonly ProtocolKind[] = PROTOCOLS,
): Settings['protocols'] {
  const { single, sample } = overload
  const spared = {
    overloadedRounds: single.rounds,
    overloadedK: sample.perSide,
    overloadedComments: sample.comments,
  }
  const known = new Map(kinds.map(({ name, settings }) => [name, Object.keys(settings.shape)]))
  return Object.fromEntries(
    Object.entries(protocols).map(([name, own]) => {
      const isOpen = (setting: string) =>
        known.get(name)?.includes(setting) === true && entryOf(own, setting) === undefined
      return [name, { ...own, ...Object.fromEntries(Object.entries(spared).filter(([setting]) => isOpen(setting))) }]
    }),
  )
}

/** The settings that are set under an earlier name, with what each is called now. */
export function replacedSettings({
  cases,
  protocols,
}: Pick<Settings, 'cases' | 'protocols'>): ReadonlyMap<string, string> {
  const given = [
    ['cases', cases] as const,
    ...Object.entries(protocols).map(([name, own]) => [`protocols.${name}`, own] as const),
  ]
  return new Map(
    given.flatMap(([path, own]) =>
      Object.entries(REPLACED).flatMap(([name, now]): [string, string][] =>
        entryOf(own as Readonly<Record<string, unknown>>, name) === undefined ? [] : [[`${path}.${name}`, now]],
      ),
    ),
  )
}
