import type { Settings } from '../../../config/schema.ts'
import { entryOf } from '../../contracts/facts/entry-of.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import { fences } from '../../contracts/facts/fence.ts'
import { samplingRanks } from '../../contracts/facts/sampling-rank.ts'
import { router } from '../../judging/engine/routes.ts'
import type { Protocol } from '../../judging/engine/script.ts'
import type { ProtocolKind } from '../../protocols/kind.ts'
import { shortHash } from '../../protocols/short-hash.ts'
import { makeProtocols } from './make-protocols.ts'
import { withSpares } from './overload.ts'

/**
 * The enabled protocols, of these kinds if they are given, the sampling that uses the same secret, and the routes to the
 * protocols.
 */
export function protocolsOf(settings: Settings, secret: string, kinds?: readonly ProtocolKind[]) {
  const samplingRank = samplingRanks(secret)
  const fence = fences(secret, settings.fences)
  const protocols = makeProtocols(withSpares(settings, kinds), fence, samplingRank, kinds, settings)
  for (const { name, subject } of protocols)
    if (subject !== 'post' && entryOf(settings.routes, name)?.some(({ subjects = [] }) => subjects.includes('comment')))
      throw new OperatorError(`routes.${name}: ${name} judges no comment by itself (subjects: [comment])`)
  return {
    protocols,
    samplingRank,
    routes: router(protocols, settings.routes, samplingRank),
    /** A fingerprint of all prompts: the same in two processes that ask models the same. */
    prompts: shortHash(protocols.map(({ promptsHash }) => promptsHash)).slice(0, 8),
  }
}

/** Every protocol, those that are switched off too: for what they say of themselves. Without the service's secret a ramp draws others. */
export function everyProtocol(settings: Settings, secret = ''): readonly Protocol[] {
  const on = Object.entries(settings.protocols).map(([name, own]) => [name, { ...own, enabled: true }])
  return protocolsOf({ ...settings, protocols: Object.fromEntries(on) }, secret).protocols
}
