import { z } from 'zod'
import { POSTS } from './frame.ts'

/** The address of a post, with its author's DID. */
const postAddress = z
  .string()
  .regex(new RegExp(`^at://did:[a-z]+:[A-Za-z0-9._:%-]{1,200}/${POSTS}/[A-Za-z0-9._:~-]{1,200}$`))
const contentId = z.string().regex(/^[A-Za-z0-9]{10,200}$/)

const blob = z.object({ ref: z.object({ $link: contentId }) })
const picture = z.object({ image: blob, alt: z.string().optional() })
const words = z.string().catch('')
const none = undefined

const pictures = z.object({ images: z.array(z.unknown()).max(100) })
const video = z.object({ video: blob, alt: words })
const card = z.object({ external: z.object({ uri: words, title: words, description: words }) })
const quoteWithMedia = z.object({ media: z.looseObject({}) })

const postRecord = z.object({
  text: words,
  langs: z.array(z.string()).catch([]),
  reply: z
    .object({ root: z.object({ uri: postAddress }), parent: z.object({ uri: postAddress }) })
    .nullish()
    .catch(none),
  embed: z.unknown().optional(),
})

/** A medium as Gavel's messages have it. */
type PostMedium =
  | { readonly kind: 'image'; readonly url: string; readonly alt?: string }
  | {
      readonly kind: 'video'
      readonly frames: readonly { readonly kind: 'image'; readonly url: string; readonly alt?: string }[]
    }

/** What a record of a post, or of a reply, holds for its readers. */
export interface PostContent {
  /** Its words, and those of its link card. */
  readonly text: string
  readonly langs: readonly string[]
  readonly media: readonly PostMedium[]
  readonly reply: { readonly root: string; readonly parent: string } | null
}

/**
 * What of a record people see; null if it is no post, or a reply that names no post. Anybody may have written anything into it: a part
 * that can't be read is left out. Quoted posts are not in it, only their addresses.
 */
export function readPost(record: unknown, did: string, cdn: string): PostContent | null {
  const read = postRecord.safeParse(record)
  if (!read.success) return null
  const { data } = read
  if (data.reply === none && isReply(record)) return null
  const { media, card } = embedded(data.embed, did, cdn)
  return {
    text: [data.text, card].filter((part) => part.trim() !== '').join('\n\n'),
    langs: data.langs.slice(0, MOST_LANGS),
    media,
    reply: data.reply ? { root: data.reply.root.uri, parent: data.reply.parent.uri } : null,
  }
}

/** As many languages as the lexicon allows. */
const MOST_LANGS = 3

function isReply(record: unknown): boolean {
  return typeof record === 'object' && record !== null && 'reply' in record && record.reply != null
}

function embedded(embed: unknown, did: string, cdn: string): { media: PostMedium[]; card: string } {
  const quoted = quoteWithMedia.safeParse(embed)
  const shown = quoted.success ? quoted.data.media : embed
  const [images, clip, link] = [pictures.safeParse(shown), video.safeParse(shown), card.safeParse(shown)]
  const media: PostMedium[] = []
  if (images.success && cdn !== '')
    for (const one of images.data.images) {
      const read = picture.safeParse(one)
      if (read.success)
        media.push(imageAt(`${cdn}/img/feed_fullsize/plain/${did}/${read.data.image.ref.$link}@jpeg`, read.data.alt))
    }
  if (clip.success) {
    // Its first picture is all that is had without a player.
    const url = `https://video.bsky.app/watch/${encodeURIComponent(did)}/${clip.data.video.ref.$link}/thumbnail.jpg`
    media.push({ kind: 'video', frames: cdn === '' ? [] : [imageAt(url, clip.data.alt)] })
  }
  const { uri, title, description } = link.success ? link.data.external : NO_CARD
  return { media, card: [title, description, uri].filter((part) => part.trim() !== '').join('\n') }
}

const NO_CARD = { uri: '', title: '', description: '' }

function imageAt(url: string, alt = '') {
  return { kind: 'image', url, ...(alt === '' ? {} : { alt }) } as const
}
