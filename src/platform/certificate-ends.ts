import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { connect as connectTcp, type Socket } from 'node:net'
import { connect } from 'node:tls'
import type { Address } from './tls.ts'

/** Whose certificate it is: a server's, or the one that Gavel shows to servers. */
export const CERTIFICATE_OF = ['redis', 'kafka', 'record', 'webhook'] as const
export type CertificateOf = (typeof CERTIFICATE_OF)[number]

/** A certificate to look at. */
export interface KnownCertificate {
  readonly of: CertificateOf
  /** The server, as host:port, a receiver's name, or `client` for Gavel's own. */
  readonly name: string
  /** Where it is shown, or the file that it is in. */
  readonly at: Address | { readonly file: string }
  /** The name that is asked for; empty: the host's. */
  readonly serverName: string
}

/** Longest wait for a handshake, in ms. */
const SHAKE_MS = 5_000

/** When the certificate ends, ms since 1970; null where none was shown. Whether it is trusted does not matter here. */
export async function certificateEnd(known: KnownCertificate): Promise<number | null> {
  try {
    return 'file' in known.at ? endOf(readFileSync(known.at.file)) : await shownEnd(known.at, known)
  } catch {
    // A server that is away, and a file that can't be read, have reports of their own.
    return null
  }
}

function endOf(certificate: Buffer): number {
  return Date.parse(new X509Certificate(certificate).validTo)
}

async function shownEnd(address: Address, { of, serverName }: KnownCertificate): Promise<number> {
  const { host, port } = address
  const raw = connectTcp({ host, port })
  const timer = setTimeout(() => raw.destroy(new Error('no answer')), SHAKE_MS)
  try {
    if (of === 'record') await askForTls(raw)
    const name = serverName || (/^[\d.:]+$/.test(host) ? '' : host)
    return await new Promise((resolve, reject) => {
      raw.once('error', reject)
      // Nothing is sent: an authority that is unknown here is no reason not to look.
      const socket = connect({ socket: raw, rejectUnauthorized: false, ...(name && { servername: name }) }, () =>
        resolve(endOf(socket.getPeerCertificate().raw)),
      ).once('error', reject)
    })
  } finally {
    clearTimeout(timer)
    raw.destroy()
  }
}

/** PostgreSQL's SSLRequest: eight bytes, answered by an S where it speaks TLS. */
function askForTls(raw: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    raw.once('error', reject)
    raw.once('data', ([answer]) => (answer === 0x53 ? resolve() : reject(new Error('no TLS'))))
    raw.write(Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]))
  })
}
