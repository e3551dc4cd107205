import { placeholders } from '../domain/placeholders.ts'
import { type SamplingRank, samplingKeyVersion } from '../domain/sampling-rank.ts'
import type { ThreadRules } from '../ports/threads.ts'

/** The rules by which threads take comments, from the settings. */
export function threadRules(
  settings: {
    readonly checkpoints: Pick<ThreadRules, 'finalAge' | 'counts' | 'reopen'>
    readonly threads: Pick<
      ThreadRules,
      'maxComments' | 'maxPerAuthor' | 'maxUnnamed' | 'maxTextChars' | 'orphanWait'
    > & {
      readonly placeholders: readonly string[]
    }
  },
  samplingRank: SamplingRank,
): ThreadRules {
  const { checkpoints, threads } = settings
  return {
    ...checkpoints,
    ...threads,
    isPlaceholder: placeholders(threads.placeholders),
    samplingKeyVersion: samplingKeyVersion(samplingRank),
    rank: ({ tenant, kind, postId }, id) => samplingRank(`sample ${tenant}/${kind}:${postId}`, id),
  }
}
