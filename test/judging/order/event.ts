import type { ThreadRef } from '../../../src/contracts/facts/thread.ts'
import { aheadByReach } from '../../../src/judging/threads/head-start.ts'
import { memoryStores } from '../../../src/store/memory-stores.ts'
import { dice } from '../../chaos/dice.ts'
import { ARRIVAL, postOf, RULES, T0, thread } from '../../contracts/samples.ts'

/** What comes and what can be judged in a simulated event: times in ms of a clock that only the simulation moves. */
export interface SimulatedEvent {
  readonly seed: number
  /** Posts that can be judged in a second. */
  readonly perSecond: number
  /** As many times as many come, for so long. */
  readonly load: number
  readonly forMs: number
  /** A verdict in this time is in time. */
  readonly inTimeMs: number
}

/** How much of their posts' reach was served in time, and of what could have been. */
export interface EventFigures {
  readonly posts: number
  readonly served: number
  /** Of the reach that an order serves in time which knows in advance what comes: in the order of docs/order.md, and as it came. */
  readonly byUrgency: number
  readonly asItCame: number
  /** The longest that a post of another tenant waited, to which one comes every ten seconds, in ms. */
  readonly othersWaitMs: number
}

const TICK_MS = 5_000
/** Of a Pareto distribution, from 1 on: a few posts have most of the reach. */
const SHAPE = 1.2

interface SimulatedPost {
  readonly ref: ThreadRef
  readonly at: number
  readonly reach: number
}

export async function simulateEvent(event: SimulatedEvent): Promise<EventFigures> {
  const posts = arrivals(event)
  const [byUrgency, asItCame] = [await serve(event, posts, (reach) => reach), await serve(event, posts, () => 0)]
  const oracle = bestInTime(event, posts)
  const inTime = (served: ReadonlyMap<SimulatedPost, number>) =>
    sumOf([...served].flatMap(([post, at]) => (at - post.at <= event.inTimeMs ? post.reach : [])))
  const waits = [...byUrgency].flatMap(([post, at]) => (post.ref.tenant === OTHER ? at - post.at : []))
  return {
    posts: posts.length,
    served: byUrgency.size,
    byUrgency: inTime(byUrgency) / oracle,
    asItCame: inTime(asItCame) / oracle,
    othersWaitMs: Math.max(...waits),
  }
}

const OTHER = 'another'

function arrivals({ seed, perSecond, load, forMs }: SimulatedEvent): SimulatedPost[] {
  const luck = dice(seed, 'event')
  const count = Math.round((perSecond * load * forMs) / 1_000)
  const spreading = Array.from({ length: count }, (_, nth) => ({
    ref: thread(`p${nth}`),
    at: T0 + Math.floor((nth * forMs) / count),
    reach: (1 - luck.next()) ** (-1 / SHAPE),
  }))
  const others = Array.from({ length: forMs / 10_000 }, (_, nth) => ({
    ref: thread(`o${nth}`, OTHER),
    at: T0 + nth * 10_000,
    reach: 0,
  }))
  return [...spreading, ...others].sort((a, b) => a.at - b.at)
}

/** Puts the posts into a store as they come, and takes as many as can be judged, as the store gives them; when each was taken. */
async function serve(
  { perSecond }: SimulatedEvent,
  posts: readonly SimulatedPost[],
  known: (reach: number) => number,
): Promise<ReadonlyMap<SimulatedPost, number>> {
  const { threads } = memoryStores(() => T0)
  const byRef = new Map(posts.map((post) => [post.ref.postId, post]))
  const served = new Map<SimulatedPost, number>()
  let next = 0
  for (let now = T0 + TICK_MS; next < posts.length || served.size < posts.length; now += TICK_MS) {
    for (let post = posts[next]; post !== undefined && post.at < now; post = posts[++next]) {
      const reachAhead = aheadByReach(known(post.reach))
      const arrival = { ...ARRIVAL, now: post.at, threaded: false, atOnce: true, reachAhead }
      await threads.putPost(post.ref, postOf(post.ref, { createdAt: post.at }), arrival, RULES)
    }
    const due = await threads.due(0, (perSecond * TICK_MS) / 1_000)
    // Nothing to come and nothing due: a post that is missing then was lost.
    if (due.length === 0 && next === posts.length) break
    for (const ref of due) {
      const [state, post] = [await threads.read(ref), byRef.get(ref.postId)]
      if (state === null || post === undefined) continue
      await threads.open(state, { cases: [], waiting: [], dormant: [], nextDue: null, final: true })
      served.set(post, now)
    }
  }
  return served
}

/**
 * The most reach that any order serves in time which gives the other tenant its turns: the posts by reach, each if there is still a place for it in its time, for which
 * others may move (a matching; the sets that have places are a matroid, so that the greedy choice is the best).
 */
function bestInTime({ perSecond, inTimeMs }: SimulatedEvent, posts: readonly SimulatedPost[]): number {
  const places = (perSecond * TICK_MS) / 1_000
  const taken = new Map<number, SimulatedPost[]>()
  /** Ticks that are full, as are all to which their posts could move: they stay so. */
  const closed = new Set<number>()
  const ticksOf = ({ at }: SimulatedPost) => {
    const first = Math.floor((at - T0) / TICK_MS) + 1
    const last = Math.floor((at + inTimeMs - T0) / TICK_MS)
    return Array.from({ length: last - first + 1 }, (_, nth) => first + nth)
  }
  const place = (post: SimulatedPost, seen: Set<number>): boolean => {
    for (const tick of ticksOf(post)) {
      if (closed.has(tick) || seen.has(tick)) continue
      seen.add(tick)
      const there = taken.get(tick) ?? []
      const moved = there.length < places ? -1 : there.findIndex((other) => place(other, seen))
      if (there.length >= places && moved === -1) continue
      taken.set(tick, [...there.filter((_, nth) => nth !== moved), post])
      return true
    }
    return false
  }
  return sumOf(
    posts
      .toSorted((a, b) => Number(b.ref.tenant === OTHER) - Number(a.ref.tenant === OTHER) || b.reach - a.reach)
      .map((post) => {
        const seen = new Set<number>()
        if (place(post, seen)) return post.reach
        for (const tick of seen) closed.add(tick)
        return 0
      }),
  )
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, one) => sum + one, 0)
}
