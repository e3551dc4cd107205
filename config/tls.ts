import { z } from 'zod'

export const tls = z
  .strictObject({
    enabled: z.boolean(),
    ca: z.string(),
    cert: z.string(),
    key: z.string(),
    serverName: z.string(),
  })
  .refine(({ cert, key }) => (cert === '') === (key === ''), { path: ['key'], error: 'cert and key go together' })

/** What is set for TLS and would be passed over without it. */
export const tlsFiles = ({ ca, cert, serverName }: z.infer<typeof tls>) => ca !== '' || cert !== '' || serverName !== ''

export const TLS_IS_OFF = 'is false, and ca, cert or serverName is set: they would be passed over'
