import { Resolver } from 'node:dns/promises'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { PermanentError, RetryLaterError } from '../domain/errors.ts'
import type { LoadImage } from '../ports/images.ts'

export interface ImageSettings {
  /** Longest image, in bytes. */
  readonly maxBytes: number
  /** Limit for the whole fetch, including redirects, in ms. */
  readonly timeoutMs: number
  readonly maxRedirects: number
  /** Resolves a host name to all its addresses; by default a resolver of its own, at the system's name servers. */
  readonly lookup?: (host: string, signal: AbortSignal) => Promise<readonly string[]>
  /** Name servers (`ADDRESS:PORT`) to ask instead of the system's. */
  readonly nameServers?: readonly string[]
  /** Which addresses may be connected to; by default public addresses at port 443. */
  readonly mayReach?: (address: string, port: number) => boolean
  /** Certificates (PEM) to trust instead of the well-known authorities. */
  readonly ca?: string
}

/** Fetches images from the public internet, and from nowhere else. */
export function imageLoader(settings: ImageSettings): LoadImage {
  return async (url, signal) => {
    if (/^data:/i.test(url)) return asDataUrl(dataUrlBytes(url, settings.maxBytes))
    const timeout = AbortSignal.timeout(settings.timeoutMs)
    const stop = AbortSignal.any([signal, timeout])
    try {
      return asDataUrl(await fetched(url, settings, stop))
    } catch (error) {
      throw translated(error, { stopped: signal.aborted, timedOut: timeout.aborted, settings })
    }
  }
}

const REDIRECTS = new Set([301, 302, 303, 307, 308])

/** Follows redirects itself, since each address is checked before anything is sent to it. */
async function fetched(first: string, settings: ImageSettings, signal: AbortSignal): Promise<Buffer> {
  let url = addressOf(first)
  for (let hop = 0; hop <= settings.maxRedirects; hop++) {
    const response = await get(url, settings, signal)
    const status = response.statusCode ?? 0
    if (status === 200) return body(response, settings.maxBytes)
    response.destroy()
    if (status >= 500 || status === 408 || status === 429)
      throw new RetryLaterError('image', `the image's server answered with status ${status}`)
    if (!REDIRECTS.has(status) || response.headers.location === undefined)
      throw imageError(`image download failed (status ${status})`)
    url = addressOf(response.headers.location, url)
  }
  throw imageError(`more than ${settings.maxRedirects} redirects`)
}

function addressOf(said: string, base?: URL): URL {
  const url = URL.parse(said, base?.href)
  if (url === null) throw imageError('not a URL')
  if (url.protocol !== 'https:') throw imageError('neither an https nor a data URL')
  if (url.username !== '' || url.password !== '') throw imageError('a URL with credentials')
  return url
}

/** Connects only to the addresses that were checked, so that the name can't resolve to another one in between. */
async function get(url: URL, settings: ImageSettings, signal: AbortSignal): Promise<IncomingMessage> {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const port = url.port === '' ? 443 : Number(url.port)
  const { mayReach = isPublic } = settings
  const addresses = isIP(host) === 0 ? await resolved(host, settings, signal) : [host]
  if (!addresses.every((address) => mayReach(address, port)))
    throw imageError('at an address that is not public, or at a port other than 443')
  const sent = request(url, {
    agent: false,
    lookup: pinned(addresses),
    signal,
    headers: { accept: 'image/png, image/jpeg, image/gif, image/webp', 'accept-encoding': 'identity' },
    ...(settings.ca === undefined ? {} : { ca: settings.ca }),
  })
  // Once there is a response, failures appear in its body; an error event without a listener would end the process.
  sent.on('error', () => {})
  sent.end()
  const [response] = (await once(sent, 'response', { signal })) as [IncomingMessage]
  return response
}

async function resolved(host: string, settings: ImageSettings, signal: AbortSignal): Promise<readonly string[]> {
  const { lookup = allAddresses(settings.nameServers) } = settings
  signal.throwIfAborted()
  const aborted = Promise.withResolvers<never>()
  const giveUp = () => aborted.reject(signal.reason)
  signal.addEventListener('abort', giveUp, { once: true })
  try {
    const addresses = await Promise.race([lookup(host, signal), aborted.promise])
    if (addresses.length === 0) throw imageError("the image's host has no address")
    return addresses
  } finally {
    signal.removeEventListener('abort', giveUp)
  }
}

/** Longest wait for one answer of a name server, in ms, and how often it is asked. */
const RESOLVING = { timeout: 2_500, tries: 2 }

/**
 * Asks the name servers itself: `dns.lookup` takes one of the few threads of the process for as long as a server is silent,
 * whoever has stopped waiting, and the name of a model's endpoint would wait behind a stranger's.
 */
const allAddresses = (nameServers?: readonly string[]) => async (host: string, signal: AbortSignal) => {
  // Not for name servers to say (RFC 6761, section 6.3).
  if (/(?:^|\.)localhost\.?$/i.test(host)) return ['127.0.0.1']
  const resolver = new Resolver(RESOLVING)
  if (nameServers !== undefined) resolver.setServers(nameServers)
  const cancel = () => resolver.cancel()
  signal.addEventListener('abort', cancel, { once: true })
  try {
    const [v4, v6] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
    const found = [v4, v6].flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    if (found.length > 0 || v4.status === 'fulfilled') return found
    // That there is no address of one kind says nothing where the other could not be asked for.
    throw [v4, v6].map((answer) => (answer.status === 'rejected' ? answer.reason : null)).find(isSilence) ?? v4.reason
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}

function isSilence(error: unknown): boolean {
  return error instanceof Error && !('code' in error && /^E(NOTFOUND|NODATA)$/.test(String(error.code)))
}

function pinned(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_host, options, done) => {
    const [first] = all
    if (options.all || first === undefined) done(null, all)
    else done(null, first.address, first.family)
  }
}

