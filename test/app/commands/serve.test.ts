import { expect, test } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import { command } from '../../../src/app/commands/serve.ts'
import { freePort } from '../../../src/kit/stack/servers/local-server.ts'

test('gavel serve reads its settings again at a hangup, as gavel run does', async () => {
  const redis = `redis://127.0.0.1:${await freePort()}`
  const settings = () => loadSettings({ REDIS_URL: redis, KAFKA_BROKERS: `127.0.0.1:9`, GAVEL_LOG_LEVEL: 'error' })
  const [stopping, heard] = [Promise.withResolvers<string>(), Promise.withResolvers<() => void>()]
  const { promise: again, resolve: reread } = Promise.withResolvers<void>()
  const running = command.run({
    args: [],
    options: { waitForDependencies: true },
    json: false,
    environment: {},
    settings,
    terminal: { say() {}, out() {} } as never,
    misused: () => expect.unreachable(),
    signal: new AbortController().signal,
    stopped: stopping.promise,
    onHangup: heard.resolve,
    reread: () => {
      reread()
      return settings()
    },
  })
  const hangUp = await Promise.race([heard.promise, running])
  hangUp?.()
  await again
  stopping.resolve('SIGTERM')
  await running
})
