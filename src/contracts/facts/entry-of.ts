/**
 * A record's own entry under a name that someone else chose; undefined if there is none. A plain lookup would also find
 * what every object inherits: `constructor`, `toString`, `__proto__`.
 */
export function entryOf<Value>(record: { readonly [name: string]: Value }, name: string): Value | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined
}