/** Reads at most `maxBytes`, and stops as soon as there are more, whatever length the server announced. */
async function body(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  try {
    const { 'content-encoding': encoding = 'identity', 'content-length': announced } = response.headers
    if (encoding !== 'identity') throw imageError('sent compressed without being asked to')
    if (Number(announced ?? 0) > maxBytes) throw tooLarge(maxBytes)
    const chunks: Buffer[] = []
    let bytes = 0
    for await (const chunk of response as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > maxBytes) throw tooLarge(maxBytes)
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  } finally {
    response.destroy()
  }
}

function dataUrlBytes(url: string, maxBytes: number): Buffer {
  const comma = url.indexOf(',')
  if (comma === -1 || !/;base64$/i.test(url.slice(0, comma))) throw imageError('a data URL without base64 data')
  const data = url.slice(comma + 1).replace(/={1,2}$/, '')
  const bytes = Math.floor((data.length * 3) / 4)
  if (bytes > maxBytes) throw tooLarge(maxBytes)
  const decoded = Buffer.from(data, 'base64')
  // Node skips characters that are not base64, and then decodes fewer bytes.
  if (decoded.length !== bytes || data.length % 4 === 1) throw imageError('a data URL with invalid base64')
  return decoded
}

/**
 * Formats are recognised by their bytes: the type that a server or a data URL gives is only a claim. SVG is refused,
 * since it can contain scripts.
 */
const FORMATS: readonly { type: string; begins(bytes: Buffer): boolean; ends(bytes: Buffer): boolean }[] = [
  {
    type: 'image/png',
    begins: (bytes) => bytes.indexOf('\x89PNG\r\n\x1a\n', 0, 'latin1') === 0,
    ends: (bytes) => bytes.includes('IEND\xae\x42\x60\x82', 8, 'latin1'),
  },
  {
    type: 'image/jpeg',
    begins: (bytes) => bytes.indexOf('\xff\xd8\xff', 0, 'latin1') === 0,
    ends: (bytes) => bytes.includes('\xff\xd9', 3, 'latin1'),
  },
  {
    type: 'image/gif',
    begins: (bytes) => /^GIF8[79]a$/.test(bytes.toString('latin1', 0, 6)),
    ends: (bytes) => bytes.includes(0x3b, -16),
  },
  {
    type: 'image/webp',
    begins: (bytes) => /^RIFF.{4}WEBP$/s.test(bytes.toString('latin1', 0, 12)),
    ends: (bytes) => bytes.readUInt32LE(4) + 8 <= bytes.length,
  },
]

function asDataUrl(bytes: Buffer): string {
  const format = FORMATS.find(({ begins }) => begins(bytes))
  if (format === undefined) throw imageError('not a PNG, JPEG, GIF or WebP image')
  if (!format.ends(bytes)) throw imageError('a truncated image')
  return `data:${format.type};base64,${bytes.toString('base64')}`
}

/** Addresses that are not public: these in IPv4; in IPv6 these, and all outside of global unicast (2000::/3). */
const NOT_PUBLIC = new BlockList()
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const)
  NOT_PUBLIC.addSubnet(network, prefix, 'ipv4')
for (const [network, prefix] of [
  // Teredo and other tunnels, documentation, 6to4: they lead to another address, or nowhere.
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const)
  NOT_PUBLIC.addSubnet(network, prefix, 'ipv6')

const UNICAST = new BlockList()
UNICAST.addSubnet('2000::', 3, 'ipv6')

function isPublic(address: string, port: number): boolean {
  if (port !== 443) return false
  switch (isIP(address)) {
    case 4:
      return !NOT_PUBLIC.check(address, 'ipv4')
    case 6:
      // Outside 2000::/3 are loopback, link-local, unique local, multicast, and IPv4-mapped addresses.
      return UNICAST.check(address, 'ipv6') && !NOT_PUBLIC.check(address, 'ipv6')
    default:
      return false
  }
}

/** Says which kind of failure it is, without repeating the URL. */
function translated(error: unknown, how: { stopped: boolean; timedOut: boolean; settings: ImageSettings }): Error {
  if (error instanceof PermanentError || error instanceof RetryLaterError) return error
  if (how.stopped)
    return new RetryLaterError('aborted', 'the fetch was stopped', { costsAttempt: false, delayMs: 0, cause: error })
  if (how.timedOut)
    return new RetryLaterError('image', `no image within ${how.settings.timeoutMs} ms`, { cause: error })
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (code === 'ENOTFOUND' || code === 'ENODATA') return imageError("the image's host does not exist", error)
  if (/CERT|SELF_SIGNED|UNABLE_TO|ALTNAME/.test(code))
    return imageError("the image's server has no valid certificate", error)
  return new RetryLaterError('image', "the image's server could not be reached", { cause: error })
}

function tooLarge(maxBytes: number): PermanentError {
  return imageError(`larger than ${maxBytes} bytes`)
}

function imageError(message: string, cause?: unknown): PermanentError {
  return new PermanentError('image', message, cause === undefined ? {} : { cause })
}
