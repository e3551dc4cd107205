import { Option } from 'commander'
import { readTopic } from '../adapters/kafka/bounded-reader.ts'
import { topicsOf } from '../composition/topics.ts'
import { jsonOf } from '../domain/json-of.ts'
import { verdict } from '../domain/verdict.ts'
import type { Command } from './command.ts'
import { readingClient } from './reading-client.ts'
import { printableJson } from './terminal.ts'
import { verdictLine } from './verdict-line.ts'

interface VerdictsOptions {
  readonly follow?: boolean
  readonly protocol?: string
}

/** `gavel verdicts`: prints the verdicts topic, and with `--follow` new verdicts as they arrive; resolves to how many were printed. */
export const command: Command<VerdictsOptions, number> = {
  options: [
    new Option('--follow', 'keep printing new verdicts'),
    new Option('--protocol <name>', 'only this protocol'),
  ],
  json: true,
  help: 'Example:\n  $ gavel verdicts --follow --json | jq .label',
  async run({ options: { follow = false, protocol }, json, settings: read, terminal, signal }) {
    const settings = read()
    const kafka = await readingClient(settings, terminal)
    let count = 0
    const reading = { follow, signal, say: terminal.say }
    await readTopic(kafka, topicsOf(settings).verdicts, reading, ({ message }) => {
      const one = verdict.safeParse(jsonOf(message))
      if (!one.success) return terminal.say(`offset ${message.offset}: not a schema-1 verdict; skipped`)
      if (protocol !== undefined && one.data.protocol !== protocol) return
      count++
      terminal.out(json ? printableJson(JSON.stringify(one.data)) : verdictLine(one.data))
    })
    return count
  },
  print(count, { options: { follow = false }, signal, terminal }) {
    if (count === 0 && !follow && !signal.aborted) terminal.say('There are no verdicts.')
  },
}
