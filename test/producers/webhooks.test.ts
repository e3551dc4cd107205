import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { afterEach, describe, expect, test } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import { deliveryWorker } from '../../producers/webhooks/delivery-worker.ts'
import { appealDeliveriesOf, deliveriesOf, type Hook } from '../../producers/webhooks/matching.ts'
import type { Receiver, SendWebhook } from '../../src/contracts/ports/webhooks.ts'
import type { JsonSchema } from '../../src/kit/contracts/json-schema.ts'
import { schemaOfSettings } from '../../src/kit/contracts/settings.ts'
import { memoryWebhooks } from '../../src/store/webhook/memory.ts'
import { webhookSender } from '../../src/stream/webhook-sender.ts'
import { T0, thread } from '../contracts/samples.ts'
import { aVerdict } from '../support/verdicts.ts'

const SECRETS = ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'whsec_3Zp0mB6g0V3v5m1nQqYc8eN7uR2tXaKd']
const FROM = { entry: '1-1', caseId: 'none' }
const SOON = { timeout: 8_000, interval: 5 }
const hook = (change: Partial<Hook> = {}): Hook => ({
  url: 'https://shop.example/',
  tenant: 'acme',
  secrets: SECRETS,
  allowPrivate: false,
  ...change,
})

interface Received {
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

/** A receiver on loopback that answers so; what it was sent, and its address. */
async function receiver(answer: RequestListener): Promise<{ url: string; received: Received[] }> {
  const received: Received[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    received.push({ url: request.url ?? '', headers: request.headers, body })
    answer(request, response)
  })
  servers.push(server.listen(0, '127.0.0.1'))
  await once(server, 'listening')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, received }
}

const MESSAGE = { id: 'msg_1', body: '{"type":"verdict.published"}', at: Date.now() }
const send = webhookSender({ timeout: 1_000 })

