import { fairSlots } from '../contracts/facts/slots.ts'
import { answerTurns } from '../platform/answer-turns.ts'
import { type Asker, shareOf } from '../platform/who-asks.ts'
import { type TimeOfCall, unanswered } from './in-time.ts'
import { RequestRefused } from './problem.ts'
import type { DoorCall, DoorRoute } from './route.ts'

/** Longest body that is read beside all others, in bytes. */
const LARGE = 65_536
/** Bytes of larger bodies whose words are in memory, and those of one tenant: in the heap they take several times their size. */
const ROOM = { all: () => 16 * 2 ** 20, each: 8 * 2 ** 20 }
/** Requests of one tenant, or of strangers of one network, that are worked on at a time. */
const IN_HAND = { all: () => Number.POSITIVE_INFINITY, each: 128 }
/** So long a request waits for others of its tenant, and its body for room, in ms. */
const LONGEST_WAIT = 20_000

interface TurnsParts {
  readonly route: DoorRoute
  readonly asker: Asker
  readonly time: TimeOfCall
  readonly body: Buffer
}

/** The turns in which requests are worked on, each as its route sees them. */
export function requestTurns() {
  const turn = answerTurns()
  const [room, inHand] = [fairSlots(ROOM), fairSlots(IN_HAND)]
  return ({ route, asker, time, body }: TurnsParts): Turns => {
    const isLarge = body.length > LARGE
    const own = shareOf(asker)
    const { dependency = 'redis', withinMs } = route.needs ?? {}
    const wait = (others: string) => {
      time.ifLate(() => new RequestRefused('back-pressure', `other ${others} first`, { retryAfter: 5 }))
      time.within(LONGEST_WAIT)
    }
    const begin = (ms: number) => {
      time.ifLate(() => unanswered(dependency, 'has not answered in time'))
      time.within(ms)
    }
    const inTurn: DoorCall['inTurn'] = (work) => turn(asker, time.gone(), work)
    return {
      inTurn,
      reading: (work) => (isLarge ? inTurn(work) : work()),
      unpacked(work) {
        if (!isLarge) return work()
        wait('large bodies are read')
        const begun = () => {
          begin(withinMs ?? LONGEST_WAIT)
          return work()
        }
        return room.run(own, time.gone(), begun, body.length)
      },
      async worked(work) {
        let free = inHand.takeNow(own)
        if (free === null) {
          wait('requests of this tenant are answered')
          free = (await inHand.take(own, time.gone())).free
        }
        let isGivenUp = false
        begin(withinMs ?? Number.POSITIVE_INFINITY)
        // What hangs would have the tenant's other requests wait for as long, also those that need nothing of it.
        time.onGivenUp(() => {
          isGivenUp = true
          free?.()
        })
        const waiting: DoorCall['waiting'] = async (others) => {
          free?.()
          try {
            return await time.waiting(others)
          } finally {
            free = inHand.takeNow(own) ?? (await inHand.take(own, NEVER)).free
            if (isGivenUp) free()
          }
        }
        try {
          return await work(waiting)
        } finally {
          free?.()
        }
      },
    }
  }
}

const NEVER = new AbortController().signal

interface Turns extends Pick<DoorCall, 'inTurn' | 'unpacked' | 'reading'> {
  /**
   * Does the work of a request as soon as enough others of the same tenant are done: all that arrive are worked on side by side, and
   * who sends a thousand would have everybody wait for them at each step. What is `waiting` is no work. Rejects if the client has gone before.
   */
  worked(work: (waiting: DoorCall['waiting']) => Promise<Response>): Promise<Response>
}
