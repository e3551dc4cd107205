import { Option } from 'commander'
import { topicsOf } from '../../../config/topics.ts'
import { kafkaWriter } from '../../../producers/kafka-writer.ts'
import type { Command } from '../../cli/command.ts'
import { printable } from '../../cli/terminal.ts'
import { appealMessage } from '../../contracts/facts/appeal-messages.ts'
import { TENANT_RULE, tenantName } from '../../contracts/facts/messages.ts'
import { faultIn } from '../../contracts/facts/read-value.ts'
import { makeTopics } from '../../operations/make-topics.ts'
import { readingClient } from './reading-client.ts'

interface Options {
  readonly verdict?: string
  readonly action?: string
  readonly subject?: string
  readonly kind?: string
  readonly post?: string
  readonly protocol?: string
  readonly by?: string
  readonly text?: string
  readonly contact?: string
  readonly ground?: string
  readonly objectsTo?: 'label' | 'measure'
  readonly tenant: string
  readonly withdraw?: true
}

/** `gavel appeal`: an objection of who wrote or reported something, or its withdrawal. */
export const command: Command<Options, { readonly id: string }> = {
  options: [
    new Option('--verdict <id>', 'the verdict that it is against').conflicts(['action', 'subject']),
    new Option('--action <id>', 'the action that it is against').conflicts('subject'),
    new Option('--subject <id>', 'the post, reply or comment that it is about'),
    new Option('--kind <kind>', 'what --subject names').choices(['post', 'reply', 'comment']),
    new Option('--post <id>', 'of a comment: its post'),
    new Option('--protocol <name>', 'beside --subject: the protocol whose verdict it is against'),
    new Option('--by <side>', 'who appeals').choices(['author', 'notifier']),
    new Option('--text <words>', 'their words'),
    new Option('--contact <token>', 'how you reach them: yours alone to read'),
    new Option('--ground <word>', 'what they say is wrong, by a word of your own'),
    new Option('--objects-to <what>', 'beside --action: to the label, or to what was done').choices([
      'label',
      'measure',
    ]),
    new Option('--tenant <name>', 'the tenant').default('default'),
    new Option('--withdraw', 'takes it back, and erases its words'),
  ],
  json: true,
  help: 'The same id counts once. A person answers it in the review queue; gavel.appeal-outcomes says what came of it. See docs/appeals.md.\n\nExample:\n  $ gavel appeal e1 --verdict rumor~3lbw2k4~r2 --by author --text "The city has confirmed it" --contact "case 4711"',
  async run({ args: [id = ''], options, settings: read, terminal, misused }) {
    const { verdict, action, subject, kind, post, tenant, ...said } = options
    if (!tenantName.safeParse(tenant).success) misused(`--tenant: ${TENANT_RULE}.`)
    const given = { verdictId: verdict, actionId: action, subjectId: subject, subjectKind: kind, postId: post, ...said }
    const message = appealMessage.safeParse({ id, tenant, ...given, at: new Date().toISOString() })
    if (!message.success) return misused(message.error.issues.map(faultIn).join('; '))
    const settings = read()
    const kafka = await readingClient(settings, terminal)
    await makeTopics(kafka, settings)
    const writer = await kafkaWriter(kafka, settings.kafka.compression)
    try {
      const { at } = message.data
      const value = JSON.stringify({ ...message.data, at: new Date(at).toISOString() })
      await writer.send([{ topic: topicsOf(settings).appeals, key: id, value }])
      return { id }
    } finally {
      await writer.close()
    }
  },
  print({ id }, { json, terminal }) {
    terminal.out(json ? JSON.stringify({ id }) : `The appeal ${printable(id, 100)} is on its topic.`)
  },
}
