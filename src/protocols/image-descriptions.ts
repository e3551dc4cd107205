import { isBlank } from '../contracts/facts/blank.ts'
import { isDescribed, type Post, shownIn } from '../contracts/facts/thread.ts'

/** The words of a post that are judged: its text, and what its images are said to show. */
export function wordsOf({ text, media = [] }: Post): string {
  const images = media
    .filter(isDescribed)
    .map((medium) => `[image${medium.of === undefined ? '' : `, ${medium.of}`}: ${shownIn(medium)}]`)
  return [text, ...images].filter((words) => !isBlank(words)).join('\n')
}

/**
 * What is said beside the block of a post's words: which of them tell of its images, since an author may write what looks the
 * same, and how many images nobody has looked at. Empty where it has none.
 */
export function describeImages({ media = [] }: Post): string {
  const described = media.filter(isDescribed).length
  const unseen = media.length - described
  const last = described === 1 ? 'the last "[image: …]" is' : `the last ${described} "[image: …]" are`
  const left = unseen === 1 ? 'an image' : `${unseen} images`
  return [
    ...(described === 0 ? [] : [`\nIn it, ${last} what an image is said to show, which nobody has checked.`]),
    ...(unseen === 0
      ? []
      : [`\nThe post also has ${left} that nobody has looked at: take that neither for nor against.`]),
  ].join('')
}
