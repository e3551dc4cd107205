import { expect, it } from 'vitest'
import { formOf } from '../../src/console/request-guard.ts'
import { Sessions } from '../../src/console/sessions.ts'
import type { DecisionMessage } from '../../src/contracts/facts/decision-messages.ts'
import { aConsole, HOST, tokenIn } from './console-for-tests.ts'

const WORDS = 'zanzibar'

async function withVerdict() {
  const decided: DecisionMessage[] = []
  const console = await aConsole({
    async decide(decision) {
      decided.push(decision)
      return { of: '0@0', decided: { outcome: 'late', last: 7 } }
    },
  })
  const { id } = await console.judged({ verdict: { rationale: WORDS }, post: { text: WORDS } })
  return { console, id, decided }
}

it('serves no word of what is in the record, nor that it is there, to who has not signed in', async () => {
  const { console, id } = await withVerdict()
  for (const { method, path } of console.pages) {
    const address = `${path}?${new URLSearchParams({ id, q: WORDS })}`
    const cookies = ['', 'gavel-console-8421=made-up', 'gavel-console-8421=']
    for (const cookie of cookies) {
      const response =
        method === 'GET'
          ? await console.ask(address, { headers: { cookie } })
          : await console.post(path, { id, label: 'rumor', why: 'x', token: 'guessed' }, { cookie })
      const text = await response.text()
      expect(text, path).not.toContain(WORDS)
      if (method === 'GET')
        expect([response.status, response.headers.get('location'), text]).toEqual([303, '/sign-in', ''])
      else expect([response.status, text.includes('Not sent yet')]).toEqual([401, true])
    }
  }
  const paths = ['/', '/nothing', '/assets/x/console.js', '/verdict/', '//verdict', '/sign-out']
  for (const path of paths)
    expect(await (await console.ask(`${path}?id=${encodeURIComponent(id)}`)).text()).not.toContain(WORDS)
})

it('a link signs in once, within ten minutes, and looking at it uses it up for nobody', async () => {
  const { console } = await withVerdict()
  const secret = console.sessions.link('anna')
  for (let looks = 0; looks < 3; looks++) expect((await console.ask(`/sign-in/link?t=${secret}`)).status).toBe(200)
  const entered = await console.post(`/sign-in/link?t=${secret}`, {})
  expect(entered.headers.get('location')).toBe('/live')
  expect(entered.headers.get('set-cookie')).toMatch(/^gavel-console-8421=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax$/)
  expect((await console.post(`/sign-in/link?t=${secret}`, {})).status).toBe(410)
  const late = console.sessions.link('anna')
  console.pass(600_000)
  expect((await console.post(`/sign-in/link?t=${late}`, {})).status).toBe(410)
})

it('prints another link where the operator sees it, once in ten seconds, and shows it to nobody', async () => {
  const { console } = await withVerdict()
  const pages = [await console.post('/sign-in/print', {}), await console.post('/sign-in/print', {})]
  expect(console.printed).toHaveLength(1)
  for (const page of pages) expect(await page.text()).not.toContain(console.printed[0])
})

it('a session ends when it is idle, after the longest time, and when its person says so', async () => {
  const { console } = await withVerdict()
  const [idle, busy, ended] = [await console.signedIn(), await console.signedIn(), await console.signedIn('ben')]
  for (let hour = 0; hour < 11; hour++) {
    console.pass(3_500_000)
    expect((await console.page('/health', busy)).status).toBe(200)
  }
  expect((await console.page('/health', idle)).status).toBe(303)
  console.pass(43_200_000 - 11 * 3_500_000)
  expect((await console.page('/health', busy)).status).toBe(303)
  expect((await console.page('/health', ended)).status).toBe(303)
  const [one, other] = [await console.signedIn('ben'), await console.signedIn('ben')]
  const token = tokenIn((await console.page('/health', one)).text)
  await console.post('/sign-out', { token, all: 'yes' }, { cookie: one })
  for (const cookie of [one, other]) expect((await console.page('/health', cookie)).status).toBe(303)
})

