import { DEFAULT_TENANT } from '../../library/names.ts'

/** Whose it is, behind a shelf's name; the default tenant goes without saying. */
export function ofTenant(tenant: string | null): string {
  return tenant === null || tenant === DEFAULT_TENANT ? '' : ` of ${tenant}`
}
