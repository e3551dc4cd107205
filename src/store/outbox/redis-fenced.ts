import { setTimeout as sleep } from 'node:timers/promises'
import type { Outbox, OutboxEntry } from '../../contracts/ports/cases.ts'
import type { Incarnation } from '../redis/incarnation.ts'

/** Wait between two checks whether Redis may hand out entries again, in ms. */
const SUSPENDED_LOOK_MS = 200

/**
 * An outbox that hands out entries only after the watermark of the data that have them was raised past them: if Redis then
 * loses the step that put them there, this process notices. Nothing is handed out, nor sent that has waited, while Redis has lost
 * data, or has just restarted and may have; nor while this process is cut off from the sentinels, who may have chosen another master.
 */
export function fencedOutbox(outbox: Outbox, incarnation: Incarnation, isCutOff: () => boolean): Outbox {
  async function isSuspended(): Promise<boolean> {
    if (incarnation.quiet) await incarnation.advance()
    return incarnation.quiet || incarnation.lost !== null || isCutOff()
  }
  const handOut = async (publisher: string, waitMs: number, read: () => Promise<OutboxEntry[]>) => {
    if (await isSuspended()) {
      await sleep(Math.min(waitMs, SUSPENDED_LOOK_MS))
      return []
    }
    const entries = await read()
    if (entries.length === 0) return []
    const ids = entries.map(({ id }) => id)
    let here = await incarnation.advancePast(publisher, ids)
    while (incarnation.quiet) {
      await sleep(SUSPENDED_LOOK_MS)
      here = await incarnation.advancePast(publisher, ids)
    }
    // The others stay assigned to this publisher, and are adopted after the store has been recovered, or the sentinels answer.
    return isCutOff() ? [] : entries.filter(({ id }) => here.has(id))
  }
  return {
    ...outbox,
    next: (publisher, limit, waitMs, options) =>
      handOut(publisher, waitMs, () => outbox.next(publisher, limit, waitMs, options)),
    adopt: (publisher, limit, idleMs) => handOut(publisher, 0, () => outbox.adopt(publisher, limit, idleMs)),
    // What was handed out before waits as well: its number may be given again by data that lack it.
    stillToSend: async (entries, tried) =>
      (await isSuspended()) ? { sendable: [], withheld: entries } : outbox.stillToSend(entries, tried),
  }
}
