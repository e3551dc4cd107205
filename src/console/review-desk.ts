import { may } from '../contracts/facts/person-roles.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { RecordReader } from '../contracts/ports/record.ts'
import type {
  PostItem,
  QueueFilter,
  ReviewItem,
  ReviewPost,
  ReviewQueue,
  ReviewReservation,
} from '../contracts/ports/review.ts'
import type { BlindReviews } from './blind-review.ts'
import type { JustDecided } from './own-decisions.ts'
import type { PageAnswer } from './page.ts'
import type { PostViewParts } from './post-view.ts'
import { ownItems } from './review-item.ts'
import { isBlind, type ListedQueue, listedQueue, whoTakes } from './review-list.ts'
import { type ReviewShares, ReviewTurns } from './review-shares.ts'
import { namedBy } from './search.ts'
import type { SeenLabels } from './seen-by.ts'
import type { Session } from './sessions.ts'
import { link } from './view.ts'

export interface DeskParts {
  readonly queue: Pick<ReviewQueue, 'list' | 'posts' | 'reserve' | 'release' | 'decisions' | 'totals'>
  readonly record: Pick<RecordReader, 'verdict' | 'subject' | 'transcript' | 'search' | 'find' | 'subjectsNamed'>
  readonly blinds: BlindReviews
  readonly clock: Clock
  /** How long a reservation keeps others away, in ms. */
  readonly reserveFor: number
  readonly shares: ReviewShares
  readonly seenLabels: Pick<SeenLabels, 'has' | 'note'>
  readonly view: Pick<PostViewParts, 'seenPosts'>
  readonly decided: JustDecided
}

/** Items among which the next one is looked for, at first and at last; most that a search of words leaves over. */
const [LOOKED, MOST_FOUND] = [[100, 1_000], 200]
/** Copies that are decided at a time: fewer than one person may have. */
const MOST_COPIES = 15
/** What an address says was done: `of` is a verdict that was judged before its label was seen. */
export interface DoneNotice {
  readonly said?: 'done' | 'couldNotSee'
  /** The verdicts whose posts it is about. */
  readonly posts?: string
  readonly of?: string
  /** How many copies were decided with it. */
  readonly copies?: string
  /** How many appeals it answered. */
  readonly answers?: string
}

export type ReviewDesk = ReturnType<typeof reviewDesk>

