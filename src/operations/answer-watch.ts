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
  let asked: { readonly answered: Promise<unknown>; readonly silent: Promise<unknown> } | null = null

  function begin() {
    const settle = (found: string | null) => {
      asked = null
      away = found
    }
    const answered = ask().then(
      () => settle(null),
      (error: unknown) => settle(why(error)),
    )
    let isOver = false
    void answered.then(() => {
      isOver = true
    })
    return { answered, silent: silence(withinMs, () => isOver) }
  }

  return {
    get away() {
      return away
    },
    async poll() {
      asked ??= begin()
      const question = asked
      await Promise.race([question.answered, question.silent])
      if (asked === question) away = why()
      return away
    },
  }
}

/** A silence is counted in steps of so many ms. */
const STEP_MS = 100

/**
 * Resolves after so long, or once it is over. While this process is busy a step takes longer: what has arrived meanwhile is heard piece by
 * piece, and who asks much of this process has nobody believe that others are away.
 */
async function silence(withinMs: number, isOver: () => boolean): Promise<void> {
  for (let left = withinMs; left > 0 && !isOver(); left -= STEP_MS) {
    await sleep(Math.min(STEP_MS, left), undefined, { ref: false })
    await turn()
  }
}
