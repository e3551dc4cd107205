const ENTITY = /&(?:amp;){0,9}(#x[0-9a-f]{1,6}|#\d{1,7}|amp|lt|gt|quot|apos|nbsp);/gi
const NAMED = new Map(Object.entries({ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' }))

/** The text with the characters that HTML's entities stand for, encoded once or several times over. */
export function withoutEntities(text: string): string {
  return text.includes('&') ? text.replace(ENTITY, (_whole, name: string) => entity(name.toLowerCase())) : text
}

function entity(name: string): string {
  if (!name.startsWith('#')) return NAMED.get(name) ?? ''
  const code = name.startsWith('#x') ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1))
  return code > 0x10_ffff ? '' : String.fromCodePoint(code)
}
