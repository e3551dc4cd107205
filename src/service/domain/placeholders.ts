import { normalized } from './normalized.ts'

/**
 * Whether a name is one of these placeholders for an author, whatever its case, its width, what is invisible in it, and
 * the marks of a user before it (`@`, `u/`).
 */
export function placeholders(names: readonly string[]): (author: string) => boolean {
  const known = new Set(names.map(plain))
  return (author) => known.has(plain(author))
}

function plain(name: string): string {
  return normalized(name, 'NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .trim()
    .toLowerCase()
    .replace(/^(@|\/?u\/)/, '')
}
