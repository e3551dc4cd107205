import { visibleName } from '../../contracts/facts/author.ts'
import { normalized } from '../../contracts/facts/normalized.ts'
import { type SamplingRank, samplingKeyVersion } from '../../contracts/facts/sampling-rank.ts'
import type { ThreadRules } from '../../contracts/ports/threads.ts'

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

/**
 * Whether a name is one of these placeholders for an author, whatever its case, its width, what is invisible in it, and
 * the marks of a user before it (`@`, `u/`). A name that shows nothing is one.
 */
export function placeholders(names: readonly string[]): (author: string) => boolean {
  const known = new Set(['', ...names.map(plain)])
  return (author) => known.has(plain(author))
}

function plain(name: string): string {
  return normalized(visibleName(name), 'NFKC')
    .trim()
    .toLowerCase()
    .replace(/^(@|\/?u\/)/, '')
}
