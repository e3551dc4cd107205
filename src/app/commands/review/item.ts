import { printableJson } from '../../../cli/terminal.ts'
import type { Verdict } from '../../../contracts/facts/verdict.ts'
import type { RecordReader } from '../../../contracts/ports/record.ts'
import type { ReviewItem } from '../../../contracts/ports/review.ts'
import { heardBy } from '../../../record/heard.ts'

/** What a person reads of an item before they decide. */
export interface ItemTexts {
  readonly post: string
  readonly comments: readonly { readonly author: string | null; readonly text: string }[]
}

/** The subject and its comments in words; null if they are not there. */
export async function textsOf(record: RecordReader, of: Verdict): Promise<ItemTexts | null> {
  const heard = await heardBy(record, of)
  if (heard === null) return null
  const { post, comments } = heard
  const shown = [post.text, ...(post.hateSpeech === undefined ? [] : [`in answer to: ${post.hateSpeech}`])]
  return {
    post: shown.filter((text) => text !== '').join('\n'),
    comments: comments.map(({ author = null, text }) => ({ author, text })),
  }
}

/** An item as JSON, with its reservation also under the name that it had before. */
export function itemJson(item: ReviewItem, more: object = {}): string {
  return printableJson(JSON.stringify({ ...item, claim: item.reservation, ...more }))
}

/** A time in words: minutes, hours or days. */
export function ageOf(ms: number): string {
  const minutes = Math.max(0, Math.floor(ms / 60_000))
  if (minutes < 120) return `${minutes} min`
  return minutes < 2_880 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 1_440)} d`
}
