/** A hash as Lua and HSCAN return it: names and values in turn. */
export function pairs(reply: readonly string[]): [string, string][] {
  return Array.from({ length: reply.length / 2 }, (_, index) => [reply[index * 2] ?? '', reply[index * 2 + 1] ?? ''])
}
