import type { Settings } from '../../../../config/schema.ts'
import type { Command } from '../../../cli/command.ts'
import { withThreads } from './store.ts'

interface ProtocolState {
  readonly protocol: string
  /** Whether the settings switch it on. */
  readonly enabled: Settings['protocols'][string]['enabled']
  readonly paused: boolean
}

/** `gavel protocols list`: every protocol, whether the settings switch it on, and whether it is paused. */
export const command: Command<object, readonly ProtocolState[]> = {
  options: [],
  json: true,
  help: 'Example:\n  $ gavel protocols list',
  async run({ settings: read }) {
    const settings = read()
    const paused = await withThreads(settings, (threads) => threads.paused())
    return Object.entries(settings.protocols).map(([protocol, { enabled }]) => ({
      protocol,
      enabled,
      paused: paused.has(protocol),
    }))
  },
  print(rows, { json, terminal }) {
    if (json) terminal.out(JSON.stringify(rows))
    else
      for (const { protocol, enabled, paused } of rows)
        terminal.out(`${protocol.padEnd(16)}${enabled ? 'on' : 'off'}${paused ? ', paused' : ''}`)
  },
}
