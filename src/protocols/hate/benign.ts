import { describeOddFields, isWords } from '../../contracts/facts/odd-fields.ts'
import type { Post } from '../../contracts/facts/thread.ts'
import { unseenPictures } from '../clips.ts'
import type { HateSettings } from './settings.ts'

/**
 * What the label `non-hate` needs and this case lacks, in words; `hate` needs none of it. It needs every word read
 * (`partlyRead`), and, by `unheard`: every word that came with the post; a stance of more than `minPerspectives` of the
 * perspectives; every turn that the settings ask for; and no question refused by an endpoint's filter
 * (`withheldIfFiltered`). Images are no words: the verdict states that they were left out.
 * What a clip shows belongs to what it says.
 */
export function missingForNonHate(
  settings: HateSettings,
  context: {
    readonly post: Post
    /** Parts of the text that were not read, in words. */
    readonly unread: readonly string[]
    /** How many perspectives were asked, and took a side. */
    readonly perspectives: { readonly asked: number; readonly sided: number }
    /** Turns of the debate that got no answer. */
    readonly lostTurns: number
  },
): string[] {
  const { post, unread, perspectives, lostTurns } = context
  const few = perspectives.sided <= settings.minPerspectives * perspectives.asked
  return [
    ...(settings.partlyRead === 'judged' ? [] : unread),
    ...(settings.unheard === 'judged'
      ? []
      : [
          ...describeOddFields(post.odd?.filter(isWords)),
          ...unseenPictures(post),
          ...(few ? [`${perspectives.sided} of ${perspectives.asked} perspectives took a side`] : []),
          ...(lostTurns === 0 ? [] : [`${lostTurns} turns of the debate lost`]),
        ]),
  ]
}
