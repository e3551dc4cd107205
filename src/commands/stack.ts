import { writeFileSync } from 'node:fs'
import { startStack } from '../tools/stack/stack.ts'
import type { UnderstudyOptions } from '../tools/understudy/server.ts'
import type { Terminal } from './terminal.ts'

/** `gavel stack`: local servers and the understudy, kept up until the signal. */
export async function stack(
  given: Readonly<Record<string, string | undefined>>,
  options: { kafka: 'apache' | 'memory'; env?: string; json: boolean; understudy: UnderstudyOptions },
  io: { terminal: Terminal; stopped: Promise<string> },
): Promise<void> {
  const { terminal } = io
  const running = await startStack(given, { kafka: options.kafka, say: terminal.say, understudy: options.understudy })
  try {
    const lines = Object.entries(running.settings).map(([name, value]) => `${name}=${value}`)
    if (options.env !== undefined) writeFileSync(options.env, `${lines.join('\n')}\n`)
    if (options.json) terminal.out(JSON.stringify(running.settings))
    else for (const line of lines) terminal.out(line)
    terminal.say('Everything is up. Ctrl-C stops it.')
    await io.stopped
  } finally {
    await running.close()
  }
}
