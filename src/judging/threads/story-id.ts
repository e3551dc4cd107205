import { hash } from 'node:crypto'
import type { SamplingRank } from '../../contracts/facts/sampling-rank.ts'
import type { Medium, Post, ThreadRef } from '../../contracts/facts/thread.ts'

/**
 * The id of a post's story: the same for posts of one tenant in the same words with the same pictures, in any order, in any process
 * with the key. Null for a post that has none. `text`: the whole text, of which the post may have the beginning.
 */
export type StoryOf = (ref: ThreadRef, post: Post, text?: string) => string | null

/** Raised when stories are told in another way: their ids are others then. */
const VERSION = 1

/** Who does not have the key can't tell which words lead to an id, nor whether two tenants have the same story. */
export function storyIds(rank: SamplingRank, wordsOf: (text: string) => string | null): StoryOf {
  return ({ kind, tenant }, { text: kept, cut, media = [], clips = [] }, text = kept) => {
    // Nothing tells what is said and seen in two clips apart.
    if (kind !== 'post' || clips.length > 0) return null
    const words = wordsOf(kept)
    const pictures = media.map(pictureOf)
    if (words === null || pictures.includes(null)) return null
    const rest = cut === undefined ? '' : digestOf(text)
    const said = digestOf(JSON.stringify([words, rest, pictures]))
    return [0, 1]
      .map((half) => rank(`story/${VERSION} ${half} ${tenant}`, said).toString(36).padStart(10, '0'))
      .join('')
  }
}

/** What tells a picture apart: its address, or its bytes where they came as data; null if nothing does. */
function pictureOf({ url, sha256 }: Medium): string | null {
  if (url === undefined) return sha256 === undefined ? null : `sha256 ${sha256}`
  const [, base64, data] = /^data:[^,]*?(;base64)?,(.*)$/is.exec(url) ?? []
  if (data === undefined) return url
  return `bytes ${hash('sha256', base64 === undefined ? data : Buffer.from(data, 'base64'), 'base64url')}`
}

function digestOf(text: string): string {
  return hash('sha256', text, 'base64url')
}
