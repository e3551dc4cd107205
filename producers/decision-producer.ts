import { setTimeout as sleep } from 'node:timers/promises'
import type { DecisionMessage } from '../src/contracts/facts/decision-messages.ts'
import { subjectKeyOf } from '../src/contracts/facts/messages.ts'
import type { DecisionDesk } from '../src/contracts/ports/decisions.ts'
import { type DecisionStore, decisionName } from '../src/contracts/ports/decisions.ts'
import type { PlacingWriter } from '../src/contracts/ports/topic.ts'

/** How soon, and how seldom at most, is looked again for what came of a decision, in ms: the longer it has taken, the longer it may. */
const [SOONEST_MS, SELDOMEST_MS] = [100, 1_000]

/** A look without an answer for this long, in ms, is the last: the store hangs, and nothing will be heard soon. */
const SILENT_MS = 2_000

/** Sends decisions to their topic, and waits so long for what comes of each. */
export function decisionsProducer(to: {
  readonly writer: PlacingWriter
  readonly topic: string
  readonly told: DecisionStore['told']
  readonly waitMs: number
}): DecisionDesk {
  const { writer, topic, told, waitMs } = to
  return {
    async decide(message, signal) {
      const place = await writer.place({ topic, key: subjectKeyOf(message), value: written(message) })
      const of = decisionName({ partition: place.partition, offset: place.offset })
      for (let waited = 0; ; ) {
        // The decision is on its topic, even if its outcome can't be read now: the sender must not send it again.
        const looked = told(of).catch(() => null)
        const decided = await Promise.race([looked, sleep(SILENT_MS, 'silent' as const, { ref: false })])
        if (decided === 'silent') return { of, decided: null }
        if (decided !== null || waited >= waitMs || signal.aborted) return { of, decided }
        const pause = Math.min(Math.max(SOONEST_MS, waited / 4), SELDOMEST_MS, waitMs - waited)
        await sleep(pause)
        waited += pause
      }
    },
  }
}

function written({ createdAt: _, at, ...decision }: DecisionMessage): string {
  return JSON.stringify({ ...decision, at: new Date(at).toISOString() })
}
