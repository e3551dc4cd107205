import { Option } from 'commander'
import type { Command } from '../../../cli/command.ts'
import { positiveWhole, protocolName } from '../../../cli/options.ts'
import { counted, printable, table } from '../../../cli/terminal.ts'
import { LOOK_REASONS, type LookReason, type ReviewItem } from '../../../contracts/ports/review.ts'
import { reviewQueueOf } from '../../../record/record-store.ts'
import { ageOf, itemJson } from './item.ts'

interface Options {
  readonly tenant?: string
  readonly protocol?: string
  readonly for?: string
  readonly reason?: LookReason
  readonly label?: string
  readonly lang?: string
  readonly oldest?: true
  readonly most: number
}

interface Listed {
  readonly items: readonly ReviewItem[]
  readonly waiting: number
  readonly at: number
}

/** `gavel review list`: what people should look at, the dearest mistake first. */
export const command: Command<Options, Listed> = {
  options: [
    new Option('--tenant <name>', 'only this tenant'),
    new Option('--protocol <name>', 'only this protocol').argParser(protocolName),
    new Option('--for <name>', 'only items that this person may reserve'),
    new Option('--reason <why>', 'only items that wait for this reason').choices(LOOK_REASONS),
    new Option('--label <label>', 'only items of this label'),
    new Option('--lang <code>', 'only subjects in this language'),
    new Option('--oldest', 'the oldest first, in place of the costliest mistake'),
    new Option('--most <items>', 'list at most this many').argParser(positiveWhole).default(20),
  ],
  json: true,
  help: 'It reads the record of this machine (role record). See docs/review.md.\n\nExample:\n  $ gavel review list --for ann',
  async run({ options: { tenant, protocol, most, reason, label, lang, oldest, ...options }, settings: read }) {
    const queue = await reviewQueueOf(read())
    const at = Date.now()
    try {
      const filter = {
        ...(tenant === undefined ? {} : { tenants: [tenant] }),
        protocol,
        for: options.for,
        reason,
        label,
        lang,
        order: oldest === true ? ('oldest' as const) : ('cost' as const),
      }
      return { ...(await queue.list(filter, most, at)), at }
    } finally {
      await queue.close()
    }
  },
  print({ items, waiting, at }, { json, terminal }) {
    if (json) for (const item of items) terminal.out(itemJson(item))
    else if (items.length > 0)
      terminal.out(
        table(
          ['item', 'label', 'why', 'score', 'age', 'reserved by', 'begins'],
          items.map((item) => [
            printable(item.verdict, 120),
            printable(item.label ?? '–', 40),
            item.reasons.join(', '),
            item.score.toFixed(2),
            ageOf(at - item.since),
            printable(item.reservation?.by ?? '', 60),
            printable((item.words ?? '').replaceAll(/\s+/g, ' '), 80),
          ]),
          { dispensable: ['begins', 'score'] },
        ),
      )
    if (items.length === 0) terminal.say('Nothing waits for people.')
    else if (waiting > items.length) terminal.say(`${counted(waiting, 'item')} in all (--most).`)
  },
}
