import { Option } from 'commander'
import type { Command } from '../../../cli/command.ts'
import { judgedOption } from '../../../cli/options.ts'
import { printable, printableJson } from '../../../cli/terminal.ts'
import type { TouchedVerdict } from '../../../shelves/curator/touched.ts'
import { standingLine, type TouchedOptions, tellCount, touchedLine, verdictsOn } from './verdicts-touched.ts'
import { withLibrary } from './with-library.ts'

/**
 * `gavel library touched`: prints the verdicts whose evidence names a precedent, one per line. The precedent is given
 * by its own id, its proposal's id, or the id of the change that put it on its shelf. Prints on standard error where it
 * is, and whose feedback it came from. Reads the verdicts topic from its beginning to its end; verdicts are found as
 * long as the topic keeps them.
 */
export const command: Command<TouchedOptions, readonly TouchedVerdict[]> = {
  options: [new Option('--tenant <name>', "only this tenant's verdicts"), judgedOption()],
  json: true,
  help: `Verdicts name precedents in evidence.precedents. A verdict is found until its topic’s retention ends.

Examples:
  $ gavel library touched 3f1c9a0b2d4e6f80
  $ gavel library touched 0d0fdd3c66e5a2b4aa6d1c1bb7c4f9aa --json | jq -r 'select(.stands).subjectId'`,
  async run(invocation) {
    const {
      args: [id = ''],
      settings,
      terminal,
    } = invocation
    const traced = await withLibrary(settings(), (library) => library.trace(id))
    for (const standing of traced.standing) terminal.say(`is on ${standingLine(standing)}`)
    if (traced.standing.length === 0) terminal.say(`${printable(id, 80)} is not on any shelf.`)
    for (const { state, provenance, ...proposal } of traced.proposals)
      terminal.say(`proposal ${proposal.id}, ${state}, by ${printable(provenance.by, 40)} at ${provenance.at}`)
    return verdictsOn(traced, invocation)
  },
  print(touched, { json, terminal }) {
    for (const one of touched) terminal.out(json ? printableJson(JSON.stringify(one)) : touchedLine(one))
    tellCount(touched, { terminal })
  },
}