it('whoever signs in again and again ends their own oldest sessions, and nobody else’s', () => {
  const sessions = new Sessions({ idle: 1, longest: 1 }, () => 0)
  const [anna, ...bens] = ['anna', ...Array<string>(25).fill('ben')].map((by) => sessions.open({ by, grants: [] }))
  const isOpen = (id = '') => sessions.read(id) !== null
  expect([anna, bens[0], bens.at(-21), bens.at(-20), bens.at(-1)].map(isOpen)).toEqual([true, false, false, true, true])
})

it('answers every request with headers that let a page do nothing but what the console serves', async () => {
  const { console, id } = await withVerdict()
  const cookie = await console.signedIn()
  const css = /href="(\/assets\/[^"]+css)"/.exec((await console.page('/health', cookie)).text)?.[1] ?? ''
  const paths = [
    '/health',
    '/sign-in',
    '/nothing',
    '/live',
    '/live/stream',
    `/verdict?id=${id}`,
    `/verdict/file?id=${id}`,
    css,
    '/csp',
  ]
  for (const path of paths) {
    const response = await console.ask(path, { headers: { cookie } })
    const policy = response.headers.get('content-security-policy') ?? ''
    expect(policy, path).toContain("default-src 'none'; script-src 'self';")
    expect(policy).not.toMatch(/unsafe|\*|https?:/)
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).toContain("require-trusted-types-for 'script'")
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
    expect(response.headers.get('cache-control')).toBe(
      path === css ? 'public, max-age=31536000, immutable' : 'no-store',
    )
    await response.body?.cancel()
  }
})

it('is not asked for by a name that is not its own', async () => {
  const { console } = await withVerdict()
  const cookie = await console.signedIn()
  const answered = await console.ask('/live', { from: 'evil.example', headers: { cookie } })
  expect([answered.status, (await answered.text()).includes(WORDS)]).toEqual([421, false])
})

it('accepts a form only from its own pages, with the token of its session; the input stays in the page', async () => {
  const { console, id, decided } = await withVerdict()
  const cookie = await console.signedIn()
  const token = tokenIn((await console.page('/health', cookie)).text)
  const fields = { id, label: 'rumor', why: 'because <b>', token }
  for (const headers of [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'none' },
  ])
    expect((await console.post('/decide', fields, { cookie, ...headers })).status).toBe(403)
  const old = { method: 'POST', body: new URLSearchParams(fields) }
  expect((await console.ask('/decide', { ...old, headers: { cookie } })).status).toBe(403)
  expect((await console.ask('/decide', { ...old, headers: { cookie, origin: 'null' } })).status).toBe(403)
  expect((await console.ask('/decide', { ...old, headers: { cookie, origin: `http://${HOST}` } })).status).toBe(409)
  expect(decided).toHaveLength(1)

  const other = tokenIn((await console.page('/health', await console.signedIn())).text)
  const page = await console.post('/decide', { ...fields, token: other }, { cookie })
  const text = await page.text()
  expect([page.status, decided.length]).toEqual([403, 1])
  expect(text).toContain('because &lt;b&gt;')
  expect(tokenIn(text.slice(text.indexOf('action="/decide"')))).toBe(token)
})

it('the person who decides is the one who is signed in, against the revision that was seen', async () => {
  const { console, id, decided } = await withVerdict()
  const cookie = await console.signedIn('ben')
  const token = tokenIn((await console.page(`/verdict?id=${id}`, cookie)).text)
  const page = await console.post(
    '/decide',
    { id, label: 'non-rumor', why: 'ticket 88', by: 'anna', against: '9', force: 'true', token },
    { cookie },
  )
  expect(decided).toMatchObject([
    {
      subjectId: 'p',
      tenant: 'default',
      protocol: 'rumor',
      against: 1,
      by: 'ben',
      why: 'ticket 88',
      label: 'non-rumor',
    },
  ])
  const text = await page.text()
  expect(page.status).toBe(409)
  expect(text).toContain('revision 7 came meanwhile')
  expect(text).toContain('ticket 88')
  expect(text).toContain('value="non-rumor" data-key="2" required checked')
})

