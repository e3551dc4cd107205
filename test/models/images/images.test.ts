import { createSocket } from 'node:dgram'
import dns, { promises } from 'node:dns'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { PermanentError, RetryLaterError } from '../../../src/contracts/facts/errors.ts'
import { type ImageSettings, imageLoader } from '../../../src/models/images/images.ts'
import { isPublic } from '../../../src/models/images/pinned-request.ts'
import { gif, jpeg, jpegHeader, png, WEBP_CHUNKS, webp, webpChunk } from '../../support/pictures.ts'

/** A pair made for these tests alone, for `images.test` and `other.test`, good from 2020 to 2120. */
const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgiUnLqdyF+lh8sXv0
1TN1sW3xJ4kNY9MBQMT609auo3ShRANCAAQ0PA43z67Fw4UCdm+0SbTOvIouZ3m/
NUsjvavMXdra4V7pGbmE6MuQ1q/yalmFj2Mr9RziQzwEnW3nlGTTNUgY
-----END PRIVATE KEY-----`
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBcjCCARmgAwIBAgIBATAKBggqhkjOPQQDAjAWMRQwEgYDVQQDDAtpbWFnZXMu
dGVzdDAgFw0yMDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAwMFowFjEUMBIGA1UE
AwwLaW1hZ2VzLnRlc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQ0PA43z67F
w4UCdm+0SbTOvIouZ3m/NUsjvavMXdra4V7pGbmE6MuQ1q/yalmFj2Mr9RziQzwE
nW3nlGTTNUgYo1YwVDAiBgNVHREEGzAZggtpbWFnZXMudGVzdIIKb3RoZXIudGVz
dDAPBgNVHRMBAf8EBTADAQH/MB0GA1UdDgQWBBQP0SWHjUA45GKmgFsCKl0ee1zc
3DAKBggqhkjOPQQDAgNHADBEAiAYeALNQ8rHfcA0wzYYHFj7AM3nOpopnXF8b/Yl
Vma1gAIgA68f5MIJqPuDjny6ELylE22dMnIJ8NIAAl/D+fgAuAY=
-----END CERTIFICATE-----`

const PNG = png(1, 1)
const JPEG = jpeg(jpegHeader(1, 1))
const GIF = gif(1, 1)
const WEBP = webp(WEBP_CHUNKS.lossy(1, 1))
const dataUrl = (bytes: Buffer, type: string) => `data:${type};base64,${bytes.toString('base64')}`

