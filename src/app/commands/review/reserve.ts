import { Option } from 'commander'
import type { Command } from '../../../cli/command.ts'
import { protocolName } from '../../../cli/options.ts'
import { counted, printable } from '../../../cli/terminal.ts'
import { inTurn, ReviewTurns } from '../../../console/review-shares.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import { MOST_RESERVATIONS, type ReviewItem } from '../../../contracts/ports/review.ts'
import { recordReaderOf, reviewQueueOf } from '../../../record/record-store.ts'
import { type ItemTexts, itemJson, textsOf } from './item.ts'

interface Options {
  readonly by: string
  readonly tenant?: string
  readonly protocol?: string
}

interface Taken {
  readonly item: ReviewItem
  readonly texts: ItemTexts | null
  /** The machine's, or the person's, reasons; null of a second opinion, which is blind. */
  readonly rationale: string | null
}

/** So many of a person's last decisions tell which tenants had their turn. */
const MOST_LOOKED_BACK = 50
/** Comments that are printed; the others are counted. */
const COMMENTS = 30

/** `gavel review reserve`: takes an item for a while, and shows what there is to look at. */
export const command: Command<Options, Taken> = {
  options: [
    new Option('--by <name>', 'who reserves it').makeOptionMandatory(),
    new Option('--tenant <name>', 'only this tenant'),
    new Option('--protocol <name>', 'only this protocol').argParser(protocolName),
  ],
  json: true,
  help: 'Without an item: the first of "gavel review list" that nobody has reserved, of the tenant whose turn it is. A reservation lapses after review.claimFor. See docs/review.md.\n\nExamples:\n  $ gavel review reserve --by ann\n  $ gavel review reserve rumor~3lbw2k4~r2 --by ann',
  async run({ args: [item], options: { by, tenant, protocol }, settings: read }) {
    const settings = read()
    const now = Date.now()
    const queue = await reviewQueueOf(settings)
    try {
      const filter = {
        for: by,
        ...(tenant === undefined ? {} : { tenants: [tenant] }),
        protocol,
      }
      const until = now + settings.review.claimFor
      // Some of what a person takes one after the other was drawn at random, whatever else waits.
      const reason = item === undefined ? new ReviewTurns(settings.review.shares).next(by) : null
      const drawn =
        reason === null ? null : await queue.reserve(null, { ...filter, reason, order: 'oldest' }, until, now)
      const own =
        item === undefined
          ? await queue.decisions({ viewer: by, person: by, since: 0, tenants: filter.tenants }, MOST_LOOKED_BACK)
          : []
      const turns = own.map(({ subject }) => subject.tenant)
      let reserved = drawn ?? { outcome: 'gone' as const }
      for (const filtered of inTurn(filter, turns))
        if (reserved.outcome === 'gone') reserved = await queue.reserve(item ?? null, filtered, until, now)
      if (reserved.outcome !== 'reserved') throw new OperatorError(refusal(reserved, item))
      const record = await recordReaderOf(settings)
      try {
        const row = await record.verdict(reserved.item.verdict)
        const isBlind = reserved.item.reasons.includes('second-opinion')
        return {
          item: reserved.item,
          texts: row === null ? null : await textsOf(record, row.verdict),
          rationale: isBlind ? null : (row?.verdict.rationale ?? null),
        }
      } finally {
        await record.close()
      }
    } finally {
      await queue.close()
    }
  },
  print({ item, texts, rationale }, { json, terminal, options: { by } }) {
    if (json) {
      terminal.out(itemJson(item, { ...texts, rationale }))
      return
    }
    const isBlind = item.reasons.includes('second-opinion')
    const until = new Date(item.reservation?.until ?? 0).toISOString()
    terminal.out(`${printable(item.verdict, 600)} is ${printable(by, 100)}’s until ${until}.`)
    if (isBlind) terminal.out('A second opinion: what was decided is not shown. Please do not look it up.')
    else {
      terminal.out(`Label: ${printable(item.label ?? 'none', 60)}. Why it waits: ${item.reasons.join(', ')}.`)
      if (rationale !== null && rationale !== '') terminal.out(`Its reasons: ${printable(rationale, 2_000)}`)
    }
    if (texts === null) terminal.out('Its words are not in the record (they come with its transcript, or are erased).')
    else {
      terminal.out(`The post: ${printable(texts.post, 4_000)}`)
      for (const { author, text } of texts.comments.slice(0, COMMENTS))
        terminal.out(`- ${printable(author ?? 'somebody', 60)}: ${printable(text, 500)}`)
      if (texts.comments.length > COMMENTS)
        terminal.out(`(${counted(texts.comments.length - COMMENTS, 'more comment')})`)
    }
    terminal.say(
      `Then: gavel review decide ITEM --label LABEL --by NAME --why "…"${isBlind ? ' --opinion' : ''}, or gavel review release ITEM --by NAME`,
    )
  },
}

function refusal(
  reserved: { outcome: string; by?: string; until?: number; to?: string },
  item: string | undefined,
): string {
  if (reserved.outcome === 'taken')
    return `${printable(reserved.by ?? '', 100)} has it until ${new Date(reserved.until ?? 0).toISOString()}.`
  if (reserved.outcome === 'assigned') return `It is assigned to ${printable(reserved.to ?? '', 100)}.`
  if (reserved.outcome === 'own') return 'It is about what they decided themselves: somebody else has to take it.'
  if (reserved.outcome === 'many')
    return `They have ${MOST_RESERVATIONS} items already. Decide them, or give some back with "gavel review release".`
  return item === undefined ? 'Nothing waits that this person may take.' : 'No such item waits.'
}
