import type { ThreadRef } from '../../domain/thread.ts'
import type { ThreadStore } from '../../ports/threads.ts'
import { putAsked } from '../../threads/asked.ts'
import type { AnswerTable } from './answers.ts'
import { nameOf, type ThreadTable } from './thread-table.ts'

/** What was asked apart from the stream, in memory. */
export function memoryRequests({
  threads,
  requests,
  answers,
  webhooks,
  withdrawCase,
}: {
  threads: ThreadTable
  /** By subject: what was asked under its id. */
  requests: Map<string, Map<string, ThreadRef>>
  answers: AnswerTable
  webhooks: { forget(ref: ThreadRef): void }
  withdrawCase(openId: string | null): boolean
}): Pick<ThreadStore, 'putAsked' | 'dropAsked' | 'askedAbout' | 'unlinkAsked'> {
  return {
    async putAsked({ thread, subject, protocols, webhook, until }, now) {
      if (threads.find(subject)?.status === 'deleted') return 'deleted'
      threads.step(thread.ref, () => ({ thread: putAsked(thread, now), outcome: null }))
      answers.begin(thread.ref, { subjectId: subject.postId, protocols, opened: now, until, hook: webhook })
      requests.set(nameOf(subject), new Map(requests.get(nameOf(subject))).set(nameOf(thread.ref), thread.ref))
      return 'asked'
    },
    async dropAsked(ref) {
      const known = threads.find(ref)
      for (const { openId } of known?.revisions.values() ?? []) withdrawCase(openId)
      threads.step(ref, () => ({ thread: null, outcome: null }))
      for (const [subject, some] of requests) if (some.delete(nameOf(ref)) && some.size === 0) requests.delete(subject)
      webhooks.forget(ref)
      const wasAnswered = answers.erase(ref)
      return known !== null || wasAnswered
    },
    askedAbout: async (subject, limit) => [...(requests.get(nameOf(subject))?.values() ?? [])].slice(0, limit),
    async unlinkAsked(subject, some) {
      for (const request of some) requests.get(nameOf(subject))?.delete(nameOf(request))
    },
  }
}