type Respond = (response: ServerResponse, request: IncomingMessage) => void
const paths = new Map<string, Respond>()
const seen: IncomingMessage[] = []
const server = createServer({ key: KEY, cert: CERTIFICATE }, (request, response) => {
  seen.push(request)
  const respond = paths.get(request.url ?? '')
  if (respond === undefined) response.writeHead(404).end()
  else respond(response, request)
})
let port = 0
beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  port = (server.address() as AddressInfo).port
})
afterEach(() => {
  paths.clear()
  seen.splice(0)
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

const never = new AbortController().signal
const settings: ImageSettings = { maxBytes: 1000, maxPixels: 10_000, timeout: 2_000, maxRedirects: 3 }
/** `images.test` and `other.test` are the local server, which counts as public; everything else is looked at as it is. */
const local = (over: Partial<ImageSettings> = {}): ImageSettings => ({
  ...settings,
  ca: CERTIFICATE,
  lookup: async (host) => (host.endsWith('.test') ? ['127.0.0.1'] : []),
  mayReach: (address, at) => address === '127.0.0.1' && at === port,
  ...over,
})
const at = (path: string, host = 'images.test') => `https://${host}:${port}${path}`
const load = (url: string, over: Partial<ImageSettings> = {}, signal = never) => imageLoader(local(over))(url, signal)

/** What went wrong, as far as a verdict tells. */
async function failureOf(loading: Promise<unknown>) {
  try {
    await loading
  } catch (error) {
    if (error instanceof PermanentError) return `permanent ${error.code}: ${error.message}`
    if (error instanceof RetryLaterError) return `later ${error.code}: ${error.message}`
    throw error
  }
  return 'none'
}

describe('an https image', () => {
  test.each([
    ['image/png', PNG],
    ['image/jpeg', JPEG],
    ['image/gif', GIF],
    ['image/webp', WEBP],
  ])('comes back as a data URL: %s', async (type, bytes) => {
    paths.set('/a', (response) => response.end(bytes))
    expect(await load(at('/a'))).toBe(dataUrl(bytes, type))
  })

  test('is what its bytes are, whatever its header says', async () => {
    paths.set('/a', (response) => response.setHeader('content-type', 'text/html').end(PNG))
    expect(await load(at('/a'))).toBe(dataUrl(PNG, 'image/png'))
  })

  test('is fetched without cookies, credentials, referrer or a name', async () => {
    paths.set('/a', (response) => response.setHeader('set-cookie', 'a=b').writeHead(302, { location: '/b' }).end())
    paths.set('/b', (response) => response.end(PNG))
    await load(at('/a'))
    expect(seen.map(({ headers }) => Object.keys(headers).sort())).toEqual([
      ['accept', 'accept-encoding', 'connection', 'host'],
      ['accept', 'accept-encoding', 'connection', 'host'],
    ])
  })

  test('may be exactly as long as the limit', async () => {
    paths.set('/a', (response) => response.end(PNG))
    expect(await load(at('/a'), { maxBytes: PNG.length })).toBe(dataUrl(PNG, 'image/png'))
    expect(await failureOf(load(at('/a'), { maxBytes: PNG.length - 1 }))).toMatch(/^permanent image: larger than/)
  })
})

describe('refused for good', () => {
  test('20 MB, by what the server announces', async () => {
    paths.set('/a', (response) => {
      response.writeHead(200, { 'content-length': 20_000_000 })
      response.write(PNG)
    })
    expect(await failureOf(load(at('/a')))).toBe('permanent image: larger than 1000 bytes')
  })

  test('20 MB that are not announced, as soon as the limit is passed', async () => {
    let sent = 0
    const closed = Promise.withResolvers<void>()
    paths.set('/a', (response) => {
      response.on('close', closed.resolve)
      const more = () => {
        while (!response.destroyed && sent < 20_000_000) {
          sent += 16_384
          if (!response.write(Buffer.alloc(16_384))) return void response.once('drain', more)
        }
        response.end()
      }
      more()
    })
    expect(await failureOf(load(at('/a'), { maxBytes: 100_000 }))).toBe('permanent image: larger than 100000 bytes')
    await closed.promise
    expect(sent).toBeLessThan(20_000_000)
  })

  test.each([
    ['a page', '<!doctype html><title>An image, honestly</title>'],
    ['an SVG, which is a program', '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'],
    ['a PDF', '%PDF-1.7'],
    ['a RIFF that is no WebP', 'RIFF\x0c\0\0\0WAVEfmt '],
    ['nothing', ''],
  ])('not an image: %s', async (_what, words) => {
    paths.set('/a', (response) => response.setHeader('content-type', 'image/png').end(Buffer.from(words, 'latin1')))
    expect(await failureOf(load(at('/a')))).toBe('permanent image: not a PNG, JPEG, GIF or WebP image')
  })

  test('compressed, though that was not asked for: it may unfold to any size', async () => {
    paths.set('/a', (response) => response.setHeader('content-encoding', 'gzip').end(PNG))
    expect(await failureOf(load(at('/a')))).toMatch(/^permanent image: sent compressed/)
  })

  test.each([400, 401, 403, 404, 410, 204, 206, 304])('gone, or not to be had: status %i', async (status) => {
    paths.set('/a', (response) => response.writeHead(status).end())
    expect(await failureOf(load(at('/a')))).toBe(`permanent image: image download failed (status ${status})`)
  })

  test('a redirect without a place to go to', async () => {
    paths.set('/a', (response) => response.writeHead(302).end())
    expect(await failureOf(load(at('/a')))).toMatch(/^permanent image: .*status 302/)
  })

  test.each([
    ['http:', 'http://images.test/a.png'],
    ['file:', 'file:///etc/passwd'],
    ['ftp:', 'ftp://images.test/a.png'],
    ['blob:', 'blob:https://images.test/1'],
    ['javascript:', 'javascript:alert(1)'],
  ])('neither https nor data: %s', async (_scheme, url) => {
    expect(await failureOf(load(url))).toBe('permanent image: neither an https nor a data URL')
  })

  test.each(['', ' ', 'a.png', '//images.test/a.png', 'https://', 'https://[::1', 'https://256.256.256.256/'])(
    'no URL: "%s"',
    async (url) => {
      expect(await failureOf(load(url))).toBe('permanent image: not a URL')
    },
  )

  test('a URL with credentials, also as a redirect', async () => {
    paths.set('/a', (response) => response.writeHead(302, { location: `https://me:word@images.test:${port}/b` }).end())
    expect(await failureOf(load('https://me@images.test/'))).toBe('permanent image: a URL with credentials')
    expect(await failureOf(load(at('/a')))).toBe('permanent image: a URL with credentials')
  })

  test('a host that does not exist', async () => {
    const lookup = () => Promise.reject(Object.assign(new Error('getaddrinfo'), { code: 'ENOTFOUND' }))
    expect(await failureOf(load(at('/a'), { lookup }))).toBe("permanent image: the image's host does not exist")
    expect(await failureOf(load(at('/a', 'images.none')))).toBe("permanent image: the image's host has no address")
  })

  test('a server whose certificate is not trusted, or another name’s', async () => {
    paths.set('/a', (response) => response.end(PNG))
    const { ca: _, ...untrusting } = local()
    expect(await failureOf(imageLoader(untrusting)(at('/a'), never))).toMatch(
      /^permanent image: .*no valid certificate/,
    )
    const wrong = local({ lookup: async () => ['127.0.0.1'] })
    expect(await failureOf(imageLoader(wrong)(at('/a', 'example.org'), never))).toMatch(/no valid certificate/)
    expect(seen).toEqual([])
  })
})

describe('a redirect', () => {
  const chain = (hops: number) => {
    for (let hop = 0; hop < hops; hop++)
      paths.set(`/${hop}`, (response) => response.writeHead(302, { location: `/${hop + 1}` }).end())
    paths.set(`/${hops}`, (response) => response.end(PNG))
  }

  test('is followed, to another host too, up to the limit', async () => {
    chain(3)
    paths.set('/0', (response) => response.writeHead(308, { location: at('/1', 'other.test') }).end())
    expect(await load(at('/0'))).toBe(dataUrl(PNG, 'image/png'))
    expect(seen.map(({ headers }) => headers.host)).toEqual(
      ['images.test', 'other.test', 'other.test', 'other.test'].map((host) => `${host}:${port}`),
    )
  })

  test('beyond the limit is refused', async () => {
    chain(4)
    expect(await failureOf(load(at('/0')))).toBe('permanent image: more than 3 redirects')
    expect(seen).toHaveLength(4)
  })

  test('in a circle is refused', async () => {
    paths.set('/a', (response) => response.writeHead(301, { location: '/a' }).end())
    expect(await failureOf(load(at('/a')))).toBe('permanent image: more than 3 redirects')
  })

  test.each([
    ['a private address', 'https://10.0.0.1/a'],
    ['the loopback', 'https://127.0.0.2/a'],
    ['the loopback at another port', 'https://127.0.0.1:6379/a'],
    ['the machine’s own metadata', 'https://169.254.169.254/latest/meta-data/'],
    ['a loopback in IPv6', 'https://[::1]/a'],
    ['a loopback as one number', 'https://2130706433/a'],
  ])('to %s is refused before anything is sent there', async (_what, location) => {
    paths.set('/a', (response) => response.writeHead(302, { location }).end())
    expect(await failureOf(load(at('/a')))).toMatch(/^permanent image: at an address that is not public/)
    expect(seen).toHaveLength(1)
  })

  test('to a name that resolves to a private address is refused', async () => {
    const lookup = async (host: string) => (host === 'images.test' ? ['127.0.0.1'] : ['192.168.1.1'])
    paths.set('/a', (response) => response.writeHead(302, { location: at('/b', 'other.test') }).end())
    expect(await failureOf(load(at('/a'), { lookup }))).toMatch(/not public/)
  })

  test.each(['http://images.test/a', 'data:image/png;base64,AAAA', 'file:///etc/passwd'])(
    'to %s is refused',
    async (to) => {
      paths.set('/a', (response) => response.writeHead(302, { location: to }).end())
      expect(await failureOf(load(at('/a')))).toBe('permanent image: neither an https nor a data URL')
    },
  )
})

describe('an address that is not public', () => {
  /** Without `mayReach`: the real rule; nothing in these tests may ever be connected to. */
  const guarded = (url: string, addresses: readonly string[] = []) =>
    failureOf(imageLoader({ ...settings, lookup: async () => addresses })(url, never))
  const REFUSED = 'permanent image: at an address that is not public, or at a port other than 443'

  test.each([
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '100.127.255.255',
    '127.0.0.1',
    '127.255.255.255',
    '161.26.0.10',
    '166.8.0.1',
    '166.11.255.255',
    '168.63.129.16',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.1',
    '192.0.2.1',
    '192.88.99.1',
    '192.168.0.1',
    '198.18.0.1',
    '198.19.255.255',
    '198.51.100.1',
    '203.0.113.1',
    '224.0.0.1',
    '239.255.255.255',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::127.0.0.1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::ffff:8.8.8.8',
    '64:ff9b::7f00:1',
    '64:ff9b::a00:1',
    '64:ff9b:1::1',
    '100::1',
    '2001::1',
    '2001:db8::1',
    '2002:7f00:1::',
    '2002:a00:1::',
    '3fff::1',
    '5f00::1',
    'fc00::1',
    'fd12:3456::1',
    'fe80::1',
    'fec0::1',
    'ff02::1',
  ])('%s is refused, as a name’s and by itself', async (address) => {
    expect(await guarded('https://images.example/a.png', [address])).toBe(REFUSED)
    const literal = address.includes(':') ? `[${address}]` : address
    expect(await guarded(`https://${literal}/a.png`)).toBe(REFUSED)
  })

  test.each([
    'https://2130706433/a.png',
    'https://0x7f000001/a.png',
    'https://0x7f.1/a.png',
    'https://017700000001/a.png',
    'https://0177.0.0.1/a.png',
    'https://127.1/a.png',
    'https://127.0.0.1./a.png',
    'https://１２７.０.０.１/a.png',
    'https://①②⑦.0.0.1/a.png',
    'https://[::ffff:127.0.0.1]/a.png',
    'https://[0:0:0:0:0:0:0:1]/a.png',
    'https://%31%32%37.0.0.1/a.png',
  ])('in odd notation is refused: %s', async (url) => {
    expect(await guarded(url)).toBe(REFUSED)
  })

  test('beside public ones is refused: which would be taken is chance', async () => {
    expect(await guarded('https://images.example/a.png', ['93.184.215.14', '10.0.0.1'])).toBe(REFUSED)
  })

  test('with a zone, or that is no address at all, is refused', async () => {
    expect(await guarded('https://images.example/a.png', ['fe80::1%lo'])).toBe(REFUSED)
    expect(await guarded('https://images.example/a.png', ['images.example'])).toBe(REFUSED)
  })

  test('`localhost` is refused by the system’s own resolver’s answer', async () => {
    expect(await failureOf(imageLoader(settings)('https://localhost/a.png', never))).toBe(REFUSED)
  })

  test('another port than 443 is refused', async () => {
    expect(await guarded('https://images.example:8443/a.png', ['93.184.215.14'])).toBe(REFUSED)
    expect(await guarded('https://images.example:22/a.png', ['2606:2800:21f:cb07:6820:80da:af6b:8b2c'])).toBe(REFUSED)
  })

  test.each([
    ['Amazon', ['169.254.169.254', '169.254.170.2', 'fd00:ec2::254']],
    ['Google', ['169.254.169.254', 'fd20:ce::254']],
    ['Azure', ['169.254.169.254', '168.63.129.16']],
    ['Alibaba', ['100.100.100.200']],
    ['Oracle', ['169.254.169.254', '192.0.0.192', 'fd00:c1::a9fe:a9fe']],
    ['Tencent', ['169.254.0.23']],
    ['Scaleway', ['169.254.42.42', 'fd00:42::42']],
    ['OpenStack', ['169.254.169.254', 'fe80::a9fe:a9fe']],
  ])('of a cloud’s own services is refused, public by its number or not: %s', async (_cloud, addresses) => {
    for (const address of addresses) expect(await guarded('https://images.example/a.png', [address])).toBe(REFUSED)
  })

  test.each(['168.63.129.15', '168.63.129.17', '161.25.255.255', '161.27.0.0', '166.7.255.255', '166.12.0.0'])(
    'a public one beside a cloud’s own is not refused: %s',
    (address) => {
      expect(isPublic(address)).toBe(true)
    },
  )

  test('a public one is not: the fetch goes on to it', async () => {
    const stop = new AbortController()
    const asked: string[] = []
    const loading = imageLoader({
      ...settings,
      lookup: async (host) => {
        asked.push(host)
        stop.abort()
        return ['93.184.215.14', '2606:2800:21f:cb07:6820:80da:af6b:8b2c']
      },
    })('https://images.example:443/a.png', stop.signal)
    expect(await failureOf(loading)).toMatch(/^later aborted/)
    expect(asked).toEqual(['images.example'])
  })

  test('a name is resolved once a hop, and what was checked is what is connected to', async () => {
    const answers = [['127.0.0.1'], ['10.0.0.1']]
    let asked = 0
    paths.set('/a', (response) => response.end(PNG))
    expect(await load(at('/a'), { lookup: async () => answers[asked++] ?? [] })).toBe(dataUrl(PNG, 'image/png'))
    expect(asked).toBe(1)
  })
})

describe('what may help later', () => {
  test.each([500, 502, 503, 408, 429])('status %i', async (status) => {
    paths.set('/a', (response) => response.writeHead(status).end())
    expect(await failureOf(load(at('/a')))).toBe(`later image: the image's server answered with status ${status}`)
  })

  test.each<[string, Respond]>([
    ['that says nothing', () => {}],
    [
      'that changes to another protocol',
      (response) =>
        response.socket?.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'),
    ],
    ['that stops halfway', (response) => response.writeHead(200).write(PNG.subarray(0, 10))],
    [
      'that trickles',
      (response) => {
        const drip = setInterval(() => response.write('.'), 20)
        response.on('close', () => clearInterval(drip))
      },
    ],
  ])('a slow server, %s', async (_how, respond) => {
    paths.set('/a', respond)
    expect(await failureOf(load(at('/a'), { timeout: 150 }))).toBe('later image: no image within 150 ms')
  })

  test('redirects share one time limit', async () => {
    paths.set('/a', (response) => setTimeout(() => response.writeHead(302, { location: '/a' }).end(), 100))
    expect(await failureOf(load(at('/a'), { timeout: 150 }))).toBe('later image: no image within 150 ms')
  })

  test('a slow resolver', async () => {
    const lookup = () => new Promise<never>(() => {})
    expect(await failureOf(load(at('/a'), { lookup, timeout: 50 }))).toBe('later image: no image within 50 ms')
  })

  test('a name server that says nothing, by a resolver that takes none of the threads of the process', async () => {
    let asked = 0
    const silent = createSocket('udp4', () => asked++)
    silent.bind(0, '127.0.0.1')
    await once(silent, 'listening')
    const ofThreads = vi.spyOn(dns, 'lookup')
    const { lookup: _, ...byNameServer } = local({ nameServers: [`127.0.0.1:${silent.address().port}`] })
    try {
      const loading = [1, 2, 3, 4, 5, 6, 7, 8].map((nth) =>
        failureOf(imageLoader({ ...byNameServer, timeout: 300 })(at('/a', `x${nth}.images.test`), never)),
      )
      // Longer names than four would hold all threads.
      expect((await promises.lookup('127.0.0.1')).address).toBe('127.0.0.1')
      expect(new Set(await Promise.all(loading))).toEqual(new Set(['later image: no image within 300 ms']))
      expect(asked).toBeGreaterThanOrEqual(16)
      expect(ofThreads).not.toHaveBeenCalled()
    } finally {
      ofThreads.mockRestore()
      silent.close()
    }
  })

  test.each([
    ['no name', 3, "permanent image: the image's host does not exist"],
    ['a failure', 2, "later image: the image's server could not be reached"],
  ])('a name server that answers: %s', async (_what, code, expected) => {
    const answering = createSocket('udp4', (query, from) => {
      const answer = Buffer.from(query)
      answer[2] = 0x81
      answer[3] = 0x80 | code
      answering.send(answer, from.port, from.address)
    })
    answering.bind(0, '127.0.0.1')
    await once(answering, 'listening')
    const { lookup: _, ...byNameServer } = local({ nameServers: [`127.0.0.1:${answering.address().port}`] })
    try {
      expect(await failureOf(imageLoader(byNameServer)(at('/a'), never))).toBe(expected)
    } finally {
      answering.close()
    }
  })

  test('a resolver that fails for now', async () => {
    const lookup = () => Promise.reject(Object.assign(new Error('getaddrinfo'), { code: 'EAI_AGAIN' }))
    expect(await failureOf(load(at('/a'), { lookup }))).toMatch(/^later image: .*could not be reached/)
  })

  test('a connection that breaks off, before and amid the image', async () => {
    paths.set('/a', (response) => response.destroy())
    paths.set('/b', (response) => {
      response.writeHead(200, { 'content-length': PNG.length })
      response.write(PNG.subarray(0, 10), () => response.destroy())
    })
    expect(await failureOf(load(at('/a')))).toMatch(/^later image/)
    expect(await failureOf(load(at('/b')))).toMatch(/^later image/)
  })

  test('an answer that is no HTTP, from the start and amid the image', async () => {
    const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nwords\r\n'
    paths.set('/a', ({ socket }) => socket?.end('words\r\n\r\n'))
    paths.set('/b', ({ socket }) => socket?.write(chunked, () => setTimeout(() => socket.end('no number\r\n'), 20)))
    expect(await failureOf(load(at('/a')))).toMatch(/^later image: .*could not be reached/)
    expect(await failureOf(load(at('/b')))).toMatch(/^later image: .*could not be reached/)
  })

  test('a fetch that its caller stops costs no attempt', async () => {
    const stop = new AbortController()
    paths.set('/a', () => stop.abort())
    const error = await load(at('/a'), {}, stop.signal).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ name: 'RetryLaterError', code: 'aborted', costsAttempt: false })
    expect(await failureOf(load(at('/a'), {}, AbortSignal.abort()))).toMatch(/^later aborted/)
  })
})

