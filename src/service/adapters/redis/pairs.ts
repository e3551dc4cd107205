/** The entries of a hash that Lua or HSCAN returned as a flat list: name, value, name, value. */
export function pairs(reply: readonly string[]): [string, string][] {
  return Array.from({ length: reply.length / 2 }, (_, index) => [reply[index * 2] ?? '', reply[index * 2 + 1] ?? ''])
}
