import type { Verdict } from '../../contracts/facts/verdict.ts'
import type { Precedent } from '../../contracts/ports/library.ts'
import { subjectKey } from './feedback.ts'

/** A verdict with one of the precedents among its evidence. */
export interface TouchedVerdict
  extends Pick<Verdict, 'id' | 'tenant' | 'protocol' | 'subjectId' | 'revision' | 'final' | 'label' | 'decidedBy'> {
  readonly decidedAt: string
  readonly precedents: readonly string[]
  /** No later revision of the same subject is there. */
  readonly stands: boolean
}

/** Collects those verdicts that rest on one of these precedents. */
export function restingOn(precedents: readonly Precedent[], tenant: string | undefined) {
  const shownTo = Map.groupBy(precedents, ({ id }) => id)
  const hits = new Map<string, Omit<TouchedVerdict, 'stands'>>()
  /** By subject, of those that have been hit. */
  const newest = new Map<string, number>()
  const isShown = (id: string, of: string) =>
    shownTo.get(id)?.some((precedent) => precedent.tenant === null || precedent.tenant === of) === true
  return {
    take(one: Verdict): void {
      const key = subjectKey(one)
      const on = one.evidence.precedents.filter((id) => isShown(id, one.tenant))
      const isHit = on.length > 0 && (tenant === undefined || one.tenant === tenant)
      if (isHit || newest.has(key)) newest.set(key, Math.max(newest.get(key) ?? 0, one.revision))
      if (!isHit) return
      const { id, protocol, subjectId, revision, final, label, decidedBy, timing } = one
      const decided = { revision, final, label, decidedBy, decidedAt: timing.decidedAt }
      hits.set(id, { id, tenant: one.tenant, protocol, subjectId, ...decided, precedents: on })
    },
    /** In the order in which they were handed over. */
    all: (): readonly TouchedVerdict[] =>
      [...hits.values()].map((one) => ({ ...one, stands: newest.get(subjectKey(one)) === one.revision })),
  }
}
