import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadSettings } from '../../config/load.ts'
import { startEmbedded } from '../../src/app/embedded/embedded.ts'
import { newApiKey } from '../../src/contracts/facts/api-key.ts'
import type { ModelRequest } from '../../src/contracts/ports/model.ts'
import { changeKeys } from '../../src/door/server/key-file.ts'
import { understudyModel } from '../../src/kit/bench/model.ts'
import { ATTACKS } from '../models/attacks.ts'
import { read, tokensIn } from '../models/fenced-blocks.ts'
import { crowd, whyNoCrowd } from '../support/crowd.ts'
import { ownFolder } from '../support/own-folder.ts'

// Over HTTP, from the socket to the model: every attack in every field stays in its block, and nothing of a tenant reaches another.

const asked: ModelRequest[] = []
const keys: Record<string, string> = {}
let embedded: Awaited<ReturnType<typeof startEmbedded>>

beforeAll(async () => {
  const path = join(ownFolder('door-attacks'), 'keys.json')
  for (const tenant of ['acme', 'mallory', 'constructor', '__proto__']) {
    const scopes = ['send', 'judge', 'read'] as const
    const createdAt = new Date().toISOString()
    const rate = { perSecond: 100_000, burst: 1_000_000 }
    const made = newApiKey({ tenant, scopes: [...scopes], by: tenant, createdAt, expiresAt: null })
    await changeKeys(path, (all) => ({ keys: [...all, { ...made.kept, rate }], result: null }))
    keys[`of ${tenant}`] = made.key
  }
  const settings = loadSettings({
    GAVEL_DOOR_PORT: '0',
    GAVEL_DOOR_KEYS: path,
    OPENAI_BASE_URL: 'http://127.0.0.1:9/v1',
  })
  const understudy = understudyModel()
  const model = {
    complete(request: ModelRequest) {
      asked.push(request)
      return understudy.complete(request)
    },
  }
  embedded = await startEmbedded(settings, { model, report: () => {} })
})
afterAll(() => embedded.close())

