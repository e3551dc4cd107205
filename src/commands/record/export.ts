import { Option } from 'commander'
import { recordReaderOf } from '../../service/adapters/record-store.ts'
import type { Command } from '../command.ts'
import { protocolName } from '../options.ts'
import { counted, printableJson } from '../terminal.ts'
import { goldLines } from './gold.ts'

interface Options {
  readonly transcripts?: true
  readonly gold?: true
  readonly protocol?: string
}

/** `gavel record export`: the record as JSON Lines, a subject a line; resolves to how many there were. */
export const command: Command<Options, number> = {
  options: [
    new Option('--transcripts', 'include each verdict’s transcript').conflicts('gold'),
    new Option('--gold', 'only people’s decisions, as a labelled file for "gavel eval --data"'),
    new Option('--protocol <name>', 'with --gold: the protocol').argParser(protocolName),
  ],
  json: false,
  help: 'Each line is a subject’s current state; deleted subjects are left out. See docs/record.md.\n\nExamples:\n  $ gavel record export > record.jsonl\n  $ gavel record export --gold --protocol rumor > decided.jsonl',
  async run({ options: { transcripts = false, gold = false, protocol }, settings: read, terminal, signal, misused }) {
    if (gold !== (protocol !== undefined)) misused('--gold and --protocol go together.')
    const record = await recordReaderOf(read())
    let subjects = 0
    try {
      for await (const one of record.export(gold ? 'decided' : undefined)) {
        if (signal.aborted) break
        if (protocol !== undefined) {
          const lines = await goldLines(record, one, protocol)
          for (const line of lines) terminal.out(printableJson(JSON.stringify(line)))
          subjects += Math.min(1, lines.length)
          continue
        }
        const verdicts = await Promise.all(
          one.verdicts.map(async ({ sent: _, ...recorded }) => {
            if (!transcripts) return recorded
            const json = await record.transcript(recorded.verdict.id)
            return { ...recorded, transcript: json === null ? null : (JSON.parse(json) as unknown) }
          }),
        )
        terminal.out(printableJson(JSON.stringify({ ...one, verdicts })))
        subjects++
      }
      return subjects
    } finally {
      await record.close()
    }
  },
  print(subjects, { signal, terminal }) {
    if (signal.aborted) terminal.say(`Stopped after ${counted(subjects, 'subject')}: the rest is not there.`)
    else if (subjects === 0) terminal.say('There is nothing in the record.')
  },
}
