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
/** So long a body waits for room, in ms. */
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
    const inTurn: DoorCall['inTurn'] = (work) => turn(asker, time.gone(), work)
    return {
      inTurn,
      reading: (work) => (isLarge ? inTurn(work) : work()),
      unpacked(work) {
        if (!isLarge) return work()
        const { dependency = 'redis', withinMs = LONGEST_WAIT } = route.needs ?? {}
        time.ifLate(() => new RequestRefused('back-pressure', 'other large bodies are read first', { retryAfter: 5 }))
        time.within(LONGEST_WAIT)
        const begun = () => {
          time.ifLate(() => unanswered(dependency, 'has not answered in time'))
          time.within(withinMs)
          return work()
        }
        return room.run(own, time.gone(), begun, body.length)
      },
      async worked(work) {
        let place = await inHand.take(own, time.gone())
        const waiting: DoorCall['waiting'] = async (others) => {
          place.free()
          try {
            return await time.waiting(others)
          } finally {
            place = await inHand.take(own, NEVER)
          }
        }
        try {
          return await work(waiting)
        } finally {
          place.free()
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
