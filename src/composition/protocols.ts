import type { Settings } from '../../config/schema.ts'
import { fences } from '../domain/fence.ts'
import { lots } from '../domain/lot.ts'
import { router } from '../engine/routes.ts'
import { makeProtocols } from '../protocols/make.ts'

/** The protocols that the settings switch on, the sampling that goes by the same secret, and the routes to the protocols. */
export function protocolsOf(settings: Settings, secret: string) {
  const lot = lots(secret)
  const protocols = makeProtocols(settings.protocols, fences(secret, settings.fences), lot)
  return { protocols, lot, routes: router(protocols, settings.routes, lot) }
}
