import { z } from 'zod'

/** What is logged, and how lines name what people wrote. */
export const log = z.strictObject({
  level: z.enum(['debug', 'info', 'warn', 'error', 'silent']),
  subjects: z.enum(['plain', 'hashed', 'off']),
})
