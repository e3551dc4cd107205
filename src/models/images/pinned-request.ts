import { Resolver } from 'node:dns/promises'
import { once } from 'node:events'
import { type IncomingMessage, request as plainRequest } from 'node:http'
import { request } from 'node:https'
import { BlockList, isIP, type LookupFunction } from 'node:net'

/** What a request may reach, and how. */
export interface Reach {
  /** Resolves a host name to all its addresses; by default a resolver of its own, at the system's name servers. */
  readonly lookup?: (host: string, signal: AbortSignal) => Promise<readonly string[]>
  /** Name servers (`ADDRESS:PORT`) to ask instead of the system's. */
  readonly nameServers?: readonly string[]
  /** Which addresses may be connected to. */
  readonly mayReach: (address: string, port: number) => boolean
  /** Certificates (PEM) to trust instead of the well-known authorities. */
  readonly ca?: string
}

/** Nothing was sent: the name leads to no address, or to one that may not be reached. */
export class AddressUnreachable extends Error {
  override readonly name = 'Unreachable'
  readonly why: 'no-address' | 'not-allowed'
  constructor(why: AddressUnreachable['why']) {
    super(why === 'no-address' ? 'the host has no address' : 'the host is at an address that may not be reached')
    this.why = why
  }
}

/**
 * Sends one request, and follows no redirect. It connects only to the addresses that were checked, so that the name can't resolve
 * to another one in between. The response's body is the caller's to read or destroy.
 */
export async function pinnedRequest(
  url: URL,
  how: Reach & { readonly headers: Readonly<Record<string, string>>; readonly method?: string; readonly body?: string },
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const isTls = url.protocol === 'https:'
  const port = url.port === '' ? (isTls ? 443 : 80) : Number(url.port)
  const addresses = isIP(host) === 0 ? await resolved(host, how, signal) : [host]
  if (!addresses.every((address) => how.mayReach(address, port))) throw new AddressUnreachable('not-allowed')
  const send = isTls ? request : plainRequest
  const sent = send(url, {
    agent: false,
    lookup: pinned(addresses),
    signal,
    method: how.method ?? 'GET',
    headers: how.headers,
    ...(how.ca === undefined ? {} : { ca: how.ca }),
  })
  // Once there is a response, failures appear in its body; an error event without a listener would end the process.
  sent.on('error', () => {})
  sent.end(how.body)
  const [response] = (await once(sent, 'response', { signal })) as [IncomingMessage]
  return response
}

async function resolved(host: string, reach: Reach, signal: AbortSignal): Promise<readonly string[]> {
  const { lookup = allAddresses(reach.nameServers) } = reach
  signal.throwIfAborted()
  const aborted = Promise.withResolvers<never>()
  const giveUp = () => aborted.reject(signal.reason)
  signal.addEventListener('abort', giveUp, { once: true })
  try {
    const addresses = await Promise.race([lookup(host, signal), aborted.promise])
    if (addresses.length === 0) throw new AddressUnreachable('no-address')
    return addresses
  } finally {
    signal.removeEventListener('abort', giveUp)
  }
}

/** Longest wait for one answer of a name server, in ms, and how often it is asked. */
const RESOLVING = { timeout: 2_500, tries: 2 }

/**
 * Asks the name servers itself: `dns.lookup` takes one of the few threads of the process for as long as a server is silent,
 * even if the caller has stopped waiting, and the name of a model's endpoint would wait behind a stranger's.
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
    // The lack of an address of one kind means nothing if the other kind could not be asked for.
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
  // Public by their numbers, and yet answered by the platform on which Gavel runs (their documents, 2026-11): Azure's host, with
  // its agents and names; IBM Cloud's services and its endpoints for private networks.
  ['168.63.129.16', 32],
  ['161.26.0.0', 16],
  ['166.8.0.0', 14],
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

/** Whether an address is of the public internet. */
export function isPublic(address: string): boolean {
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