async function ask(tenant: string, method: string, path: string, body?: unknown) {
  const response = await fetch(`http://127.0.0.1:${embedded.doorPort}${path}`, {
    method,
    headers: { authorization: `Bearer ${keys[`of ${tenant}`]}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.status, text: await response.text() }
}

/** No structure but our own in what was asked since: blocks begin and end once, and hold nothing that a model takes for one. */
function expectHeld(text: string, since: number): number {
  let blocks = 0
  for (const { messages } of asked.slice(since))
    for (const { role, content } of messages) {
      if (role === 'assistant') {
        expect(tokensIn(content)).toEqual([])
        continue
      }
      for (const { nonce, lines } of read(content).blocks) {
        blocks++
        const body = lines.join('\n')
        expect(text).not.toContain(nonce)
        expect(body).not.toContain(nonce)
        expect(tokensIn(body)).toEqual([])
        expect(body).not.toMatch(/[^\P{Cc}\n\t]|\p{Bidi_Control}|[\r\u2028\u2029\u0085]/u)
        expect(body.isWellFormed()).toBe(true)
      }
      if (role === 'system') expect(content).not.toContain(text)
    }
  return blocks
}

describe.each(ATTACKS.map(({ kind, lang, text }, nth) => ({ nth: nth + 1, kind, lang, text })))(
  'attack $nth ($kind, $lang)',
  ({ nth, text }) => {
    test('stays in its block in every field of every form', async () => {
      const odd = { author: text, lang: text, media: [{ type: 'image', url: text, description: text }], [text]: text }
      const since = asked.length
      const statuses = await Promise.all([
        ask('acme', 'POST', '/v1/judge', {
          post: { text: `${text} (${nth})`, ...odd },
          comments: [text, `${text} indeed`].map((one, at) => ({ id: `c${nth}-${at}`, text: one, author: text })),
        }),
        ask('acme', 'POST', '/v1/judge', { reply: { hateSpeech: text, text: `${text} (${nth})` } }),
        ask('acme', 'POST', '/v1/judge', { post: { id: text, text: `By its id (${nth}).` }, protocols: ['hate'] }),
        ask('acme', 'POST', '/v1alpha1/comments:analyze', {
          comment: { text: text.slice(0, 4_000) },
          context: { entries: [{ text: text.slice(0, 4_000) }] },
          requestedAttributes: { TOXICITY: {} },
          languages: ['en'],
          clientToken: text.slice(0, 100),
        }),
        ask('acme', 'POST', '/v1/moderations', {
          input: [text.slice(0, 20_000), 'a calm text'],
          model: text.slice(0, 50),
        }),
      ])
      for (const { status } of statuses) expect(status).toBeLessThan(500)
      // What is longer than a form takes is refused by it.
      expect(statuses.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(2)
      expect(expectHeld(text, since)).toBeGreaterThan(2)
      // In names that are looked up nothing is found, and nothing breaks.
      const hostile = await Promise.all([
        ask('acme', 'POST', '/v1/judge', { post: { text: 'x' }, protocols: [text.slice(0, 64)], wait: 0 }),
        ask('acme', 'POST', '/v1alpha1/comments:analyze', {
          comment: { text: 'x' },
          requestedAttributes: { TOXICITY: {} },
          languages: ['en'],
          debate: [text.slice(0, 64)],
        }),
        ask('acme', 'POST', '/v1/moderations', {
          input: [
            { type: 'text', text: 'x' },
            { type: 'image_url', image_url: { url: `data:image/png;base64,${text.slice(0, 1_000)}` } },
          ],
        }),
        ask('acme', 'GET', `/v1/judgements/${encodeURIComponent(text.slice(0, 200).toWellFormed())}`),
        ask('acme', 'GET', `/v1/subjects/${encodeURIComponent(`x${text.slice(0, 200).toWellFormed()}`)}`),
        ask('acme', 'POST', '/v1/messages', [{ type: text, id: text, text }]),
        ask('acme', 'POST', '/v1/messages', { type: 'post', id: 'x', tenant: text, text, createdAt: text }),
      ])
      for (const { status } of hostile) expect(status >= 400 && status < 500).toBe(true)
    })
  },
)

describe('two tenants', () => {
  const canary = (tenant: string) => `canary-${tenant.replaceAll('_', '-')}-7f3a`

  test.each(['mallory', 'constructor', '__proto__'])(
    'acme and %s, with the same ids and the same words, see nothing of each other, in whatever order',
    async (other) => {
      const createdAt = new Date(Date.now() - 60_000).toISOString()
      const said: Record<'acme' | 'other', string> = { acme: '', other: '' }
      const since = asked.length
      const as = (which: 'acme' | 'other') => (which === 'acme' ? 'acme' : other)
      const all = (['acme', 'other'] as const).flatMap((which) => {
        const tenant = as(which)
        const text = `They should all be sent home, ${canary(tenant)}.`
        const tell = async (method: string, path: string, body?: unknown) => {
          const answer = await ask(tenant, method, path, body)
          said[which] += answer.text
          return answer
        }
        return Array.from({ length: 10 }, async (_, nth) => {
          const post = { id: `shared-${nth}`, text, author: canary(tenant), createdAt }
          await tell('POST', '/v1/messages', [{ type: 'post', ...post }])
          const judged = await tell('POST', '/v1/judge', { post, comments: [{ text }], wait: 30 })
          expect(judged.status).toBe(200)
          const { url } = JSON.parse(judged.text) as { url: string }
          const path = `${new URL(url).pathname}?transcript=true`
          expect((await tell('GET', path)).status).toBe(200)
          const stranger = await ask(as(which === 'acme' ? 'other' : 'acme'), 'GET', path)
          said[which === 'acme' ? 'other' : 'acme'] += stranger.text
          expect(stranger.status).toBe(404)
          expect((await ask(as(which === 'acme' ? 'other' : 'acme'), 'DELETE', new URL(url).pathname)).status).toBe(404)
          await tell('GET', `/v1/subjects/shared-${nth}?transcript=true`)
          await tell('POST', '/v1alpha1/comments:analyze', {
            comment: { text },
            requestedAttributes: { TOXICITY: {} },
            languages: ['en'],
          })
          const foreign = await tell('POST', '/v1/messages', [
            { type: 'post', ...post, tenant: as(which === 'acme' ? 'other' : 'acme') },
          ])
          expect(foreign.status).toBe(403)
        })
      })
      await Promise.all(all)
      // What the streamed posts came to.
      await expect
        .poll(
          async () => {
            const { text } = await ask('acme', 'GET', '/v1/subjects/shared-0?transcript=true')
            said.acme += text
            return (JSON.parse(text) as { standing: unknown[] }).standing.length
          },
          { timeout: 60_000 },
        )
        .toBeGreaterThan(0)
      for (let nth = 0; nth < 10; nth++)
        for (const which of ['acme', 'other'] as const)
          said[which] += (await ask(as(which), 'GET', `/v1/subjects/shared-${nth}?transcript=true`)).text
      expect(said.acme).not.toContain(canary(other))
      expect(said.other).not.toContain(canary('acme'))
      expect(said.acme).toContain(canary('acme'))
      for (const { messages } of asked.slice(since)) {
        const prompt = JSON.stringify(messages)
        expect(prompt.includes(canary('acme')) && prompt.includes(canary(other))).toBe(false)
      }
    },
  )
})

describe('a crowd by one key', () => {
  test('that sends half bodies, more than the door has connections, keeps nobody else from an answer', async ({
    skip,
  }) => {
    const count = 2_300
    const why = whyNoCrowd(count)
    if (why !== null) {
      process.stderr.write(`${why}\n`)
      skip()
    }
    expect(loadSettings({}).door.connections).toBeLessThan(count)
    const head = [
      'POST /v1/judge HTTP/1.1',
      'Host: localhost',
      `Authorization: Bearer ${keys['of mallory']}`,
      'Content-Type: application/json',
      'Content-Length: 1000',
    ]
    const half = `${head.join('\r\n')}\r\n\r\n{`
    const silent = await crowd(embedded.doorPort ?? 0, count, half)
    try {
      const answers = await Promise.all(
        Array.from({ length: 30 }, (_, nth) => ask('acme', 'POST', '/v1/judge', { post: { text: `calm ${nth}` } })),
      )
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    } finally {
      for (const socket of silent) socket.destroy()
    }
  })
})
