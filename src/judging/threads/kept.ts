import { cut, type TextCut } from '../../contracts/facts/cut.ts'
import type { CommentMessage, CounterspeechMessage, PostMessage } from '../../contracts/facts/messages.ts'
import { bounded, type OddField } from '../../contracts/facts/odd-fields.ts'
import type { Clip, Comment, Medium, Post } from '../../contracts/facts/thread.ts'
import type { ThreadRules } from '../../contracts/ports/threads.ts'
import { placeholders } from './rules.ts'

type Kept = Pick<ThreadRules, 'maxTextChars' | 'isPlaceholder'>

/** How messages are kept under these settings. */
export function messageKeeper(settings: { readonly maxTextChars: number; readonly placeholders: readonly string[] }) {
  const kept: Kept = { maxTextChars: settings.maxTextChars, isPlaceholder: placeholders(settings.placeholders) }
  return {
    post: (message: PostMessage) => keptPost(message, kept),
    comment: (message: CommentMessage) => keptComment(message, kept),
    reply: (message: CounterspeechMessage) => keptReply(message, kept),
  }
}

/** A post as its thread keeps it; `described`: what a vision model saw in its images. */
export function keptPost(
  { id, text, author, authorSince, lang, createdAt, media = [], odd = [], reach }: PostMessage,
  { maxTextChars: textChars, isPlaceholder }: Kept,
  described: readonly string[] = [],
): Post {
  const images = media.filter((medium) => medium.kind === 'image')
  const altChars = altCharsOf(images.length, textChars)
  const clips = media.filter((medium) => medium.kind !== 'image')
  const most = {
    transcript: Math.max(FEWEST_CHARS, Math.floor(textChars / clips.length)),
    alt: altCharsOf(clips.flatMap(({ frames = [] }) => frames).length, textChars),
  }
  const notGiven = media.flatMap((medium, at) =>
    medium.kind === 'image' ? [] : notGivenIn(medium, at, most.transcript),
  )
  return {
    id,
    ...shortened(text ?? '', textChars),
    ...(author === undefined || isPlaceholder(author) ? {} : { author }),
    ...(authorSince === undefined ? {} : { authorSince }),
    ...(lang === undefined ? {} : { lang }),
    createdAt,
    ...(images.length === 0 ? {} : { media: images.map((image, at) => mediumOf(image, described[at], altChars)) }),
    ...(clips.length === 0 ? {} : { clips: clips.map((one) => clipOf(one, most)) }),
    ...(odd.length + notGiven.length === 0 ? {} : { odd: bounded([...odd, ...notGiven]) }),
    ...(reach === undefined ? {} : { reach }),
  }
}

/** What of a clip nobody can read or look at: no benign label is true of it. */
function notGivenIn({ kind, transcript, frames = [] }: MessageClip, at: number, longest: number): OddField[] {
  const field = (name: string) => `media.${at}.${name}`
  const left = (transcript?.length ?? 0) - longest
  return [
    ...(transcript === undefined
      ? [{ field: field('transcript'), why: `what is said in this ${kind} was not given` }]
      : []),
    ...(left > 0 ? [{ field: field('transcript'), why: `${left} of ${longest + left} characters not read` }] : []),
    ...(kind === 'video' && frames.length === 0
      ? [{ field: field('frames'), why: 'no picture of this video was given' }]
      : []),
  ]
}

/**
 * Longest image description that is kept, in characters: longer than social networks allow. A post may have sixteen, and they
 * are cleaned in one piece with its text: of many each may be shorter.
 */
const MAX_ALT_CHARS = { each: 4_000, all: 16_000 }

/** What a cut may leave of a text at least. */
const FEWEST_CHARS = 100

function altCharsOf(images: number, textChars: number): number {
  return Math.max(FEWEST_CHARS, Math.min(textChars, MAX_ALT_CHARS.each, Math.floor(MAX_ALT_CHARS.all / images)))
}

type MessageMedium = NonNullable<PostMessage['media']>[number]
type MessageImage = Extract<MessageMedium, { kind: 'image' }>
type MessageClip = Exclude<MessageMedium, { kind: 'image' }>

function mediumOf(
  { kind, url, alt, sha256, pdq, at }: MessageImage & Pick<Medium, 'at'>,
  description: string | undefined,
  altChars: number,
): Medium {
  const words = description ?? alt
  const { text, cut } = shortened(words ?? '', altChars)
  return {
    kind,
    ...(url === undefined ? {} : { url }),
    ...(words === undefined ? {} : description === undefined ? { alt: text } : { description: text }),
    ...(cut === undefined ? {} : { cut }),
    ...(sha256 === undefined ? {} : { sha256 }),
    ...(pdq === undefined ? {} : { pdq }),
    ...(at === undefined ? {} : { at }),
  }
}

/** A clip with so many characters of its words: all clips of a post together may be no longer than texts are. */
function clipOf(
  { kind, transcript, frames, seconds }: MessageClip,
  most: { readonly transcript: number; readonly alt: number },
): Clip {
  const { text, cut } = shortened(transcript ?? '', most.transcript)
  return {
    kind,
    ...(transcript === undefined ? {} : { transcript: text }),
    ...(cut === undefined ? {} : { cut }),
    ...(frames === undefined ? {} : { frames: frames.map((frame) => mediumOf(frame, undefined, most.alt)) }),
    ...(seconds === undefined ? {} : { seconds }),
  }
}

/** A comment as its thread keeps it. */
export function keptComment(
  { id, parentId, text, author, authorSince, createdAt, odd }: CommentMessage,
  { maxTextChars: textChars, isPlaceholder }: Kept,
): Comment {
  return {
    id,
    ...(parentId === undefined ? {} : { parentId }),
    ...shortened(text ?? '', textChars),
    ...(author === undefined || isPlaceholder(author) ? {} : { author }),
    ...(authorSince === undefined ? {} : { authorSince }),
    createdAt,
    ...(odd === undefined ? {} : { odd }),
  }
}

/** A reply as its thread keeps it. */
export function keptReply(
  { id, text, hateSpeech, author, createdAt, odd }: CounterspeechMessage,
  { maxTextChars: textChars, isPlaceholder }: Kept,
): Post {
  const answered = shortened(hateSpeech ?? '', textChars)
  return {
    id,
    ...shortened(text ?? '', textChars),
    hateSpeech: answered.text,
    ...(answered.cut === undefined ? {} : { hateSpeechCut: answered.cut }),
    ...(author === undefined || isPlaceholder(author) ? {} : { author }),
    createdAt,
    ...(odd === undefined ? {} : { odd }),
  }
}

/** A text shortened to this many characters, with the numbers of characters left out and in all if any are left out. */
export function shortened(text: string, characters: number): { text: string; cut?: TextCut } {
  const { text: kept, left } = cut(text, characters)
  return left === 0 ? { text: kept } : { text: kept, cut: { left, of: text.length } }
}
