import { z } from 'zod'
import { tenantName } from '../src/contracts/facts/messages.ts'
import { ROLES } from '../src/contracts/facts/person-roles.ts'
import { hostName } from './door.ts'
import { count, duration, network, wait } from './values.ts'

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/
/** Without TLS only what does not leave the machine. */
const isSafeUrl = (text: string) => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url?.protocol === 'https:' || (url?.protocol === 'http:' && LOOPBACK.test(url.hostname))
}
const safeUrl = z.string().refine((text) => text === '' || isSafeUrl(text), 'https://…, or http:// on loopback')
const ownUrl = safeUrl.refine(
  (text) => text === '' || !URL.canParse(text) || new URL(text).origin === text,
  'has a path, or a slash at its end: leave them out',
)
const claim = z.string().min(1).max(200)
const headerName = z.string().regex(/^[a-z0-9-]{1,64}$/i, 'the name of a header')

const person = z.strictObject({
  who: z.string().regex(/^(?:person|group):.{1,200}$/, 'person:NAME or group:NAME'),
  role: z.enum(ROLES),
  tenants: z.array(tenantName).min(1).optional(),
})

/** The console: where it listens, who may come in, and how long who signed in stays so. */
export const console = z
  .strictObject({
    host: z.string().min(1),
    port: z.int().min(0).max(65_535),
    hosts: z.array(hostName),
    publicUrl: ownUrl,
    signIn: z.enum(['link', 'oidc', 'proxy']),
    oidc: z.strictObject({
      issuer: safeUrl,
      clientId: z.string(),
      clientSecret: z.string(),
      scopes: z.array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/, 'the name of a scope')).min(1),
      person: claim,
      groups: claim,
      timeout: wait.refine((ms) => ms >= 1_000 && ms <= 60_000, '1s to 1m'),
    }),
    proxy: z.strictObject({ peers: z.array(network), person: headerName, groups: headerName }),
    people: z.array(person),
    session: z
      .strictObject({ idle: wait, longest: wait })
      .refine(({ idle, longest }) => idle <= longest, { path: ['idle'], error: 'is more than longest' }),
    streams: count.max(10_000),
    whatIfPath: z.string().min(1),
    auditKeep: duration.refine((ms) => ms >= 3_600_000, 'at least 1h'),
  })
  .refine(({ signIn, oidc }) => signIn !== 'oidc' || (oidc.issuer !== '' && oidc.clientId !== ''), {
    path: ['oidc'],
    error: 'issuer and clientId are needed where signIn is oidc',
  })
  .refine(({ signIn, oidc }) => signIn !== 'oidc' || oidc.scopes.includes('openid'), {
    path: ['oidc', 'scopes'],
    error: 'openid is missing',
  })
  .refine(({ signIn, proxy }) => signIn !== 'proxy' || proxy.peers.length > 0, {
    path: ['proxy', 'peers'],
    error: 'the proxy’s address is needed where signIn is proxy: from anybody else its header counts for nothing',
  })
  .refine(({ signIn, people }) => signIn === 'link' || people.length > 0, {
    path: ['people'],
    error: 'nobody could sign in: give somebody a role',
  })