describe('a message to a receiver', () => {
  test('is signed by each of its secrets, as Standard Webhooks has it', async () => {
    const { url, received } = await receiver((_, response) => response.writeHead(204).end())
    expect(await send({ url, secrets: SECRETS, allowPrivate: true }, MESSAGE)).toMatchObject({ status: 204 })
    const [one] = received
    expect(one).toMatchObject({ url: '/hook', body: MESSAGE.body })
    expect(one?.headers).toMatchObject({ 'content-type': 'application/json', 'webhook-id': 'msg_1' })
    const headers = one?.headers as Record<string, string>
    for (const secret of SECRETS) expect(new Webhook(secret).verify(one?.body ?? '', headers)).toBeTruthy()
    expect(() => new Webhook('whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA').verify(one?.body ?? '', headers)).toThrow()
  })

  test('goes to no address that is not public, whatever leads there, and to none without TLS', async () => {
    const { url, received } = await receiver((_, response) => response.end())
    const port = new URL(url).port
    const looked = webhookSender({ timeout: 1_000, lookup: async () => ['93.184.216.34', '127.0.0.1'] })
    const to = (address: string): Receiver => ({ url: address, secrets: SECRETS, allowPrivate: false })
    for (const address of [url, `https://127.0.0.1:${port}/`, `https://[::1]:${port}/`, `https://2130706433:${port}/`])
      expect(await send(to(address), MESSAGE)).toMatchObject({ status: 'refused' })
    const azure = webhookSender({ timeout: 1_000, lookup: async () => ['168.63.129.16'] })
    expect(await azure(to('https://platform.example/'), MESSAGE)).toMatchObject({ status: 'refused' })
    expect(await looked(to(`https://rebound.example:${port}/`), MESSAGE)).toMatchObject({ status: 'refused' })
    expect(await send(to(`https://localhost:${port}/`), MESSAGE)).toMatchObject({ status: 'refused' })
    expect(received).toEqual([])
  })

  test('goes to the address that was checked, whatever its name leads to later', async () => {
    const { url, received } = await receiver((_, response) => response.end())
    const looked: string[] = []
    const lookup = async (host: string) => {
      looked.push(host)
      return ['127.0.0.1']
    }
    const to = { url: url.replace('127.0.0.1', 'pinned.invalid'), secrets: SECRETS, allowPrivate: true }
    expect(await webhookSender({ timeout: 1_000, lookup })(to, MESSAGE)).toMatchObject({ status: 200 })
    expect([looked, received.map(({ headers }) => headers.host)]).toEqual([['pinned.invalid'], [new URL(to.url).host]])
  })

  test('follows no redirect', async () => {
    const inside = await receiver((_, response) => response.end())
    const { url } = await receiver((_, response) => response.writeHead(307, { location: inside.url }).end())
    expect(await send({ url, secrets: SECRETS, allowPrivate: true }, MESSAGE)).toMatchObject({ status: 307 })
    expect(inside.received).toEqual([])
  })

  test.each([
    ['elsewhere', 'https://me:word@moved.example/hook?token=SECRET#there', 'https://moved.example/hook'],
    ['on the same server', '/hook/', 'HERE/hook/'],
    ['to a long address', `https://moved.example/${'x'.repeat(5_000)}`, `https://moved.example/${'x'.repeat(177)}…`],
    ['to marks', 'https://moved.example/<b>"', 'https://moved.example/%3Cb%3E%22'],
    ['to no server', 'javascript:alert(1)', undefined],
    ['to half an address', 'https://', undefined],
    ['nowhere', undefined, undefined],
  ])('tells where a redirect leads, cut, and without what may be a secret: %s', async (_, location, told) => {
    const { url } = await receiver((_request, response) => {
      response.writeHead(308, location === undefined ? {} : { location }).end()
    })
    const tried = await send({ url, secrets: SECRETS, allowPrivate: true }, MESSAGE)
    expect(tried).toMatchObject({ status: 308, why: 'status 308' })
    expect(tried.redirectsTo).toBe(told?.replace('HERE', new URL(url).origin))
  })

  test('waits for no slow receiver beyond its time, and reads no endless answer', async () => {
    const quick = webhookSender({ timeout: 100 })
    const slow = await receiver(() => {})
    const endless = await receiver((_, response) => {
      response.writeHead(200)
      const pour = () => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
      }
      response.on('drain', pour)
      pour()
    })
    const to = (url: string): Receiver => ({ url, secrets: SECRETS, allowPrivate: true })
    expect(await quick(to(slow.url), MESSAGE)).toMatchObject({ status: null, why: 'no answer within 100 ms' })
    expect(await send(to(endless.url), MESSAGE)).toMatchObject({ status: 200 })
  })

  test('says why a receiver could not be reached', async () => {
    const whyOf = async (url: string, lookup = async (): Promise<readonly string[]> => []) =>
      (await webhookSender({ timeout: 5_000, lookup })({ url, secrets: SECRETS, allowPrivate: true }, MESSAGE)).why
    const plain = await receiver((_, response) => response.end())
    expect(await whyOf(plain.url.replace('http:', 'https:'))).toMatch(
      /^it could not be reached \((EPROTO|ERR_SSL_\w+)\)$/,
    )
    expect(await whyOf('https://127.0.0.1:1/')).toBe('it could not be reached (ECONNREFUSED)')
    expect(await whyOf('https://none.example/')).toBe('it could not be reached (its name has no address)')
  })

  test('says when the receiver wants to be asked again', async () => {
    const in30 = await receiver((_, response) => response.writeHead(503, { 'retry-after': '30' }).end())
    const odd = await receiver((_, response) => response.writeHead(503, { 'retry-after': 'soon' }).end())
    const to = (url: string): Receiver => ({ url, secrets: SECRETS, allowPrivate: true })
    expect(await send(to(in30.url), MESSAGE)).toEqual({ status: 503, why: 'status 503', retryAfterMs: 30_000 })
    expect(await send(to(odd.url), MESSAGE)).toMatchObject({ retryAfterMs: null })
  })
})

