import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { loadSettings } from '../../../config/load.ts'
import type { Settings } from '../../../config/schema.ts'
import { RelayEnded } from '../../../producers/jetstream/relay.ts'
import { how, outcome } from '../../app/commands/verdict-cells.ts'
import { relayStreams } from '../../app/composition/jetstream.ts'
import { startApp } from '../../app/composition/service.ts'
import { counted, printable, type Terminal } from '../../cli/terminal.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import type { Events, Listener } from '../../contracts/ports/report.ts'
import { startStackForCommand } from '../stack-for-command.ts'
import { namesOfItsOwn } from './demo.ts'

/** Bluesky's own relays. */
const RELAYS = ['wss://jetstream2.us-east.bsky.network/subscribe', 'wss://jetstream1.us-west.bsky.network/subscribe']
/** Some posts in ten seconds, in one language: as many as one can read along. */
const TAKEN = { GAVEL_JETSTREAM_LANGS: 'en', GAVEL_JETSTREAM_SAMPLE: '0.02' }
const HATE_ALONE = {
  GAVEL_PROTOCOLS_RUMOR_ENABLED: 'false',
  GAVEL_PROTOCOLS_SAFETY_ENABLED: 'false',
  GAVEL_PROTOCOLS_COUNTERSPEECH_ENABLED: 'false',
}
/** How long it reads, in ms. */
const LASTS_MS = 60_000

/**
 * What is written on Bluesky now, judged for a minute, or until it is stopped, by a service and servers of its own. Throws an `OperatorError`
 * before anything is started if no relay can be reached.
 */
export async function liveDemo(
  environment: Readonly<Record<string, string | undefined>>,
  {
    terminal,
    signal,
    stay,
    lastsMs = LASTS_MS,
  }: { terminal: Terminal; signal: AbortSignal; stay: boolean; lastsMs?: number },
): Promise<void> {
  const asked = { ...TAKEN, GAVEL_JETSTREAM_URLS: RELAYS.join(), ...HATE_ALONE, ...environment }
  await mustAnswer(loadSettings(asked))
  terminal.say('Starting local servers …')
  const stack = await startStackForCommand(environment, {
    kafka: 'memory',
    say: (line) => terminal.say(`  ${line}`),
    understudy: { latencyMs: 150 },
  })
  const folder = await mkdtemp(join(tmpdir(), 'gavel-demo-'))
  try {
    const settings = loadSettings({
      ...asked,
      ...stack.settings,
      ...namesOfItsOwn(folder),
      GAVEL_HTTP_PORT: '0',
      GAVEL_LOG_LEVEL: environment.GAVEL_LOG_LEVEL ?? 'silent',
    })
    const tally = { read: 0, taken: 0, verdicts: 0 }
    const app = await startApp(settings, ['jetstream', 'intake', 'judge', 'publish'], {
      listeners: [narrate(tally, terminal)],
    })
    try {
      terminal.say(
        `\nBluesky, as it is written, ${stay ? 'until Ctrl-C' : `for ${counted(lastsMs / 1_000, 'second')}`}:\n`,
      )
      await sleep(stay ? 2 ** 31 - 1 : lastsMs, undefined, { signal }).catch(() => {})
    } finally {
      await app.stop()
    }
    terminal.out(
      `${counted(tally.read, 'event')} read, ${tally.taken} posts and replies taken, ${counted(tally.verdicts, 'verdict')}.`,
    )
    if (stack.understudy !== undefined)
      terminal.out(
        'No language model answered: the labels are the understudy’s, from word lists. Set OPENAI_BASE_URL and OPENAI_API_KEY for a real model.',
      )
    terminal.out('Now yours: docs/bluesky.md.')
  } finally {
    await stack.close()
    await rm(folder, { recursive: true, force: true })
  }
}

/** Throws an `OperatorError`, in one line, if none of the relays gives a stream. */
async function mustAnswer(settings: Settings): Promise<void> {
  const open = relayStreams(settings)
  const failures: string[] = []
  for (const url of settings.jetstream.urls) {
    try {
      const stream = await open(url, null)
      stream.close()
      return
    } catch (error) {
      if (!(error instanceof RelayEnded)) throw error
      failures.push(`${new URL(url).host}: ${error.message}`)
    }
  }
  throw new OperatorError(
    `Bluesky can't be read from here (${failures.join('; ')}). npm run demo, without --live, judges a recorded event.`,
  )
}

function narrate(tally: { read: number; taken: number; verdicts: number }, terminal: Terminal): Listener {
  return (name, event) => {
    if (name === 'jetstream:read') {
      const { outcome, count } = event as Events['jetstream:read']
      tally.read += count
      if (outcome === 'post' || outcome === 'comment') tally.taken += count
    }
    if (name === 'verdict:published') {
      const { verdict } = event as Events['verdict:published']
      tally.verdicts++
      terminal.say(`  ${outcome(verdict)}, ${how(verdict)}: ${pageOf(verdict.subjectId)}`)
    }
    terminal.progress(`  ${tally.read} events read, ${tally.taken} taken, ${tally.verdicts} verdicts out`)
  }
}

/** Where people read a post. */
function pageOf(address: string): string {
  const [, , did = '', , rkey = ''] = address.split('/')
  return printable(`https://bsky.app/profile/${did}/post/${rkey}`, 200)
}
