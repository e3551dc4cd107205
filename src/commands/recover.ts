import { Option } from 'commander'
import type { Settings } from '../../config/schema.ts'
import { recoveryParts } from '../composition/recovery.ts'
import { OperatorError } from '../domain/errors.ts'
import { type Restored, recoverStore } from '../recovery/recover.ts'
import type { Command } from './command.ts'
import { time } from './options.ts'
import { readingClient } from './reading-client.ts'
import { counted, type Terminal } from './terminal.ts'

export interface Recovered extends Restored {
  readonly seconds: number
}

interface RecoverOptions {
  readonly since?: number
  readonly dryRun?: boolean
}

/** `gavel recover`: restores what Redis has lost, and says what that was. */
export const command: Command<RecoverOptions, Recovered> = {
  options: [
    new Option(
      '--since <time>',
      're-read only messages sent after this time (ISO 8601); use it if Redis still has older data',
    ).argParser(time),
    new Option('--dry-run', 'only say what would be done'),
  ],
  json: true,
  help: 'Running services pause and resume automatically. See docs/recover.md.\n\nExample:\n  $ gavel recover --dry-run',
  run: ({ options: { since, dryRun = false }, settings, ...io }) =>
    recover(settings(), { since: since ?? null, dryRun }, io),
  print: (done, { json, terminal }) => tellRecovered(done, { json }, { terminal }),
}

/**
 * After Redis was emptied or lost its last writes: restores it from the topics. Messages are processed again from
 * `since` (ms since 1970), or from the oldest that the topics keep. Running it again changes nothing.
 */
export async function recover(
  settings: Settings,
  options: { since: number | null; dryRun: boolean },
  io: { terminal: Terminal; signal: AbortSignal },
): Promise<Recovered> {
  const { terminal, signal } = io
  const { since, dryRun } = options
  const began = performance.now()
  try {
    const waiting = { signal, say: terminal.say, allAgain: since === null }
    const parts = await recoveryParts(settings, () => readingClient(settings, terminal), waiting)
    try {
      const restored = await recoverStore({ ...parts, since, dryRun, signal, told: telling(terminal) })
      return { ...restored, seconds: (performance.now() - began) / 1000 }
    } finally {
      await parts.close()
    }
  } catch (error) {
    if (!signal.aborted) throw error
    const left = dryRun
      ? 'Stopped; nothing was changed.'
      : 'Stopped half-way. Running services stay paused until "gavel recover" completes: run it again.'
    throw new OperatorError(left, { cause: error })
  }
}

/** The result in words. */
export function tellRecovered(done: Recovered, options: { json: boolean }, io: { terminal: Terminal }): void {
  const { terminal } = io
  if (options.json) {
    terminal.out(JSON.stringify(done))
    return
  }
  const would = done.dryRun ? 'would be ' : ''
  terminal.out(
    `${counted(done.subjects, 'subject')} with verdicts, ${done.over} of them expired; ${counted(done.revisions, 'revision')} ${would}restored`,
  )
  if (done.givenUp > 0) terminal.out(`${counted(done.givenUp, 'open case')} dropped: already published`)
  const outcomes = Object.entries(done.outcomes).map(([outcome, count]) => `${count} ${outcome}`)
  terminal.out(
    `${counted(done.messages, 'message')} ${would}read again${outcomes.length === 0 ? '' : `: ${outcomes.join(', ')}`}`,
  )
  terminal.say(
    done.dryRun
      ? 'Nothing was changed.'
      : `Recovered in ${done.seconds.toFixed(1)} s. Running services resume automatically.`,
  )
}

const PROGRESS_EVERY = 1_000

/** Shows each thousandth message of each reading. */
function telling(terminal: Terminal): (what: string, messages: number) => void {
  const counts = new Map<string, number>()
  return (what, messages) => {
    const before = counts.get(what) ?? 0
    const now = before + messages
    counts.set(what, now)
    if (Math.floor(now / PROGRESS_EVERY) > Math.floor(before / PROGRESS_EVERY)) terminal.progress(`${what}: ${now}`)
  }
}
