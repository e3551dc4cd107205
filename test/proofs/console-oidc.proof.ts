import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import Provider from 'oidc-provider'
import { expect, it } from 'vitest'
import { topicsOf } from '../../config/topics.ts'
import { type AuditEntry, auditEntry } from '../../src/contracts/facts/audit.ts'
import { freePort } from '../../src/kit/stack/servers/local-server.ts'
import { makeTopics } from '../../src/operations/make-topics.ts'
import { readTopic } from '../../src/stream/bounded-reader.ts'
import { aBrowser, SIZES, watchedPage } from '../console/browser.ts'
import { ownFolder } from '../support/own-folder.ts'
import { clientOf, environmentOn, eventually, settingsOf, startService, tell } from '../support/pipeline.ts'
import { startServers } from '../support/servers.ts'
import { aVerdict } from '../support/verdicts.ts'

const SECRET = 'x'.repeat(32)
const LONG = { timeout: 120_000 }

/** A provider that signs in whoever gives a name; its people are of the group mods. */
async function aProvider(back: string) {
  const port = await freePort()
  const issuer = `http://127.0.0.1:${port}`
  const provider = new Provider(issuer, {
    clients: [{ client_id: 'gavel', client_secret: SECRET, redirect_uris: [back] }],
    cookies: { keys: ['for tests'] },
    pkce: { required: () => true },
    claims: { openid: ['sub'], email: ['email', 'email_verified', 'groups'] },
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({ sub: id, email: `${id}@mods.example`, email_verified: true, groups: ['mods'] }),
    }),
  })
  const server = createServer(provider.callback())
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    issuer,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

it('the role console, a process of its own, signs somebody in at an OpenID Connect provider in a real browser', async (context) => {
  const browser = await aBrowser()
  if (browser === null) return context.skip('no browser: see above')
  const port = await freePort()
  const own = `http://127.0.0.1:${port}`
  const provider = await aProvider(`${own}/sign-in/back`)
  const stack = await startServers({})
  const folder = ownFolder('console-oidc')
  const file = join(folder, 'gavel.yaml')
  writeFileSync(file, 'console:\n  people:\n    - { who: "group:mods", role: moderator }\n')
  const environment = environmentOn(stack, { GAVEL_RECORD_PATH: join(folder, 'record.sqlite') })
  const oidc = {
    GAVEL_CONSOLE_PORT: String(port),
    GAVEL_CONSOLE_PUBLIC_URL: own,
    GAVEL_CONSOLE_SIGN_IN: 'oidc',
    GAVEL_CONSOLE_OIDC_ISSUER: provider.issuer,
    GAVEL_CONSOLE_OIDC_CLIENT_ID: 'gavel',
    GAVEL_CONSOLE_OIDC_CLIENT_SECRET: SECRET,
  }
  const settings = settingsOf(environment)
  await makeTopics(clientOf(environment), settings)
  const service = await startService({ ...environment, ...oidc }, 'record,console', undefined, ['--config', file])
  try {
    const producer = clientOf(environment).producer()
    await producer.connect()
    const shown = aVerdict(new Date().toISOString(), { subjectId: 'bridge' })
    const messages = [{ key: 'bridge', value: JSON.stringify(shown) }]
    await producer.send({ topic: topicsOf(settings).verdicts, messages })
    await producer.disconnect()

    const isOpen = () =>
      fetch(`${own}/sign-in`).then(
        ({ ok }) => ok,
        () => false,
      )
    await eventually(isOpen, 60_000, () => service.log.join('\n'))
    const watched = await watchedPage(browser, own, { viewport: SIZES.desktop })
    const { page } = watched
    page.setDefaultTimeout(LONG.timeout)
    await page.goto(`${own}/verdict?id=${shown.id}`)
    await page.waitForURL('**/sign-in')
    expect(await page.content()).not.toContain('bridge')
    expect(watched.wrong).toEqual([])
    await page.getByRole('link', { name: 'Go there' }).click()
    await page.locator('input[name=login]').fill('ben')
    await page.locator('input[name=password]').fill('any')
    await page.locator('button[type=submit]').click()
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.waitForURL('**/live')
    // The provider's own pages ask for whatever they like.
    watched.wrong.length = 0
    expect(await page.locator('.who summary').textContent()).toBe('ben@mods.example')
    for (let looked = 0; looked < 60 && (await page.locator('.row').count()) === 0; looked++) {
      await page.waitForTimeout(1_000)
      await page.goto(`${own}/live`)
    }
    await page.goto(`${own}/verdict?id=${shown.id}`)
    expect(await page.locator('h1').textContent()).toContain(shown.label ?? '')
    await page.locator('.who summary').click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.waitForURL('**/sign-in')
    await page.goto(`${own}/verdict?id=${shown.id}`)
    await page.waitForURL('**/sign-in')
    expect(watched.wrong).toEqual([])

    const entries: AuditEntry[] = []
    await readTopic(
      clientOf(environment),
      topicsOf(settings).audit,
      { follow: false, signal: new AbortController().signal },
      ({ message }) => {
        entries.push(auditEntry.parse(JSON.parse(message.value?.toString('utf8') ?? 'null')))
      },
    )
    expect(new Set(entries.map(({ by }) => by))).toEqual(new Set(['ben@mods.example']))
    expect(entries.map(({ what }) => what)).toEqual(expect.arrayContaining(['signed-in', 'saw', 'signed-out']))
    expect(entries.find(({ page: path }) => path === '/verdict')?.verdicts).toEqual([shown.id])
    tell(`signed in at ${provider.issuer}, saw ${shown.id}, signed out: ${entries.length} entries of audit`)
  } finally {
    await service.kill('SIGTERM')
    await stack.close()
    provider.close()
    await browser.close()
  }
}, 600_000)
