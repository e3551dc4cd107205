import type { Settings } from '../../config/schema.ts'
import type { Report } from '../contracts/ports/report.ts'
import { type CertificateOf, certificateEnd, type KnownCertificate } from '../platform/certificate-ends.ts'
import type { Address, TlsSettings } from '../platform/tls.ts'

/** How often it is asked whether it is time to look at certificates, and how often that is, in ms. */
export const CERTIFICATES_MS = 60_000
const LOOK_MS = 3_600_000
/** From so long before its end on, in ms, a certificate is a matter for people. */
const SOON_MS = 14 * 86_400_000
/** What ends soon is logged once in this time, in ms. */
const SAY_MS = 86_400_000

/** The certificates that connections by these settings rest on: of servers, and those that Gavel shows to them. */
export function certificatesOf({ redis, kafka, record, webhooks }: Settings): KnownCertificate[] {
  const shown = (of: CertificateOf, tls: TlsSettings, servers: readonly Address[]): KnownCertificate[] => [
    ...servers.map((at) => ({ of, name: `${at.host}:${at.port}`, at, serverName: tls.serverName })),
    ...(tls.cert === '' ? [] : [{ of, name: 'client', at: { file: tls.cert }, serverName: '' }]),
  ]
  const secure = redis.tls.enabled || redis.url.startsWith('rediss:')
  const servers =
    redis.url === '' ? [...redis.cluster, ...redis.sentinels].map(addressOf) : [addressIn(redis.url, 6379)]
  const { postgres } = record
  return [
    ...(secure ? shown('redis', redis.tls, servers) : []),
    ...(kafka.tls.enabled ? shown('kafka', kafka.tls, kafka.brokers.map(addressOf)) : []),
    ...(record.store === 'postgres' && postgres.tls.enabled && postgres.url !== ''
      ? shown('record', postgres.tls, [addressIn(postgres.url, 5432)])
      : []),
    ...Object.entries(webhooks.to).flatMap(([name, { url }]): KnownCertificate[] =>
      url.startsWith('https:') ? [{ of: 'webhook', name, at: addressIn(url, 443), serverName: '' }] : [],
    ),
  ]
}

function addressOf(text: string): Address {
  const colon = text.lastIndexOf(':')
  return { host: bare(text.slice(0, colon)), port: Number(text.slice(colon + 1)) }
}

function addressIn(text: string, usual: number): Address {
  const { hostname, port } = new URL(text)
  return { host: bare(hostname), port: Number(port || usual) }
}

function bare(host: string): string {
  return host.replace(/^\[|\]$/g, '')
}

/** Whether it ends so soon that people have to renew it. */
export function endsSoon(endsAt: number, now: number): boolean {
  return endsAt - now < SOON_MS
}

/** Looks when certificates end, and tells; once a day also the log, of each that ends soon. */
export function certificateWatch(
  settings: Settings,
  { clock, report }: { readonly clock: () => number; readonly report: Report },
): { poll(): Promise<void> } {
  const known = certificatesOf(settings)
  const said = new Map<KnownCertificate, number>()
  let lookedAt = Number.NEGATIVE_INFINITY
  return {
    async poll() {
      if (clock() - lookedAt < LOOK_MS) return
      lookedAt = clock()
      const ends = await Promise.all(known.map(certificateEnd))
      for (const [at, one] of known.entries()) {
        const endsAt = ends[at] ?? null
        if (endsAt === null) continue
        const { of, name } = one
        report('certificate:looked-at', { of, name, endsAt })
        if (!endsSoon(endsAt, clock()) || clock() - (said.get(one) ?? Number.NEGATIVE_INFINITY) < SAY_MS) continue
        said.set(one, clock())
        report('certificate:ends', { of, name, at: new Date(endsAt).toISOString(), advice: RENEW })
      }
    },
  }
}

const RENEW =
  'Renew it before then: connections fail afterwards. A renewed client certificate is read by itself. docs/runbooks/GavelCertificateEnds.md'