describe('verdicts', () => {
  const of = (change: Parameters<typeof aVerdict>[1]) => {
    const verdict = aVerdict('2026-01-01T00:00:00.000Z', { tenant: 'acme', protocol: 'hate', label: 'hate', ...change })
    return { verdict, json: JSON.stringify(verdict), ref: thread('p1', 'acme'), from: FROM }
  }
  const names = (hooks: Record<string, Hook>, change: Parameters<typeof aVerdict>[1] = {}) =>
    deliveriesOf(hooks, [of(change)]).map(({ hook, follows }) => (follows ? `${hook} if it knows one` : hook))

  test('go to the receivers of their tenant that want such', () => {
    const hooks = {
      all: hook(),
      others: hook({ tenant: 'other' }),
      safety: hook({ protocols: ['safety'] }),
      benign: hook({ labels: ['non-hate'] }),
      final: hook({ final: true }),
    }
    expect(names(hooks, { final: true })).toEqual(['all', 'benign if it knows one', 'final'])
    expect(names(hooks, { final: false, label: 'non-hate' })).toEqual(['all', 'benign'])
    expect(names(hooks, { tenant: 'other' })).toEqual(['others'])
  })

  /** A value of each filter, a verdict that it lets through, and one that it does not. */
  const FILTERS: Readonly<Record<string, readonly [Partial<Hook>, ...Parameters<typeof aVerdict>[1][]]>> = {
    protocols: [{ protocols: ['safety'] }, { protocol: 'safety', label: 'safe' }, { protocol: 'hate' }],
    labels: [{ labels: ['non-hate'] }, { label: 'non-hate' }, { label: 'hate' }],
    final: [{ final: true }, { final: true }, { final: false }],
  }

  test('are chosen by every filter that the settings take', () => {
    const { properties } = schemaOfSettings(readFileSync(join(PROJECT, 'config', 'gavel.yaml'), 'utf8'))
    const entry = properties?.webhooks?.properties?.to?.additionalProperties as JsonSchema
    // Whether a hook is told of appeals and actions holds back no verdict.
    const others = ['appeals', 'actions']
    const filters = Object.keys(entry.properties ?? {}).filter((name) => !(name in hook()) && !others.includes(name))
    expect(filters.sort(), 'FILTERS has a row for each filter of config/door.ts').toEqual(Object.keys(FILTERS).sort())
  })

  test.each(Object.entries(FILTERS))(
    'are not sent where the filter %s holds them back',
    (name, [set, wanted, other]) => {
      expect(names({ one: hook(set) }, wanted)).toEqual(['one'])
      expect(names({ one: hook(set) }, other), `producers/webhooks/matching.ts goes by ${name}`).not.toContain('one')
      expect(names({ one: hook() }, other)).toEqual(['one'])
    },
  )

  test('that are retracted go to all who may have been sent them, as what they are', () => {
    const hooks = { benign: hook({ labels: ['non-hate'] }), safety: hook({ protocols: ['safety'] }) }
    const [one, ...more] = deliveriesOf(hooks, [of({ decidedBy: 'deleted', label: null })])
    expect([one?.hook, one?.retracts, more]).toEqual(['benign', true, []])
    expect(JSON.parse(one?.body ?? '')).toMatchObject({ type: 'verdict.retracted', data: { label: null } })
  })

  test('have a form without words that quote their subject', () => {
    const bareOf = (change: Parameters<typeof aVerdict>[1]) => {
      const [one] = deliveriesOf({ all: hook() }, [of({ rationale: 'as c1 says', ...change })])
      return JSON.parse(one?.bare ?? '').data
    }
    expect(bareOf({})).toMatchObject({ label: 'hate', rationale: '', evidence: { support: [], oppose: [] } })
    expect(bareOf({ decidedBy: 'human' })).toMatchObject({ rationale: 'as c1 says' })
    const clauses = [{ id: 'H1', quote: 'they are vermin' }]
    for (const decidedBy of ['judge', 'human']) expect(bareOf({ decidedBy, clauses }).clauses).toEqual([{ id: 'H1' }])
  })

  test('are sent as they are on the topic, byte for byte', () => {
    const { verdict, json, ref } = of({})
    const odd = json.replace('{', '{ ')
    const [one] = deliveriesOf({ all: hook() }, [{ verdict, json: odd, ref, from: FROM }])
    expect(one?.body).toContain(`"data":${odd}}`)
    expect(JSON.parse(one?.body ?? '')).toEqual({
      type: 'verdict.published',
      timestamp: verdict.timing.decidedAt,
      data: verdict,
    })
  })
})

