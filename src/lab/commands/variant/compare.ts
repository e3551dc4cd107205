import { InvalidArgumentError, Option } from 'commander'
import { shadowsBesidePeople } from '../../../app/commands/variant/shadow-verdicts.ts'
import type { Command } from '../../../cli/command.ts'
import { time } from '../../../cli/options.ts'
import { printable, type Terminal, table } from '../../../cli/terminal.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import {
  gateStates,
  shareInWords,
  type VariantComparison,
  variantComparison,
} from '../../../contracts/facts/variant-comparison.ts'

interface CompareOptions {
  readonly since?: number
  readonly mostFlips?: number
  readonly people?: true
}

/** `gavel variant compare`: what a variant in the shadow says beside the live verdicts, and whether it holds to the gates. */
export const command: Command<CompareOptions, VariantComparison> = {
  options: [
    new Option('--since <time>', 'what it has said since then (ISO 8601)').argParser(time),
    new Option('--most-flips <percent>', 'exit code 1 where more verdicts flip, as 5%').argParser(percent),
    new Option('--people', 'exit code 1 where people agree with it less often than with the live verdicts'),
  ],
  json: true,
  help: 'Example:\n  $ gavel variant compare stricter --most-flips 5% --people',
  async run({ args: [variant = ''], options: { since = null }, settings, terminal, signal }) {
    const { shadows, labelOf } = await shadowsBesidePeople(settings(), { variant, since }, { terminal, signal })
    if (shadows.length === 0)
      throw new OperatorError(`${printable(variant, 60)} has said nothing: see "gavel variant shadow --help".`)
    return variantComparison(variant, shadows, labelOf)
  },
  print(comparison, { options, json, terminal }) {
    if (json) terminal.out(JSON.stringify(comparison))
    else for (const line of linesOf(comparison)) terminal.out(line)
    const broken = gateStates(comparison, options).filter(({ isHeld }) => !isHeld)
    if (broken.length > 0) throw new OperatorError(`${broken.map(({ says }) => says).join('; ')}.`)
  },
}

function percent(text: string): number {
  const [, number] = /^(\d+(?:\.\d+)?)\s*%$/.exec(text.trim()) ?? []
  if (number === undefined) throw new InvalidArgumentError('must be a percentage, as 5%')
  return Number(number) / 100
}

type Line = Parameters<Terminal['out']>[0]

function linesOf({ variant, subjects, flips, directions, people, ...of }: VariantComparison): Line[] {
  const usd = (amount: number | null) => (amount === null ? '–' : `$${amount.toFixed(2)}`)
  const { undecided, degraded, usdPerThousand } = of
  const rows = [
    ...of.labels.map(({ label, live, variant: other }) => [printable(label, 60), String(live), String(other)]),
    ['undecided', String(undecided.live), String(undecided.variant)],
    ['degraded', String(degraded.live), String(degraded.variant)],
    ['dollars a thousand', usd(usdPerThousand.live), usd(usdPerThousand.variant)],
    [`people agree, of ${people.live.of}`, shareInWords(people.live), shareInWords(people.variant)],
  ]
  const cited = Object.entries(of.clauses).map(([id, count]) => `${printable(id, 40)} ${count}`)
  return [
    `${printable(variant, 60)} on ${subjects} subjects: ${shareInWords(flips)} of verdicts flip (95 %, Wilson)`,
    ...directions.map(
      ({ from, to, count }) => `  ${printable(from ?? 'no label', 40)} → ${printable(to ?? 'no label', 40)}: ${count}`,
    ),
    table(['', 'live', printable(variant, 40)], rows),
    ...(cited.length === 0 ? [] : [`clauses: ${cited.join(', ')}`]),
  ]
}
