import { afterEach, expect, test } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import { command } from '../../../src/app/commands/health.ts'
import { serveHttp } from '../../../src/platform/http.ts'

let close: (() => Promise<void>) | undefined
afterEach(async () => {
  await close?.()
  close = undefined
})

/** A service that is live, and not ready, on a free port. */
async function served(): Promise<number> {
  const http = await serveHttp(
    { host: '127.0.0.1', port: 0, hosts: [], token: '', forwarders: [] },
    {
      metrics: async () => ({ type: 'text/plain', text: '' }),
      live: async () => ({ ok: true, checks: { loops: 'ok' } }),
      ready: async () => ({ ok: false, checks: { redis: 'no answer', kafka: 'ok' } }),
    },
  )
  close = http.close
  return http.port
}

/** What the command prints, and the fault that it ends with. */
async function asked(port: number, options: { ready?: true } = {}, json = false) {
  const out: string[] = []
  const invocation = {
    args: [],
    options,
    json,
    environment: {},
    settings: () => loadSettings({ GAVEL_HTTP_PORT: String(port) }),
    terminal: { out: (line: unknown) => void out.push(String(line)), say: () => {}, progress: () => {} },
    signal: new AbortController().signal,
    stopped: new Promise<string>(() => {}),
    misused: (message: string): never => {
      throw new Error(message)
    },
  }
  try {
    command.print(await command.run(invocation), invocation)
    return { out, error: null }
  } catch (error) {
    return { out, error: (error as Error).message }
  }
}

test('a service that is live is well, whether or not it is ready', async () => {
  const port = await served()
  expect(await asked(port)).toEqual({ out: ['loops: ok'], error: null })
  expect(await asked(port, { ready: true })).toEqual({
    out: ['redis: no answer', 'kafka: ok'],
    error: 'The service is failing.',
  })
  expect(await asked(port, {}, true)).toEqual({ out: ['{"status":"ok","checks":{"loops":"ok"}}'], error: null })
})

test('a service that does not answer, or whose port nobody knows, is no healthy one', async () => {
  const port = await served()
  await close?.()
  expect((await asked(port)).error).toContain(
    `http://127.0.0.1:${port}/health/live: ECONNREFUSED. Does "gavel run" run`,
  )
  expect((await asked(0)).error).toContain('Set http.port.')
})
