import type { ThreadRef } from '../../domain/thread.ts'
import type { Answer, Answers, HookedVerdict } from '../../ports/answers.ts'
import type { Clock } from '../../ports/clock.ts'
import { answerWaiters } from '../answer-waiters.ts'
import { nameOf } from './thread-table.ts'

/** Answers to requests, for the other memory stores of this Gavel to write to. */
export interface AnswerTable {
  begin(ref: ThreadRef, answer: Pick<Answer, 'subjectId' | 'protocols' | 'opened' | 'until'> & { hook: boolean }): void
  /** Erases what was answered; false if nothing is known of it. */
  erase(ref: ThreadRef): boolean
}

/** Answers in memory. */
export function memoryAnswers(clock: Clock): Answers & AnswerTable {
  const answers = new Map<string, Answer & { readonly hook: boolean }>()
  const hooks = new Map<string, HookedVerdict>()
  const waiters = answerWaiters()

  const refOf = (tenant: string, request: string): ThreadRef => ({ tenant, postId: request, kind: 'asked' })
  const hookOf = ({ tenant, request, protocol }: Omit<HookedVerdict, 'verdict'>) =>
    JSON.stringify([tenant, request, protocol])
  function find(ref: ThreadRef) {
    const answer = answers.get(nameOf(ref))
    if (answer !== undefined && answer.until > clock()) return answer
    answers.delete(nameOf(ref))
    return null
  }

  return {
    begin(ref, answer) {
      for (const [name, { until }] of answers) if (until <= clock()) answers.delete(name)
      answers.set(nameOf(ref), { ...answer, verdicts: new Map(), transcripts: new Map(), erased: false })
    },
    erase(ref) {
      const answer = find(ref)
      if (answer === null) return false
      const { protocols, opened, until } = answer
      const nothing = { subjectId: '', verdicts: new Map(), transcripts: new Map(), erased: true, hook: false }
      answers.set(nameOf(ref), { ...nothing, protocols, opened, until })
      for (const protocol of protocols) hooks.delete(hookOf({ tenant: ref.tenant, request: ref.postId, protocol }))
      waiters.wake(ref.postId)
      return true
    },

    async put({ tenant, request, protocol, verdict, transcript }) {
      const ref = refOf(tenant, request)
      const answer = find(ref)
      if (answer === null || answer.erased) return
      const hooked = { tenant, request, protocol, verdict }
      if (answer.hook && !answer.verdicts.has(protocol)) hooks.set(hookOf(hooked), hooked)
      answers.set(nameOf(ref), {
        ...answer,
        verdicts: new Map(answer.verdicts).set(protocol, verdict),
        transcripts: new Map(answer.transcripts).set(protocol, transcript),
      })
      waiters.wake(request)
    },
    async read(tenant, request) {
      const answer = find(refOf(tenant, request))
      if (answer === null) return null
      const { hook: _, ...known } = answer
      return known
    },
    changed: waiters.wait,
    takeHooked: async (limit) => [...hooks.values()].slice(0, limit),
    async hooked(some) {
      for (const one of some) hooks.delete(hookOf(one))
    },
    async close() {
      waiters.wakeAll()
    },
  }
}
