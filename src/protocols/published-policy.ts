/** The end of the file of a published policy, its ending `.md` included: its text is the one with this hash, and stays so. */
export const PUBLISHED_NAME = /\.published-([0-9a-f]{8})(?:\.md)?$/

/** The name of a published policy's file, without its ending. */
export function publishedName(name: string, { hash }: { readonly hash: string }): string {
  return `${name.replace(PUBLISHED_NAME, '')}.published-${hash.slice(0, 8)}`
}

/** Whether a file is called as a published policy, and has another text. */
export function isEdited(name: string, { hash }: { readonly hash: string }): boolean {
  const [, published] = PUBLISHED_NAME.exec(name) ?? []
  return published !== undefined && !hash.startsWith(published)
}
