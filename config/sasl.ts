import { z } from 'zod'

/** How clients of Kafka say who they are. */
export const sasl = z
  .strictObject({
    mechanism: z.enum(['none', 'plain', 'scram-sha-256', 'scram-sha-512'], {
      error: ({ input }) =>
        /oauth|iam|gssapi|kerberos/i.test(String(input))
          ? 'this mechanism is not supported; see docs/connections.md for what works instead'
          : undefined,
    }),
    username: z.string(),
    password: z.string(),
  })
  .refine(({ mechanism, username, password }) => mechanism === 'none' || (username !== '' && password !== ''), {
    path: ['password'],
    error: 'a mechanism needs username and password',
  })
  .refine(({ mechanism, username, password }) => mechanism !== 'none' || (username === '' && password === ''), {
    path: ['mechanism'],
    error: 'username and password are set, and no mechanism: plain, scram-sha-256 or scram-sha-512',
  })
