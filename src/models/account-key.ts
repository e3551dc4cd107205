/** Whose a question is, as breakers and limits tell the questions of one account from those of others: `TENANT/ACCOUNT`. */
export function accountKeyOf(tenant: string, account: string): string {
  return `${tenant}/${account}`
}

/** Undefined for a key that names no tenant. */
export function tenantIn(accountKey: string | undefined): string | undefined {
  return accountKey?.match(/^([^/]*)\//)?.[1]
}
