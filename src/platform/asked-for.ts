import { AsyncLocalStorage } from 'node:async_hooks'
import { fairSlots, type SlotOwner } from '../contracts/facts/slots.ts'
import { type Asker, shareOf } from './who-asks.ts'

/** For whom a port works, and what it cost. */
interface AskedFor {
  readonly owner: SlotOwner
  /** Aborts when nobody waits for the answer any more. Made where it is asked for. */
  readonly gone: () => AbortSignal
  /** How long what is read in turn has been read for it, in ms. */
  readMs: number
}

const current = new AsyncLocalStorage<AskedFor | undefined>()

/**
 * Does the work of a request: whatever is read for it, wherever, is read in the turn of who asks, until they have gone. `owes` learns
 * how long that took, in ms.
 */
export async function forAsker<Result>(
  asker: Asker,
  { gone, owes }: { readonly gone: () => AbortSignal; readonly owes?: (ms: number) => void },
  work: () => Promise<Result> | Result,
): Promise<Result> {
  const asked: AskedFor = { owner: shareOf(asker), gone, readMs: 0 }
  try {
    return await current.run(asked, work)
  } finally {
    owes?.(asked.readMs)
  }
}

/** Does what several wait for, and what nobody asked for: it goes on when who asked first has gone, and takes nobody's turn. */
export function forNobody<Result>(work: () => Result): Result {
  return current.run(undefined, work)
}

/** Whether somebody's request is worked on, whose turn what is read takes. */
export function isAskedFor(): boolean {
  return current.getStore() !== undefined
}

/** Questions to one reader at a time, those of one tenant or person, and of one key or session. */
const [AT_ONCE, OF_ONE] = [4, 2]
const GAVEL: SlotOwner = { name: '', part: '' }
const NEVER = new AbortController().signal

/** Reads for those who ask in turn, so many at a time, whichever page or route it is for. Rejects if they have gone. */
export function readTurns(atOnce = AT_ONCE) {
  const turns = fairSlots({ all: () => atOnce, each: OF_ONE, ofPart: OF_ONE })
  return async <Result>(read: () => Promise<Result>): Promise<Result> => {
    const asked = current.getStore()
    const [owner, gone] = asked === undefined ? [GAVEL, NEVER] : [asked.owner, asked.gone()]
    gone.throwIfAborted()
    const free = turns.takeNow(owner) ?? (await turns.take(owner, gone)).free
    const began = performance.now()
    try {
      return await read()
    } finally {
      free()
      if (asked !== undefined) asked.readMs += performance.now() - began
    }
  }
}
