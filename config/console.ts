import { z } from 'zod'
import { hostName } from './door.ts'
import { wait } from './values.ts'

/** The console: where it listens, and how long who signed in stays so. */
export const console = z.strictObject({
  host: z.string().min(1),
  port: z.int().min(0).max(65_535),
  hosts: z.array(hostName),
  session: z
    .strictObject({ idle: wait, longest: wait })
    .refine(({ idle, longest }) => idle <= longest, { path: ['idle'], error: 'is more than longest' }),
  streams: z.int().min(1).max(10_000),
})
