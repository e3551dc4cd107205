import { createHash, randomBytes } from 'node:crypto'
import type { ProposalProvenance, SubjectRef } from '../contracts/ports/library.ts'

/** A part of a shelf: one tenant's items, or those that an operator added for no tenant in particular (`tenant` null). */
export interface ShelfPlace {
  readonly shelf: string
  readonly tenant: string | null
}

/** The tenant if none is named. */
export const DEFAULT_TENANT = 'default'

/**
 * A place's name in files and tables: the shelf's own, or `SHELF.TENANT`; shelf names contain no dot. Capitals, dots
 * and underscores of a tenant's name are escaped with `_`, so that no two tenants share a name, even in a file system
 * that ignores case.
 */
export function placeName({ shelf, tenant }: ShelfPlace): string {
  if (tenant === null) return shelf
  return `${shelf}.${tenant.replace(/[A-Z._]/g, (sign) => (sign === '_' ? '__' : sign === '.' ? '_-' : `_${sign.toLowerCase()}`))}`
}

export function placeOf(name: string): ShelfPlace {
  const dot = name.indexOf('.')
  if (dot === -1) return { shelf: name, tenant: null }
  const tenant = name
    .slice(dot + 1)
    .replace(/_(.)/g, (_, sign: string) => (sign === '_' ? '_' : sign === '-' ? '.' : sign.toUpperCase()))
  return { shelf: name.slice(0, dot), tenant }
}

/** A name that no table has had before, so that a reader of a replaced table can't mistake the new one for it. */
export function tableName(place: string): string {
  return `${place}.${randomBytes(6).toString('hex')}`
}

/** A subject as a hash: safe in file names and filters, whatever its id is made of. */
export function ownerOf({ tenant, id, kind }: SubjectRef): string {
  return hashOf(tenant, id, kind).slice(0, 32)
}

/** The subject that was learnt from. */
export function learntFrom({ tenant, subjectId, kind }: ProposalProvenance): SubjectRef {
  return { tenant, id: subjectId, kind }
}

export function hashOf(...parts: string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}

/** Ids sort by time and can be typed. */
export function changeId(now: number): string {
  const at = new Date(now).toISOString().replace(/[-:.Z]/g, '')
  return `${at}-${randomBytes(3).toString('hex')}`
}

/** The `source` of a row that was imported from a data set: a hash of the item's id. */
export function sourceKey(sourceId: string): string {
  return hashOf('item', sourceId).slice(0, 32)
}
