/** A record's value as JSON; undefined where it is none. */
export function jsonOf({ value }: { readonly value: Buffer | null }): unknown {
  try {
    return JSON.parse(value?.toString('utf8') ?? 'null')
  } catch {
    return undefined
  }
}
