import type { Command } from '../../../cli/command.ts'
import { printable, printableJson, type Terminal } from '../../../cli/terminal.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import { contentId, type Proposal } from '../../../contracts/ports/library.ts'
import { rivalsIn } from '../../../shelves/curator/proposals.ts'
import { withLibrary } from '../library/with-library.ts'

/** A proposal, with the ids of those that it contradicts. */
type Shown = Proposal & { readonly contradicts: readonly string[] }

/**
 * `gavel learn show`: everything known about one proposal, or about those that produced the precedent that a verdict
 * names by this id. Ends with an `OperatorError` if there is none.
 */
export const command: Command<object, readonly Shown[]> = {
  options: [],
  json: true,
  help: 'Example:\n  $ gavel learn show 3f1c9a0b2d4e6f80',
  async run({ args: [id = ''], settings }) {
    const all = await withLibrary(settings(), (library) => library.proposals())
    const shown = all.filter((one) => one.id === id || contentId(one.text) === id)
    if (shown.length === 0) throw new OperatorError(`There is no proposal ${printable(id, 40)}.`)
    const rivals = rivalsIn(all)
    return shown.map((proposal) => ({ ...proposal, contradicts: rivals(proposal) }))
  },
  print(shown, { args: [id], json, terminal }) {
    for (const [index, one] of shown.entries()) {
      if (json) terminal.out(printableJson(JSON.stringify(one)))
      else {
        if (index > 0) terminal.out('')
        printFields(one, one.id !== id, terminal)
      }
    }
  },
}

/** One line per field; the id is printed only if another id was given, since there may then be several proposals. */
function printFields(one: Shown, withId: boolean, terminal: Terminal): void {
  const { id, shelf, state, change, label, text, metadata, provenance, contradicts } = one
  const known = { shelf, state, ...(change === null ? {} : { change }), label, ...metadata, ...provenance, text }
  const fields = withId ? { id, ...known } : known
  for (const [name, value = ''] of Object.entries(fields))
    terminal.out(`${printable(name, 20)}: ${printable(value, 20_000)}`)
  if (contradicts.length > 0) terminal.out(`contradicts: ${contradicts.join(', ')}`)
}
