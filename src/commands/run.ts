import { Option } from 'commander'
import { ROLES, type Role, startApp } from '../composition/service.ts'
import { OperatorError } from '../domain/errors.ts'
import type { Command } from './command.ts'
import { listOf } from './options.ts'

/** Time beyond the drain after which a stop is forced, in ms. */
const FORCE_AFTER_MS = 1_000

/** `gavel run`: the service, until the signal; resolves when everything is closed. */
export const command: Command<{ readonly roles: readonly Role[] }, void> = {
  options: [
    new Option('--roles <roles>', `comma-separated: ${ROLES.join(', ')}`)
      .argParser(listOf(ROLES, 'roles'))
      .default([...ROLES]),
  ],
  json: false,
  help: 'Example:\n  $ KAFKA_BROKERS=localhost:9092 REDIS_URL=redis://localhost OPENAI_API_KEY=… gavel run',
  async run({ options: { roles }, settings: read, stopped }) {
    const settings = read()
    if (roles.includes('judge') && settings.openai.apiKey === '')
      throw new OperatorError(
        'No model is set. Set OPENAI_BASE_URL and OPENAI_API_KEY (any text, where the server asks for none), or start the understudy with "gavel stack".',
      )
    const app = await startApp(settings, roles)
    await stopped
    const force = setTimeout(() => process.exit(1), settings.drain + FORCE_AFTER_MS)
    await app.stop()
    clearTimeout(force)
  },
  print() {},
}
