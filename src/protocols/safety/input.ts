import { isBlank } from '../../contracts/facts/blank.ts'
import type { Fence } from '../../contracts/facts/fence.ts'
import type { Post } from '../../contracts/facts/thread.ts'

/** What a post is made of, which decides what to look for in it. */
export type Modality = 'text' | 'image' | 'both'

/** An image of the post, and what is known about it in words. */
export interface Picture {
  /** From 1, in the post's order. */
  readonly number: number
  readonly url: string | null
  /** Of a picture of a clip: of which, and when. */
  readonly of: string | null
  /** The author's description of it: as unproven as the text. */
  readonly alt: string | null
  /** What the vision model saw; null if it has not looked, or could not. */
  readonly description: string | null
}

export function picturesOf({ media = [] }: Post, most: number): Picture[] {
  return media.slice(0, most).map(({ url, of, alt = '', description = '' }, index) => ({
    number: index + 1,
    url: url ?? null,
    of: of ?? null,
    alt: isBlank(alt) ? null : alt,
    description: isBlank(description) ? null : description,
  }))
}

export function modalityOf({ text, media = [] }: Post): Modality {
  if (media.length === 0) return 'text'
  return isBlank(text) ? 'image' : 'both'
}

/** The post in plain words, to find precedents with: its text, and for each image the best words that are known. */
export function wordsOf(post: Post, pictures: readonly Picture[]): string {
  return [post.text, ...pictures.map(({ description, alt }) => description ?? alt ?? '')]
    .filter((words) => !isBlank(words))
    .join('\n')
}

/** The post in the uniform form, all text, that every agent after the preprocessor reads. */
export function inputOf(post: Post, pictures: readonly Picture[], fence: Fence): string {
  const text = isBlank(post.text) ? 'The post has no text.' : fence('post', post.text)
  return [text, ...pictures.map((picture) => pictureIn(picture, fence))].join('\n\n')
}

/** The texts of the input, each with the kind of its block. */
export function blocksOf({ text }: Post, pictures: readonly Picture[]): { kind: string; text: string }[] {
  return [
    { kind: 'post', text },
    ...pictures.flatMap(({ description, alt }) => [
      ...(description === null ? [] : [{ kind: 'image', text: description }]),
      ...(alt === null ? [] : [{ kind: 'alt', text: alt }]),
    ]),
  ]
}

/** An image in the input: its description, else a placeholder that leans to neither side. */
function pictureIn({ number, of, alt, description }: Picture, fence: Fence): string {
  const name = of === null ? `Image ${number}` : `Image ${number}, ${of}`
  const seen =
    description === null
      ? `${name}: there is an image here that nobody has looked at. Nothing is known of what it shows; take that neither for nor against the post.`
      : `${name}, described by a vision model:\n${fence('image', description, number)}`
  return alt === null ? seen : `${seen}\n${captioned(number, alt, fence)}`
}

/** The author's words for an image, marked as theirs. */
export function captioned(number: number, alt: string, fence: Fence): string {
  return `What the author says image ${number} shows, which nobody has checked:\n${fence('alt', alt, number)}`
}
