import { AsyncLocalStorage } from 'node:async_hooks'
import { setImmediate as nextTurnOfLoop } from 'node:timers/promises'
import { fairSlots, type SlotOwner } from '../contracts/facts/slots.ts'
import { type Asker, shareOf } from './who-asks.ts'

/** Large answers that are made at a time, of one tenant or person, and by one key or session. */
const TURNS = { all: () => 4, each: 2, ofPart: 2 }

/** What gives back the turn in which an answer is made. */
const own = new AsyncLocalStorage<() => void>()

/** Does somebody's work in their turn: those who ask take turns. Rejects if they have gone before it. */
export function answerTurns() {
  const turns = fairSlots(TURNS)
  return async <Result>(asker: Asker, gone: AbortSignal, work: () => Promise<Result>): Promise<Result> => {
    const { free } = await turns.take(shareOf(asker), gone)
    try {
      // What others have asked for meanwhile comes in between.
      await nextTurnOfLoop()
      return await own.run(free, work)
    } finally {
      free()
    }
  }
}

/** Ends the turn of what is done now, before it waits for others: Kafka, a model, another's page. Little may be left to do behind that. */
export function leaveTurn(): void {
  own.getStore()?.()
}

/** Does so much of each part of somebody's work at a time; others' goes on beside it. Rejects if they have gone before its turn. */
export function turnsByPart(atOnce: number) {
  const turns = fairSlots({ all: () => Number.POSITIVE_INFINITY, ofPart: atOnce })
  return <Result>(whose: SlotOwner, gone: AbortSignal, work: () => Promise<Result>): Promise<Result> =>
    turns.run(whose, gone, work)
}
