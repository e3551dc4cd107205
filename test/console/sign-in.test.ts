import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'
import { afterEach, expect, it, vi } from 'vitest'
import { openIdProvider } from '../../src/console/openid.ts'
import { addressesIn } from '../../src/platform/who-asks.ts'
import { aConsole, tokenIn } from './console-for-tests.ts'

const SECRET = 'x'.repeat(32)
const PUBLIC = 'https://gavel.example'
const PEOPLE = [
  { who: 'group:mods', role: 'moderator', tenants: ['acme'] },
  { who: 'person:anna@mods.example', role: 'viewer' },
] as const
const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close()
    server.closeAllConnections()
  }
})

/** A provider on loopback; what its people's tokens say beside their names. */
async function aProvider(claims: Record<string, unknown>) {
  const server = createServer()
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = new Provider(issuer, {
    clients: [{ client_id: 'gavel', client_secret: SECRET, redirect_uris: [`${PUBLIC}/sign-in/back`] }],
    cookies: { keys: ['for tests'] },
    pkce: { required: () => true },
    claims: { openid: ['sub'], email: ['email', 'email_verified', 'groups'] },
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({ sub: id, email: `${id}@mods.example`, email_verified: true, ...claims }),
    }),
  })
  server.on('request', provider.callback())
  const settings = { issuer, clientId: 'gavel', clientSecret: SECRET, scopes: ['openid', 'email'] }
  const found = openIdProvider({ ...settings, person: 'email', groups: 'groups', timeout: 30_000 })
  return aConsole({ way: { way: 'oidc', provider: found }, people: PEOPLE, publicUrl: PUBLIC })
}

/** Goes through the provider's forms as a browser would, up to the address that it sends the browser back to. */
async function throughProvider(start: string, login: string): Promise<URL> {
  const jar = new Map<string, string>()
  const go = async (address: string, init: RequestInit = {}) => {
    const cookie = [...jar].map((one) => one.join('=')).join('; ')
    const answer = await fetch(address, { ...init, redirect: 'manual', headers: { ...init.headers, cookie } })
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (value === '') jar.delete(name)
      else jar.set(name, value)
    }
    return answer
  }
  let address = start
  for (let steps = 0; steps < 15; steps++) {
    let answer = await go(address)
    if (answer.status === 200) {
      const form = await answer.text()
      const action = /action="([^"]+)"/.exec(form)?.[1] ?? ''
      const prompt = /name="prompt" value="(\w+)"/.exec(form)?.[1] ?? ''
      answer = await go(new URL(action, address).href, {
        method: 'POST',
        body: new URLSearchParams({ prompt, login, password: 'any' }),
      })
    }
    address = new URL(answer.headers.get('location') ?? '', address).href
    if (address.startsWith(PUBLIC)) return new URL(address)
  }
  throw new Error(`the provider led to ${address}`)
}

const cookieOf = (answer: Response, name: string) =>
  answer.headers
    .getSetCookie()
    .find((one) => one.startsWith(`${name}=`))
    ?.split(';', 1)[0] ?? ''

it('a provider signs people in: they come back as themselves, with the roles of their groups, once', async () => {
  const console = await aProvider({ groups: ['mods'] })
  expect((await console.ask('/live')).headers.get('location')).toBe('/sign-in')
  expect(await (await console.ask('/sign-in')).text()).toContain('href="/sign-in/start"')
  const start = await console.ask('/sign-in/start')
  expect(start.headers.getSetCookie()).toEqual([
    expect.stringMatching(/^__Host-gavel-sign-in=\S+; Path=\/; HttpOnly; SameSite=Lax; Secure; Max-Age=600$/),
  ])
  const cookie = cookieOf(start, '__Host-gavel-sign-in')
  const back = await throughProvider(start.headers.get('location') ?? '', 'ben')
  const path = back.pathname + back.search

  // Another browser, and a state that is not this one's.
  expect((await console.ask(path)).status).toBe(400)
  const other = cookieOf(await console.ask('/sign-in/start'), '__Host-gavel-sign-in')
  expect((await console.ask(path, { headers: { cookie: other } })).status).toBe(400)

  const entered = await console.ask(path, { headers: { cookie } })
  expect([entered.status, entered.headers.get('location')]).toEqual([303, '/live'])
  expect(entered.headers.getSetCookie()).toEqual([
    expect.stringMatching(/^__Host-gavel-console=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure$/),
    expect.stringMatching(/^__Host-gavel-sign-in=; .*Max-Age=0$/),
  ])
  const session = cookieOf(entered, '__Host-gavel-console')
  await console.judged({ verdict: { tenant: 'acme' } })
  await console.judged({ verdict: { subjectId: 'q', tenant: 'globex' }, post: { text: 'not theirs' } })
  const live = (await console.page('/live', session)).text
  expect(live).toContain('ben@mods.example')
  expect(live).toContain('a claim')
  expect(live).not.toContain('not theirs')

  // The code is used up.
  expect((await console.ask(path, { headers: { cookie } })).status).toBe(403)
  expect(console.reported).toHaveLength(1)
}, 120_000)

