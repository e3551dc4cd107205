import { randomUUID } from 'node:crypto'
import type { LimitedCall } from '../../src/contracts/ports/call-limits.ts'

/** A call of a tenant's stream, of its own account unless one is given. */
export function limitedCall(given: Partial<LimitedCall> = {}): LimitedCall {
  const asker = given.asker ?? randomUUID()
  return { asker, tokens: 0, serviceClass: 'rest', tenant: 't', accountKey: asker, ...given }
}
