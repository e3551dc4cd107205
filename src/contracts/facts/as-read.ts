import { withoutEntities } from './entities.ts'

/**
 * A link, and its host, which stands after any `@`: a name before that may pose as one. Only ASCII goes on a link, so that words
 * of a script without spaces stay beside it, and what may end a sentence does not end it.
 */
const LINK =
  /https?:\/\/(?:[^\s\/?#\\"'<>]{0,500}@)?([\p{L}\p{M}\p{N}._\-]{0,252}[\p{L}\p{N}])(?:[[!-~]--["'<>]]*[[!-~]--["'<>.,;:!?\)\]]])?/giv
/** Whom a comment is addressed to, at its beginning. An email address is none. */
const ADDRESSED = /^\s*(?:@[\p{L}\p{N}_][\p{L}\p{N}_.-]{0,63}(?=[\s,:]|$)[\s,:]*){1,50}/u

/** Kinds of text of which a prompt has many, of which links and mentions are a third. */
const MARKED: ReadonlySet<string> = new Set(['comment', 'parent'])

/**
 * A text as a person would read it: without HTML's entities. In a comment, a link is a mark with its host, and those whom it is
 * addressed to are a mark with their number: what they say is seen beside it, and their names tell nothing of the claim.
 */
export function asRead(kind: string, text: string): string {
  const plain = withoutEntities(text)
  if (!MARKED.has(kind)) return plain
  const linked = plain.includes('://') ? plain.replace(LINK, markOf) : plain
  return linked.trimStart().startsWith('@') ? linked.replace(ADDRESSED, addressed) : linked
}

/** Longest authority of a link that is looked through for a name that poses as its host. */
const MOST_AUTHORITY = 3_000

/** A link's mark. Where more before an `@` may come than was read, nobody knows its host, and none is named. */
function markOf(link: string, host: string, at: number, text: string): string {
  const begin = at + link.indexOf('://') + 3
  const [authority = ''] = /^[^\s/?#\\<>]*/.exec(text.slice(begin, begin + MOST_AUTHORITY)) ?? []
  const isPosed =
    authority.length === MOST_AUTHORITY || !authority.slice(authority.lastIndexOf('@') + 1).startsWith(host)
  return isPosed ? '[link]' : `[link: ${host}]`
}

function addressed(names: string): string {
  const count = names.match(/@/g)?.length ?? 0
  return count === 1 ? '[to somebody] ' : `[to ${count} people] `
}
