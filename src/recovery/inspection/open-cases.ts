import { scopeOf } from '../../contracts/facts/verdict-id.ts'
import type { CaseStore } from '../../contracts/ports/cases.ts'
import type { JobDesk } from '../../contracts/ports/stage-queues.ts'
import { type CaseParts, type InspectedCase, inspectCases } from './cases.ts'

/**
 * How an open case stands. `active`: a worker has some of its asks; `waiting`: its asks wait for a worker; `deferred`: none
 * can be asked before its time; `stranded`: nothing will continue it until the reconciler finds it; `advancing`: its round has
 * ended; `elsewhere`: only a service with other versions or protocols knows; `withheld`: it was shown content of a subject that was
 * deleted since, and waits to begin again without it.
 */
export const CASE_STATES = ['active', 'waiting', 'deferred', 'stranded', 'advancing', 'elsewhere', 'withheld'] as const
export type CaseState = (typeof CASE_STATES)[number]

export type ListedCase = Omit<InspectedCase, 'state'> & {
  readonly tenant: string
  readonly state: CaseState
  /** Its deadline has passed: it makes no new call. */
  readonly overdue: boolean
}

/** Which cases are listed; what is left out does not restrict them. */
export interface CaseFilter {
  readonly state?: CaseState | undefined
  readonly tenant?: string | undefined
  readonly protocol?: string | undefined
}

export type OpenCasesParts = CaseParts & {
  readonly cases: Pick<CaseStore, 'unpublished' | 'unansweredUntil' | 'isWithheld' | 'openIds'>
  readonly desk: Pick<JobDesk, 'stranded'>
  readonly clock: () => number
}

/** Cases inspected concurrently. */
const AT_ONCE = 20

/** The open cases that the filter lets through, those first that nobody has touched for longest, up to `most`; and how many more there may be. */
export async function listCases(
  parts: OpenCasesParts,
  filter: CaseFilter,
  {
    most,
    signal,
    progress,
  }: { readonly most: number; readonly signal: AbortSignal; readonly progress: (seen: number) => void },
): Promise<{ cases: ListedCase[]; unseen: number }> {
  const ids = (await parts.cases.openIds()).filter((id) => {
    const { protocol, tenant } = scopeOf(id)
    return (filter.tenant ?? tenant) === tenant && (filter.protocol ?? protocol) === protocol
  })
  const found: ListedCase[] = []
  let seen = 0
  while (seen < ids.length && found.length < most && !signal.aborted) {
    const some = ids.slice(seen, seen + AT_ONCE)
    const shown = await Promise.all((await inspectCases(parts, some)).map((one) => listedCase(parts, one)))
    // A case that was decided meanwhile is none of the open ones.
    found.push(
      ...shown.filter((one) => one !== null && (filter.state ?? one.state) === one.state).flatMap((one) => one ?? []),
    )
    seen += some.length
    progress(seen)
  }
  return { cases: found.slice(0, most), unseen: ids.length - seen + Math.max(0, found.length - most) }
}

async function listedCase({ desk, clock }: OpenCasesParts, one: InspectedCase): Promise<ListedCase | null> {
  if (one.state === 'decided') return null
  const [stranded] =
    one.note === null && one.waits.every(({ state }) => state === 'none')
      ? await desk.stranded([{ caseId: one.id, groups: [] }])
      : []
  return {
    ...one,
    tenant: scopeOf(one.id).tenant,
    state: stateOf(one, stranded !== undefined),
    overdue: one.deadline < clock(),
  }
}

function stateOf({ note, waits, withheld }: InspectedCase, stranded: boolean): CaseState {
  if (withheld) return 'withheld'
  if (note !== null) return 'elsewhere'
  if (stranded) return 'stranded'
  const has = (wanted: string) => waits.some(({ state }) => state === wanted)
  return has('active') ? 'active' : has('waiting') ? 'waiting' : has('deferred') ? 'deferred' : 'advancing'
}
