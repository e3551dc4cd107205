import { Option } from 'commander'
import type { Settings } from '../../../config/schema.ts'
import type { Command } from '../../cli/command.ts'
import { time } from '../../cli/options.ts'
import { counted, printable, type Terminal } from '../../cli/terminal.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import type { ExpectedVerdicts } from '../../recovery/forecast.ts'
import { type RecoveryResult, recoverStore } from '../../recovery/recover.ts'
import type { RecoveryRun } from '../../recovery/run.ts'
import { redisAddresses } from '../../store/redis/connect.ts'
import { readingClient } from './reading-client.ts'
import { recoveryParts } from './recovery-parts.ts'

export interface RecoverResult extends RecoveryResult {
  readonly seconds: number
}

interface RecoverOptions {
  readonly since?: number
  readonly upTo?: number | 'end'
  readonly newBeginning?: true
  readonly dryRun?: boolean
}

/** `gavel recover`: restores what Redis has lost, and reports what that was. */
export const command: Command<RecoverOptions, RecoverResult> = {
  options: [
    new Option(
      '--since <time>',
      're-read only messages sent after this time (ISO 8601); use it if Redis still has older data',
    ).argParser(time),
    new Option(
      '--up-to <end|time>',
      'if the consumer group has no offsets: count as accepted everything on the topics, or everything sent before this time',
    ).argParser((text: string) => (text === 'end' ? text : time(text))),
    new Option(
      '--new-beginning',
      'if the consumer group has no offsets: count nothing as accepted; everything is judged again, under the next numbers',
    ).conflicts('upTo'),
    new Option('--dry-run', 'only print what would be done and judged, and the cost'),
  ],
  json: true,
  help: 'Running services pause and resume automatically. See docs/recover.md.\n\nExample:\n  $ gavel recover --dry-run',
  run: ({ options: { since = null, upTo = null, newBeginning, dryRun = false }, settings, ...io }) =>
    recover(settings(), { since, upTo: newBeginning ? 'nothing' : upTo, dryRun }, io),
  print: (done, { json, terminal }) => tellRecovered(done, { json }, { terminal }),
}

/**
 * After Redis was emptied or lost its last writes: restores it from the topics. Messages are processed again from
 * `since` (ms since 1970), or from the oldest that the topics keep. Running it again changes nothing.
 */
export async function recover(
  settings: Settings,
  options: { since: number | null; upTo?: RecoveryRun['upTo']; dryRun: boolean },
  io: { terminal: Terminal; signal: AbortSignal },
): Promise<RecoverResult> {
  const { terminal, signal } = io
  const { since, upTo = null, dryRun } = options
  const began = performance.now()
  try {
    const waiting = { signal, say: terminal.say, allAgain: since === null, dryRun }
    const parts = await recoveryParts(settings, () => readingClient(settings, terminal), waiting)
    try {
      for (const line of understood(options, parts.clock())) terminal.say(line)
      terminal.say(placesOf(settings))
      const restored = await recoverStore({
        ...parts,
        since,
        upTo,
        dryRun,
        signal,
        told: telling(terminal),
        say: terminal.say,
      })
      return { ...restored, seconds: (performance.now() - began) / 1000 }
    } finally {
      await parts.close()
    }
  } catch (error) {
    if (!signal.aborted) throw error
    throw new OperatorError('Stopped before the end.', { cause: error })
  }
}

/** A clock may be ahead of Redis's by this, in ms. */
const AHEAD_MS = 60_000

/**
 * The times as they were understood: one without a zone is this machine's. Throws an `OperatorError` for one that is still to
 * come: it would count as taken whatever was lost.
 */