it('who has no role, and whose email nobody has verified, does not come in', async () => {
  for (const [claims, says] of [
    [{}, 'have no role'],
    [{ groups: ['mods'], email_verified: false }, 'has not signed you in'],
  ] as const) {
    const console = await aProvider(claims)
    const start = await console.ask('/sign-in/start')
    const back = await throughProvider(start.headers.get('location') ?? '', 'carl')
    const cookie = cookieOf(start, '__Host-gavel-sign-in')
    const answer = await console.ask(back.pathname + back.search, { headers: { cookie } })
    expect([answer.status, (await answer.text()).includes(says)]).toEqual([403, true])
    expect(cookieOf(answer, '__Host-gavel-console')).toBe('')
  }
}, 120_000)

it('a provider that does not answer is said, and asked again the next time', async () => {
  const server = createServer()
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  let asked = 0
  server.on('request', (_, answer) => {
    asked++
    answer.writeHead(500).end()
  })
  const settings = { issuer, clientId: 'gavel', clientSecret: '', scopes: ['openid'], person: 'sub', groups: 'groups' }
  const console = await aConsole({ way: { way: 'oidc', provider: openIdProvider({ ...settings, timeout: 30_000 }) } })
  for (let times = 1; times <= 2; times++) {
    expect((await console.ask('/sign-in/start')).status).toBe(503)
    expect(asked).toBe(times)
  }
  expect(console.reported).toHaveLength(1)
})

it('made-up links in a row are told to wait, and a good one is taken all the same', async () => {
  const console = await aConsole()
  const post = { method: 'POST', headers: { 'sec-fetch-site': 'same-origin' } }
  const tried = async (link: string, address: string, init: RequestInit = {}) =>
    (await console.ask(`/sign-in/link?t=${link}`, { ...init, address })).status
  const statuses = new Set<number>()
  for (let at = 0; at < 30; at++) {
    statuses.add(await tried(`made-up-${at}`, '192.0.2.1'))
    statuses.add(await tried(`made-up-${at}`, '192.0.2.1', post))
  }
  expect(statuses).toEqual(new Set([410, 429]))
  expect(await tried('made-up', '192.0.2.2')).toBe(410)
  const link = console.sessions.link('anna')
  expect(await tried(link, '192.0.2.1')).toBe(200)
  expect(await tried(link, '192.0.2.1', post)).toBe(303)
  console.pass(1_000)
  expect(await tried('made-up', '192.0.2.1')).toBe(410)
})

/** A console whose provider is asked, and answers when `ends` are called. */
async function atProvider() {
  const ends: (() => void)[] = []
  const provider = {
    begin: async ({ state }: { state: string }) => `https://login.example/?state=${state}`,
    async finish() {
      await new Promise<void>((resolve) => void ends.push(resolve))
      throw new Error('no such code')
    },
  }
  const console = await aConsole({ way: { way: 'oidc', provider } })
  const started = async (address: string) => {
    const start = await console.ask('/sign-in/start', { address })
    const state = new URL(start.headers.get('location') ?? '').searchParams.get('state') ?? ''
    return { state, cookie: start.headers.get('set-cookie')?.split(';', 1)[0] ?? '' }
  }
  const back = async ({ state, cookie }: { state: string; cookie: string }, address: string) =>
    (await console.ask(`/sign-in/back?state=${state}&code=x`, { headers: { cookie }, address })).status
  return { ends, started, back }
}

