import { Option } from 'commander'
import type { Command } from '../../../cli/command.ts'
import { protocolName } from '../../../cli/options.ts'
import { printable, printableJson, table } from '../../../cli/terminal.ts'
import type { DrawnRate, Judgement } from '../../../contracts/ports/review.ts'
import { judgementsOf } from '../../../record/judgements.ts'
import { recordReaderOf, reviewQueueOf } from '../../../record/record-store.ts'
import { agreementOf, type ProtocolAgreement, type ReviewStats } from '../../evaluation/people.ts'

interface Options {
  readonly tenant?: string
  readonly protocol?: string
}

interface Stats extends ReviewStats {
  readonly rates: readonly DrawnRate[]
}

/** `gavel review stats`: how often machines are wrong, and how far people agree with them and with one another. */
export const command: Command<Options, Stats> = {
  options: [
    new Option('--tenant <name>', 'only this tenant'),
    new Option('--protocol <name>', 'only this protocol').argParser(protocolName),
  ],
  json: true,
  help: 'Rates are of what was drawn at random, weighted by the chance, with 95 % intervals; what was drawn and nobody has looked at stands beside them. Agreement is of all human verdicts: those in "audit" were drawn as well, those in "chosen" were queued for a reason, and do not represent the rest. See docs/review.md.\n\nExample:\n  $ gavel review stats --protocol hate',
  async run({ options: { tenant, protocol }, settings: read }) {
    const settings = read()
    const isOf = (one: { readonly protocol: string }) => protocol === undefined || one.protocol === protocol
    const record = await recordReaderOf(settings)
    const queue = await reviewQueueOf(settings)
    try {
      const all: Judgement[] = []
      for await (const subject of record.export('decided'))
        if (tenant === undefined || subject.subject.tenant === tenant) all.push(...judgementsOf(subject).filter(isOf))
      const rates = await queue.drawnRates(tenant === undefined ? undefined : [tenant])
      return { ...agreementOf(all), rates: rates.filter(isOf) }
    } finally {
      await queue.close()
      await record.close()
    }
  },
  print({ agreement, protocols, rates }, { json, terminal }) {
    if (json) {
      terminal.out(printableJson(JSON.stringify({ agreement, protocols, rates })))
      return
    }
    if (rates.length > 0) terminal.out(ratesTable(rates))
    if (agreement.length === 0)
      terminal.say('No human verdict in the record is current, so there is nothing to compare.')
    else {
      terminal.out(
        table(
          ['protocol', 'people and', 'drawn', 'part', 'agree', 'of', 'share', '95 %'],
          agreement.map((one) => [
            one.protocol,
            one.beside === 'machine' ? 'machines' : 'people',
            one.drawn,
            partOf(one),
            String(one.agreeing),
            String(one.verdicts),
            (one.agreeing / one.verdicts).toFixed(3),
            intervalOf(one.interval),
          ]),
        ),
      )
      for (const one of protocols) for (const line of wordsOf(one)) terminal.out(line)
    }
  },
}

/** What each purpose finds out, in the words of this table. */
const DIFFER: { readonly [Purpose in DrawnRate['purpose']]: string } = {
  audit: 'machine wrong',
  control: 'debate changed it',
  'second-opinion': 'people disagree',
}

function ratesTable(rates: readonly DrawnRate[]) {
  return table(
    ['protocol', 'drawn to see', 'part', 'times', 'of', 'share', '95 %', 'waiting', 'ahead'],
    rates.map((one) => [
      one.protocol,
      DIFFER[one.purpose],
      partOf(one),
      String(one.differing),
      String(one.counted),
      one.share === null ? '–' : one.share.toFixed(3),
      intervalOf(one.interval),
      String(one.waiting),
      String(one.ahead),
    ]),
  )
}

function partOf({ part, value }: { readonly part: string; readonly value: string }): string {
  return part === 'all' ? 'all' : `${part} ${printable(value, 60)}`
}

function intervalOf(interval: { readonly low: number; readonly high: number } | null): string {
  return interval === null ? '–' : `${interval.low.toFixed(3)}–${interval.high.toFixed(3)}`
}

function wordsOf({ protocol, beside, drawn, alpha, macroF1 }: ProtocolAgreement): string[] {
  const of = `${protocol}, people and ${beside === 'machine' ? 'machines' : 'people'}, ${drawn}`
  const text = (name: string, one: ProtocolAgreement['alpha']) =>
    `${of}: ${name} ${one.value === null ? `– (${one.why})` : one.value.toFixed(3)}${one.interval === null ? (one.value === null ? '' : ` (${one.why})`) : ` (${intervalOf(one.interval)})`}`
  return [
    text('Krippendorff’s alpha', alpha),
    ...(macroF1 === null ? [] : [text('macro-F1 with people’s labels as gold', macroF1)]),
  ]
}