describe('what is due', () => {
  const RETRIES = [1_000, 5_000]
  function setUp(answers: SendWebhook, hooks: Record<string, Receiver> = { shop: hook(), club: hook() }, atOnce = 2) {
    let now = T0
    const webhooks = memoryWebhooks(
      () => now,
      () => 'whole',
    )
    const told: string[] = []
    const work = deliveryWorker({
      webhooks,
      hooks,
      clock: () => now,
      send: answers,
      settings: { atOnce, timeout: 15_000, retries: RETRIES },
      report: (name, event) => {
        if (name === 'webhook:tried' && 'outcome' in event) told.push(String(event.outcome))
      },
    })
    const put = (postId: string, revision: number, name = 'shop') =>
      webhooks.put([
        {
          hook: name,
          protocol: 'hate',
          revision,
          follows: false,
          retracts: false,
          ref: thread(postId, 'acme'),
          from: FROM,
          verdictId: `hate@acme~${postId}~r${revision}`,
          body: `${postId} r${revision}`,
          bare: '',
        },
      ])
    const look = async (later = 0) => {
      now += later
      await work.poll()
      await new Promise((resolve) => setImmediate(resolve))
      await new Promise((resolve) => setImmediate(resolve))
    }
    return { webhooks, work, put, look, told }
  }
  const answered = (status: number | null, retryAfterMs: number | null = null) => ({
    status,
    why: `status ${status}`,
    retryAfterMs,
  })

  test('is sent in order, tried again later each time, and parked when the last try has failed', async () => {
    const sent: string[] = []
    let status = 500
    const { put, look, told, webhooks } = setUp(async (_, { body }) => {
      sent.push(body)
      return answered(status)
    })
    await put('p1', 1)
    await put('p1', 2)
    await look()
    await look(999)
    expect(sent).toEqual(['p1 r1'])
    await look(1)
    await look(5_000)
    expect([sent.length, told]).toEqual([3, ['failed', 'failed', 'parked']])
    expect(await webhooks.parked(9)).toMatchObject([{ verdictId: 'hate@acme~p1~r1', why: 'status 500' }])
    status = 200
    await look(1)
    expect([sent.at(-1), told.at(-1)]).toEqual(['p1 r2', 'sent'])
  })

  test('waits as long as the receiver says, up to an hour', async () => {
    let tries = 0
    const { put, look } = setUp(async () => {
      tries++
      return answered(429, 24 * 3_600_000)
    })
    await put('p1', 1)
    await look()
    await look(3_599_000)
    expect(tries).toBe(1)
    await look(1_000)
    expect(tries).toBe(2)
  })

  test('is parked with where its redirect leads', async () => {
    const { put, look, webhooks } = setUp(async () => ({ ...answered(308), redirectsTo: 'https://moved.example/hook' }))
    await put('p1', 1)
    for (const later of [0, 1_000, 5_000]) await look(later)
    const why = 'status 308: it redirects to https://moved.example/hook, and no redirect is followed'
    expect(await webhooks.parked(9)).toMatchObject([{ why }])
  })

  test('is left alone where a receiver is gone, and parked at once where it may not be reached', async () => {
    const sent: string[] = []
    const { put, look, webhooks } = setUp(
      async ({ url }, { body }) => {
        sent.push(body)
        return url.includes('gone') ? answered(410) : { status: 'refused', why: 'not public', retryAfterMs: null }
      },
      { gone: hook({ url: 'https://gone.example' }), inside: hook({ url: 'https://inside.example' }) },
    )
    // By another process: one that starts asks again.
    await webhooks.setGone('gone', true)
    await look()
    await put('p1', 1, 'gone')
    await put('p2', 1, 'gone')
    await look()
    await put('p4', 1, 'gone')
    await put('p3', 1, 'inside')
    await look(60_000)
    expect(sent).toEqual(['p1 r1', 'p3 r1'])
    expect(await webhooks.counts()).toMatchObject({ waiting: 1, parked: 2 })
  })

  test('of other receivers does not wait for a slow one, and no more is begun than there is room for', async () => {
    const slow = Promise.withResolvers<void>()
    const sent: string[] = []
    const { put, look, work } = setUp(async (_, { body }) => {
      sent.push(body)
      if (body.startsWith('slow')) await slow.promise
      return answered(200)
    })
    for (const postId of ['slow1', 'p2', 'p3', 'p4']) await put(postId, 1, postId === 'slow1' ? 'club' : 'shop')
    await look()
    await look()
    await look()
    await expect.poll(() => sent.length, SOON).toBe(4)
    slow.resolve()
    await work.close()
  })

  test('goes to each receiver up to its share at a time, the next when one was taken, however many fail to answer', async () => {
    const hooks = Object.fromEntries(['deaf', 'quick', 'numb'].map((name) => [name, hook({ url: name })]))
    const never = Promise.withResolvers<void>()
    const sent: string[] = []
    const { put, look, work } = setUp(
      async ({ url }) => {
        sent.push(url)
        if (url !== 'quick') await never.promise
        return answered(url === 'quick' ? 200 : null)
      },
      hooks,
      7,
    )
    const count = (name: string) => sent.filter((url) => url === name).length
    for (let nth = 0; nth < 20; nth++) for (const name of Object.keys(hooks)) await put(`p${nth}`, 1, name)
    await look()
    await expect.poll(() => count('quick'), SOON).toBe(20)
    for (let nth = 20; nth < 40; nth++) await put(`p${nth}`, 1, 'quick')
    await look()
    await expect.poll(() => count('quick'), SOON).toBe(40)
    expect([count('deaf'), count('numb')]).toEqual([2, 2])
    never.resolve()
    await work.close()
    expect([count('deaf'), count('numb')]).toEqual([2, 2])
  })

  test('has a place at each receiver, also where there are more of them than may be sent at a time', async () => {
    const hooks = Object.fromEntries(['one', 'two', 'three'].map((name) => [name, hook({ url: name })]))
    const sent: string[] = []
    const { put, look } = setUp(async ({ url }) => {
      sent.push(url)
      return answered(null)
    }, hooks)
    for (const name of Object.keys(hooks)) for (const postId of ['p1', 'p2']) await put(postId, 1, name)
    await look()
    expect(sent).toEqual(['one', 'two', 'three'])
  })

  test('is not sent by a process that stood still until another may have it', async () => {
    const sent: string[] = []
    let now = T0
    const webhooks = memoryWebhooks(
      () => now,
      () => 'whole',
    )
    const { take } = webhooks
    webhooks.take = async (...given) => {
      const claims = await take(...given)
      if (claims.length > 0) now += 30_000
      return claims
    }
    const work = deliveryWorker({
      webhooks,
      hooks: { shop: hook() },
      clock: () => now,
      report: () => {},
      send: async (_, { body }) => {
        sent.push(body)
        return answered(200)
      },
      settings: { atOnce: 1, timeout: 15_000, retries: RETRIES },
    })
    const ref = thread('p1', 'acme')
    const of = {
      hook: 'shop',
      protocol: 'hate',
      revision: 1,
      follows: false,
      retracts: false,
      verdictId: 'hate@acme~p1~r1',
    }
    await webhooks.put([{ ...of, ref, from: FROM, body: 'x', bare: '' }])
    await work.poll()
    await work.close()
    expect(sent).toEqual([])
  })
})

