import { subjectOf } from '../../contracts/facts/decision-messages.ts'
import { entryOf } from '../../contracts/facts/entry-of.ts'
import type { FeedbackMessage } from '../../contracts/facts/messages.ts'
import { RANK_LIMIT, type SamplingRank } from '../../contracts/facts/sampling-rank.ts'
import { hasMedia, type Post, type SubjectKind, type ThreadRef } from '../../contracts/facts/thread.ts'
import { namedIn, verdictId } from '../../contracts/facts/verdict-id.ts'
import type { GivenVerdicts, Routes } from '../../contracts/ports/routes.ts'
import type { ThreadStore } from '../../contracts/ports/threads.ts'
import type { Protocol } from './script.ts'

/**
 * Which subjects go to a protocol. Without `topics` only the protocol's own topic counts; other conditions that are not
 * set always hold.
 */
export interface Route {
  readonly topics?: readonly Topic[] | undefined
  /** `post`: what these topics bring; `comment`: each comment by itself. Without it only `post`. */
  readonly subjects?: readonly RoutedSubject[] | undefined
  readonly tenants?: readonly string[] | undefined
  /** BCP 47; `en` includes `en-GB`. `und` means posts that name no language. */
  readonly langs?: readonly string[] | undefined
  readonly media?: 'with' | 'without' | undefined
  /** Comments that the thread has accepted when it is due; for protocols that read comments. */
  readonly minComments?: number | undefined
  readonly maxComments?: number | undefined
  /**
   * Share of subjects, 0 to 1: a sample that no author can predict, the same at every edit and on every machine with
   * the same key.
   */
  readonly sample?: number | undefined
}

export const ROUTED_TOPICS = ['posts', 'counterspeech'] as const
type Topic = (typeof ROUTED_TOPICS)[number]
export const ROUTED_SUBJECTS = ['post', 'comment'] as const
type RoutedSubject = (typeof ROUTED_SUBJECTS)[number]

/** Chooses the protocols that judge a subject. */
export interface Router extends Routes {
  /** Names of the protocols that are switched on here. */
  readonly names: ReadonlySet<string>
  /** Protocols in `given` have already judged the subject: they keep it, even if the sampling key has changed since. */
  of(ref: ThreadRef, post: Post, given?: GivenVerdicts): Protocol[]
  /** Those that judge it with this many comments. */
  at(ref: ThreadRef, post: Post, comments: number, given?: GivenVerdicts): Protocol[]
}

const NONE: GivenVerdicts = new Set<string>()

const TOPIC_OF: Readonly<Record<Exclude<SubjectKind, 'asked' | 'comment'>, Topic>> = {
  post: 'posts',
  reply: 'counterspeech',
}

/**
 * Routes by protocol: a subject goes to a protocol that accepts it, if any of that protocol's routes fits. A protocol
 * without routes judges everything that it accepts from its own topic. Samples are drawn with `samplingRank`.
 */
export function router(
  protocols: readonly Protocol[],
  routes: Readonly<Partial<Record<string, readonly Route[]>>>,
  samplingRank: SamplingRank,
): Router {
  const routed = (
    ref: ThreadRef,
    post: Post,
    given: GivenVerdicts,
    fits: (route: Route, protocol: Protocol) => boolean = () => true,
  ) =>
    protocols.filter((protocol) => {
      if (ref.kind === 'asked') return post.asked?.includes(protocol.name) === true && mayBeAsked(protocol, post)
      const isDrawn = ({ sample = 1 }: Route) =>
        sample >= 1 || given.has(protocol.name) || rankShare(samplingRank, protocol.name, ref) < sample
      return (
        protocol.accepts(seenBy(protocol, post)) &&
        (entryOf(routes, protocol.name) ?? [{}]).some(
          (route) => leadsTo(protocol, route, ref, post) && isDrawn(route) && fits(route, protocol),
        )
      )
    })
  return {
    names: new Set(protocols.map(({ name }) => name)),
    takeComments: protocols.some((protocol) => (entryOf(routes, protocol.name) ?? []).some(takesComments(protocol))),
    of: (ref, post, given = NONE) => routed(ref, post, given),
    at: (ref, post, comments, given = NONE) =>
      routed(
        ref,
        post,
        given,
        // A protocol that judges only the post does so before there are comments to count.
        ({ minComments = 0, maxComments = Number.POSITIVE_INFINITY }, { subject }) =>
          subject !== 'thread' || (comments >= minComments && comments <= maxComments),
      ),
  }
}

/** The post as a protocol sees it: only protocols that judge replies see what a reply answers. */
export function seenBy({ subject }: Protocol, post: Post): Post {
  if (subject === 'reply' || post.hateSpeech === undefined) return post
  const { hateSpeech: _, ...alone } = post
  return alone
}

