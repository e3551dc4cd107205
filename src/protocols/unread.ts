import type { LeftOut } from '../domain/cut.ts'
import type { Fence } from '../domain/fence.ts'
import type { Comment, Post } from '../domain/thread.ts'
import type { Ruling } from '../domain/verdict.ts'

/**
 * Which parts of a post were not read, in words for `degraded`: those that intake left out of its texts, and those that
 * the texts' blocks in prompts leave out.
 */
export function unreadParts(
  { cut, hateSpeechCut, media = [] }: Post,
  blocks: readonly { readonly kind: string; readonly text: string }[],
  fence: Fence,
): string[] {
  const said = (what: string, { left, of }: LeftOut) => `${what}: ${left} of ${of} characters not read`
  return [
    ...(cut === undefined ? [] : [said('text', cut)]),
    ...(hateSpeechCut === undefined ? [] : [said('hate speech', hateSpeechCut)]),
    ...media.flatMap((medium, index) =>
      medium.cut === undefined ? [] : [said(`what the author says of image ${index + 1}`, medium.cut)],
    ),
    ...blocks.flatMap(({ kind, text }) => {
      const left = fence.unread(kind, text)
      return left === 0 ? [] : [said(`${kind} in prompts`, { left, of: text.length })]
    }),
  ]
}

/** Whether intake shortened a post's words; spread into a lookup of the library. */
export function cutIn({ cut, media = [] }: Post): { readonly cut?: true } {
  return [cut, ...media.map((medium) => medium.cut)].some((part) => part !== undefined) ? { cut: true } : {}
}

/** The same for comments, in one line; empty where all were read in full. */
export function partlyReadComments(comments: readonly Comment[], fence: Fence): string[] {
  const parts = comments.filter(({ cut, text }) => cut !== undefined || fence.unread('comment', text) > 0)
  return parts.length === 0 ? [] : [`${parts.length} comments: only parts of them read`]
}

/**
 * The ruling on a post whose parts `unread` were not read. Padding can hide harm, so only the harmful label is kept:
 * the other label is true of the part that was read, and perhaps not of the whole.
 */
export function withheldUnlessHarmful(ruling: Ruling, harmful: string, unread: readonly string[]): Ruling {
  const { label, degraded } = ruling
  if (unread.length === 0 || label === null || label === harmful) return ruling
  const why = `no label: the part read looks ${label}, but the unread part may not be`
  return { ...ruling, label: null, decidedBy: 'none', degraded: [...degraded, why] }
}