it('asks the provider of nobody who has not begun to sign in here', async () => {
  const { ends, started, back } = await atProvider()
  const good = await started('192.0.2.1')
  const [name = '', kept = ''] = good.cookie.split('=')
  const sealed = kept.split('.')
  for (const value of [
    's.n.v',
    's.n.v.0',
    's.n.v.0.',
    sealed.slice(0, -1).join('.'),
    ['s', ...sealed.slice(1)].join('.'),
    [...sealed.slice(0, 3), '999999', sealed.at(-1)].join('.'),
  ])
    expect(await back({ state: value.split('.')[0] ?? '', cookie: `${name}=${value}` }, '192.0.2.1')).toBe(400)
  expect(ends).toEqual([])
  const asked = back(good, '192.0.2.1')
  await vi.waitFor(() => expect(ends).toHaveLength(1))
  ends[0]?.()
  expect(await asked).toBe(403)
})

it('asks the provider of few at a time, and of fewer from one network', async () => {
  const { ends, started, back } = await atProvider()
  const good = await started('192.0.2.1')
  const networks = Array.from({ length: 5 }, (_, nth) => `192.0.2.${nth + 1}`)
  const all = networks.flatMap((network) => Array.from({ length: 6 }, () => back(good, network)))
  await vi.waitFor(() => expect(ends).toHaveLength(20))
  for (const end of ends) end()
  const statuses = await Promise.all(all)
  for (const [nth, expected] of [5, 5, 5, 5, 0].entries())
    expect(statuses.slice(6 * nth, 6 * nth + 6).filter((status) => status === 403)).toHaveLength(expected)
  expect(new Set(statuses)).toEqual(new Set([403, 503]))
  const again = back(good, '192.0.2.5')
  await vi.waitFor(() => expect(ends).toHaveLength(21))
  ends[20]?.()
  expect(await again).toBe(403)
})

it('one network makes the provider no more requests than its share', async () => {
  const { ends, started, back } = await atProvider()
  const good = await started('192.0.2.1')
  const statuses: number[] = []
  for (let at = 0; at < 60; at++) {
    const asked = back(good, '192.0.2.1')
    await new Promise((resolve) => setImmediate(resolve))
    for (const end of ends.splice(0)) end()
    statuses.push(await asked)
  }
  expect(statuses).toEqual([...Array(49).fill(403), ...Array(11).fill(429)])
  const other = back(good, '192.0.2.2')
  await vi.waitFor(() => expect(ends).toHaveLength(1))
  ends[0]?.()
  expect(await other).toBe(403)
})

async function behindProxy() {
  return aConsole({
    way: { way: 'proxy', isPeer: addressesIn(['10.1.0.0/16']), person: 'x-user', groups: 'x-groups' },
    people: PEOPLE,
    publicUrl: PUBLIC,
  })
}

it('a proxy names who asks; its header counts from its own addresses alone, and once', async () => {
  const console = await behindProxy()
  await console.judged({ verdict: { tenant: 'acme' } })
  const named = { 'x-user': 'ben', 'x-groups': 'staff, mods' }
  const ask = (address: string, headers: Record<string, string>) => console.ask('/live', { address, headers })
  for (const [address, headers] of [
    ['10.2.0.1', named],
    ['::ffff:10.2.0.1', named],
    ['::1', named],
    ['10.1.0.1', {}],
    ['10.1.0.1', { 'x-user': ' ' }],
    ['10.1.0.1', { 'x-user': 'ben, twice:anna' }],
    ['10.1.0.1', { ...named, 'x-groups': 'mods, twice:staff' }],
    ['10.1.0.1', { 'x-user': 'ben', 'x-groups': 'staff' }],
  ] as const) {
    const answer = await ask(address, headers)
    expect([answer.status, (await answer.text()).includes('a claim')]).toEqual([403, false])
  }
  for (const address of ['10.1.0.1', '::ffff:10.1.2.3']) {
    const answer = await ask(address, named)
    expect([answer.status, answer.headers.get('set-cookie')]).toEqual([200, null])
    expect(await answer.text()).toContain('a claim')
  }
})

