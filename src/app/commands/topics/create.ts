import type { Command } from '../../../cli/command.ts'
import { counted } from '../../../cli/terminal.ts'
import { makeTopics, topicPlans } from '../../../operations/make-topics.ts'
import { readingClient } from '../reading-client.ts'

interface CreatedTopics {
  readonly created: readonly string[]
  readonly there: readonly string[]
}

/** `gavel topics create`: makes the topics that are not there, so that producers can begin before the service does. */
export const command: Command<object, CreatedTopics> = {
  options: [],
  json: true,
  help: 'Waits until each new partition has a leader. See docs/connections.md.\n\nExample:\n  $ gavel topics create',
  async run({ settings: read, terminal }) {
    const settings = read()
    const kafka = await readingClient(settings, terminal)
    const admin = kafka.admin({ retry: { retries: 2 } })
    await admin.connect()
    try {
      const present = new Set(await admin.listTopics())
      await makeTopics(kafka, settings, {
        waiting: (topics) => terminal.say(`Kafka elects leaders of ${topics.join(', ')} …`),
      })
      const names = topicPlans(settings).map(({ name }) => name)
      return { created: names.filter((name) => !present.has(name)), there: names.filter((name) => present.has(name)) }
    } finally {
      await admin.disconnect()
    }
  },
  print(done, { json, terminal }) {
    const { created, there } = done
    if (json) terminal.out(JSON.stringify(done))
    else {
      for (const name of created) terminal.out(name)
      terminal.out(`${counted(created.length, 'topic')} created, ${there.length} were there.`)
    }
  },
}
