import type { Settings } from '../../config/schema.ts'
import type { Terminal } from './terminal.ts'

/** Runs `work` with the settings' model. If none is set, the understudy answers, and a line says so. */
export async function withModel<Result>(
  settings: Settings,
  terminal: Terminal,
  work: (reachable: Settings) => Promise<Result>,
): Promise<Result> {
  if (settings.openai.apiKey !== '') return work(settings)
  const { startUnderstudy } = await import('../tools/understudy/server.ts')
  const understudy = await startUnderstudy()
  terminal.say(`No model is set (OPENAI_BASE_URL, OPENAI_API_KEY): ${understudy.what}.`)
  const { OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: apiKey } = understudy.settings
  try {
    return await work({ ...settings, openai: { ...settings.openai, baseUrl, apiKey } })
  } finally {
    await understudy.close()
  }
}
