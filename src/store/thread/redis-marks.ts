import type { Redis } from 'ioredis'
import { z } from 'zod'
import type { StreamMarks } from '../../contracts/ports/threads.ts'
import { type FencingToken, NO_FENCING } from '../redis/incarnation.ts'
import type { Keys } from '../redis/keys.ts'
import { script } from '../redis/script.ts'

const writeMarks = script('thread/write', {
  keys: ['marks', 'incarnation'],
  args: ['incarnationId', 'written[].partition', 'written[].mark'],
})

const mark = z.object({
  newest: z.number().nullable(),
  second: z.number().nullable(),
  endSince: z.number().nullable(),
  seenAt: z.number(),
})

/** Stream marks in Redis: one hash, by partition. Nothing is written to data of another incarnation than the token's. */
export function redisMarks(client: Redis, keys: Keys, token: () => FencingToken = NO_FENCING): StreamMarks {
  return {
    async read() {
      const fields = await client.hgetall(keys.marks)
      return new Map(Object.entries(fields).map(([partition, json]) => [partition, mark.parse(JSON.parse(json))]))
    },
    async write(marks) {
      if (marks.size === 0) return
      const written = [...marks].map(([partition, value]) => ({ partition, mark: JSON.stringify(value) }))
      const { incarnationId } = token()
      await writeMarks(client, { marks: keys.marks, incarnation: keys.incarnation, incarnationId, written })
    },
  }
}
