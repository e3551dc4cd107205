import { Option } from 'commander'
import type { Settings } from '../../../../config/schema.ts'
import { printLearning } from '../../../app/commands/learn/learn.ts'
import { learnBatches } from '../../../app/commands/learn/learn-feedback.ts'
import { operator } from '../../../app/commands/library/with-library.ts'
import type { Command } from '../../../cli/command.ts'
import {
  contradictionsOption,
  formatOption,
  labelFieldOption,
  readingOf,
  repliesReadingOptions,
} from '../../../cli/file-options.ts'
import { byOption, protocolName } from '../../../cli/options.ts'
import { printable } from '../../../cli/terminal.ts'
import type { IncomingMessage } from '../../../contracts/ports/topic.ts'
import type { Contradictions } from '../../../data-files/contradictions.ts'
import { faultIn } from '../../../data-files/file-message.ts'
import type { Format } from '../../../data-files/formats.ts'
import type { OwnReading } from '../../../data-files/own-rows.ts'
import type { LearningTally } from '../../../shelves/curator/tally.ts'
import { goldOf } from '../../evaluation/gold.ts'
import type { GoldItem } from '../../evaluation/gold-item.ts'
import { labelAsOption, type StandIn } from '../eval/options.ts'
import { kindNamed, protocolOf } from '../eval/tables.ts'

interface LabelOptions extends OwnReading {
  readonly format: Format
  readonly protocol: string
  readonly contradictions: Contradictions
  readonly judged?: string
  readonly all?: boolean
  readonly by?: string
  readonly labelAs?: readonly StandIn[]
}

/** Messages that are learnt from together. */
const BATCH = 10_000

/**
 * `gavel learn labels`: the labels of a data set as feedback on the verdicts on it. The bounds of `library.proposalsPerAuthor` and
 * `library.newProposals` are for people whose opinions come in by themselves: an operator's own file has none.
 */
export const command: Command<LabelOptions, LearningTally> = {
  options: [
    formatOption(),
    ...repliesReadingOptions(),
    labelFieldOption(),
    labelAsOption(),
    contradictionsOption('majority'),
    new Option('--protocol <name>', 'the protocol that has judged it').argParser(protocolName).default('safety'),
    new Option(
      '--judged <file>',
      'read verdicts and transcripts of "gavel judge --json --transcript" instead of the topics',
    ),
    new Option('--all', 'also learn from correct verdicts, to fill a new library'),
    byOption(),
  ],
  json: true,
  help: 'Example:\n  $ gavel learn labels cases.json --format airbench-text --judged judged.jsonl --all',
  async run({ args: [file = ''], options, json, settings: read, ...io }) {
    const settings = read()
    const { format, protocol, contradictions, judged, all = false, by = operator(), labelAs = [] } = options
    const { labels, scales } = protocolOf(settings, kindNamed(protocol))
    const items = await goldOf(
      file,
      format,
      { name: protocol, labels, scales },
      (bad) => io.terminal.say(printable(faultIn(file, bad), 400)),
      {
        ...readingOf(options),
        contradictions,
        labelAs: Object.fromEntries(labelAs.map(({ theirs, ours }) => [theirs, ours])),
      },
    )
    const messages = items.flatMap((item) => feedbackOn(item, { file, protocol, by }))
    const batches = async function* () {
      for (let from = 0; from < messages.length; from += BATCH) yield messages.slice(from, from + BATCH)
    }
    return learnBatches(unbounded(settings), batches, { all, json, judged }, io)
  },
  print: printLearning,
}

/** An item's label as a message; none where it has no label, or is left out. */
function feedbackOn(
  { id, line, label, why }: GoldItem,
  { file, protocol, by }: { readonly file: string; readonly protocol: string; readonly by: string },
): IncomingMessage[] {
  if (label === null || why !== undefined) return []
  const value = Buffer.from(JSON.stringify({ subjectId: id, protocol, label, by, at: new Date().toISOString() }))
  return [{ topic: file, partition: 0, offset: String(line), key: id, value, headers: {}, timestamp: 0 }]
}

function unbounded(settings: Settings): Settings {
  const most = Number.MAX_SAFE_INTEGER
  const { library } = settings
  const newProposals = { ...library.newProposals, perAuthor: most, perTenant: most }
  return { ...settings, library: { ...library, proposalsPerAuthor: most, newProposals } }
}
