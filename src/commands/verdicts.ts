import { Option } from 'commander'
import { readTopic } from '../adapters/kafka/bounded-reader.ts'
import { topicsOf } from '../composition/topics.ts'
import { jsonOf } from '../domain/json-of.ts'
import { type Verdict, verdict } from '../domain/verdict.ts'
import type { Command } from './command.ts'
import { positiveWhole, time } from './options.ts'
import { readingClient } from './reading-client.ts'
import { printableJson } from './terminal.ts'
import { verdictLine } from './verdict-line.ts'

interface VerdictsOptions {
  readonly follow?: boolean
  readonly protocol?: string
  readonly since?: number
  readonly last?: number
}

/**
 * `gavel verdicts`: prints the verdicts topic, or its newest verdicts in the order in which they were decided, and with
 * `--follow` new verdicts as they arrive; resolves to how many were found.
 */
export const command: Command<VerdictsOptions, number> = {
  options: [
    new Option('--follow', 'keep printing new verdicts'),
    new Option('--protocol <name>', 'only this protocol'),
    new Option('--since <time>', 'only those sent at or after this time (ISO 8601)').argParser(time),
    new Option('--last <n>', 'only the newest so many, in the order in which they were decided')
      .argParser(positiveWhole)
      .conflicts('follow'),
  ],
  json: true,
  help: [
    'Examples:',
    '  $ gavel verdicts --last 20',
    '  $ gavel verdicts --follow --json | jq .label',
    '  $ gavel verdicts --since 2026-01-31T12:00:00Z --json | jq -r ".degraded[]"',
  ].join('\n'),
  async run({ options: { follow = false, protocol, since, last }, json, settings: read, terminal, signal }) {
    const settings = read()
    const kafka = await readingClient(settings, terminal)
    const print = (one: Verdict) => terminal.out(json ? printableJson(JSON.stringify(one)) : verdictLine(one))
    const newest = last === undefined ? null : newestOf(last)
    let count = 0
    const reading = { follow, since, signal, say: terminal.say }
    await readTopic(kafka, topicsOf(settings).verdicts, reading, ({ message }) => {
      const one = verdict.safeParse(jsonOf(message))
      if (!one.success) return terminal.say(`offset ${message.offset}: not a schema-1 verdict; skipped`)
      if (protocol !== undefined && one.data.protocol !== protocol) return
      count++
      if (newest === null) print(one.data)
      else newest.add(one.data)
    })
    // Those read before Ctrl-C are not the newest.
    if (newest !== null && signal.aborted) terminal.say('Stopped before the end of the topic: nothing to print.')
    else for (const one of newest?.all() ?? []) print(one)
    return count
  },
  print(count, { options: { follow = false }, signal, terminal }) {
    if (count === 0 && !follow && !signal.aborted) terminal.say('There are no verdicts.')
  },
}

/** Keeps the `most` verdicts that were decided last, in that order; at most twice as many are in memory. */
function newestOf(most: number) {
  const kept: Verdict[] = []
  const trim = () => {
    kept.sort((a, b) => (Date.parse(a.timing.decidedAt) || 0) - (Date.parse(b.timing.decidedAt) || 0))
    kept.splice(0, kept.length - most)
  }
  return {
    add(one: Verdict) {
      if (kept.push(one) >= 2 * most) trim()
    },
    all() {
      trim()
      return kept
    },
  }
}
