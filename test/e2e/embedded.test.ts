import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadSettings, PROJECT } from '../../config/load.ts'
import { startEmbedded } from '../../src/app/embedded/embedded.ts'
import { serveEmbedded } from '../../src/app/embedded/serve-embedded.ts'
import { newApiKey } from '../../src/contracts/facts/api-key.ts'
import { changeKeys } from '../../src/door/server/key-file.ts'
import { findOnPath, runCommand } from '../../src/kit/stack/servers/command.ts'
import { startUnderstudy, type Understudy } from '../../src/kit/understudy/server.ts'
import { ownFolder } from '../support/own-folder.ts'
import { EVERY_DEBATE_HELD, tell } from '../support/pipeline.ts'

const SOON = { timeout: 30_000, interval: 50 }
const AT = '2026-01-01T10:00:00Z'
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

interface Judged {
  readonly id: string
  readonly done: boolean
  readonly verdicts: readonly {
    readonly protocol: string
    readonly label: string | null
    readonly subject: string
    readonly decidedBy: string
  }[]
}

describe('the door in one process, without servers', () => {
  let understudy: Understudy
  let embedded: Awaited<ReturnType<typeof startEmbedded>>
  let base: string
  const hooked: { headers: Record<string, string>; body: string }[] = []
  const receiver = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    hooked.push({ headers: request.headers as Record<string, string>, body })
    response.end()
  })

  beforeAll(async () => {
    understudy = await startUnderstudy()
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
    const settings = loadSettings({ ...understudy.settings, GAVEL_DOOR_PORT: '0' })
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`
    const to = { shop: { url, tenant: 'default', protocols: ['hate' as const], secrets: [SECRET], allowPrivate: true } }
    embedded = await startEmbedded({ ...settings, webhooks: { ...settings.webhooks, to } }, { report: () => {} })
    base = `http://127.0.0.1:${embedded.doorPort}`
  })
  afterAll(async () => {
    await embedded.close()
    await understudy.close()
    receiver.closeAllConnections()
    receiver.close()
  })

  const post = async (path: string, body: unknown) => {
    const response = await fetch(`${base}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return { status: response.status, body: (await response.json()) as Judged }
  }
  const status = async (path: string, method = 'GET') => (await fetch(`${base}${path}`, { method })).status

  it('judges ten posts at a time', async () => {
    const texts = Array.from({ length: 10 }, (_, nth) =>
      nth % 2 === 0 ? `The bridge is closed, ${nth}.` : `Hello ${nth}.`,
    )
    const all = await Promise.all(texts.map((text) => post('/v1/judge', { post: { text }, protocols: ['hate'] })))
    for (const { status, body } of all) {
      expect([status, body.done]).toEqual([200, true])
      expect(body.verdicts.map(({ protocol, label }) => [protocol, label])).toEqual([['hate', 'non-hate']])
    }
  })

  it('judges a post with its comments by all that the routes choose', async () => {
    const comments = ['It is not.', 'I was there, and it is.'].map((text, nth) => ({ id: `c${nth}`, text }))
    const { status, body } = await post('/v1/judge', { post: { text: 'The bridge is closed.' }, comments })
    expect(status).toBe(200)
    expect(body.verdicts.map(({ protocol }) => protocol).sort()).toEqual(['hate', 'rumor', 'safety'])
  })

  it('sends what is published to a receiver, signed, and its retraction when it is deleted', async () => {
    const createdAt = new Date(Date.now() - 60_000).toISOString()
    const said = { type: 'post', id: 'p-hook', text: 'The tram is late again.', createdAt }
    expect((await post('/v1/messages', said)).status).toBe(200)
    const of = (type: string) =>
      hooked.filter(({ body }) => body.includes(`"type":"${type}"`) && body.includes('"subjectId":"p-hook"'))
    await expect.poll(() => of('verdict.published').length, SOON).toBe(1)
    const [one] = of('verdict.published')
    expect(new Webhook(SECRET).verify(one?.body ?? '', one?.headers ?? {})).toMatchObject({
      data: { label: 'non-hate' },
    })
    expect((await post('/v1/messages', { type: 'post', id: 'p-hook', createdAt, deleted: true })).status).toBe(200)
    await expect.poll(() => of('verdict.retracted').length, SOON).toBe(1)
  })

  it('takes the same message again as the same, and another under its id as an edit', async () => {
    const createdAt = new Date(Date.now() - 60_000).toISOString()
    const verdicts = () =>
      hooked.flatMap(({ body }) => {
        const { subjectId, revision, label } = JSON.parse(body).data
        return subjectId === 'p-edit' ? [[revision, label]] : []
      })
    const expected: unknown[] = []
    const texts = ['The ferry is late.', 'The ferry is on time.', 'Those immigrants are vermin, all of them.']
    for (const [at, text] of texts.entries()) {
      const said = { type: 'post', id: 'p-edit', text, createdAt }
      for (let time = 0; time < 2; time++) expect((await post('/v1/messages', said)).status).toBe(200)
      expected.push([at + 1, at < 2 ? 'non-hate' : 'hate'])
      await expect.poll(verdicts, SOON).toEqual(expected)
    }
  })

  it('takes a person’s verdict that cites clauses, which webhooks have; an unknown clause and other words are refused', async () => {
    const said = { type: 'post', id: 'p-cited', text: 'Those immigrants are vermin.', createdAt: AT }
    expect((await post('/v1/messages', said)).status).toBe(200)
    const published = () =>
      hooked.map(({ body }) => JSON.parse(body).data).filter(({ subjectId }) => subjectId === 'p-cited')
    await expect.poll(() => published().length, SOON).toBe(1)
    const [machine] = published()
    expect(machine).toMatchObject({ label: 'hate', policy: { version: '2' }, clauses: [{ id: 'H1' }] })
    const decide = (...clauses: object[]) =>
      post('/v1/human-verdicts', {
        subjectId: 'p-cited',
        protocol: 'hate',
        label: 'hate',
        against: 1,
        why: 'x',
        clauses,
      })
    const unknown = await decide({ id: 'H99' })
    expect([unknown.status, JSON.stringify(unknown.body)]).toEqual([
      422,
      expect.stringMatching(/H99.*is no clause of the policy.*has H1, H2/),
    ])
    expect((await decide({ id: 'H1', quote: 'rats' })).status).toBe(422)
    expect((await decide({ id: 'H1', quote: 'ARE vermin' }, { id: 'H2' })).status).toBe(200)
    await expect.poll(() => published().length, SOON).toBe(2)
    expect(published().at(-1)).toMatchObject({
      decidedBy: 'human',
      policy: machine.policy,
      clauses: [{ id: 'H1', quote: 'are vermin' }, { id: 'H2' }],
    })
  })

  it('debates a comment that was scored, whose verdict follows by webhook', async () => {
    const asked = { comment: { text: 'The lift is broken.' }, requestedAttributes: { TOXICITY: {} }, debate: ['hate'] }
    const { status: scored, body } = await post('/v1alpha1/comments:analyze', asked)
    const { debate } = (body as unknown as { gavel: { debate: Judged } }).gavel
    expect(scored).toBe(200)
    const followed = () => hooked.filter(({ body }) => body.includes(debate.id)).length
    await expect.poll(followed, SOON).toBe(1)
    expect(await status(`/v1/judgements/${debate.id}`)).toBe(200)
  })

  it('shows the verdicts on sent messages, and nothing of deleted ones', async () => {
    const createdAt = new Date(Date.now() - 60_000).toISOString()
    const said = { type: 'post', id: 'p-told', text: 'The harbour is open.', createdAt }
    const feedback = { subjectId: 'p-told', protocol: 'hate', label: 'hate', by: 'ann', at: createdAt }
    await post('/v1/messages', [said, { type: 'feedback', ...feedback }])
    const told = async () =>
      (await (await fetch(`${base}/v1/subjects/p-told?transcript=true`)).json()) as {
        deleted: boolean
        standing: { protocol: string; label: string }[]
        transcripts: unknown[]
      }
    await expect.poll(async () => (await told()).standing.length, SOON).toBe(2)
    const { standing, transcripts } = await told()
    expect(standing.map(({ protocol }) => protocol).sort()).toEqual(['hate', 'safety'])
    expect(transcripts).toHaveLength(2)
    await post('/v1/messages', { type: 'post', id: 'p-told', createdAt, deleted: true })
    await expect.poll(async () => (await told()).deleted, SOON).toBe(true)
    expect(JSON.stringify(await told())).not.toContain('harbour')
  })

  it('is asked by the Python of the README', async (context) => {
    const python = await findOnPath('python3')
    if (python === undefined) {
      tell('SKIPPED the Python of the README: there is no python3 on the PATH')
      return context.skip('there is no python3 on the PATH')
    }
    const [, code = ''] = /```python\n([\s\S]+?)```/.exec(readFileSync(join(PROJECT, 'README.md'), 'utf8')) ?? []
    expect(code.split('\n').filter((line) => line !== '')).toHaveLength(8)
    const said = await runCommand(python, ['-c', code.replace('http://127.0.0.1:8420', base)], 30_000)
    expect(said).toMatch(/^hate non-hate \S/)
  })

  it('says that it is one process, and what ends with it', async () => {
    const settings = loadSettings({ ...understudy.settings, GAVEL_DOOR_PORT: '0', GAVEL_LOG_LEVEL: 'error' })
    const said: string[] = []
    const terminal = { say: (line: string) => void said.push(line) } as never
    await serveEmbedded(settings, { terminal, stopped: Promise.resolve('SIGTERM') })
    expect(said.join('\n')).toMatch(/in this process: no Kafka, no Redis, [\s\S]+\nWith it end all threads, verdicts/)
  })

  it('opens to nobody elsewhere, for whoever reaches it needs no key', async () => {
    const settings = loadSettings({ ...understudy.settings, GAVEL_DOOR_PORT: '0', GAVEL_DOOR_HOST: '0.0.0.0' })
    await expect(startEmbedded(settings, { report: () => {} })).rejects.toThrow(/0\.0\.0\.0\) is not loopback/)
  })

  it.each([
    ['degrade', [200, 'none']],
    ['hold', [202, undefined]],
  ] as const)('stops a tenant at its budget, over HTTP too, and no other tenant: %s', async (whenSpent, expected) => {
    const { key, kept } = newApiKey({ tenant: 'poor', scopes: ['judge'], by: 'ann', createdAt: AT, expiresAt: null })
    const keys = join(ownFolder('door-budgets'), 'keys.json')
    await changeKeys(keys, () => ({ keys: [kept], result: null }))
    const settings = loadSettings({
      ...understudy.settings,
      ...EVERY_DEBATE_HELD,
      GAVEL_DOOR_PORT: '0',
      GAVEL_DOOR_KEYS: keys,
    })
    // Room for one debate, and not for two.
    const budgets = { ...settings.budgets, whenSpent, tenants: { poor: { tokens: 17_000, usd: null, per: 1e12 } } }
    const own = await startEmbedded({ ...settings, budgets }, { report: () => {} })
    const ask = async (path: string, body: object, authorization?: string) => {
      const headers = { 'content-type': 'application/json', ...(authorization && { authorization }) }
      const url = `http://127.0.0.1:${own.doorPort}${path}`
      const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
      const { verdicts = [], error } = (await response.json()) as Partial<Judged> & { error?: { code: string } }
      return [response.status, error?.code ?? verdicts[0]?.decidedBy]
    }
    const judge = (nth: number, wait: number) => ({
      post: { text: `Bridge ${nth} is shut.` },
      protocols: ['hate'],
      wait,
    })
    try {
      expect(await ask('/v1/judge', judge(1, 30), `Bearer ${key}`)).toEqual([200, 'judge'])
      expect(await ask('/v1/judge', judge(2, whenSpent === 'hold' ? 2 : 30), `Bearer ${key}`)).toEqual(expected)
      expect(await ask('/v1/moderations', { input: 'x '.repeat(40_000) }, `Bearer ${key}`)).toEqual([429, 'budget'])
      expect(await ask('/v1/judge', judge(2, 30))).toEqual([200, 'judge'])
    } finally {
      await own.close()
    }
  })

  it('forgets what was asked when its client erases it, or the subject of its id is deleted', async () => {
    const asked = (id: string) => post('/v1/judge', { post: { id, text: 'Some words.' }, protocols: ['hate'] })
    const [one, two] = [await asked('p-1'), await asked('p-2')]
    expect(await status(`/v1/judgements/${one.body.id}`)).toBe(200)
    expect(await status(`/v1/judgements/${one.body.id}`, 'DELETE')).toBeLessThan(300)
    expect(await status(`/v1/judgements/${one.body.id}`)).toBe(410)
    const deletion = { type: 'post', id: 'p-2', createdAt: new Date().toISOString(), deleted: true }
    expect((await post('/v1/messages', deletion)).status).toBe(200)
    expect(await status(`/v1/judgements/${two.body.id}`)).toBe(410)
    expect((await asked('p-2')).status).toBe(409)
  })
})