it('decides nothing without a label of the protocol and a reason', async () => {
  const { console, id, decided } = await withVerdict()
  const cookie = await console.signedIn()
  const token = tokenIn((await console.page('/health', cookie)).text)
  for (const fields of [
    { label: 'hate', why: 'x' },
    { label: 'rumor', why: ' ' },
    { label: 'rumor', why: 'x'.repeat(2_001) },
    { why: 'x' },
  ])
    expect((await console.post('/decide', { id, token, ...fields } as Record<string, string>, { cookie })).status).toBe(
      400,
    )
  expect(decided).toEqual([])
})

it('a form that is too long, or none, is not read', async () => {
  const { console } = await withVerdict()
  const cookie = await console.signedIn()
  expect((await console.post('/decide', { why: 'x'.repeat(70_000) }, { cookie })).status).toBe(400)
  const json = await console.ask('/decide', {
    method: 'POST',
    body: '{}',
    headers: { cookie, 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' },
  })
  expect(json.status).toBe(400)
})

it('violations of the policy are reported only for its own pages, and once in ten seconds', async () => {
  const { console } = await withVerdict()
  const sites = ['cross-site', 'same-site', 'none', 'same-origin', 'same-origin']
  for (const site of sites) await console.post('/csp', {}, { 'sec-fetch-site': site })
  await console.ask('/csp', { headers: { 'sec-fetch-site': 'same-origin' } })
  await console.ask('/csp', { method: 'POST', body: '{}' })
  expect(console.reported).toEqual(['console:blocked'])
})

it('signing in again ends the session that this browser had', async () => {
  const { console } = await withVerdict()
  const [first, other] = [await console.signedIn(), await console.signedIn()]
  await console.post(`/sign-in/link?t=${console.sessions.link('anna')}`, {}, { cookie: first })
  expect((await console.page('/health', first)).status).toBe(303)
  expect((await console.page('/health', other)).status).toBe(200)
})

it('the menu leads to no page that is not there', async () => {
  for (const isAlone of [true, false]) {
    const console = await aConsole({ isAlone })
    const cookie = await console.signedIn()
    const { text } = await console.page('/health', cookie)
    const places = [...text.matchAll(/<a href="(\/[a-z]+)"/g)].map(([, place]) => place ?? '')
    expect(places.includes('/review')).toBe(!isAlone)
    for (const place of places) expect((await console.page(place, cookie)).status, place).toBe(200)
  }
})

it('a form of more fields than any page has is none: it is neither sent nor shown again', async () => {
  const { console, id, decided } = await withVerdict()
  const [earlier, cookie] = [await console.signedIn(), await console.signedIn()]
  const token = tokenIn((await console.page(`/verdict?id=${id}`, earlier)).text)
  const send = async (more: string) => {
    const headers = { cookie, 'sec-fetch-site': 'same-origin', 'content-type': 'application/x-www-form-urlencoded' }
    const body = `${new URLSearchParams({ id, label: 'rumor', why: 'x', token })}${more}`
    const response = await console.ask('/decide', { method: 'POST', body, headers })
    return { status: response.status, length: (await response.text()).length }
  }
  expect(await send('&a'.repeat(16))).toMatchObject({ status: 403 })
  const { status, length } = await send('&a'.repeat(32_000))
  expect([status, length < 10_000]).toEqual([400, true])
  expect(decided).toEqual([])
})

it('takes a form with every field that a decision has, its clauses and its copies, and none with many more', async () => {
  const many = (name: string, count: number) =>
    Array.from({ length: count }, (_, at): [string, string] => [name, `${at}`])
  const own = ['token', 'carried', 'once', 'since', 'only', 'label', 'code', 'why', 'confirm'].flatMap((name) =>
    many(name, 1),
  )
  const read = async (fields: [string, string][]) => {
    const request = new Request('http://localhost/', { method: 'POST', body: new URLSearchParams(fields) })
    return (await formOf(request))?.size ?? null
  }
  expect(await read([...own, ...many('clause', 10), ...many('copy', 15)])).toBe(34)
  expect(await read(many('copy', 100))).toBeNull()
})
