import { Option } from 'commander'
import type { Command } from '../../../cli/command.ts'
import { byOption, judgedOption } from '../../../cli/options.ts'
import { printable, printableJson } from '../../../cli/terminal.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import type { ShelvedItem, Whereabouts } from '../../../contracts/ports/library.ts'
import type { TouchedVerdict } from '../../../shelves/curator/touched.ts'
import { standingLine, type TouchedOptions, tellCount, touchedLine, verdictsOn } from './verdicts-touched.ts'
import { operator, withLibrary } from './with-library.ts'

type TakeBackOptions = TouchedOptions & Whereabouts & { readonly by?: string }

interface TakenBack {
  readonly takenBack: readonly ShelvedItem[]
  readonly touched: readonly TouchedVerdict[]
}

/**
 * `gavel library take-back`: takes one item off its shelf, then names the verdicts that it touched. Ends with an
 * `OperatorError` if the item was taken back but the verdicts can't be read.
 */
export const command: Command<TakeBackOptions, TakenBack> = {
  options: [
    new Option('--shelf <name>', 'from this shelf, if it is on several'),
    new Option('--tenant <name>', "from this tenant's part"),
    new Option('--everywhere', 'from every shelf and tenant that has it'),
    byOption(),
    judgedOption(),
  ],
  json: true,
  help: `ID is the item’s id in verdicts, or its proposal’s id. The item’s proposals are rejected. "rollback" undoes a whole change.

Example:
  $ gavel library take-back 3f1c9a0b2d4e6f80 --by ann`,
  async run(invocation) {
    const {
      args: [id = ''],
      options: { shelf, tenant, everywhere, by = operator() },
      json,
      settings,
      terminal,
    } = invocation
    const where = { shelf, tenant, everywhere }
    const takenBack = await withLibrary(settings(), (library) => library.takeBack(id, by, where))
    if (!json) for (const one of takenBack) terminal.out(`taken off ${standingLine(one)}`)
    try {
      return { takenBack, touched: await verdictsOn({ precedents: takenBack }, invocation) }
    } catch (error) {
      if (json) terminal.out(printableJson(JSON.stringify({ takenBack, touched: null })))
      if (!(error instanceof OperatorError)) throw error
      throw new OperatorError(
        `It was taken back; the verdicts that it touched could not be read: ${error.message} "gavel library touched ${printable(id, 80)}" names them.`,
        { cause: error },
      )
    }
  },
  print({ takenBack, touched }, { json, terminal }) {
    if (json) terminal.out(printableJson(JSON.stringify({ takenBack, touched })))
    else for (const one of touched) terminal.out(touchedLine(one))
    tellCount(touched, { terminal })
    terminal.say('Open cases may have been shown it: run "gavel library touched" again when they have ended.')
  },
}
