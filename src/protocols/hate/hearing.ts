import type { Fence } from '../../contracts/facts/fence.ts'
import { toldOdd } from '../../contracts/facts/odd-fields.ts'
import type { SamplingRank } from '../../contracts/facts/sampling-rank.ts'
import { isDescribed, type Post } from '../../contracts/facts/thread.ts'
import { imagesTold, wordsOf } from '../images-told.ts'
import { inOrder, isTurned } from '../order.ts'
import type { Prompts } from '../prompts.ts'
import { unreadParts } from '../unread.ts'
import { type Perspective, SIDES, type Side } from './perspectives.ts'
import { type Questions, questions } from './questions.ts'
import type { HateSettings } from './settings.ts'

export interface HateParts {
  readonly settings: HateSettings
  readonly perspectives: readonly Perspective[]
  readonly prompts: Prompts
  readonly fence: Fence
  readonly samplingRank: SamplingRank
}

/** What is judged, and how it is asked about. */
export interface Hearing {
  readonly post: Post
  readonly text: string
  readonly settings: HateSettings
  readonly perspectives: readonly Perspective[]
  readonly ask: Questions
  /** Whether the last of several perspectives in one call comes first: those after the first may copy it. */
  readonly lastFirst: boolean
  /** The sides, the one that opens the debate first. */
  readonly sides: readonly Side[]
  /** Parts of the text that no model reads, in words. */
  readonly unread: readonly string[]
  /** What was left out or failed, in words; grows as the case goes on. */
  readonly degraded: string[]
}

/** The post as this protocol reads it; null if it has no words. */
export function hearing(post: Post, parts: HateParts): Hearing | null {
  const { settings, perspectives, fence } = parts
  const text = wordsOf(post)
  if (text === '') return null
  const turned = isTurned(parts.samplingRank, text)
  const unread = unreadParts(post, [{ kind: 'text', text }], fence)
  const { media = [] } = post
  const unseen = media.every(isDescribed)
    ? []
    : ['images without a description left out: this protocol reads words only']
  return {
    post,
    text,
    settings,
    perspectives,
    unread,
    ask: questions(text, {
      ...parts,
      turned: settings.order === 'lot' && turned,
      images: settings.preset === 'paper' ? '' : imagesTold(post),
    }),
    // By a draw of its own: else the order of annotators and that of labels would go together.
    lastFirst: settings.order === 'lot' && isTurned(parts.samplingRank, `annotators\0${text}`),
    sides: inOrder(SIDES, settings.opens === 'lot' && turned),
    degraded: [...toldOdd(post.odd), ...unseen, ...unread],
  }
}
