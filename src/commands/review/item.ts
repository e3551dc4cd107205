import { z } from 'zod'
import { snapshot } from '../../service/domain/thread.ts'
import type { Verdict } from '../../service/domain/verdict.ts'
import type { RecordReader } from '../../service/ports/record.ts'

/** What a person reads of an item before they decide. */
export interface ItemTexts {
  readonly post: string
  readonly comments: readonly { readonly author: string | null; readonly text: string }[]
}

const heard = z.object({ subject: snapshot })
/** A human's verdict, or one that was restored, has seen nothing itself: so many verdicts back is looked for one that has. */
const FURTHEST = 5

/** The subject and its comments as the verdict saw them, or the one that it was decided against; null if they are not there. */
export async function textsOf(record: RecordReader, of: Verdict): Promise<ItemTexts | null> {
  let id: string | null = of.id
  for (let back = 0; back < FURTHEST && id !== null; back++) {
    const json = await record.transcript(id)
    const read = json === null ? null : heard.safeParse(JSON.parse(json))
    if (read?.success === true) {
      const { post, comments } = read.data.subject
      const shown = [post.text, ...(post.hateSpeech === undefined ? [] : [`in answer to: ${post.hateSpeech}`])]
      return {
        post: shown.filter((text) => text !== '').join('\n'),
        comments: comments.map(({ author = null, text }) => ({ author, text })),
      }
    }
    const verdict: Verdict | undefined = (await record.verdict(id))?.verdict
    id = verdict?.decision?.against ?? verdict?.restored?.from ?? null
  }
  return null
}

/** A time in words: minutes, hours or days. */
export function ageOf(ms: number): string {
  const minutes = Math.max(0, Math.floor(ms / 60_000))
  if (minutes < 120) return `${minutes} min`
  return minutes < 2_880 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 1_440)} d`
}
