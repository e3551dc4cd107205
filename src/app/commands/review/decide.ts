import { Option } from 'commander'
import type { Command, Invocation } from '../../../cli/command.ts'
import { printable } from '../../../cli/terminal.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import { reviewQueueOf } from '../../../record/record-store.ts'
import { appealOptions, clauseOption, type DecideOptions, type DecideReport, command as decide } from '../decide.ts'

interface Options {
  readonly label: string
  readonly by: string
  readonly why: string
  readonly opinion?: true
  readonly clause?: readonly string[]
  readonly appeal?: readonly string[]
  readonly code?: string
  readonly measure?: NonNullable<DecideOptions['measure']>
}

/** `gavel review decide`: a person's verdict on an item that they have, against the revision that they were shown. */
export const command: Command<Options, { readonly asked: DecideOptions; readonly result: DecideReport }> = {
  options: [
    new Option('--label <label>', 'the verdict; the machine’s own label confirms it').makeOptionMandatory(),
    new Option('--by <name>', 'who decides').makeOptionMandatory(),
    new Option('--why <words>', 'the reason; it outlives a deletion, so quote nothing').makeOptionMandatory(),
    clauseOption(),
    ...appealOptions(),
    new Option('--opinion', 'give a second opinion, which does not change the verdict'),
  ],
  json: true,
  help: 'The same as "gavel decide" against the item’s revision. It needs a running service (role intake). See docs/review.md.\n\nExample:\n  $ gavel review decide rumor~3lbw2k4~r2 --label non-rumor --by ann --why "Confirmed by the city, ticket 88"',
  async run(invocation) {
    const {
      args: [item = ''],
      options,
      settings: read,
    } = invocation
    const settings = read()
    const now = Date.now()
    const queue = await reviewQueueOf(settings)
    try {
      const reserved = await queue.reserve(item, { for: options.by }, now + settings.review.claimFor, now)
      if (reserved.outcome === 'taken')
        throw new OperatorError(
          `${printable(reserved.by, 100)} has it until ${new Date(reserved.until).toISOString()}: only they decide on it.`,
        )
      if (reserved.outcome === 'assigned')
        throw new OperatorError(`It is assigned to ${printable(reserved.to, 100)}: they decide on it.`)
      if (reserved.outcome === 'own')
        throw new OperatorError('It is about a verdict of their own: somebody else has to decide it.')
      if (reserved.outcome !== 'reserved')
        throw new OperatorError('No such item waits. To decide all the same: "gavel decide".')
      const { subject, protocol, revision, reasons } = reserved.item
      // Not decided by the item's reasons alone: they may have changed since it was shown, and then a blind word would overrule.
      if (reasons.includes('second-opinion') && options.opinion !== true)
        throw new OperatorError('It is a second opinion, which changes no verdict: send it with --opinion.')
      const asked: DecideOptions = {
        protocol,
        ...options,
        tenant: subject.tenant,
        kind: subject.kind,
        against: revision,
        most: 200_000,
        ...(reserved.golden === true ? { golden: 'answer' } : {}),
      }
      return { asked, result: await decide.run(callOf(invocation, subject.postId, asked)) }
    } finally {
      await queue.close()
    }
  },
  print({ asked, result }, invocation) {
    decide.print(result, callOf(invocation, '', asked))
  },
}

function callOf(invocation: Invocation<Options>, id: string, options: DecideOptions): Invocation<DecideOptions> {
  return { ...invocation, args: [id], options }
}
