import type { ThreadRef } from '../../contracts/facts/thread.ts'
import type { Answers, VerdictAnswer } from '../../contracts/ports/answers.ts'
import type { Clock } from '../../contracts/ports/clock.ts'
import { nameOf } from '../thread/memory-table.ts'
import type { KeptBytes } from './memory-kept.ts'
import { answerWaiters } from './waiters.ts'

// The twin of redis.ts and the Lua beside it: test/contracts/asked.ts holds both to the same promises.

/** Answers to requests, for the other memory stores of this Gavel to write to. */
export interface AnswerTable {
  begin(
    ref: ThreadRef,
    answer: Pick<VerdictAnswer, 'subjectId' | 'protocols' | 'opened' | 'until'> & { hook: boolean; reserved: number },
  ): void
  /** Whether every protocol that was asked has answered. */
  isComplete(ref: ThreadRef): boolean
  /** Erases what was answered; false if nothing is known of it. */
  erase(ref: ThreadRef): boolean
}

/** The name of an answer in the account of what its tenant holds. */
function partOf(ref: ThreadRef): string {
  return `answer ${nameOf(ref)}`
}

function bytesIn(text: string): number {
  return Buffer.byteLength(text)
}

/** For so long after its answer a case may still end whose verdict a webhook is to hear of, in ms. */
const HOOKED_MS = 86_400_000

/** Answers in memory. */
export function memoryAnswers(clock: Clock, kept: KeptBytes): Answers & AnswerTable {
  const answers = new Map<string, VerdictAnswer>()
  /** How many bytes are kept free for the answer by each protocol that has not come yet. */
  const room = new Map<string, number>()
  /** Requests that a webhook is to hear of, and until when their answers can be read. */
  const hooked = new Map<string, number>()
  const waiters = answerWaiters()

  const refOf = (tenant: string, request: string): ThreadRef => ({ tenant, postId: request, kind: 'asked' })
  function find(ref: ThreadRef) {
    const answer = answers.get(nameOf(ref))
    if (answer !== undefined && answer.until > clock()) return answer
    answers.delete(nameOf(ref))
    return null
  }

  return {
    begin(ref, { hook, reserved, ...answer }) {
      for (const [name, { until }] of answers) if (until <= clock()) answers.delete(name)
      for (const name of room.keys()) if (!answers.has(name)) room.delete(name)
      room.set(nameOf(ref), reserved)
      kept.set(ref.tenant, partOf(ref), answer.protocols.length * reserved, answer.until)
      for (const [name, until] of hooked) if (until + HOOKED_MS <= clock()) hooked.delete(name)
      if (hook) hooked.set(nameOf(ref), answer.until)
      answers.set(nameOf(ref), { ...answer, verdicts: new Map(), transcripts: new Map(), erased: false })
    },
    isComplete(ref) {
      const answer = find(ref)
      return answer?.erased === false && answer.protocols.every((name) => answer.verdicts.has(name))
    },
    erase(ref) {
      kept.forget(ref.tenant, partOf(ref))
      hooked.delete(nameOf(ref))
      const answer = find(ref)
      if (answer === null) return false
      const { protocols, opened, until } = answer
      const nothing = { subjectId: '', verdicts: new Map(), transcripts: new Map(), erased: true }
      answers.set(nameOf(ref), { ...nothing, protocols, opened, until })
      waiters.wake(ref.postId)
      return true
    },

    async put({ tenant, request, protocol, verdict, transcript }) {
      const ref = refOf(tenant, request)
      const answer = find(ref)
      if (answer?.erased === false) {
        const verdicts = new Map(answer.verdicts).set(protocol, verdict)
        const transcripts = new Map(answer.transcripts).set(protocol, transcript)
        const sizes = answer.protocols.map(
          (name) =>
            bytesIn(`${verdicts.get(name) ?? ''}${transcripts.get(name) ?? ''}`) || (room.get(nameOf(ref)) ?? 0),
        )
        const bytes = sizes.reduce((sum, size) => sum + size, 0)
        kept.set(tenant, partOf(ref), bytes, answer.until)
        answers.set(nameOf(ref), { ...answer, verdicts, transcripts })
        waiters.wake(request)
      }
      return hooked.has(nameOf(ref))
    },
    async read(tenant, request, { transcripts = true } = {}) {
      const answer = find(refOf(tenant, request))
      if (answer === null) return null
      return transcripts ? answer : { ...answer, transcripts: new Map() }
    },
    changed: waiters.wait,
    tellDropped: async (request) => waiters.drop(request),
    onDropped: waiters.onDropped,
    async close() {
      waiters.wakeAll()
    },
  }
}