describe('an image of 20,000 parts is refused, and one of some thousands is not', () => {
  const begun = (image: Buffer, end: number, part: Buffer) => (parts: number) =>
    Buffer.concat([image.subarray(0, end), ...Array.from({ length: parts }, () => part), image.subarray(end)])
  const latin = (text: string) => Buffer.from(text, 'latin1')
  const scan = latin('\xff\xda\0\x08\x01\x01\0\0\x3f\0w\xff\0w\xff\xd0')
  const extension = latin('!\xfe\x01w\0')
  const withChunks = (parts: number) =>
    webp(WEBP_CHUNKS.lossy(1, 1), ...Array.from({ length: parts }, () => webpChunk('JUNK')))
  const atEnd = jpeg(jpegHeader(1, 1))
  test.each<[string, (parts: number) => Buffer]>([
    ['chunks of a PNG', begun(png(1, 1), 33, latin('\0\0\0\0IDAT\0\0\0\0'))],
    ['segments of a JPEG', begun(jpeg(jpegHeader(1, 1)), 2, latin('\xff\xfe\0\x02'))],
    ['scans of a JPEG', begun(atEnd, atEnd.length - 2, scan)],
    [
      'frames of a GIF',
      (parts) =>
        gif(
          1,
          1,
          Array.from({ length: parts }, () => ({ width: 1, height: 1 })),
        ),
    ],
    ['extensions of a GIF', begun(gif(1, 1), 19, extension)],
    ['chunks of a WebP', withChunks],
  ])('%s', async (_what, make) => {
    const outcome = (parts: number) => failureOf(load(dataUrl(make(parts), 'image/png'), { maxBytes: 5_000_000 }))
    expect(await outcome(4_000)).toBe('none')
    expect(await outcome(20_000)).toBe('permanent image: an image of more than 10000 parts')
  })
})

