import { randomBytes } from 'node:crypto'
import type { SlotOwner } from './slots.ts'
import { readVerdictId, requestIn, scopeOf } from './verdict-id.ts'

/** `waiting`: somebody waits on HTTP for it; `rest`: everything else. */
export type ServiceClass = 'waiting' | 'rest'

/** The part of the service that each class has for certain; what a class does not use, the other one may borrow. */
export type ClassShares = Readonly<Record<ServiceClass, number>>

/**
 * How a request begins for which somebody waits. Its id says so, because the id is in whatever is kept of a case: its class
 * survives each recovery, and versions that know no classes read the same id.
 */
const WAITED = 'f'
const UNWAITED = '0'

/** A new id of a request apart from the stream: 124 random bits behind its class. */
export function newRequestId(waits: boolean): string {
  return (waits ? WAITED : UNWAITED) + randomBytes(16).toString('hex').slice(1)
}

export function classOfRequest(id: string): ServiceClass {
  return id.startsWith(WAITED) ? 'waiting' : 'rest'
}

/** The class of a case, by its id. */
export function classOf(caseId: string): ServiceClass {
  const asked = requestIn(caseId)
  return asked === null ? 'rest' : classOfRequest(asked.request)
}

/** Who takes turns with a case: within `waiting` tenants do, and in the rest the shares that cases name. */
export function ownerOf(caseId: string, share: string): SlotOwner {
  const name = classOf(caseId)
  return { name, part: name === 'rest' ? share : (readVerdictId(caseId)?.tenant ?? share) }
}

/** Who takes turns in a queue: tenants, and within one the shares of its cases. */
export interface TurnOwner {
  readonly tenant: string
  readonly share: string
}

export function turnOwnerOf(caseId: string, share: string): TurnOwner {
  return { tenant: scopeOf(caseId).tenant, share: ownerOf(caseId, share).part }
}
