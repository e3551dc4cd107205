import type { Command } from '../../../cli/command.ts'
import { byOption } from '../../../cli/options.ts'
import { operator, withLibrary } from '../library/with-library.ts'

/** `gavel learn reject`: turns proposals down. The same feedback does not propose them again. */
export const command: Command<{ readonly by?: string }, void> = {
  options: [byOption()],
  json: true,
  help: 'Example:\n  $ gavel learn reject 3f1c9a0b2d4e6f80',
  run: ({ args: ids, options: { by = operator() }, settings }) =>
    withLibrary(settings(), (library) => library.reject(ids, by)),
  print(_, { args: ids, json, terminal }) {
    for (const id of ids) terminal.out(json ? JSON.stringify({ id, state: 'rejected' }) : `${id} was rejected.`)
  },
}
