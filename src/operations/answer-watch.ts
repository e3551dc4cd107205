import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'

/** Whether something outside of this process answers, as it was last seen. */
export interface AnswerWatch {
  /** Why it does not answer, in words; null if it does. */
  readonly away: string | null
  /** Asks it, unless an earlier question is still unanswered, and resolves in time with what is seen. Never rejects. */
  poll(): Promise<string | null>
}

/**
 * Watches by one question at a time. `why` is the reason in words: of an error, or without one of a silence of `withinMs`. An answer
 * that comes later than that counts as soon as it is there.
 */
export function answerWatch(
  ask: () => Promise<unknown>,
  { withinMs, why }: { withinMs: number; why: (error?: unknown) => string },
): AnswerWatch {
  let away: string | null = null
  let asked: { readonly at: number; readonly answered: Promise<unknown> } | null = null

  function begin() {
    const settle = (found: string | null) => {
      asked = null
      away = found
    }
    const answered = ask().then(
      () => settle(null),
      (error: unknown) => settle(why(error)),
    )
    return { at: performance.now(), answered }
  }

  return {
    get away() {
      return away
    },
    async poll() {
      asked ??= begin()
      const question = asked
      const left = Math.max(0, question.at + withinMs - performance.now())
      // What has arrived while this process was busy is heard first.
      await Promise.race([question.answered, sleep(left, undefined, { ref: false }).then(() => turn())])
      if (asked === question) away = why()
      return away
    },
  }
}
