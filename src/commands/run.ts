import type { Settings } from '../../config/schema.ts'
import { type Role, startApp } from '../composition/service.ts'
import { OperatorError } from '../domain/errors.ts'

/** Time beyond the drain after which a stop is forced, in ms. */
const FORCE_AFTER_MS = 1_000

/** `gavel run`: the service, until the signal; resolves when everything is closed. */
export async function run(settings: Settings, roles: readonly Role[], stopped: Promise<string>): Promise<void> {
  if (roles.includes('judge') && settings.openai.apiKey === '')
    throw new OperatorError(
      'No model is set. Set OPENAI_BASE_URL and OPENAI_API_KEY (any text, where the server asks for none), or start the understudy with "gavel stack".',
    )
  const app = await startApp(settings, roles)
  await stopped
  const force = setTimeout(() => process.exit(1), settings.drain + FORCE_AFTER_MS)
  await app.stop()
  clearTimeout(force)
}
