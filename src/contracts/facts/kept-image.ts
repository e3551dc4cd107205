import { hash } from 'node:crypto'
import type { Medium, Post } from './thread.ts'

/** The address of an image that is kept beside its post, up to its hash. Messages can't have it: theirs are https: or data:. */
const SCHEME = 'kept:'
/** Longer data: addresses are kept beside the post. */
const LONGEST = 1_024

/** A post with the images that its addresses held kept beside it. */
export interface PostWithImages {
  readonly post: Post
  /** The data: addresses of the images, each once, by their hashes. */
  readonly images: readonly { readonly hash: string; readonly url: string }[]
}

/**
 * Sets a post's large images aside: a case is written and read a dozen times until its verdict, and an image may be most of a
 * megabyte. Equal images have equal addresses, and an edit that changes an image changes its address.
 */
export function setAside(post: Post): PostWithImages {
  const { media, clips } = post
  const images = new Map<string, string>()
  const aside = (medium: Medium): Medium => {
    const { url } = medium
    if (url === undefined || url.length <= LONGEST || !/^data:/i.test(url)) return medium
    const own = hash('sha256', url, 'base64url')
    images.set(own, url)
    return { ...medium, url: `${SCHEME}${own}` }
  }
  const without = {
    ...(media === undefined ? {} : { media: media.map(aside) }),
    ...(clips === undefined
      ? {}
      : {
          clips: clips.map((one) => (one.frames === undefined ? one : { ...one, frames: one.frames.map(aside) })),
        }),
  }
  if (images.size === 0) return { post, images: [] }
  return { post: { ...post, ...without }, images: [...images].map(([own, url]) => ({ hash: own, url })) }
}

/** The hash in the address of an image that is kept beside its post; null for any other address. */
export function keptHash(url: string): string | null {
  return url.startsWith(SCHEME) ? url.slice(SCHEME.length) : null
}
