import { isBlank } from '../contracts/facts/blank.ts'
import type { Clip, Medium, Post } from '../contracts/facts/thread.ts'

/**
 * A post whose clips are judged by what is given of them: what is said in them as further lines of its text, single pictures as
 * further images, each with its place. A post without clips is the same.
 */
export function withClips(post: Post): Post {
  const { clips, ...rest } = post
  if (clips === undefined) return post
  const said = clips.flatMap(({ transcript = '', seconds, ...clip }, at) => {
    const long = seconds === undefined ? '' : ` of ${seconds} s`
    return isBlank(transcript) ? [] : [`[said in ${nameOf(clip, at)}${long}: ${transcript}]`]
  })
  const pictures = clips.flatMap(({ frames = [], ...clip }, at) =>
    frames.map((frame): Medium => ({ ...frame, of: placeOf(frame, nameOf(clip, at)) })),
  )
  const media = [...(post.media ?? []), ...pictures]
  return {
    ...rest,
    text: [post.text, ...said].filter((words) => !isBlank(words)).join('\n'),
    ...(media.length === 0 ? {} : { media }),
  }
}

function nameOf({ kind }: Pick<Clip, 'kind'>, at: number): string {
  return `${kind} ${at + 1}`
}

function placeOf({ at }: Medium, clip: string): string {
  return at === undefined ? `a picture of ${clip}` : `a picture of ${clip} at ${at} s`
}

/** Pictures of clips of which nothing is known in words, in words: a protocol that reads words only has not seen them. */
export function unseenPictures({ media = [] }: Post): string[] {
  const unseen = media.filter(({ of, alt, description }) => of !== undefined && isBlank(description ?? alt ?? ''))
  return unseen.length === 0 ? [] : [`${unseen.length} pictures of clips not seen`]
}
