import type { NoteEntry, RulingEntry, SubjectPreview } from '../../contracts/ports/record.ts'
import { MOST_CLAIMS, type ReviewQueue, type ReviewState } from '../../contracts/ports/review.ts'
import {
  type Costs,
  costsOf,
  holds,
  itemOf,
  lookAt,
  type QueueRow,
  ranked,
  reservationConflict,
} from '../review-queue.ts'

/** What the queue is made of. */
export interface QueueSource {
  /** The rulings that stand, but for deletions. */
  readonly standing: () => readonly RulingEntry[]
  /** The machines' last ruling below this one, if there is one. */
  readonly beneath: (ruling: RulingEntry) => RulingEntry | undefined
  readonly said: () => readonly NoteEntry[]
  readonly shownOf: (ruling: RulingEntry) => SubjectPreview | null
  readonly isDrawn: (id: string, share: number) => boolean
}

/** The queue in memory: made anew at each look. */
export function memoryReview(
  source: QueueSource,
  { costs, auditShare, blindShare }: { costs: Costs; auditShare: number; blindShare: number },
): ReviewQueue {
  const claims = new Map<string, { by: string; until: number; decider: string | null }>()
  const own = costsOf(costs)
  const deciderOf = ({ json }: RulingEntry) => (JSON.parse(json) as { decision?: { by: string } }).decision?.by ?? null
  const saidOf = (ruling: RulingEntry) =>
    source
      .said()
      .filter(({ subject, protocol }) => protocol === ruling.protocol && keyOf(subject) === keyOf(ruling.subject))
      .map((one) => ({ ...one, message: JSON.parse(one.json) as Record<string, unknown> }))
  /** Each person's last word, by who spoke first. */
  const opinionsOn = (ruling: RulingEntry) => {
    const all = saidOf(ruling).filter(
      ({ said, label, message: { opinion, against }, by }) =>
        said === 'decision' &&
        opinion === true &&
        label !== null &&
        against === ruling.number &&
        by !== deciderOf(ruling),
    )
    const last = new Map(all.toSorted((a, b) => a.at - b.at).map((one) => [one.by, one]))
    return [...new Set(all.map(({ by }) => by))].flatMap((by) => last.get(by) ?? [])
  }

  /** A claim ends where a person decides. */
  const claimOn = (ruling: RulingEntry) => {
    const claim = claims.get(claimKey(ruling))
    return claim?.decider === deciderOf(ruling) ? claim : undefined
  }

  function rowOf(ruling: RulingEntry): QueueRow[] {
    const { id, subject, protocol, number, label, decidedBy } = ruling
    const asked = saidOf(ruling).flatMap(({ said, message: { why, verdict }, at }) =>
      said === 'review' && verdict === id ? [{ why: String(why), at }] : [],
    )
    const drawn = source.isDrawn(id, decidedBy === 'human' ? blindShare : auditShare)
    const look = lookAt({ ...ruling, drawn }, asked, opinionsOn(ruling).length)
    if (look === null) return []
    const { lang = null, begins: words = null } = source.shownOf(ruling) ?? {}
    const claim = claimOn(ruling)
    return [
      {
        verdict: id,
        tenant: subject.tenant,
        kind: subject.kind,
        subject: subject.postId,
        protocol,
        number,
        label,
        ...look,
        reasons: look.reasons.join(' '),
        decider: deciderOf(ruling),
        words,
        lang,
        holder: claim?.by ?? null,
        until: claim?.until ?? null,
      },
    ]
  }
  const rows = () => source.standing().flatMap(rowOf)
  const claimOf = (item: string) => source.standing().find(({ id }) => id === item)

  return {
    async list(filter, most, now) {
      const all = ranked(rows(), filter, own, now)
      return { items: all.slice(0, most).map(({ row, score }) => itemOf(row, score, now)), waiting: all.length }
    },
    async claim(item, filter, until, now) {
      const wanted = rows().filter(
        ({ verdict, tenant }) => (item === null || verdict === item) && filter.tenants?.includes(tenant) !== false,
      )
      const [one] = wanted
      const refused = item === null ? null : reservationConflict(one, filter.for, now)
      if (refused !== null) return refused
      const [first] = ranked(wanted, filter, own, now)
      const ruling = first === undefined ? undefined : claimOf(first.row.verdict)
      if (first === undefined || ruling === undefined) return { outcome: 'gone' }
      const others = [...claims].filter(
        ([key, held]) => key !== claimKey(ruling) && held.by === filter.for && held.until > now,
      )
      if (!holds(first.row, filter.for, now) && others.length >= MOST_CLAIMS) return { outcome: 'many' }
      claims.set(claimKey(ruling), { by: filter.for, until, decider: deciderOf(ruling) })
      return { outcome: 'claimed', item: { ...itemOf(first.row, first.score, now), claim: { by: filter.for, until } } }
    },
    async release(item, by, anyone, now) {
      const ruling = claimOf(item)
      const held = ruling === undefined ? undefined : claimOn(ruling)
      if (ruling === undefined || held === undefined || held.until <= now || !(anyone || held.by === by)) return false
      return claims.delete(claimKey(ruling))
    },
    state: async () => stateOf(rows(), source, opinionsOn),
    close: async () => {},
  }
}

const keyOf = ({ tenant, kind, postId }: RulingEntry['subject']) => `${tenant} ${kind} ${postId}`
const claimKey = ({ subject, protocol }: RulingEntry) => `${protocol} ${keyOf(subject)}`

function stateOf(
  rows: readonly QueueRow[],
  source: QueueSource,
  opinionsOn: (ruling: RulingEntry) => readonly NoteEntry[],
): ReviewState {
  const queue = new Map<string, { waiting: number; oldest: number }>()
  for (const { protocol, since } of rows) {
    const { waiting = 0, oldest = since } = queue.get(protocol) ?? {}
    queue.set(protocol, { waiting: waiting + 1, oldest: Math.min(oldest, since) })
  }
  const agreement = new Map<string, ReviewState['agreement'][number]>()
  for (const ruling of source.standing())
    for (const [beside, other] of [
      ['machine', source.beneath(ruling)],
      ['person', opinionsOn(ruling)[0]],
    ] as const) {
      if (ruling.decidedBy !== 'human' || other === undefined || other.label === null) continue
      const { protocol } = ruling
      const agrees = other.label === ruling.label
      const key = `${protocol} ${beside} ${agrees}`
      const verdicts = (agreement.get(key)?.verdicts ?? 0) + 1
      agreement.set(key, { protocol, beside, agrees, verdicts })
    }
  return {
    queue: [...queue].map(([protocol, own]) => ({ protocol, ...own })),
    agreement: [...agreement.values()],
  }
}