describe('an image of more pixels than a model’s server may have to hold', () => {
  const { lossy, canvas, frame } = WEBP_CHUNKS
  const size = { width: 50, height: 50 }
  test.each<[string, Buffer, Buffer]>([
    ['a PNG', png(100, 100), png(100, 101)],
    ['an APNG', png(50, 50, { claimed: 4, frames: 4 }), png(50, 50, { claimed: 5, frames: 5 })],
    ['a JPEG', jpeg(jpegHeader(100, 100)), jpeg(jpegHeader(101, 100))],
    ['a GIF', gif(50, 50, [size, size, size, size]), gif(50, 50, [size, size, size, size, size])],
    ['a WebP', webp(lossy(100, 100)), webp(canvas(1, 1), frame({ width: 101, height: 100 }))],
  ])(
    '%s is refused, however few bytes it has, and one with as many as are allowed is not',
    async (_what, most, more) => {
      const refused = 'permanent image: more than 10000 pixels, all frames counted'
      paths.set('/most', (response) => response.end(most))
      paths.set('/more', (response) => response.end(more))
      expect(await failureOf(load(at('/most')))).toBe('none')
      expect(await failureOf(load(at('/more')))).toBe(refused)
      expect(await failureOf(load(dataUrl(most, 'image/png')))).toBe('none')
      expect(await failureOf(load(dataUrl(more, 'image/png')))).toBe(refused)
    },
  )

  test.each([
    ['a PNG', png(0, 1)],
    ['a JPEG', jpeg()],
    ['a GIF', gif(0, 0)],
    ['a WebP', webp()],
  ])('%s that names no size is refused', async (_what, image) => {
    expect(await failureOf(load(dataUrl(image, 'image/png')))).toBe('permanent image: an image that names no size')
  })
})

