import { snapshot } from '../domain/thread.ts'
import type { Transcript, Turn } from '../domain/verdict.ts'
import { description } from '../protocols/safety/answers.ts'
import { picturesOf, wordsOf } from '../protocols/safety/input.ts'
import type { ClosedCase } from './curate.ts'

/** What a transcript holds to learn from, without the prompts, which are most of it. */
export interface Argument {
  readonly verdictId: string
  /**
   * The case in words, as it would be looked for: its text, and of each image what is best known of it, also of those that
   * `maxImages` left out.
   */
  readonly words: string
  readonly turns: ClosedCase['turns']
}

/** Null where the transcript holds no post: it was deleted, or was cut out because it is too large. */
export function argumentOf({ verdictId, subject, turns }: Transcript): Argument | null {
  const read = snapshot.safeParse(subject)
  if (!read.success) return null
  const { post } = read.data
  const seen = descriptions(turns)
  const pictures = picturesOf(post, Number.POSITIVE_INFINITY)
  const described = pictures.map((picture) => ({
    ...picture,
    description: seen.get(picture.number) ?? picture.description,
  }))
  const said = turns.map(({ stage, role, answer, failed }) => {
    return { stage, role, answer, ...(failed === undefined ? {} : { failed }) }
  })
  return { verdictId, words: wordsOf(post, described), turns: said }
}

/** What the vision model saw, by the image's number. */
function descriptions(turns: readonly Turn[]): ReadonlyMap<number, string> {
  return new Map(
    turns.flatMap(({ stage, role, answer }): [number, string][] => {
      const number = /\(image (\d+)\)$/.exec(role)?.[1]
      const read = description.safeParse(answer)
      return stage === 'describe' && number !== undefined && read.success
        ? [[Number(number), read.data.description]]
        : []
    }),
  )
}
