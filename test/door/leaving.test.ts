import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test, vi } from 'vitest'
import { loadSettings } from '../../config/load.ts'
import { startEmbedded } from '../../src/app/embedded/embedded.ts'
import { understudyModel } from '../../src/kit/bench/model.ts'

let embedded: Awaited<ReturnType<typeof startEmbedded>> | undefined
afterEach(() => embedded?.close())

/** A door whose model answers when it is let. */
async function slowDoor() {
  const understudy = understudyModel()
  const calls: AbortSignal[] = []
  const { promise: isLet, resolve: letAll } = Promise.withResolvers<void>()
  const model: typeof understudy = {
    async complete(request) {
      calls.push(request.signal)
      await Promise.race([
        isLet,
        new Promise((_, reject) => request.signal.addEventListener('abort', () => reject(request.signal.reason))),
      ])
      return understudy.complete(request)
    },
  }
  const settings = loadSettings({ GAVEL_DOOR_PORT: '0', OPENAI_BASE_URL: 'http://127.0.0.1:9/v1' })
  embedded = await startEmbedded(settings, { model, report: () => {} })
  const base = `http://127.0.0.1:${embedded.doorPort}`
  const ask = (path: string, body: unknown) => {
    const client = new AbortController()
    const headers = { 'content-type': 'application/json' }
    const init = { method: 'POST', headers, body: JSON.stringify(body), signal: client.signal }
    const answered = fetch(`${base}${path}`, init).then(async (response) => ({
      status: response.status,
      body: (await response.json()) as { done?: boolean },
    }))
    answered.catch(() => {})
    return { answered, leave: () => client.abort() }
  }
  const called = () => vi.waitFor(() => expect(calls.length).toBeGreaterThan(0), { timeout: 20_000 })
  const stopped = () => calls.filter(({ aborted }) => aborted).length
  return { ask, calls, called, stopped, letAll }
}

const JUDGE = ['/v1/judge', { post: { text: 'They should all be sent home.' }, protocols: ['hate'], wait: 50 }] as const
const ANALYZE = [
  '/v1alpha1/comments:analyze',
  { comment: { text: 'What a stupid idea.' }, requestedAttributes: { TOXICITY: {} } },
] as const

test.each([JUDGE, ANALYZE])('a client that goes away from %s stops its calls', async (...asked) => {
  const { ask, calls, called, stopped } = await slowDoor()
  const client = ask(...asked)
  await called()
  const made = calls.length
  client.leave()
  await vi.waitFor(() => expect(stopped()).toBe(made), { timeout: 20_000 })
  await sleep(100)
  expect(calls).toHaveLength(made)
})

test.each([JUDGE, ANALYZE])('what another client of %s waits for goes on, and is asked once', async (...asked) => {
  const { ask, calls, called, stopped, letAll } = await slowDoor()
  const [leaving, staying] = [ask(...asked), ask(...asked)]
  await called()
  await sleep(300)
  const made = calls.length
  leaving.leave()
  await sleep(300)
  expect([stopped(), calls.length]).toEqual([0, made])
  letAll()
  expect((await staying.answered).status).toBe(200)
  expect(stopped()).toBe(0)
})