/** Whether the protocol can judge such a post or, if it names what it answers, reply, whatever the routes are. */
export function mayBeAsked(protocol: Protocol, post: Post): boolean {
  if (post.around !== undefined && !judgesComments(protocol)) return false
  const isReply = post.hateSpeech !== undefined
  const fits = protocol.subject === 'post' || (protocol.subject === 'reply') === isReply
  return fits && protocol.accepts(seenBy(protocol, post))
}

/**
 * What the id of a case names of its subject's kind: a reply where a route sends it to a protocol that judges posts, and what
 * was asked apart from the stream.
 */
export function kindNamed(protocol: Protocol | undefined, kind: SubjectKind): { crossKind: boolean; asked: boolean } {
  return {
    crossKind: kind === 'reply' && protocol !== undefined && protocol.subject !== 'reply',
    asked: kind === 'asked',
  }
}

/** The newest published verdict of what a label is about; null where none is known. */
export function newestVerdict(threads: Pick<ThreadStore, 'head'>, protocols: readonly Protocol[]) {
  return async (
    of: Pick<FeedbackMessage, 'tenant' | 'subjectId' | 'protocol' | 'subjectKind' | 'postId'>,
  ): Promise<string | null> => {
    const { tenant, protocol: name } = of
    const protocol = protocols.find((one) => one.name === name)
    const ref = protocol === undefined ? null : subjectOf(of, protocol.subject === 'reply' ? 'reply' : 'post')
    if (ref === null) return null
    const known = (await threads.head(ref))?.revisions.get(name)
    const revision = known?.published ?? (known?.openId === null ? known.revision : undefined)
    if (revision === undefined) return null
    return verdictId({ protocol: name, tenant, ...namedIn(ref), revision, ...kindNamed(protocol, ref.kind) })
  }
}

function leadsTo(protocol: Protocol, route: Route, ref: ThreadRef, post: Post): boolean {
  if (ref.kind === 'asked') return false
  // Only a reply answers something, and only a post has comments.
  if (protocol.subject === 'reply' && ref.kind !== 'reply') return false
  if (protocol.subject === 'thread' && ref.kind !== 'post') return false
  const { topics = [protocol.subject === 'reply' ? 'counterspeech' : 'posts'], subjects = ['post'] } = route
  const { tenants, langs, media } = route
  if (ref.kind === 'comment') {
    if (!takesComments(protocol)(route)) return false
  } else if (!subjects.includes('post') || !topics.includes(TOPIC_OF[ref.kind])) return false
  if (tenants !== undefined && !tenants.includes(ref.tenant)) return false
  if (langs !== undefined && !langs.some((lang) => speaks(post.lang ?? 'und', lang))) return false
  return media === undefined || (media === 'with') === hasMedia(post)
}

/** Whether a protocol judges comments by themselves: one that reads a text by itself, and not as its paper does, which had none. */
function judgesComments({ subject, faithful }: Protocol): boolean {
  return subject === 'post' && faithful !== true
}

/** Whether a protocol judges comments by a route. */
function takesComments(protocol: Protocol) {
  return ({ subjects = [] }: Route): boolean => judgesComments(protocol) && subjects.includes('comment')
}

/**
 * The share of its own subjects that a protocol judges by these routes, 0 to 1, whatever else they ask for: one draw of a subject
 * counts for all of them. `comments`: how many its threads have in the end.
 */
export function shareOfSubjects(routes: readonly Route[] = [{}], comments: number): number {
  const fit = routes.filter(
    ({ minComments = 0, maxComments = Number.POSITIVE_INFINITY, subjects }) =>
      minComments <= comments && maxComments >= 0 && (subjects === undefined || subjects.includes('post')),
  )
  return Math.max(0, ...fit.map(({ sample = 1 }) => sample))
}

/** The share of comments that a protocol judges by these routes, 0 to 1, whatever else they ask for. */
export function shareOfComments(protocol: Protocol, routes: readonly Route[] = []): number {
  return Math.max(0, ...routes.filter(takesComments(protocol)).map(({ sample = 1 }) => sample))
}

function speaks(lang: string, wanted: string): boolean {
  const [given, asked] = [lang.toLowerCase(), wanted.toLowerCase()]
  return given === asked || given.startsWith(`${asked}-`)
}

/** A subject's fixed rank in a protocol's sample, as a share of all ranks: 0 to 1. */
function rankShare(samplingRank: SamplingRank, protocol: string, { tenant, postId, kind }: ThreadRef): number {
  return samplingRank(`route ${protocol}`, `${tenant}/${kind}:${postId}`) / RANK_LIMIT
}
