import { newRequestId } from '../../contracts/facts/service-class.ts'
import type { Comment, Post, ThreadRef } from '../../contracts/facts/thread.ts'
import { commentKey } from '../../contracts/facts/verdict-id.ts'
import type {
  Answers,
  PossibleRequest,
  VerdictRequest,
  VerdictRequestOutcome,
  VerdictRequests,
} from '../../contracts/ports/answers.ts'
import type { Clock } from '../../contracts/ports/clock.ts'
import type { Memo } from '../../contracts/ports/memo.ts'
import type { ThreadRules, ThreadStore } from '../../contracts/ports/threads.ts'
import { askedThread, KEEP_REQUESTS_MS, wholeBytes } from '../threads/asked.ts'
import { mayBeAsked, type Router } from './routes.ts'
import type { Protocol } from './script.ts'
import { parentOf } from './surroundings.ts'

/** Has posts judged apart from the stream: each request is a thread of its own, which is opened at once and never again. */
export function verdictRequests(deps: {
  readonly threads: Pick<ThreadStore, 'putAsked' | 'dropAsked' | 'heldBy' | 'linkReply' | 'paused'>
  readonly memo: Pick<Memo, 'forget'>
  readonly answers: Pick<Answers, 'tellDropped'>
  readonly protocols: readonly Protocol[]
  readonly routes: Router
  readonly rules: ThreadRules
  readonly clock: Clock
  /** How long an answer can be read, and what was asked about a request is found in the memo, in ms. */
  readonly settings: { readonly keepAnswers: number; readonly keepMemo: number; readonly maxReplies: number }
  /** Bytes that the requests of one tenant may hold; null: no limit. */
  readonly mostKept: () => number | null
  /** Opens what is due, once something was asked. */
  readonly wake: () => void
}): VerdictRequests {
  const { threads, memo, answers, rules, clock, settings, mostKept, wake } = deps

  const possibleJudges = (tenant: string, { post, comments, protocols }: PossibleRequest) =>
    protocols === 'any'
      ? deps.protocols.filter((one) => mayBeAsked(one, post))
      : judgesOf(deps, subjectOf(tenant, post), { post, comments, protocols }).judges
  function threadOf(ref: ThreadRef, { post, comments }: PossibleRequest, judges: readonly Protocol[], now: number) {
    const postOnly = judges.every(({ subject }) => subject !== 'thread')
    const asked = { ...post, asked: judges.map(({ name }) => name) }
    return askedThread(ref, { post: asked, comments: postOnly ? [] : comments, postOnly }, now, rules)
  }

  return {
    mostCalls: (tenant, asked) =>
      possibleJudges(tenant, asked).reduce((sum, judge) => sum + judge.mostCalls(asked.post, asked.comments.length), 0),
    async hasRoom(tenant, asked) {
      const most = mostKept()
      const judges = possibleJudges(tenant, asked)
      if (most === null || judges.length === 0) return true
      const now = clock()
      const thread = threadOf({ tenant, postId: asked.post.id, kind: 'asked' }, asked, judges, now)
      const names = judges.map(({ name }) => name)
      return (await threads.heldBy(tenant, now)) + wholeBytes(thread, names) <= most
    },
    async ask(tenant, { post, comments, protocols, webhook, waits }) {
      const subject = subjectOf(tenant, post)
      const { judges, unjudged } = judgesOf(deps, subject, { post, comments, protocols })
      if (unjudged.length > 0 || judges.length === 0) {
        const judging = deps.protocols.filter((one) => mayBeAsked(one, post)).map(({ name }) => name)
        return { kind: 'unjudged', protocols: unjudged, judging }
      }
      const paused = await threads.paused()
      const names = judges.map(({ name }) => name)
      const off = names.filter((name) => paused.has(name))
      if (off.length > 0) return { kind: 'paused', protocols: off }
      // A deletion of what it stands under, or answers, reaches it as it does the stream's comment of this id.
      const link = { most: settings.maxReplies, now: clock(), askedFor: KEEP_REQUESTS_MS }
      for (const above of aboveIn(subject, post)) {
        const linked = await threads.linkReply(above, subject, link)
        if (linked === 'deleted') return { kind: 'deleted' }
        // What could not be erased with it is not kept.
        if (linked === 'full') return { kind: 'over-share' }
      }
      const ref: ThreadRef = { tenant, postId: newRequestId(waits), kind: 'asked' }
      const now = clock()
      const until = now + settings.keepAnswers
      const thread = threadOf(ref, { post, comments, protocols }, judges, now)
      const most = mostKept()
      const put = await threads.putAsked({ thread, subject, protocols: names, webhook, until, most }, now)
      if (put !== 'asked') return { kind: put }
      wake()
      return { kind: 'asked', id: ref.postId, until, protocols: names } satisfies VerdictRequestOutcome
    },
    async leave(tenant, id) {
      if (await threads.dropAsked({ tenant, postId: id, kind: 'asked' })) await answers.tellDropped(id)
    },
    async erase(tenant, id) {
      const ref: ThreadRef = { tenant, postId: id, kind: 'asked' }
      const wasKnown = await threads.dropAsked(ref)
      if (!wasKnown) return false
      await answers.tellDropped(id)
      await memo.forget(ref, settings.keepMemo)
      return true
    },
  }
}

function subjectOf(tenant: string, { id, hateSpeech, around }: Post): ThreadRef {
  if (around !== undefined) return { tenant, postId: commentKey(around.postId, id), kind: 'comment' }
  return { tenant, postId: id, kind: hateSpeech === undefined ? 'post' : 'reply' }
}

/** The post of a comment that is asked about, and the comment that it is shown with. */
function aboveIn(subject: ThreadRef, { around, parentId }: Post): ThreadRef[] {
  if (around === undefined) return []
  const post: ThreadRef = { tenant: subject.tenant, postId: around.postId, kind: 'post' }
  const parent = around.answered === null ? null : parentOf(subject, { parentId })
  return parent === null ? [post] : [post, parent]
}

/** The protocols that are to judge it, and those of the named ones that can't. */
function judgesOf(
  { protocols, routes }: { protocols: readonly Protocol[]; routes: Router },
  subject: ThreadRef,
  asked: Pick<VerdictRequest, 'protocols'> & { post: Post; comments: readonly Comment[] },
): { judges: readonly Protocol[]; unjudged: readonly string[] } {
  if (asked.protocols === null) return { judges: routes.at(subject, asked.post, asked.comments.length), unjudged: [] }
  const judges = protocols.filter((one) => asked.protocols?.includes(one.name) && mayBeAsked(one, asked.post))
  return { judges, unjudged: asked.protocols.filter((name) => judges.every((judge) => judge.name !== name)) }
}
