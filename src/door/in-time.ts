import { type ProblemName, RequestRefused } from './problem.ts'

/** What answers may need outside of this process. */
export type Dependency = 'redis' | 'kafka'

/** So much later than its time an answer is given up, in ms: the refusal is with the client within a second of it. */
const SPARE_MS = 500
/** Most answers whose work goes on although they were given up: beyond that, what needs the same dependency is refused at once. */
const MOST_GIVEN_UP = 1_000

const GIVEN_UP = new Error('the answer was given up')

/** Whether nobody waits any more because the client has been told something else: it has not gone. */
export function isAnsweredLate({ reason }: AbortSignal): boolean {
  return reason === GIVEN_UP
}

const REFUSED_AS = {
  redis: ['store-away', 'the store'],
  kafka: ['kafka-away', 'Kafka'],
} as const satisfies Record<Dependency, readonly [ProblemName, string]>

/** The refusal where a dependency does not answer; `so` is the consequence for the request. */
export function unanswered(dependency: Dependency, so: string): RequestRefused {
  const [problem, name] = REFUSED_AS[dependency]
  return new RequestRefused(problem, `${name} ${so}`, { retryAfter: 3 })
}

/** The time of an answer, as a route sees it. */
export interface TimeOfCall {
  /** Aborts when the client has gone, or the answer was given up: nobody waits for it any more. Made where it is asked for. */
  gone(): AbortSignal
  /** Throws the problem of a dependency that is known not to answer: nothing is begun. */
  checkAnswers(dependency: Dependency): void
  /** The answer is given up so many ms from now, and half a second; never if that is infinite. */
  within(ms: number): void
  /** Calls this once the answer is given up, also where its client has gone: its work may never end. */
  onGivenUp(then: () => void): void
  /** The client's answer if the route's is given up from now on. */
  ifLate(answerLate: () => Response | RequestRefused): void
  /** Time that passes in this is another's and not the door's own: a model's, or until a verdict is there. */
  waiting<Result>(work: Promise<Result>): Promise<Result>
  /** The last so many ms of waiting were the door's own: what it waited for was there. */
  waitedTooLong(ms: number): void
}

/** The time of an answer, as the door sees it. */
interface AnswerTime {
  readonly ofCall: TimeOfCall
  /** How long it has waited for others, in ms. */
  waitedMs(): number
  /** Resolves as the work does or, once its time is over, with what is said in its place. The work goes on, heard by nobody. */
  answer(work: Promise<Response>): Promise<Response>
}

/** Gives each answer its time, so that a dependency that hangs keeps no client waiting. */
export function answerTimes(isAway: (dependency: Dependency) => boolean) {
  const givenUp = { redis: 0, kafka: 0 }
  return (needs: Dependency | undefined, client: AbortSignal): AnswerTime => {
    let over: PromiseWithResolvers<Response> | undefined
    let gone: AbortController | undefined
    let afterwards = () => {}
    let answerLate = (): Response | RequestRefused => unanswered(needs ?? 'redis', 'has not answered in time')
    let timer: NodeJS.Timeout | undefined
    let waited = 0
    let waitingSince: number | null = null
    let isAnswered = false
    let isGivenUp = false

    function giveUp(): void {
      if (isAnswered) return
      isGivenUp = true
      gone?.abort(GIVEN_UP)
      afterwards()
      const late = answerLate()
      if (late instanceof RequestRefused) over?.reject(late)
      else over?.resolve(late)
    }

    const ofCall: TimeOfCall = {
      gone() {
        if (gone !== undefined) return gone.signal
        const made = new AbortController()
        const leave = () => made.abort(client.reason)
        if (isGivenUp) made.abort(GIVEN_UP)
        else if (client.aborted) leave()
        else client.addEventListener('abort', leave, { once: true })
        gone = made
        return made.signal
      },
      checkAnswers(dependency) {
        if (isAway(dependency) || givenUp[dependency] >= MOST_GIVEN_UP)
          throw unanswered(dependency, 'does not answer now: nothing of this was begun')
      },
      within(ms) {
        clearTimeout(timer)
        if (isAnswered || isGivenUp || ms === Number.POSITIVE_INFINITY) return
        // What has arrived while this process was busy is heard first.
        timer = setTimeout(() => setImmediate(giveUp), ms + SPARE_MS)
      },
      onGivenUp(then) {
        afterwards = then
        if (isGivenUp) then()
      },
      ifLate(now) {
        answerLate = now
      },
      async waiting(work) {
        waitingSince = performance.now()
        try {
          return await work
        } finally {
          waited += performance.now() - waitingSince
          waitingSince = null
        }
      },
      waitedTooLong(ms) {
        if (ms > 0) waited = Math.max(0, waited - ms)
      },
    }
    return {
      ofCall,
      waitedMs: () => waited + (waitingSince === null ? 0 : performance.now() - waitingSince),
      async answer(work) {
        over = Promise.withResolvers()
        void work.then(over.resolve, over.reject)
        try {
          return await over.promise
        } finally {
          isAnswered = true
          clearTimeout(timer)
          // It would keep the answer for as long as a connection keeps its latest request.
          over = undefined
          if (isGivenUp) {
            givenUp[needs ?? 'redis']++
            // Its client has an answer, and its failure has the same cause.
            void work.catch(() => undefined).finally(() => givenUp[needs ?? 'redis']--)
          }
        }
      },
    }
  }
}
