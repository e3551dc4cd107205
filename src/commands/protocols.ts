import type { Settings } from '../../config/schema.ts'
import { commandRedis } from '../composition/redis.ts'
import { OperatorError } from '../domain/errors.ts'
import type { ThreadStore } from '../ports/threads.ts'
import type { Terminal } from './terminal.ts'

/** `gavel protocols list`: every protocol, whether the settings switch it on, and whether it is paused. */
export async function listProtocols(settings: Settings, options: { json: boolean }, terminal: Terminal): Promise<void> {
  const paused = await withThreads(settings, (threads) => threads.paused())
  const rows = Object.entries(settings.protocols).map(([name, { enabled }]) => ({
    protocol: name,
    enabled,
    paused: paused.has(name),
  }))
  if (options.json) return terminal.out(JSON.stringify(rows))
  for (const { protocol, enabled, paused: isPaused } of rows)
    terminal.out(`${protocol.padEnd(16)}${enabled ? 'on' : 'off'}${isPaused ? ', paused' : ''}`)
}

/**
 * `gavel protocols pause`: no process opens a case of this protocol until it is resumed. What comes due meanwhile is
 * remembered; open cases are judged to their end.
 */
export async function pauseProtocol(settings: Settings, name: string): Promise<void> {
  mustExist(settings, name)
  await withThreads(settings, (threads) => threads.pause(name))
}

/** `gavel protocols resume`; returns how many threads waited and are judged now. */
export async function resumeProtocol(settings: Settings, name: string): Promise<number> {
  mustExist(settings, name)
  return withThreads(settings, (threads) => threads.resume(name, Date.now()))
}

function mustExist({ protocols }: Settings, name: string): void {
  if (Object.hasOwn(protocols, name)) return
  throw new OperatorError(`No protocol is called ${name}. There are: ${Object.keys(protocols).join(', ')}.`)
}

async function withThreads<Result>(
  settings: Settings,
  use: (threads: ThreadStore) => Promise<Result>,
): Promise<Result> {
  try {
    const redis = await commandRedis(settings)
    try {
      return await use(redis.threads)
    } finally {
      await redis.close()
    }
  } catch (error) {
    if (error instanceof OperatorError) throw error
    throw new OperatorError('Redis does not answer. See "gavel doctor".', { cause: error })
  }
}
