import type { Fence } from '../../contracts/facts/fence.ts'
import { describeOddFields } from '../../contracts/facts/odd-fields.ts'
import type { SamplingRank } from '../../contracts/facts/sampling-rank.ts'
import { isDescribed, type Post, type Snapshot } from '../../contracts/facts/thread.ts'
import type { PolicyInForce } from '../clauses.ts'
import { isControl } from '../control.ts'
import { describeImages, wordsOf } from '../image-descriptions.ts'
import { inOrder, isTurned } from '../order.ts'
import type { Prompts } from '../prompts.ts'
import { missingAround, surroundingsIn } from '../surroundings.ts'
import { type FilterRefusals, unreadParts } from '../truncation.ts'
import { type HateSide, type Perspective, SIDES } from './perspectives.ts'
import { type HateQuestions, questions } from './questions.ts'
import type { HateSettings } from './settings.ts'

export interface HateParts {
  readonly settings: HateSettings
  readonly perspectives: readonly Perspective[]
  /** The policy in force, if there is one. */
  readonly policy: PolicyInForce | null
  readonly prompts: Prompts
  readonly fence: Fence
  readonly samplingRank: SamplingRank
  readonly refusals: FilterRefusals
  /** Somebody objects to its ruling. */
  readonly appealed?: boolean
}

/** What is judged, and how it is asked about. */
export interface HateContext {
  readonly post: Post
  readonly text: string
  readonly settings: HateSettings
  readonly perspectives: readonly Perspective[]
  readonly policy: PolicyInForce | null
  readonly ask: HateQuestions
  /** Whether the last of several perspectives in one call comes first: those after the first may copy it. */
  readonly lastFirst: boolean
  /** The sides, the one that opens the debate first. */
  readonly sides: readonly HateSide[]
  /** It is debated also where its perspectives agree, to see what that changes. */
  readonly isControl: boolean
  /** The same, for somebody objects to what they agree on. */
  readonly appealed: boolean
  readonly refusals: FilterRefusals
  /** Parts of the text that no model reads, in words. */
  readonly unread: readonly string[]
  /** What was left out or failed, in words; grows as the case goes on. */
  readonly degraded: string[]
}

/** The post as this protocol reads it; null if it has no words. */
export function hateContext(subject: Snapshot, parts: HateParts): HateContext | null {
  const { post } = subject
  const { settings, perspectives, policy, fence, refusals, appealed = false } = parts
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
    policy,
    refusals,
    unread,
    ask: questions(text, {
      ...parts,
      turned: settings.order === 'lot' && turned,
      turnedFor: (perspective) =>
        settings.order === 'lot' && isTurned(parts.samplingRank, `labels\0${perspective}\0${text}`),
      images: settings.preset === 'paper' ? '' : describeImages(post),
      surroundings: surroundingsIn(subject, fence),
    }),
    // By a draw of its own: else the order of annotators and that of labels would go together.
    lastFirst: settings.order === 'lot' && isTurned(parts.samplingRank, `annotators\0${text}`),
    // And by another: who speaks first also speaks before last.
    sides: inOrder(SIDES, settings.opens === 'lot' && isTurned(parts.samplingRank, `debaters\0${text}`)),
    isControl: isControl(parts.samplingRank, 'hate', text, settings.controlShare),
    appealed,
    degraded: [...describeOddFields(post.odd), ...unseen, ...unread, ...missingAround(subject)],
  }
}
