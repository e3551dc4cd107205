import {
  type LookReason,
  MOST_POSTS_COUNTED,
  type PostItem,
  type QueueFilter,
  type QueuePlace,
  type QueueReason,
  type ReviewItem,
  type ReviewPost,
  type ReviewReservation,
} from '../contracts/ports/review.ts'

// This decides why a verdict is in the review queue, how much it weighs and who may take it, in either database.

/** The fields of the last verdict of a subject and protocol that the queue uses. */
export interface CurrentVerdict {
  readonly id: string
  readonly label: string | null
  readonly decidedBy: string
  readonly contested: boolean
  readonly degraded: boolean
  readonly confidence: number | null
  readonly accepted: number
  readonly decidedAt: number
  /** It was drawn: a machine's verdict for audit, a person's for a second opinion. */
  readonly drawn: boolean
  /** A person's verdict, with the key of a golden item. */
  readonly golden: boolean
}

/** A request for review, or a second opinion, on this verdict. */
export interface ReviewRequest {
  readonly why: string
  readonly at: number
}

/** How likely each reason makes a mistake. They are guesses, in the order that matters; docs/review.md states that. */
export const DOUBT: { readonly [Reason in QueueReason]: number } = {
  appealed: 0.6,
  refused: 0.6,
  disputed: 0.6,
  reversal: 0.6,
  measure: 0.6,
  differs: 0.5,
  'story-decided': 0.5,
  'story-differs': 0.5,
  undecided: 0.5,
  contested: 0.4,
  edited: 0.3,
  single: 0.3,
  degraded: 0.25,
  sampled: 0.05,
  'second-opinion': 0.05,
  golden: 0.05,
}
/**
 * Which items are about what people decided: nobody who decided or spoke about the same before may take one. A post that was edited
 * afterwards is another post, and no case against them.
 */
export const JUDGES_PEOPLE: { readonly [Reason in QueueReason]: boolean } = {
  appealed: true,
  refused: true,
  disputed: true,
  differs: true,
  'second-opinion': true,
  golden: true,
  reversal: false,
  measure: false,
  'story-decided': false,
  'story-differs': false,
  undecided: false,
  contested: false,
  edited: false,
  single: false,
  degraded: false,
  sampled: false,
}
/** From how many comments on somebody should look where one opinion decided: nobody spoke for the other side. */
const MANY_COMMENTS = 20
/** How sure a label is taken to be that says nothing of it: an unknown confidence is no high one. */
const EVEN_CHANCE = 0.5
const ASKED: ReadonlySet<string> = new Set([
  'appealed',
  'refused',
  'disputed',
  'differs',
  'edited',
  'story-decided',
  'story-differs',
  'reversal',
  'measure',
])

/** The same as a list, to ask for each by itself: of one verdict thousands may be refused. */
export const ASKED_FOR = [...ASKED]
/** The newest opinions on one verdict that are looked at: the first one counts, and how many there are matters little. */
export const NEWEST_OPINIONS = 100

export interface ReviewWeight {
  readonly reasons: readonly QueueReason[]
  /** Doubt and reach together: what of the score does not change with time and settings. */
  readonly weight: number
  readonly since: number
}

