import { type Policy, readPolicy } from './policy.ts'
import { isEdited } from './published-policy.ts'
import { shortHash } from './short-hash.ts'

/** The policies that a protocol judges by, and a hash of them: they are prompts. */
export interface Policies {
  readonly hash: string
  readonly list: readonly Policy[]
  /** The policy for a tenant's posts: the tenant's own, else the one that names no tenant. */
  for(tenant: string | undefined): Policy | null
}

/**
 * Reads the policies of `wanted`, by their files' names without the ending; the one of `shipped` is for tenants that have none of
 * these. Nothing wanted is no policy. Throws one error that names every fault, one per line.
 */
export function readPolicies(
  files: ReadonlyMap<string, string>,
  wanted: readonly string[],
  { protocol, shipped }: { readonly protocol: string; readonly shipped: string },
): Policies {
  const faults: string[] = []
  const read = (name: string): Policy[] => {
    const file = `config/policies/${name}.md`
    const source = files.get(`${name}.md`)
    if (source === undefined) faults.push(`${file}: the file is missing, and the setting policies names it`)
    try {
      if (source === undefined) return []
      const policy = readPolicy(file, source)
      if (isEdited(name, policy))
        faults.push(
          `${file}: was edited since it was published; put its text back, and publish the new one (gavel policy publish)`,
        )
      return [policy]
    } catch (error) {
      if (!(error instanceof Error)) throw error
      faults.push(error.message)
      return []
    }
  }
  const named = wanted.flatMap((name) => read(name).map((policy) => ({ file: `config/policies/${name}.md`, policy })))
  const byTenant = new Map<string | undefined, string>()
  for (const { file, policy } of named) {
    if (policy.protocols?.includes(protocol) === false)
      faults.push(`${file}: is not for ${protocol}, by its own protocols`)
    const other = byTenant.get(policy.tenant)
    if (other !== undefined) faults.push(`${file}: is for the same tenant as ${other}`)
    byTenant.set(policy.tenant, file)
  }
  const policies = named.map(({ policy }) => policy)
  const list = wanted.length === 0 || byTenant.has(undefined) ? policies : [...policies, ...read(shipped)]
  if (faults.length > 0) throw new Error([...new Set(faults)].join('\n'))
  return {
    hash: shortHash(list.map(({ hash, tenant }) => [tenant ?? null, hash])),
    list,
    for: (tenant) =>
      list.find((one) => one.tenant !== undefined && one.tenant === tenant) ??
      list.find((one) => one.tenant === undefined) ??
      null,
  }
}
