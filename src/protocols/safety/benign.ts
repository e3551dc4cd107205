import type { Post } from '../../contracts/facts/thread.ts'
import { leftOutParts } from '../truncation.ts'
import type { Picture } from './input.ts'
import type { SafetySide, SafetyTurn } from './log.ts'
import type { SafetySettings } from './settings.ts'

/**
 * What the label `safe` needs and this case lacks, in words; `unsafe` needs none of it. It needs every word read
 * (`partlyRead`), and, by `unseen`: every image seen by a vision model, for an author's words about an image prove nothing;
 * everything that came with the post; the brief and every turn that the settings ask for; and no question refused by an endpoint's
 * filter (`withheldIfFiltered`).
 */
export function missingForSafe(
  settings: SafetySettings,
  seen: {
    readonly post: Post
    /** Parts of the texts that were not read, in words. */
    readonly unread: readonly string[]
    readonly pictures: readonly Picture[]
    readonly log: readonly SafetyTurn[]
    /** The supporter's brief was asked for, and got no answer. */
    readonly briefLost: boolean
  },
): string[] {
  const { post, unread, pictures, log, briefLost } = seen
  return [
    ...(settings.partlyRead === 'judged' ? [] : unread),
    ...(settings.unseen === 'judged'
      ? []
      : [
          ...unseenImages(post, pictures),
          ...leftOutParts(post),
          ...(briefLost ? ['the brief lost'] : []),
          ...lostTurns(settings, log),
        ]),
  ]
}

function unseenImages({ media = [] }: Post, pictures: readonly Picture[]): string[] {
  const unseen = media.length - pictures.filter(({ description }) => description !== null).length
  return unseen === 0 ? [] : [`${unseen} of ${media.length} images not seen`]
}

function lostTurns(settings: SafetySettings, log: readonly SafetyTurn[]): string[] {
  const sides: readonly SafetySide[] = (['strict', 'loose'] as const).filter((side) => settings[side])
  // A further round that was not held, since the one before left nothing open, is no loss.
  const rounds = settings.debateWhen === 'contested' ? (log.at(-1)?.round ?? 0) : settings.rounds
  const asked = rounds * sides.length
  const heard = log.filter(({ said }) => said !== null).length
  return heard === asked ? [] : [`${asked - heard} of ${asked} turns of the debate lost`]
}
