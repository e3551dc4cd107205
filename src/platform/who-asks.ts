import type { IncomingMessage } from 'node:http'
import { BlockList, isIP, SocketAddress } from 'node:net'
import type { SlotOwner } from '../contracts/facts/slots.ts'

/** Who asks, as far as it is known: shares, counters, logs and audits know one party from another by this. */
export type Asker = StrangerAsking | KeyAsking | PersonAsking

export interface StrangerAsking {
  /** An address, in IPv6 the 64 bits that are given out together. */
  readonly network: string
}

/** Whoever has a key of this id. */
export interface KeyAsking extends StrangerAsking {
  readonly tenant: string
  readonly key: string
}

/** Whoever is signed in, in a session of this name. */
export interface PersonAsking extends StrangerAsking {
  readonly person: string
  readonly session: string
}

/** Whose share it counts in: a tenant's and there a key's, a person's and there a session's, else a stranger's network. */
export function shareOf(asker: Asker): SlotOwner {
  if ('tenant' in asker) return { name: asker.tenant, part: asker.key }
  return 'person' in asker ? { name: asker.person, part: asker.session } : { name: asker.network, part: '' }
}

/**
 * Tells from which network a request comes: the address that is connected or, while that is a forwarder, the one that it says it asks for.
 * `X-Forwarded-For` is read from its right end, for only that is written by who is trusted; what is no address there counts as the forwarder's
 * own. From anybody else the header counts for nothing.
 */
export function networksBehind(forwarders: readonly string[]): (incoming: IncomingMessage) => string {
  if (forwarders.length === 0) return ({ socket }) => networkOf(socket.remoteAddress ?? '')
  const isForwarder = addressesIn(forwarders)
  return (incoming) => {
    let address = incoming.socket.remoteAddress ?? ''
    const named = (incoming.headersDistinct['x-forwarded-for'] ?? []).join(',').split(',')
    while (isForwarder(address)) {
      const before = addressOf(named.pop() ?? '')
      if (before === null) break
      address = before
    }
    return networkOf(address)
  }
}

/** Looks an address up among addresses and networks, as in 10.1.0.0/16. */
export function addressesIn(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList()
  for (const one of networks) {
    const [address = '', bits] = one.split('/')
    const isLong = isIP(address) === 6
    list.addSubnet(address, Number(bits ?? (isLong ? 128 : 32)), isLong ? 'ipv6' : 'ipv4')
  }
  return (given) => {
    const address = withoutZone(given)
    const version = isIP(address)
    return version !== 0 && list.check(address, version === 6 ? 'ipv6' : 'ipv4')
  }
}

/** What one party is taken to hold: an address, in IPv6 the 64 bits that are given out together. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address
  if (address.includes('.')) return address.slice(address.lastIndexOf(':') + 1)
  const [before = '', after = ''] = withoutZone(address).split('::')
  const groupsOf = (part: string) => (part === '' ? [] : part.split(':'))
  const [first, last] = [groupsOf(before), groupsOf(after)]
  const zeros = address.includes('::') ? Array<string>(Math.max(0, 8 - first.length - last.length)).fill('0') : []
  return [...first, ...zeros, ...last].slice(0, 4).join(':')
}

function withoutZone(address: string): string {
  return address.replace(/%.*/, '')
}

/** Some proxies write the port as well. */
const WITH_PORT = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d{1,5})?$/

/** The address that a forwarder has written, as the system writes it; null if it is none. */
function addressOf(written: string): string | null {
  const one = written.trim()
  const [, long, short] = WITH_PORT.exec(one) ?? []
  const address = long ?? short ?? one
  const version = isIP(address)
  if (version === 4) return address
  if (version === 0 || address.includes('%')) return null
  return new SocketAddress({ address, family: 'ipv6' }).address
}
