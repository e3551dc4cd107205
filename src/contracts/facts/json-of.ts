/** A record's value parsed as JSON; undefined if it is not JSON. */
export function jsonOf({ value }: { readonly value: Buffer | string | null }): unknown {
  try {
    return JSON.parse(value?.toString() ?? 'null')
  } catch {
    return undefined
  }
}
