import type { Settings } from '../../config/schema.ts'
import { readTopic } from '../adapters/kafka/bounded-reader.ts'
import { checkBrokers, kafkaClient } from '../adapters/kafka/client.ts'
import { topicsOf } from '../composition/topics.ts'
import { jsonOf } from '../domain/json-of.ts'
import { type Verdict, verdict } from '../domain/verdict.ts'
import { printable, printableJson, type Terminal } from './terminal.ts'

/** A client for commands that only read: its complaints are for the person who waits. */
export async function readingClient(settings: Settings, terminal: Terminal) {
  const told = new Set<string>()
  const kafka = kafkaClient(settings.kafka, settings.kafka.clientId, (name, event) => {
    if (name !== 'trouble:met' || !('error' in event)) return
    const said = printable(event.error instanceof Error ? event.error.message : String(event.error), 300)
    // What kafkajs tries again it complains of each time.
    if (told.has(said)) return
    if (told.size >= TOLD_AT_MOST) told.clear()
    told.add(said)
    terminal.say(said)
  })
  await checkBrokers(settings.kafka)
  return kafka
}

const TOLD_AT_MOST = 100

/** `gavel verdicts`: what stands on the verdicts topic, and with `follow` what comes. */
export async function verdicts(
  settings: Settings,
  options: { follow: boolean; protocol?: string; json: boolean },
  io: { terminal: Terminal; signal: AbortSignal },
): Promise<void> {
  const kafka = await readingClient(settings, io.terminal)
  let count = 0
  const reading = { follow: options.follow, signal: io.signal, say: io.terminal.say }
  await readTopic(kafka, topicsOf(settings).verdicts, reading, ({ message }) => {
    const read = verdict.safeParse(jsonOf(message))
    if (!read.success) return io.terminal.say(`offset ${message.offset} is no verdict of schema 1`)
    if (options.protocol !== undefined && read.data.protocol !== options.protocol) return
    count++
    io.terminal.out(options.json ? printableJson(JSON.stringify(read.data)) : line(read.data))
  })
  if (count === 0 && !options.follow && !io.signal.aborted) io.terminal.say('No verdicts stand on the topic.')
}

/** What became of the comments, where there were any: `18 of 23 comments (cap 2, late 3)`. */
function countsIn({ counts: { accepted, judged, leftOut } }: Pick<Verdict, 'counts'>): string[] {
  if (accepted === 0) return []
  const reasons = Object.entries(leftOut).flatMap(([reason, count]) => (count === 0 ? [] : [`${reason} ${count}`]))
  return [`${judged} of ${accepted} comments${reasons.length === 0 ? '' : ` (${reasons.join(', ')})`}`]
}

/** A verdict as one line for a person. */
export function line(of: Verdict): string {
  const degraded = of.degraded.length === 0 ? '' : `  [${of.degraded.map((text) => printable(text, 80)).join('; ')}]`
  const final = of.final ? ' final' : ''
  const scores = Object.entries(of.scores).map(
    ([name, score]) => `${printable(name, 30)} ${Math.round(score * 1000) / 1000}`,
  )
  const parts = [
    printable(of.timing.decidedAt, 30),
    `${printable(of.id, 60)}${final}`,
    of.label === null ? (of.decidedBy === 'none' ? 'undecided' : 'scored') : printable(of.label, 30),
    `by ${of.decidedBy}`,
    ...(scores.length === 0 ? [] : [scores.join(', ')]),
    ...countsIn(of),
    `${of.usage.calls} calls${degraded}`,
  ]
  return parts.join('  ')
}