/** Why a verdict should be looked at, and how much that weighs; null if nothing speaks for it. */
export function lookAt(
  current: CurrentVerdict,
  asked: readonly ReviewRequest[],
  opinions: number,
): ReviewWeight | null {
  const { decidedBy, label, contested, degraded, confidence, accepted, decidedAt, drawn, golden } = current
  if (decidedBy === 'deleted') return null
  const isHuman = decidedBy === 'human'
  const reviews = asked.filter(({ why }) => ASKED.has(why))
  const reasons = new Set<QueueReason>(reviews.map(({ why }) => why as LookReason))
  if (isHuman) {
    // Who answers an appeal has to see it, and what it is against.
    if (drawn && opinions === 0 && !reasons.has('appealed')) reasons.add('second-opinion')
    // A verdict that is in doubt is no measure of anybody.
    if (golden && reasons.size === 0) reasons.add('golden')
  } else {
    if (decidedBy === 'none') reasons.add('undecided')
    if (contested) reasons.add('contested')
    if (decidedBy === 'single' && accepted >= MANY_COMMENTS) reasons.add('single')
    if (degraded && label !== null) reasons.add('degraded')
    if (drawn) reasons.add('sampled')
  }
  if (reasons.size === 0) return null
  const doubts = [...reasons].map((reason) => DOUBT[reason])
  // A person's verdict has no confidence, and `undecided` already says of one without a label that nothing is known.
  if (!isHuman && label !== null) doubts.push(1 - (confidence ?? EVEN_CHANCE))
  const doubt = 1 - doubts.reduce((sure, one) => sure * (1 - Math.min(1, Math.max(0, one))), 1)
  return {
    reasons: [...reasons],
    weight: doubt * (1 + Math.log2(1 + Math.max(0, accepted))),
    since: reviews.reduce((first, { at }) => Math.min(first, at), reviews[0]?.at ?? decidedAt),
  }
}

/** What a wrong label costs, by protocol and label; 1 where nothing is said. */
export type Costs = Readonly<Record<string, Readonly<Record<string, number>>>>

export const DAY_MS = 86_400_000
/** How many times as much as a new item an old one counts at most. */
export const OLDEST_COUNTS = 3
const ageOf = (since: number, now: number) => Math.min(OLDEST_COUNTS, 1 + Math.max(0, now - since) / DAY_MS)

/** What a mistake would cost: doubt times reach, times the cost of the label, times age (twice after a day, thrice after two). */
function scoreOf(
  { protocol, label, weight, since }: { protocol: string; label: string | null; weight: number; since: number },
  costs: ReadonlyMap<string, ReadonlyMap<string, number>>,
  now: number,
): number {
  const own = costs.get(protocol)
  const cost = label === null ? Math.max(1, ...(own?.values() ?? [])) : (own?.get(label) ?? 1)
  return weight * cost * ageOf(since, now)
}

/** The same rules, with the costs as they are looked up. */
export interface RankingRules extends QueueRules {
  readonly dear: ReadonlyMap<string, ReadonlyMap<string, number>>
}

export function rankingRules(rules: QueueRules): RankingRules {
  return { ...rules, dear: costsOf(rules.costs) }
}

function costsOf(costs: Costs): ReadonlyMap<string, ReadonlyMap<string, number>> {
  return new Map(Object.entries(costs).map(([protocol, own]) => [protocol, new Map(Object.entries(own))]))
}

/** The queue is ordered by these, as any store keeps them. */
export interface QueueRow {
  /** The subject's number. */
  readonly s: number
  readonly verdict: string
  readonly tenant: string
  readonly protocol: string
  readonly number: number
  readonly label: string | null
  readonly reasons: string
  readonly weight: number
  readonly since: number
  /** Who decided it, of a person's verdict. */
  readonly decider: string | null
  readonly holder: string | null
  readonly until: number | null
  /** To whom its subject is assigned, since when, and by whom. */
  readonly assignee: string | null
  readonly assigned_at: number | null
  readonly assigned_by: string | null
  /** 1: who asks decided or spoke about the same before, of an item that is about what people decided. */
  readonly party: number
  /** 1: so did the person to whom it is assigned. */
  readonly assignee_party: number
}

/** The same with its subject. */
export interface QueueRowWithSubject extends QueueRow {
  readonly kind: ReviewItem['subject']['kind']
  readonly subject: string
  readonly words: string | null
  readonly lang: string | null
  readonly pictures: number
}

/** The rules of the queue, as in the settings. */
export interface QueueRules {
  readonly costs: Costs
  /** From which age on a lead may take a case of their own, and anybody what is assigned to others, in ms: there may be nobody else. */
  readonly ownCaseAfter: number
}

const reasonsIn = ({ reasons }: Pick<QueueRow, 'reasons'>) => reasons.split(' ') as QueueReason[] // They are written from that list.
const isGolden = (row: Pick<QueueRow, 'reasons'>) => reasonsIn(row).includes('golden')
const isBlind = (row: QueueRow) => isGolden(row) || reasonsIn(row).includes('second-opinion')

