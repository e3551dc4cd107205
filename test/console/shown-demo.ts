import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { loadSettings } from '../../config/load.ts'
import type { Settings } from '../../config/schema.ts'
import { demo } from '../../src/kit/demo/demo.ts'

/** The demo, in this process, as `npm run demo -- --stay` starts it. */
export async function shownDemo(environment: Readonly<Record<string, string>> = {}) {
  const ending = new AbortController()
  const link = Promise.withResolvers<string>()
  const stays = Promise.withResolvers<Settings>()
  const take = (line: unknown) => {
    const text = String(line)
    const address = /http:\S+\/sign-in\/link\?t=\S+/.exec(text)?.[0]
    if (address !== undefined) link.resolve(address)
    const file = /\. (\S+demo\.env);/.exec(text)?.[1]
    if (file === undefined) return
    stays.resolve(loadSettings({ ...environment, ...parseEnv(readFileSync(file, 'utf8')) }))
  }
  const ended = demo(
    { ...process.env, ...environment },
    { terminal: { out: take, say: take, progress() {} }, signal: ending.signal, stay: true },
  )
  ended.catch((error: unknown) => {
    link.reject(error)
    stays.reject(error)
  })
  return {
    /** Signs in once; it is printed before the first message is sent. */
    link: await link.promise,
    /** The settings by which other commands meet it, once all its verdicts are out. */
    stays: stays.promise,
    async close(): Promise<void> {
      ending.abort()
      await ended.catch(() => undefined)
    },
  }
}
