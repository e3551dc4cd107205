import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, expect, it } from 'vitest'
import { type Asker, shareOf } from '../../src/platform/who-asks.ts'
import { crowd, whyNoCrowd } from '../support/crowd.ts'
import { aConsole } from './console-for-tests.ts'
import { servedConsole } from './served.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})

/** A console as `gavel console` serves it, and a link by which somebody signs in. */
async function served() {
  const console = await servedConsole(() => ({}), { GAVEL_DRAIN: '1s' })
  ends.push(() => console.close())
  return { port: console.port, link: new URL(console.nextLink()) }
}

const form = (path: string, more: string[] = []) =>
  [
    `POST ${path} HTTP/1.1`,
    'Host: localhost',
    'Sec-Fetch-Site: same-origin',
    'Content-Type: application/x-www-form-urlencoded',
    'Content-Length: 1000',
    ...more,
    '',
    'id=1',
  ].join('\r\n')

it.each([
  ['/decide', /^HTTP\/1\.1 401 .*Not sent yet/s],
  ['/sign-in/link?t=made-up', /^HTTP\/1\.1 410 /],
  ['/sign-out', /^HTTP\/1\.1 303 .*location: \/sign-in/is],
  ['/nothing', /^HTTP\/1\.1 303 .*location: \/sign-in/is],
])('waits for no body from who is not signed in, as it answers %s', async (path, answer) => {
  const { port } = await served()
  const socket = connect(port, '127.0.0.1')
  socket.write(form(path, ['Cookie: gavel-console-80=made-up', 'Connection: close']))
  expect(await text(socket)).toMatch(answer)
})

it('half forms from nobody, more than there may be connections, keep nobody from signing in', async ({ skip }) => {
  const why = whyNoCrowd(1_300)
  if (why !== null) {
    process.stderr.write(`${why}\n`)
    skip()
  }
  const { port, link } = await served()
  const silent = await crowd(port, 1_300, form('/decide'))
  ends.unshift(() => {
    for (const socket of silent) socket.destroy()
  })
  const ask = async (path: string, init: RequestInit = {}) => {
    const headers = { 'sec-fetch-site': 'same-origin', connection: 'close', ...init.headers }
    return fetch(`http://127.0.0.1:${port}${path}`, { redirect: 'manual', ...init, headers })
  }
  for (let visit = 0; visit < 30; visit++) expect((await ask('/sign-in')).status).toBe(200)
  const page = await (await ask(`${link.pathname}${link.search}`)).text()
  const action = /<form method="post" action="([^"]+)"/.exec(page)?.[1]?.replaceAll('&amp;', '&') ?? ''
  const entered = await ask(action, { method: 'POST' })
  const cookie = entered.headers.get('set-cookie')?.split(';', 1)[0] ?? ''
  expect((await ask('/health', { headers: { cookie } })).status).toBe(200)
})

it('asks for each request whether its person may have another, before it reads a form', async () => {
  const console = await aConsole()
  const cookie = await console.signedIn()
  const asked: Asker[] = []
  const countFor = (asker: Asker) => asked.push(asker) < 2
  const form = { method: 'POST', headers: { cookie, 'sec-fetch-site': 'same-origin' } }
  expect((await console.ask('/live', { headers: { cookie }, countFor })).status).toBe(200)
  const refused = await console.ask('/decide', { ...form, countFor })
  expect([refused.status, refused.headers.get('connection')]).toEqual([429, 'close'])
  expect(await refused.text()).toContain('Too many pages at once')
  expect(asked.map((one) => shareOf(one).name)).toEqual(['anna', 'anna'])
  expect((await console.ask('/sign-in', { countFor })).status).toBe(200)
  expect(asked).toHaveLength(2)
})