export function understood(
  { since, upTo = null }: Pick<RecoveryRun, 'since'> & { upTo?: RecoveryRun['upTo'] },
  now: number,
): string[] {
  const until = typeof upTo === 'number' ? upTo : null
  for (const [option, at] of [['--since', since] as const, ['--up-to', until] as const])
    if (at !== null && at > now + AHEAD_MS)
      throw new OperatorError(
        `${option} ${iso(at)} is still to come: by the clock of Redis it is ${iso(now)}. Give a time with its zone, as 2026-01-31T12:00:00Z.`,
      )
  if (since !== null && until !== null && since > until)
    throw new OperatorError(`--since ${iso(since)} is later than --up-to ${iso(until)}.`)
  return [
    ...(since === null
      ? []
      : [`Messages sent from ${iso(since)} on are read again; Redis must still have what is older.`]),
    ...(until === null ? [] : [`Messages sent before ${iso(until)} count as accepted.`]),
  ]
}

/** What is recovered from where: with another prefix it would be another Gavel's. */
function placesOf({ redis, kafka }: Settings): string {
  return `Redis ${redisAddresses(redis).join(', ')}, keys under {${redis.prefix}}; Kafka ${kafka.brokers.join(', ')}, topics ${kafka.topicPrefix}*, group ${kafka.group}`
}

function iso(at: number): string {
  return new Date(at).toISOString()
}

/** The result in words. */
export function tellRecovered(done: RecoverResult, options: { json: boolean }, io: { terminal: Terminal }): void {
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
  if (done.standing > 0) terminal.out(`${counted(done.standing, 'human verdict')} ${would}made current again`)
  if (done.decidedAgain > 0)
    terminal.out(
      `${counted(done.decidedAgain, 'decision')} ${would}carried out again: nothing of ${done.decidedAgain === 1 ? 'it' : 'them'} was published`,
    )
  const outcomes = Object.entries(done.outcomes).map(([outcome, count]) => `${count} ${outcome}`)
  terminal.out(
    `${counted(done.messages, 'message')} ${would}read again${outcomes.length === 0 ? '' : `: ${outcomes.join(', ')}`}`,
  )
  tellContested(done, terminal)
  tellForecast(done, terminal)
  terminal.say(
    done.dryRun
      ? 'Nothing was changed.'
      : `Recovered in ${done.seconds.toFixed(1)} s. Running services resume automatically.`,
  )
}

/** Most ids that are named, and the characters of each. */
const MOST_NAMED = 10
const MOST_ID_CHARS = 200

function tellContested({ contested, dryRun }: RecoverResult, terminal: Terminal): void {
  if (contested.length === 0) return
  const more = contested.length > MOST_NAMED ? ' …' : ''
  const named = `${contested
    .slice(0, MOST_NAMED)
    .map((id) => printable(id, MOST_ID_CHARS))
    .join(', ')}${more}`
  terminal.out(
    `${counted(contested.length, 'last verdict')} with two contents under one id: ${named}; the next revision ${dryRun ? 'would supersede' : 'supersedes'} both`,
  )
}

function tellForecast({ forecast, unknownOffsets, dryRun }: RecoverResult, terminal: Terminal): void {
  if (forecast === null) return
  const { first, again } = forecast
  if (unknownOffsets) {
    terminal.out('The consumer group has no offsets: it is not known which messages were accepted. Say it to recover:')
    terminal.out(`  --up-to end      ${expected(first)} to come for the first time, and none again`)
    terminal.out(`  --new-beginning  ${expected(first)} for the first time, and ${expected(again)} again`)
    terminal.out('  --up-to TIME     between the two: add --dry-run to know')
    return
  }
  const judged = dryRun ? 'would be judged' : 'will be judged'
  terminal.out(`${expected(first)} ${judged} for the first time, ${expected(again)} again`)
}

function expected({ verdicts, costUsd }: ExpectedVerdicts): string {
  return `${counted(verdicts, 'verdict')} (about $${costUsd.toFixed(2)})`
}

const PROGRESS_EVERY = 1_000

/** Shows each thousandth of each reading. */
export function telling(terminal: Pick<Terminal, 'progress'>): RecoveryRun['told'] {
  const counts = new Map<string, number>()
  return (what, messages, of) => {
    const before = counts.get(what) ?? 0
    const now = before + messages
    counts.set(what, now)
    if (Math.floor(now / PROGRESS_EVERY) > Math.floor(before / PROGRESS_EVERY))
      terminal.progress(`${what}: ${now} of ${of}`)
  }
}
