import { Option } from 'commander'
import type { Command } from '../../../cli/command.ts'
import { printable, printableJson } from '../../../cli/terminal.ts'
import type { Proposal } from '../../../contracts/ports/library.ts'
import { rivalsIn } from '../../../shelves/curator/proposals.ts'
import { withLibrary } from '../library/with-library.ts'
import { ofTenant } from './of-tenant.ts'

type State = Proposal['state']
const STATES = ['waiting', 'approved', 'rejected'] as const satisfies readonly State[]

/** A proposal, with the ids of those that it contradicts. */
type Shown = Proposal & { readonly contradicts: readonly string[] }

/** `gavel learn list`: proposals, the oldest first, each with those that it contradicts. */
export const command: Command<{ readonly state?: State }, readonly Shown[]> = {
  options: [new Option('--state <state>', 'only proposals in this state').choices(STATES)],
  json: true,
  help: 'Example:\n  $ gavel learn list --state waiting',
  async run({ options: { state: wanted }, settings }) {
    const all = await withLibrary(settings(), (library) => library.proposals())
    const rivals = rivalsIn(all)
    const shown = all.filter(({ state }) => wanted === undefined || state === wanted)
    return shown.map((proposal) => ({ ...proposal, contradicts: rivals(proposal) }))
  },
  print(shown, { options: { state }, json, terminal }) {
    for (const one of shown) terminal.out(json ? printableJson(JSON.stringify(one)) : proposalLine(one))
    if (shown.length === 0) terminal.say(state === undefined ? 'There are no proposals.' : `None is ${state}.`)
  },
}

function proposalLine({ id, state, shelf, label, text, provenance, contradicts }: Shown): string {
  const { tenant, verdictId, by, at } = provenance
  const rivals = contradicts.length === 0 ? '' : `  [contradicts ${contradicts.join(', ')}]`
  return `${id}  ${state}  ${shelf}${ofTenant(tenant)}  ${printable(label, 30)}  ${printable(verdictId, 60)}  by ${printable(by, 40)}  ${printable(at, 30)}${rivals}  ${printable(text, 100)}`
}