test('outcomes of appeals go to the receivers of their tenant and protocol that ask for them, once each', async () => {
  const outcome = {
    schema: 1,
    id: 'e1',
    tenant: 'acme',
    outcome: 'upheld',
    protocol: 'hate',
    at: '2026-05-01T10:00:00Z',
  } as const
  const appeals = true
  const hooks = {
    all: hook({ appeals }),
    verdicts: hook(),
    another: hook({ appeals, tenant: 'default' }),
    hate: hook({ appeals, protocols: ['hate'] }),
    rumor: hook({ appeals, protocols: ['rumor'] }),
  }
  const deliveries = appealDeliveriesOf(hooks, [{ entry: '1-1', outcome }])
  expect(deliveries.map(({ hook: name }) => name)).toEqual(['all', 'hate'])
  expect(JSON.parse(deliveries[0]?.body ?? '')).toEqual({ type: 'appeal.ended', timestamp: outcome.at, data: outcome })
  // Of one that names no protocol, all of the tenant.
  const { protocol: _, ...unknown } = outcome
  expect(appealDeliveriesOf(hooks, [{ entry: '1-1', outcome: unknown }])).toHaveLength(3)
  // One that was too many is sent again under its id: what becomes of it then is no repeat.
  const flood = (hour: string) => ({ ...outcome, outcome: 'too-many', at: `2026-05-01T${hour}:00:00Z` }) as const
  const all = [outcome, flood('01'), flood('02')].map((one) => ({ entry: '1-1', outcome: one }))
  const ids = all.map((one) => appealDeliveriesOf({ all: hook({ appeals }) }, [one])[0]?.verdictId)
  expect(new Set(ids).size).toBe(3)
})
