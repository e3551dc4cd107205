import { Option } from 'commander'
import { topicsOf } from '../../../config/topics.ts'
import { kafkaWriter } from '../../../producers/kafka-writer.ts'
import type { Command } from '../../cli/command.ts'
import { protocolName } from '../../cli/options.ts'
import { printable } from '../../cli/terminal.ts'
import { actionMessage } from '../../contracts/facts/action-messages.ts'
import { NAMED_KINDS, subjectKeyOf } from '../../contracts/facts/messages.ts'
import { faultIn } from '../../contracts/facts/read-value.ts'
import { makeTopics } from '../../operations/make-topics.ts'
import { readingClient } from './reading-client.ts'

interface ActOptions {
  readonly id: string
  readonly withdraw?: true
  readonly what?: string
  readonly source?: string
  readonly verdict?: string
  readonly protocol?: string
  readonly ground?: string
  readonly clause?: string
  readonly since?: string
  readonly until?: string
  readonly countries?: readonly string[]
  readonly automated?: true
  readonly byPerson?: true
  readonly by: string
  readonly tenant: string
  readonly kind?: string
  readonly post?: string
}

/** `gavel act`: tells what the platform did about a subject, or that this is over. */
export const command: Command<ActOptions, { readonly id: string }> = {
  options: [
    new Option('--id <id>', 'the action’s own id; the same sent again counts once').makeOptionMandatory(),
    new Option('--withdraw', 'it is over'),
    new Option('--what <word>', 'what was done, by a word of your own; none where nothing was').conflicts('withdraw'),
    new Option('--source <word>', 'what led to it, by a word of your own').conflicts('withdraw'),
    new Option('--verdict <id>', 'the verdict that it rests on').conflicts('withdraw'),
    new Option('--protocol <name>', 'the protocol of that verdict').argParser(protocolName).conflicts('withdraw'),
    new Option('--ground <word>', 'why it may be done, by a word of your own').conflicts('withdraw'),
    new Option('--clause <id>', 'the clause of the policy or the law').conflicts('withdraw'),
    new Option('--since <time>', 'from when on (default: now)').conflicts('withdraw'),
    new Option('--until <time>', 'until when').conflicts('withdraw'),
    new Option('--countries <codes>', 'comma-separated, by two letters (default: everywhere)')
      .argParser((text) => text.split(','))
      .conflicts('withdraw'),
    new Option('--automated', 'a rule did it, and no person looked').conflicts(['withdraw', 'byPerson']),
    new Option('--by-person', 'a person did it').conflicts('withdraw'),
    new Option('--by <name>', 'who did it, or withdraws it').makeOptionMandatory(),
    new Option('--tenant <name>', 'the tenant of the subject').default('default'),
    new Option('--kind <kind>', 'what the id names (default: what the protocol judges)').choices(NAMED_KINDS),
    new Option('--post <id>', 'of a comment: its post'),
  ],
  json: true,
  help: 'It is kept for good. See docs/actions.md.\n\nExamples:\n  $ gavel act 3lbw2k4 --id act-1 --verdict hate~3lbw2k4~r1 --what remove --ground terms --clause H2 --source own-initiative --automated --by rules\n  $ gavel act 3lbw2k4 --id act-1 --withdraw --by ann',
  async run({ args: [subjectId = ''], options, settings: read, terminal, misused }) {
    const now = new Date().toISOString()
    const { id, by, tenant, kind, post: postId, withdraw, automated, byPerson } = options
    const about = { id, subjectId, subjectKind: kind ?? (postId === undefined ? undefined : 'comment'), postId, tenant }
    const { what, source, verdict: verdictId, protocol, ground, clause, since = now, until, countries } = options
    const done = {
      ...{ what, source, verdictId, protocol, ground, clause, since, until, countries },
      automated: automated === true ? true : byPerson === true ? false : undefined,
    }
    const action = { ...about, ...(withdraw === true ? { withdraw } : done), by, at: now }
    const checked = actionMessage.safeParse(action)
    if (!checked.success)
      return misused(checked.error.issues.map((issue) => `${issue.path.join('.')}: ${faultIn(issue)}`).join('; '))
    const settings = read()
    const kafka = await readingClient(settings, terminal)
    await makeTopics(kafka, settings)
    const writer = await kafkaWriter(kafka, settings.kafka.compression)
    try {
      const key = subjectKeyOf(about)
      await writer.send([{ topic: topicsOf(settings).actions, key, value: JSON.stringify(action) }])
    } finally {
      await writer.close()
    }
    return { id }
  },
  print({ id }, { json, terminal, options }) {
    if (json) terminal.out(JSON.stringify({ id }))
    else terminal.out(`${printable(id, 200)}: ${options.withdraw === true ? 'withdrawn' : 'noted'}.`)
  },
}
