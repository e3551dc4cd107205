import type { Settings } from '../../../config/schema.ts'
import { printable, type Terminal } from '../../cli/terminal.ts'
import { checkBrokers, kafkaClient } from '../../stream/client.ts'

/** A client for commands that only read: its errors are shown to the person at the terminal. */
export async function readingClient(settings: Settings, terminal: Terminal) {
  const shown = new Set<string>()
  const kafka = kafkaClient(settings.kafka, settings.kafka.clientId, (name, event) => {
    if (name !== 'error' || !('error' in event)) return
    const text = printable(event.error instanceof Error ? event.error.message : String(event.error), 300)
    // kafkajs reports the same error at each retry.
    if (shown.has(text)) return
    if (shown.size >= REMEMBERED_AT_MOST) shown.clear()
    shown.add(text)
    terminal.say(text)
  })
  await checkBrokers(settings.kafka)
  return kafka
}

const REMEMBERED_AT_MOST = 100
