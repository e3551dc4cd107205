import { readFileSync } from 'node:fs'
import { type ConnectionOptions, connect, createSecureContext } from 'node:tls'
import { OperatorError } from '../contracts/facts/errors.ts'

/**
 * TLS settings of a connection. `ca`, `cert` and `key` are paths of PEM files; an empty one means Node's default
 * authorities, or no client certificate. An empty `serverName` means the host that is connected to.
 */
export interface TlsSettings {
  readonly enabled: boolean
  readonly ca: string
  readonly cert: string
  readonly key: string
  readonly serverName: string
}

export interface Address {
  readonly host: string
  readonly port: number
}

/** Longest wait for a diagnostic handshake, in ms. */
const SHAKE_MS = 3_000
/** In TLS 1.3 a server that requires a client certificate reports that only after the handshake. */
const OBJECTION_MS = 300

/** For so long, in ms, one reading of the files serves: a connection asks for each of them. */
const READ_AGAIN_MS = 1_000

/**
 * Node's options for the settings at `path`. Certificates are always checked: nothing turns that off. The files are read again for
 * connections that are made later; while they can't be used, as in the middle of being replaced, those that could be stay. Throws an
 * `OperatorError` that names the setting whose file can't be used.
 */
export function tlsOptions(tls: TlsSettings, path: string): ConnectionOptions {
  let usable = filesOf(tls, path)
  let readAt = performance.now()
  const current = () => {
    if (performance.now() - readAt < READ_AGAIN_MS) return usable
    readAt = performance.now()
    try {
      usable = filesOf(tls, path)
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error
    }
    return usable
  }
  const options: ConnectionOptions = { ...usable }
  for (const name of ['ca', 'cert', 'key'] as const)
    if (usable[name] !== undefined)
      Object.defineProperty(options, name, { configurable: true, enumerable: true, get: () => current()[name] })
  return options
}

function filesOf(tls: TlsSettings, path: string): ConnectionOptions {
  const options: ConnectionOptions = {
    ...(tls.ca === '' ? {} : { ca: read(tls.ca, `${path}.ca`) }),
    ...(tls.cert === '' ? {} : { cert: read(tls.cert, `${path}.cert`) }),
    ...(tls.key === '' ? {} : { key: read(tls.key, `${path}.key`) }),
    ...(tls.serverName === '' ? {} : { servername: tls.serverName }),
    rejectUnauthorized: true,
  }
  // Node ignores an authority that it can't parse, and then trusts no certificate.
  if (options.ca !== undefined && !String(options.ca).includes('-----BEGIN'))
    throw new OperatorError(`${path}.ca: ${tls.ca} is not a PEM file.`)
  try {
    createSecureContext(options)
  } catch (error) {
    throw new OperatorError(
      `${path}.ca, cert and key must be PEM files without a passphrase, key and cert of one pair (${reason(error)}).`,
      { cause: error },
    )
  }
  return options
}

/**
 * Why a client with these options (undefined: without TLS) can't connect to this address, as one sentence with what to
 * set under `path`; null if TLS is not the reason. Does one handshake, and sends nothing.
 */
export async function tlsTrouble(
  address: Address,
  options: ConnectionOptions | undefined,
  path: string,
): Promise<string | null> {
  if (options === undefined) {
    // This only asks whether the server uses TLS: the certificate does not matter, as nothing is sent.
    const refused = await shakeHands(address, { rejectUnauthorized: false })
    return refused === null ? `The server uses TLS: set ${path}.enabled to true.` : null
  }
  const refused = await shakeHands(address, options)
  return refused === null ? null : meaning(refused, path)
}

function meaning(error: NodeJS.ErrnoException, path: string): string | null {
  const { code = '' } = error
  if (UNREACHABLE.has(code)) return null
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `Its certificate is for another name: use that name, or set ${path}.serverName to it.`
  if (code === 'CERT_HAS_EXPIRED') return 'Its certificate has expired: the server needs a new one.'
  if (UNKNOWN_AUTHORITY.has(code))
    return `Its certificate is not signed by a trusted authority: set ${path}.ca to that authority's PEM file.`
  if (/ALERT_/.test(code))
    return `It refused the TLS handshake (${code}); it probably requires a client certificate: set ${path}.cert and ${path}.key.`
  if (NO_TLS.has(code)) return `The server does not use TLS: set ${path}.enabled to false.`
  return `The TLS handshake failed (${code || reason(error)}).`
}

const UNREACHABLE: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
])
const UNKNOWN_AUTHORITY: ReadonlySet<string> = new Set([
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'CERT_SIGNATURE_FAILURE',
])
const NO_TLS: ReadonlySet<string> = new Set([
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
  'ECONNRESET',
  'ETIMEDOUT',
])

/** Null if the handshake succeeded and the server did not object. */
function shakeHands(address: Address, options: ConnectionOptions): Promise<NodeJS.ErrnoException | null> {
  return new Promise((resolve) => {
    const socket = connect({ host: address.host, port: address.port, ...options })
    const end = (result: NodeJS.ErrnoException | null) => {
      socket.destroy()
      resolve(result)
    }
    socket.setTimeout(SHAKE_MS, () => end(Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' })))
    socket.on('error', end)
    socket.once('secureConnect', () => {
      setTimeout(() => end(null), OBJECTION_MS)
      // Without a reader the server's objection would not be read.
      socket.resume()
    })
    socket.once('close', () => end(null))
  })
}

function read(file: string, setting: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    throw new OperatorError(`${setting}: ${file} can't be read (${reason(error)}).`, { cause: error })
  }
}

function reason(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message
}
