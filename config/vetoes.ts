import { z } from 'zod'
import { byName, wait } from './values.ts'

/** Of a list's entry in verdicts, metrics and logs. */
const listName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, '1 to 64 letters, digits, dots, dashes or underscores')

const veto = z
  .strictObject({
    kind: z.enum(['sha256', 'pdq', 'pattern']),
    list: z.string().default(''),
    service: z
      .union([
        z.literal(''),
        z.url({ protocol: /^https?$/, error: 'is no address such as https://hashes.example/match' }),
      ])
      .default(''),
    distance: z.int().min(0).max(127).default(31),
    timeout: wait.prefault('2s'),
    unavailable: z.enum(['fail-closed', 'fail-open']).default('fail-closed'),
    labels: byName(z.string().min(1).max(64)).default({ safety: 'unsafe' }),
  })
  .refine(({ list, service }) => (list === '') !== (service === ''), {
    path: ['list'],
    error: 'either list, a file, or service, an address',
  })
  .refine(({ kind, service }) => kind !== 'pattern' || service === '', {
    path: ['service'],
    error: 'patterns are read from a list: no words are sent to a service',
  })

export const vetoes = byName(veto, listName)
