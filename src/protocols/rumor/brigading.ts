import type { Comment } from '../../domain/thread.ts'
import { nearIdentical } from './near-identical.ts'
import type { RumorSettings } from './settings.ts'

/** The comments that count, and what was folded or left out, in words. */
export interface Weighed {
  /** In order of time, then id. */
  readonly comments: readonly Comment[]
  readonly folded: readonly string[]
}

/** Groups and authors that are named one by one; the rest are counted. */
const NAMED = 3
/** Longest id or name of a stranger's choosing in a verdict's words, in characters. */
const NAME_CHARS = 40

/**
 * What many hands can't make more of by repeating it: near-identical comments count once, and of one author at most
 * `perAuthor` count, the earliest, so that what comes later displaces nothing. A group is the voice of its earliest comment
 * whose author has room; comments without an author are not capped.
 */
export function weigh(
  comments: readonly Comment[],
  { foldNearIdentical, perAuthor }: Pick<RumorSettings, 'foldNearIdentical' | 'perAuthor'>,
): Weighed {
  if (!foldNearIdentical && perAuthor === null) return { comments, folded: [] }
  const groups = foldNearIdentical ? nearIdentical(comments) : comments.map((comment) => [comment])
  const spoken = new Map<string, number>()
  const written = new Map<string, number>()
  const silenced = new Set<string>()
  const kept = new Set<Comment>()
  const copies: { group: readonly Comment[]; voice: Comment }[] = []
  for (const { author } of comments) if (author !== undefined) written.set(author, (written.get(author) ?? 0) + 1)
  const hasRoom = ({ author }: Comment) =>
    author === undefined || perAuthor === null || (spoken.get(author) ?? 0) < perAuthor
  for (const group of groups) {
    const voice = group.find(hasRoom)
    if (voice === undefined) {
      for (const { author } of group) if (author !== undefined) silenced.add(author)
      continue
    }
    kept.add(voice)
    if (voice.author !== undefined) spoken.set(voice.author, (spoken.get(voice.author) ?? 0) + 1)
    if (group.length > 1) copies.push({ group, voice })
  }
  const authors = [...silenced].map((author) => ({ author, wrote: written.get(author) ?? 0 }))
  return {
    comments: comments.filter((comment) => kept.has(comment)),
    folded: [
      ...told(
        copies.sort((a, b) => b.group.length - a.group.length || order(a.voice.id, b.voice.id)),
        ({ group, voice }) =>
          `${group.length} near-identical comments counted once (${name(voice.id)} stands for them)`,
        (rest) => {
          const count = rest.reduce((sum, { group }) => sum + group.length, 0)
          return `${count} more near-identical comments in ${rest.length} groups counted once a group`
        },
      ),
      ...told(
        authors.sort((a, b) => b.wrote - a.wrote || order(a.author, b.author)),
        ({ author, wrote }) => `author ${name(author)}: ${wrote} comments, at most ${perAuthor} weighed`,
        (rest) => {
          const count = rest.reduce((sum, { wrote }) => sum + wrote, 0)
          return `${rest.length} more authors: ${count} comments, at most ${perAuthor} weighed of each`
        },
      ),
    ],
  }
}

/** The first ones by name, the rest by number. */
function told<Item>(
  items: readonly Item[],
  say: (item: Item) => string,
  count: (rest: readonly Item[]) => string,
): string[] {
  const rest = items.slice(NAMED)
  return [...items.slice(0, NAMED).map(say), ...(rest.length === 0 ? [] : [count(rest)])]
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** An id as it may stand in a sentence: letters, digits and what ids are joined with; the rest as dots, and not for long. */
function name(id: string): string {
  const shown = id
    .slice(0, NAME_CHARS)
    .toWellFormed()
    .normalize('NFC')
    .replace(/[^\p{L}\p{N}@:/_.#~-]/gu, '·')
  return id.length > NAME_CHARS ? `${shown}…` : shown
}