/** Whether this is about what the person decided, or said themselves; `party`: 1 if they said something. */
function isOwnCase(row: Pick<QueueRow, 'reasons' | 'decider'>, person: string, party: number): boolean {
  return reasonsIn(row).some((reason) => JUDGES_PEOPLE[reason]) && (row.decider === person || party === 1)
}

/** Whether a person may take this. What is assigned to another is a lead's too, and anybody's once it has been so for long. */
export function mayTake(
  row: QueueRow,
  { for: person = '', lead }: QueueFilter,
  { ownCaseAfter }: Pick<QueueRules, 'ownCaseAfter'>,
  now: number,
): PostItem['may'] {
  const isLead = lead !== undefined && (lead.tenants?.includes(row.tenant) ?? true)
  const isLate = isLead && now - row.since >= ownCaseAfter
  // What measures people measures nobody who knows the key, and nobody answers an appeal against themselves.
  const isNever = isGolden(row) || reasonsIn(row).includes('appealed')
  if (isOwnCase(row, person, row.party) && (!isLate || isNever)) return 'own'
  // Nobody's absence keeps a post waiting.
  const isLasting = row.assignee !== null && now - (row.assigned_at ?? 0) < ownCaseAfter
  // Of a post that is assigned to who decided on it, what is about that waits for others.
  const isAssigned = isLasting && !isOwnCase(row, row.assignee, row.assignee_party)
  if (isAssigned && row.assignee !== person && !isLead) return 'assigned'
  return row.holder !== null && row.holder !== person && (row.until ?? 0) > now ? 'taken' : 'yes'
}

/** Why a person can't reserve this item, which they asked for by name; null if nothing is in the way. */
export function reservationConflict(
  row: QueueRow | undefined,
  filter: QueueFilter,
  rules: QueueRules,
  now: number,
): ReviewReservation | null {
  const may = row === undefined ? 'yes' : mayTake(row, filter, rules, now)
  if (may === 'own') return { outcome: 'own' }
  if (may === 'assigned') return { outcome: 'assigned', to: row?.assignee ?? '' }
  return may === 'taken' ? { outcome: 'taken', by: row?.holder ?? '', until: row?.until ?? 0 } : null
}

/** A reservation that was made. */
export function madeReservation(row: QueueRow, item: ReviewItem, by: string, until: number): ReviewReservation {
  return {
    outcome: 'reserved',
    item: { ...item, reservation: { by, until } },
    ...(isGolden(row) ? { golden: true } : {}),
  }
}

/** Whether somebody has reserved this, and still has it. */
export function hasReserved({ holder, until }: QueueRow, person: string, now: number): boolean {
  return holder === person && (until ?? 0) > now
}

/** The rows that the person of the filter may take, in its order: by what a mistake would cost, or by age. */
export function ranked<Row extends QueueRow>(
  rows: readonly Row[],
  filter: QueueFilter,
  rules: RankingRules,
  now: number,
  after: QueuePlace | null = null,
): RankedRow<Row>[] {
  const isShown = (row: Row) =>
    (filter.assigned === undefined || filter.assigned === row.assignee) &&
    (filter.for === undefined || filter.reserved !== undefined || mayTake(row, filter, rules, now) === 'yes')
  return rows
    .filter(isShown)
    .map((row) => ({ row, score: scoreOf(row, rules.dear, after?.at ?? now) }))
    .filter((one) => after === null || inOrder(one, { row: after, score: after.score }, filter.order) > 0)
    .sort((a, b) => inOrder(a, b, filter.order))
}

export interface RankedRow<Row extends QueueRow = QueueRow> {
  readonly row: Row
  readonly score: number
}

function placeOf({ row: { since, verdict }, score }: RankedRow, at: number): QueuePlace {
  return { at, score, since, verdict }
}

/** What stands in a list, by its place. */
interface ScoredPlace {
  readonly row: Pick<QueueRow, 'since' | 'verdict'>
  readonly score: number
}

