import type { Command } from '../../../cli/command.ts'
import { printable } from '../../../cli/terminal.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import { changeKeys } from '../../../door/server/key-file.ts'

/** `gavel keys revoke`: keys that no door takes any more, within 2 s. */
export const command: Command<object, readonly string[]> = {
  options: [],
  json: false,
  help: 'Example:\n  $ gavel keys revoke k7f3a9c2\nThe key is refused within 2 s.',
  async run({ args, settings }) {
    const at = new Date().toISOString()
    const ids = new Set(args)
    return await changeKeys(settings().door.keys, (keys) => {
      const unknown = args.filter((id) => !keys.some((key) => key.id === id))
      if (unknown.length > 0)
        throw new OperatorError(
          `There is no key ${unknown.map((id) => printable(id, 40)).join(', ')}: nothing was revoked. See "gavel keys list".`,
        )
      const revoked = keys.map((key) => (ids.has(key.id) ? { ...key, revokedAt: key.revokedAt ?? at } : key))
      return { keys: revoked, result: [...ids] }
    })
  },
  print(ids, { terminal }) {
    terminal.say(`Revoked: ${ids.join(', ')}.`)
  },
}
