import { setTimeout as sleep } from 'node:timers/promises'
import type { DecisionMessage } from '../src/service/domain/decisions.ts'
import type { Deciding } from '../src/service/ports/deciding.ts'
import { type DecisionStore, decisionName } from '../src/service/ports/decisions.ts'
import type { PlacingWriter } from '../src/service/ports/topic.ts'

/** How often is looked for what came of a decision, in ms. */
const LOOK_MS = 100

/** Sends decisions to their topic, and waits so long for what comes of each. */
export function decisionsProducer(to: {
  readonly writer: PlacingWriter
  readonly topic: string
  readonly told: DecisionStore['told']
  readonly waitMs: number
}): Deciding {
  const { writer, topic, told, waitMs } = to
  return {
    async decide(message, signal) {
      const place = await writer.place({ topic, key: message.subjectId, value: written(message) })
      const of = decisionName({ partition: place.partition, offset: place.offset })
      for (let waited = 0; ; waited += LOOK_MS) {
        const decided = await told(of)
        if (decided !== null || waited >= waitMs || signal.aborted) return { of, decided }
        await sleep(LOOK_MS)
      }
    },
  }
}

function written({ createdAt: _, at, ...decision }: DecisionMessage): string {
  return JSON.stringify({ ...decision, at: new Date(at).toISOString() })
}
