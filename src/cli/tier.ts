import { Option } from 'commander'
import type { Settings } from '../../config/schema.ts'
import { TIERS, type Tier } from '../contracts/ports/model.ts'

/** The tier that all of a command's calls ask for. */
export function tierOption(): Option {
  return new Option(
    '--tier <name>',
    'the service tier of every call; flex costs half at OpenAI and is slower (models.tiers)',
  ).choices(TIERS)
}

/** The settings, with every role on this tier, and cases that last as long as its calls. */
export function onTier(settings: Settings, tier: Tier | undefined): Settings {
  if (tier === undefined) return settings
  const { models, cases } = settings
  const deadline = tier === 'flex' ? Math.max(cases.deadline, CALLS_IN_TURN * models.flexTimeout) : cases.deadline
  return { ...settings, models: { ...models, tiers: { default: tier } }, cases: { ...cases, deadline } }
}

/** So many calls of a case may take as long as they can, one after the other. */
const CALLS_IN_TURN = 8
