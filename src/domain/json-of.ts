/** A record's value as JSON; undefined where it is none. */
export function jsonOf({ value }: { readonly value: Buffer | string | null }): unknown {
  try {
    return JSON.parse(value?.toString() ?? 'null')
  } catch {
    return undefined
  }
}