/** Takes posts for people, and gives them back. */
export function reviewDesk(parts: DeskParts) {
  const { queue, clock, reserveFor, blinds } = parts
  const { decided } = parts
  const turns = new ReviewTurns(parts.shares)
  /** Takes one item; a second opinion closes its subject to who gives it. */
  const reserve = async (id: string, session: Session): Promise<ReviewReservation> => {
    const now = clock()
    const reserved = await queue.reserve(id, whoTakes(session), now + reserveFor, now)
    if (reserved.outcome === 'reserved' && isBlind(reserved.item))
      blinds.close(session.by, reserved.item.subject, now + reserveFor)
    return reserved
  }
  /** The post of an item, with all that waits of it and is not decided just now. */
  const postOf = async (id: string, session: Session): Promise<ReviewPost | null> => {
    const filter = { ...whoTakes(session), verdict: id, reserved: 'any' as const }
    const [post] = (await queue.posts(filter, 1, clock(), null)).posts
    if (post === undefined) return null
    return { ...post, items: post.items.filter(({ verdict }) => !decided.isRecent(session.by, verdict)) }
  }
  /** Whether all that waits of this item's post is about what this person decided or said themselves. */
  const isPartyOf = async (id: string, person: string, session: Session): Promise<boolean> => {
    const who = person === session.by ? whoTakes(session) : { for: person, tenants: session.tenants }
    const filter = { ...who, verdict: id, reserved: 'any' as const }
    const [post] = (await queue.posts(filter, 1, clock(), null)).posts
    return post?.items.every(({ may: mayTake }) => mayTake === 'own') === true
  }
  /** One's own items of the post that has this one. */
  const own = async (id: string, session: Session): Promise<PostItem[]> => {
    const post = await postOf(id, session)
    return post === null ? [] : ownItems(post, session.by)
  }
  /** Takes an item, and whatever else of its post this person may have; of their own cases only what they asked for. */
  const take = async (id: string, session: Session): Promise<ReviewReservation> => {
    const reserved = await reserve(id, session)
    if (reserved.outcome !== 'reserved') return reserved
    const post = await postOf(id, session)
    for (const item of post?.items ?? [])
      if (item.verdict !== id && item.may === 'yes' && !item.isOwnCase) await reserve(item.verdict, session)
    return reserved
  }
  /** Gives items back: one's own, and for a lead anybody's. Returns how many there were to give back. */
  const giveBack = async (items: readonly ReviewItem[], session: Session): Promise<number> => {
    let given = 0
    for (const { verdict, subject, reservation } of items) {
      if (reservation === null) continue
      if (reservation.by === session.by) blinds.open(session.by, subject)
      const isLead = may(session.grants, 'overrule', subject.tenant)
      if (await queue.release(verdict, session.by, { anyone: isLead }, clock())) given++
    }
    return given
  }
  /** Gives one's own items of a post back, and names them. */
  const released = async (id: string, session: Session) => {
    const items = await own(id, session)
    const given = await giveBack(items, session)
    return { given, ids: items.length === 0 ? [id] : items.map(({ verdict }) => verdict) }
  }
  /** What may be next: few where they do, for all that is listed is ranked. */
  const first = async (filter: QueueFilter, person: string, but: readonly string[]): Promise<ReviewItem[]> => {
    for (const most of LOOKED) {
      const { items } = await queue.list(filter, most, clock())
      const free = items.filter(
        (item) =>
          !but.includes(item.verdict) &&
          !decided.isRecent(person, item.verdict) &&
          // Of what is to be judged blindly nothing is learnt by who has seen its label.
          !(isBlind(item) && parts.seenLabels.has(person, item.verdict)) &&
          !parts.view.seenPosts.has(person, item.subject, 'not-seen'),
      )
      if (free.length > 0 || items.length < most) return free
    }
    return []
  }
  /**
   * Takes the first post that may be taken: one that only chance brought where this person owes one, else the first that the address
   * asks for, of the tenant whose turn it is; none of these items, nor what was decided just now, which is in the queue until the record has read it.
   */
  const next = async (
    session: Session,
    { done = {}, but = [], only = '' }: { done?: DoneNotice; but?: readonly string[]; only?: string },
  ): Promise<PageAnswer> => {
    const wanted = (await askedQueue(new URLSearchParams(only), session, parts)).filter
    const owed = turns.next(session.by)
    const drawn = owed === null ? [] : [{ ...wanted, reason: owed, order: 'oldest' as const }]
    for (const filter of [...drawn, ...turns.filters(session.by, wanted)]) {
      for (const { verdict } of await first({ ...filter, reserved: undefined }, session.by, but)) {
        const reserved = await take(verdict, session)
        if (reserved.outcome === 'reserved') {
          turns.took(session.by, reserved.item.subject.tenant)
          const isDrawn = drawn.some((one) => one.reason === filter.reason) && wanted.reason !== filter.reason
          return { to: link('/review/item', { id: verdict, ...done, ...(isDrawn ? { drawn: 'yes' } : {}), only }) }
        }
        if (reserved.outcome === 'many') return { to: link('/review', { said: 'many' }) }
      }
    }
    return {
      to: link(
        '/review',
        done.said === undefined ? { said: 'none' } : { ...done, said: done.said === 'done' ? 'last' : done.said },
      ),
    }
  }
  /** What is in the same words, waits for the same protocol and may be taken, the oldest first; nothing that is judged blindly. */
  const copiesOf = async ({ verdict }: ReviewItem, session: Session): Promise<ReviewItem[]> => {
    const { items } = await queue.list(
      { ...whoTakes(session), copiesOf: verdict, order: 'oldest' },
      MOST_COPIES,
      clock(),
    )
    return items.filter(
      (item) =>
        !isBlind(item) &&
        !item.reasons.includes('appealed') &&
        !item.isOwnCase &&
        !decided.isRecent(session.by, item.verdict),
    )
  }
  return { decided, reserve, postOf, isPartyOf, own, take, giveBack, released, next, copiesOf }
}

/** What an address asks for; what is searched for by words is looked up in the record first. */
export async function askedQueue(
  query: URLSearchParams,
  session: Session,
  { record, clock }: Pick<DeskParts, 'record' | 'clock'>,
): Promise<ListedQueue> {
  const listed = listedQueue(query, session, clock())
  if (listed.asked === '') return listed
  const { tenants, protocol } = listed.filter
  const only = { tenants, standing: true as const, ...(protocol === undefined ? {} : { protocol }) }
  const [{ found }, named] = await Promise.all([
    record.search(listed.asked, only, MOST_FOUND),
    namedBy(listed.asked, only, record),
  ])
  const verdicts = [...new Set([...named, ...found].map(({ verdict }) => verdict.id))]
  return { ...listed, filter: { ...listed.filter, verdicts } }
}
