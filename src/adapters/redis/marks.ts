import type { Redis } from 'ioredis'
import { z } from 'zod'
import type { StreamMarks } from '../../ports/threads.ts'
import type { Keys } from './keys.ts'

const mark = z.object({
  newest: z.number().nullable(),
  second: z.number().nullable(),
  endSince: z.number().nullable(),
  // Absent in marks of earlier versions.
  seenAt: z.number().default(0),
})

/** Stream marks in Redis: one hash, by partition. */
export function redisMarks(client: Redis, keys: Keys): StreamMarks {
  return {
    async read() {
      const fields = await client.hgetall(keys.marks)
      return new Map(Object.entries(fields).map(([partition, json]) => [partition, mark.parse(JSON.parse(json))]))
    },
    async write(marks) {
      if (marks.size === 0) return
      await client.hset(keys.marks, Object.fromEntries([...marks].map(([key, value]) => [key, JSON.stringify(value)])))
    },
  }
}