function inOrder(a: ScoredPlace, b: ScoredPlace, order: QueueFilter['order']): number {
  const byCost = order === 'oldest' ? 0 : b.score - a.score
  if (byCost !== 0) return byCost
  if (a.row.since !== b.row.since) return a.row.since - b.row.since
  return a.row.verdict < b.row.verdict ? -1 : a.row.verdict > b.row.verdict ? 1 : 0
}

/** Rows that are read for each post of a page: most posts have no more protocols. */
export const ROWS_A_POST = 4

/**
 * The subjects of a page of posts: `best` are the first rows behind the place, `fitting` all rows of their subjects that fit the
 * filter. A post with a row in front of the place stands on an earlier page.
 */
export function pageOfPosts<Row extends QueueRow>(
  best: readonly RankedRow<Row>[],
  fitting: readonly Row[],
  of: { filter: QueueFilter; rules: RankingRules; now: number; after: QueuePlace | null; most: number },
): { subjects: number[]; next: QueuePlace | null } {
  const { filter, rules, now, after, most } = of
  const at = after?.at ?? now
  const isFirst = ({ row: { s } }: RankedRow<Row>) => {
    const own = fitting.filter((row) => row.s === s)
    return ranked(own, filter, rules, now, after).length === ranked(own, filter, rules, now).length
  }
  const subjects = new Set<number>()
  let last: QueuePlace | null = null
  for (const one of best) {
    if (subjects.size === most && !subjects.has(one.row.s)) return { subjects: [...subjects], next: last }
    if (subjects.has(one.row.s) || after === null || isFirst(one)) subjects.add(one.row.s)
    last = placeOf(one, at)
  }
  return { subjects: [...subjects], next: best.length < most * ROWS_A_POST ? null : last }
}

/** How many posts these rows are of, if they are `limit` or all that fit; null if more rows are to be read for it. */
export function countPosts(
  rows: readonly QueueRow[],
  limit: number,
  of: { filter: QueueFilter; rules: RankingRules; now: number },
): number | null {
  const posts = new Set(ranked(rows, of.filter, of.rules, of.now).map(({ row }) => row.s)).size
  if (posts < MOST_POSTS_COUNTED && rows.length === limit && limit < MOST_POSTS_COUNTED * ROWS_A_POST) return null
  return Math.min(MOST_POSTS_COUNTED, posts)
}

/** A post of its rows, the first of which waits for the costliest mistake. */
export function reviewPost(
  rows: readonly RankedRow<QueueRowWithSubject>[],
  filter: QueueFilter,
  rules: QueueRules,
  now: number,
): ReviewPost | null {
  const items = rows.map(
    ({ row, score }): PostItem => ({
      ...itemOf(row, { score, now, person: filter.for }),
      may: mayTake(row, filter, rules, now),
    }),
  )
  const [first] = items
  return first === undefined
    ? null
    : {
        subject: first.subject,
        words: first.words,
        lang: first.lang,
        pictures: first.pictures,
        assignee: rows[0]?.row.assignee ?? null,
        assignedBy: rows[0]?.row.assigned_by ?? null,
        items,
      }
}

/** How often the first that wait are all taken by others before it is given up. */
export const MOST_TRIES = 5

/** Rows that are read beyond those that are wanted: some of the first are others'. */
export const ROWS_OF_OTHERS = 256

export function itemOf(
  row: QueueRowWithSubject,
  { score, now, person }: { score: number; now: number; person: string | undefined },
): ReviewItem {
  const { verdict, tenant, kind, subject, protocol, number, label, since, words, lang, pictures, holder, until } = row
  const isReserved = holder !== null && until !== null && until > now
  return {
    verdict,
    subject: { tenant, postId: subject, kind },
    protocol,
    revision: number,
    score,
    since,
    words,
    lang,
    pictures,
    // Blind: neither the label, nor what speaks against it.
    label: isBlind(row) ? null : label,
    reasons: isBlind(row) ? ['second-opinion'] : (reasonsIn(row) as LookReason[]), // Golden ones are blind.
    reservation: isReserved ? { by: holder, until } : null,
    isOwnCase: person !== undefined && isOwnCase(row, person, row.party),
  }
}
