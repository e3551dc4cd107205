import { DEFAULT_TENANT } from '../../../shelves/names.ts'

/** ` of TENANT`, to follow a shelf's name; empty for the default tenant. */
export function ofTenant(tenant: string | null): string {
  return tenant === null || tenant === DEFAULT_TENANT ? '' : ` of ${tenant}`
}