it('a decision behind a proxy is made by the person whom it names, with that person’s token', async () => {
  const console = await behindProxy()
  const { id } = await console.judged({ verdict: { tenant: 'acme' } })
  const as = (by: string) => ({ address: '10.1.0.1', headers: { 'x-user': by, 'x-groups': 'mods' } })
  const token = tokenIn(await (await console.ask(`/verdict?id=${id}`, as('ben'))).text())
  const body = new URLSearchParams({ id, label: 'rumor', why: 'x', token })
  const send = (by: string) => {
    const { address, headers } = as(by)
    return console.ask('/decide', { method: 'POST', body, address, headers: { ...headers, origin: PUBLIC } })
  }
  const theirs = await send('anna')
  expect([theirs.status, (await theirs.text()).includes('Send again')]).toEqual([403, false])
  expect((await send('ben')).status).toBe(303)
})

it('a form of the same person that is older than their session is offered again; another person’s is not', async () => {
  const console = await aConsole()
  const { id } = await console.judged({})
  const old = tokenIn((await console.page('/health', await console.signedIn('anna'))).text)
  for (const [by, again] of [
    ['anna', true],
    ['ben', false],
  ] as const) {
    const cookie = await console.signedIn(by)
    const answer = await console.post('/decide', { id, label: 'rumor', why: 'my words', token: old }, { cookie })
    const text = await answer.text()
    expect([answer.status, text.includes('my words')]).toEqual([403, again])
  }
})

it('a search that another site begins is not made, and keeps no session from being idle', async () => {
  const console = await aConsole({ idle: 1_000 })
  await console.judged({ post: { text: 'a bridge' } })
  const cookie = await console.signedIn()
  for (const site of ['cross-site', 'same-site'])
    for (const path of ['/search?q=bridge', '/live/stream']) {
      console.pass(300)
      const answer = await console.ask(path, { headers: { cookie, 'sec-fetch-site': site } })
      const text = await answer.text()
      expect([answer.status, text.includes('a bridge'), text.includes(`href="${path}"`)]).toEqual([403, false, true])
    }
  expect((await console.page('/search?q=bridge', cookie)).status).toBe(303)
})

it('no link is printed for who asks where others read what is printed', async () => {
  const console = await aConsole({ way: { way: 'link', print: null } })
  const page = await (await console.ask('/sign-in')).text()
  expect(page).not.toContain('/sign-in/print')
  expect((await console.post('/sign-in/print', {})).status).toBe(404)
  expect(console.printed).toEqual([])
})

it('the cookie goes over TLS alone where browsers have the console by https', async () => {
  const console = await aConsole({ publicUrl: PUBLIC })
  const entered = await console.post(`/sign-in/link?t=${console.sessions.link('anna')}`, {})
  expect(entered.headers.get('set-cookie')).toMatch(
    /^__Host-gavel-console=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
  )
})

it('leads to the page of the console that was asked for before, and to nothing else', async () => {
  const console = await aConsole()
  const enter = async (cookie: string) => {
    const entered = await console.post(`/sign-in/link?t=${console.sessions.link('anna')}`, {}, { cookie })
    return entered.headers.get('location')
  }
  const asked = async (path: string, headers = {}) =>
    cookieOf(await console.ask(path, { headers }), 'gavel-wanted-8421')
  const story = '/stories/story?id=aaa&tenant=default'
  const kept = await asked(story)
  expect(await enter(kept)).toBe(story)
  const entered = await console.post(`/sign-in/link?t=${console.sessions.link('anna')}`, {}, { cookie: kept })
  expect(entered.headers.getSetCookie()).toContainEqual(expect.stringMatching(/^gavel-wanted-8421=; .*Max-Age=0$/))
  expect(await enter('')).toBe('/live')
  // What a page loads by itself, what is no page, and what is too long are not kept.
  for (const [path, headers] of [
    [story, { 'sec-fetch-dest': 'empty' }],
    ['/nothing', {}],
    ['/sign-in', {}],
    [`/stories?q=${'a'.repeat(2_000)}`, {}],
  ] as const)
    expect(await asked(path, headers), path).toBe('')
  // Whatever somebody else has put there.
  for (const path of [
    'https://evil.example/live',
    '//evil.example/live',
    '/\\evil.example/live',
    '/live/../..//evil.example',
    'javascript:alert(1)',
    '/sign-out',
    '/decide',
    '/verdict/news?id=a',
    '%',
  ])
    expect(await enter(`gavel-wanted-8421=${encodeURIComponent(path)}`), path).toBe('/live')
  expect(await enter('gavel-wanted-8421=%')).toBe('/live')
})