describe('a data URL', () => {
  test('comes back under the type that its bytes are', async () => {
    expect(await load(dataUrl(PNG, 'image/jpeg'))).toBe(dataUrl(PNG, 'image/png'))
    expect(await load(`DATA:;base64,${PNG.toString('base64')}`)).toBe(dataUrl(PNG, 'image/png'))
    expect(await load(dataUrl(GIF, 'image/gif').replace(/=+$/, ''))).toBe(dataUrl(GIF, 'image/gif'))
  })

  test('that is too large is refused', async () => {
    expect(await failureOf(load(dataUrl(PNG, 'image/png'), { maxBytes: PNG.length }))).toBe('none')
    expect(await failureOf(load(dataUrl(PNG, 'image/png'), { maxBytes: PNG.length - 1 }))).toMatch(/larger than/)
  })

  test.each([
    ['nothing but a beginning', 'data:'],
    ['no data', 'data:image/png;base64'],
    ['text', 'data:image/png,hello'],
    ['percent-encoded', `data:image/png,${encodeURIComponent(PNG.toString('latin1'))}`],
  ])('without base64 is refused: %s', async (_what, url) => {
    expect(await failureOf(load(url))).toBe('permanent image: a data URL without base64 data')
  })

  test.each([
    ['a character too few', `${dataUrl(PNG, 'image/png').replace(/=+$/, '').slice(0, -3)}`],
    ['other characters', `${dataUrl(PNG, 'image/png')}<<>>`],
    ['a break', dataUrl(PNG, 'image/png').replace('AQEB', 'AQ\nEB')],
  ])('with broken base64 is refused: %s', async (_what, url) => {
    expect(await failureOf(load(url))).toMatch(/^permanent image: (a data URL with invalid base64|a truncated image)/)
  })

  test.each([
    ['image/png', PNG],
    ['image/jpeg', JPEG],
    ['image/gif', GIF],
    ['image/webp', WEBP],
  ])('that is cut short is refused: %s', async (type, bytes) => {
    expect(await failureOf(load(dataUrl(bytes.subarray(0, -2), type)))).toBe('permanent image: a truncated image')
  })

  test.each(['heic', 'mif1', 'avif', 'avis'])(
    'in a container of ISO media is refused, whatever its size: %s',
    async (brand) => {
      const image = Buffer.from(`\0\0\0\x18ftyp${brand}\0\0\0\0${brand}mif1`, 'latin1')
      expect(await failureOf(load(dataUrl(image, 'image/png')))).toMatch(/not a PNG, JPEG, GIF or WebP image/)
    },
  )

  test('that is no image is refused', async () => {
    const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')
    expect(await failureOf(load(dataUrl(svg, 'image/svg+xml')))).toMatch(/not a PNG, JPEG, GIF or WebP image/)
    expect(await failureOf(load('data:;base64,'))).toMatch(/not a PNG/)
  })
})

describe('no failure repeats the URL', () => {
  const secret = 's3cret'
  test.each([
    `data:image/png;base64,${Buffer.from(secret.repeat(3)).toString('base64')}`,
    `https://${secret}.test/`,
    `ftp://${secret}/`,
    `https://${secret}@images.test/`,
    `https://10.0.0.1/${secret}`,
    `https://[${secret}`,
  ])('%s', async (url) => {
    expect(await failureOf(load(url))).not.toContain(secret)
  })
})
