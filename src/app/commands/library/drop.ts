import { Option } from 'commander'
import type { Command } from '../../../cli/command.ts'
import { printable } from '../../../cli/terminal.ts'
import { didYouMean } from '../../../contracts/facts/did-you-mean.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import { operator, withLibrary } from './with-library.ts'

/** `gavel library drop`: erases a shelf, or one tenant's part of it, and its history for good. */
export const command: Command<{ readonly tenant?: string }, void> = {
  options: [new Option('--tenant <name>', "only this tenant's part of it")],
  json: false,
  help: 'Example:\n  $ gavel library drop kodoli',
  run: ({ args: [shelf = ''], options: { tenant }, settings }) =>
    withLibrary(settings(), async (library) => {
      const known = (await library.shelves()).map(({ name }) => name)
      if (!known.includes(shelf)) throw new OperatorError(`There is no shelf "${shelf}".${didYouMean(shelf, known)}`)
      return library.drop(shelf, operator(), tenant)
    }),
  print(_, { args: [shelf], options: { tenant }, terminal }) {
    const whose = tenant === undefined ? '' : ` of the tenant ${printable(tenant, 64)}`
    terminal.out(`The shelf "${shelf}"${whose} and its history are gone.`)
  },
}
