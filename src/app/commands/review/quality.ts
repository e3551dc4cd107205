import { randomInt } from 'node:crypto'
import { Option } from 'commander'
import type { Command } from '../../../cli/command.ts'
import { durationMs } from '../../../cli/options.ts'
import { printable, printableJson, table } from '../../../cli/terminal.ts'
import type { PersonQuality } from '../../../contracts/ports/review.ts'
import { reviewQueueOf } from '../../../record/record-store.ts'

interface Options {
  readonly since: number
  readonly tenant?: string
  readonly names?: true
}

const WEEK_MS = 7 * 86_400_000

/** `gavel review quality`: how each person decided of late. */
export const command: Command<Options, readonly PersonQuality[]> = {
  options: [
    new Option('--since <duration>', 'how far back decisions count').argParser(durationMs).default(WEEK_MS, '7d'),
    new Option('--tenant <name>', 'only this tenant'),
    new Option('--names', 'people’s names, in place of numbers that are drawn anew each time'),
  ],
  json: true,
  help: 'A share of fewer than 10 items is not told. Without --names nobody outside can tell who is who. See docs/review.md.\n\nExample:\n  $ gavel review quality --since 30d --json',
  async run({ options: { since, tenant, names }, settings: read }) {
    const queue = await reviewQueueOf(read())
    try {
      const now = Date.now()
      const period = { since: now - since, until: now }
      const people = await queue.peopleQuality(period, tenant === undefined ? undefined : [tenant])
      return names === true ? people : withoutNames(people)
    } finally {
      await queue.close()
    }
  },
  print(people, { json, terminal }) {
    if (json) terminal.out(printableJson(JSON.stringify({ people })))
    else if (people.length === 0) terminal.say('Nobody has decided anything in this time.')
    else
      terminal.out(
        table(
          ['person', 'decisions', 'opinions', 'blind agreement', 'golden', 'overturned', 'seconds'],
          people.map(({ by, decisions, opinions, blindAgreement, golden, overturned, seconds }) => [
            printable(by, 60),
            String(decisions),
            String(opinions),
            shareOf(blindAgreement),
            shareOf(golden),
            shareOf(overturned),
            seconds === null ? 'too few' : String(seconds),
          ]),
        ),
      )
  },
}

function shareOf(told: PersonQuality['overturned']): string {
  return told === null ? 'too few' : `${told.times} of ${told.of}`
}

/** In an order of chance: neither a number nor its place says who it is. */
function withoutNames(people: readonly PersonQuality[]): PersonQuality[] {
  const drawn = [...people]
  for (let last = drawn.length - 1; last > 0; last--) {
    const other = randomInt(last + 1)
    const [one, two] = [drawn[last], drawn[other]]
    if (one !== undefined && two !== undefined) [drawn[last], drawn[other]] = [two, one]
  }
  return drawn.map((one, at) => ({ ...one, by: `person ${at + 1}` }))
}
