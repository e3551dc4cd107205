import { entryOf } from '../domain/entry-of.ts'
import type { Tier } from '../ports/model.ts'

export interface TierSettings {
  /** By PROTOCOL.ROLE or ROLE; `default` for other roles. None where it is left out: what the endpoint does unasked. */
  readonly tiers: Readonly<Record<string, Tier>>
  /** Longest wait for one call, in ms; and for one on the tier `flex`. */
  readonly callTimeout: number
  readonly flexTimeout: number
}

/** The tier that a role's calls ask for. */
export function tierOf({ tiers }: TierSettings, protocol: string, role: string): Tier | undefined {
  return entryOf(tiers, `${protocol}.${role}`) ?? entryOf(tiers, role) ?? tiers.default
}

export function timeoutOf({ callTimeout, flexTimeout }: TierSettings, tier: Tier | undefined): number {
  return tier === 'flex' ? flexTimeout : callTimeout
}

/** The longest that any call can take, in ms. */
export function longestCallMs(settings: TierSettings): number {
  return Math.max(settings.callTimeout, ...Object.values(settings.tiers).map((tier) => timeoutOf(settings, tier)))
}
