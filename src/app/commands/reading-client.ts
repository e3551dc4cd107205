import type { Settings } from '../../../config/schema.ts'
import { printable, type Terminal } from '../../cli/terminal.ts'
import { checkBrokers, kafkaClient } from '../../stream/client.ts'

/** A client for commands that only read: its errors are shown to the person at the terminal. */
export async function readingClient(settings: Settings, terminal: Terminal) {
  const told = new Set<string>()
  const kafka = kafkaClient(settings.kafka, settings.kafka.clientId, (name, event) => {
    if (name !== 'error' || !('error' in event)) return
    const said = printable(event.error instanceof Error ? event.error.message : String(event.error), 300)
    // kafkajs reports the same error at each retry.
    if (told.has(said)) return
    if (told.size >= TOLD_AT_MOST) told.clear()
    told.add(said)
    terminal.say(said)
  })
  await checkBrokers(settings.kafka)
  return kafka
}

const TOLD_AT_MOST = 100
