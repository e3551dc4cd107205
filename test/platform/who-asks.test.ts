import type { IncomingMessage } from 'node:http'
import { describe, expect, it } from 'vitest'
import { loadSettings } from '../../config/load.ts'
import { networkOf, networksBehind, shareOf } from '../../src/platform/who-asks.ts'

/** From which network a request of this peer comes, by these lines of X-Forwarded-For. */
function seen(forwarders: readonly string[], peer: string, ...lines: string[]): string {
  const incoming = { socket: { remoteAddress: peer }, headersDistinct: { 'x-forwarded-for': lines } }
  return networksBehind(forwarders)(incoming as unknown as IncomingMessage) // Nothing else of a request is read.
}

it.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:db8::6', '2001:db8:0:0'],
  ['::1', '0:0:0:0'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
])('takes %s for one of %s', (address, network) => expect(networkOf(address)).toBe(network))

describe('a forwarder', () => {
  const LISTED = ['10.1.0.0/16', '2001:db8:f::/48', '192.0.2.200']

  it.each([
    ['one address', ['198.51.100.7'], '198.51.100.7'],
    [
      'several: the last counts, for the others are what the client sent',
      ['10.1.0.9, 198.51.100.1, 198.51.100.7'],
      '198.51.100.7',
    ],
    ['several lines', ['198.51.100.1', '198.51.100.7'], '198.51.100.7'],
    ['another forwarder: the one before it', ['198.51.100.7, 10.1.2.3, 2001:db8:f::9'], '198.51.100.7'],
    ['forwarders alone: the first of them', ['10.1.2.3, 10.1.2.4'], '10.1.2.3'],
    ['a port', ['198.51.100.7:4711'], '198.51.100.7'],
    ['a long address, however it is written', ['2001:0DB8:0000:1::7'], '2001:db8:0:1'],
    ['a long address with a port', ['[2001:db8:0:1::7]:4711'], '2001:db8:0:1'],
    ['a short address in a long form', ['::ffff:c633:6407'], '198.51.100.7'],
  ])('that says %s', (_, lines, network) => {
    for (const peer of ['10.1.0.1', '::ffff:10.1.0.1', '2001:db8:f:1::2'])
      expect(seen(LISTED, peer, ...lines)).toBe(network)
  })

  it.each([
    'unknown',
    '',
    '198.51.100.7, ',
    '198.51.100.7.9',
    '198.51.100.07',
    '[198.51.100.7',
    'fe80::1%eth0',
    '198.51.100.7:x',
    '_hidden',
    ','.repeat(5_000),
  ])('that says what is no address counts itself: %.20s', (line) => {
    expect(seen(LISTED, '10.1.0.1', line)).toBe('10.1.0.1')
    expect(seen(LISTED, '192.0.2.200', `198.51.100.7, ${line}, 10.1.0.1`)).toBe('10.1.0.1')
  })

  it('that says nothing counts itself', () => expect(seen(LISTED, '10.1.0.1')).toBe('10.1.0.1'))

  it('counts for nothing where it is not listed, and without the setting nobody is', () => {
    for (const peer of ['10.2.0.1', '192.0.2.201', '127.0.0.1', ''])
      expect(seen(LISTED, peer, '198.51.100.7')).toBe(peer)
    expect(seen([], '10.1.0.1', '198.51.100.7')).toBe('10.1.0.1')
    expect(loadSettings({}).forwarders).toEqual([])
  })

  it('is set by an address or a network', () => {
    expect(loadSettings({ GAVEL_FORWARDERS: '10.1.0.0/16, ::1' }).forwarders).toEqual(['10.1.0.0/16', '::1'])
    for (const none of ['proxy.example', '10.1.0.0/33', '10.1.0.0/', '10.1'])
      expect(() => loadSettings({ GAVEL_FORWARDERS: none })).toThrow(/forwarders\.0: an address, or a network/)
  })
})

it('what somebody takes counts for the tenant of the key, the person, or else the network', () => {
  const network = '192.0.2.1'
  expect(shareOf({ network })).toEqual({ name: network, part: '' })
  expect(shareOf({ network, tenant: 'acme', key: 'k1' })).toEqual({ name: 'acme', part: 'k1' })
  expect(shareOf({ network, person: 'anna', session: 's1' })).toEqual({ name: 'anna', part: 's1' })
})
