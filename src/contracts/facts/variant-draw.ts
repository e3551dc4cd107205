import { RANK_LIMIT, type SamplingRank } from './sampling-rank.ts'
import type { ThreadRef } from './thread.ts'

/**
 * Whether a variant judges this subject by this protocol: all of its revisions, or none, in the shadow and live alike. Whoever draws more
 * draws the same and others. Nobody can foresee it from an id.
 */
export function isOfVariant(
  variant: string,
  protocol: string,
  { tenant, kind, postId }: ThreadRef,
  { share, rank }: { readonly share: number; readonly rank: SamplingRank },
): boolean {
  return rank(`variant ${variant}`, JSON.stringify([protocol, tenant, kind, postId])) < share * RANK_LIMIT
}
