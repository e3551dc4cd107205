import type { Command } from '../../../cli/command.ts'
import { printable, table } from '../../../cli/terminal.ts'
import { type ApiKey, isUsable } from '../../../contracts/facts/api-key.ts'
import { readKeys } from '../../../door/server/key-file.ts'

/** `gavel keys list`: every key that was made, by its id, and never the key itself. */
export const command: Command<object, readonly ApiKey[]> = {
  options: [],
  json: true,
  help: 'Example:\n  $ gavel keys list',
  run: async ({ settings }) => readKeys(settings().door.keys).keys,
  print(keys, { json, terminal }) {
    if (json) for (const { hash: _, ...key } of keys) terminal.out(JSON.stringify(key))
    else if (keys.length === 0) terminal.say('There are no keys.')
    else
      terminal.out(
        table(
          ['id', 'tenant', 'scopes', 'by', 'rate', 'made', 'state'],
          keys.map((key) => [
            key.id,
            key.tenant,
            key.scopes.join(','),
            printable(key.by, 40),
            key.rate === undefined ? '' : `${key.rate.perSecond}/s`,
            key.createdAt.slice(0, 10),
            stateOf(key),
          ]),
        ),
      )
  },
}

function stateOf(key: ApiKey): string {
  if (key.revokedAt !== null) return `revoked ${key.revokedAt.slice(0, 10)}`
  if (!isUsable(key, Date.now())) return 'expired'
  return key.expiresAt === null ? 'valid' : `until ${key.expiresAt.slice(0, 10)}`
}
