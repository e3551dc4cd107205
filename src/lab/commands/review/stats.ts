import { Option } from 'commander'
import type { Command } from '../../../cli/command.ts'
import { protocolName } from '../../../cli/options.ts'
import { printable, printableJson, table } from '../../../cli/terminal.ts'
import type { Judgement } from '../../../contracts/ports/review.ts'
import { judgementsOf } from '../../../record/judgements.ts'
import { recordReaderOf } from '../../../record/record-store.ts'
import { agreementOf, type PeopleAgreement, type ProtocolAgreement, type ReviewStats } from '../../evaluation/people.ts'

interface Options {
  readonly tenant?: string
  readonly protocol?: string
}

/** `gavel review stats`: how far people agree with machines and with one another. */
export const command: Command<Options, ReviewStats> = {
  options: [
    new Option('--tenant <name>', 'only this tenant'),
    new Option('--protocol <name>', 'only this protocol').argParser(protocolName),
  ],
  json: true,
  help: 'Intervals are 95 %. Verdicts in "audit" were drawn at random; those in "chosen" were queued for a reason, and do not represent the rest. See docs/review.md.\n\nExample:\n  $ gavel review stats --protocol hate',
  async run({ options: { tenant, protocol }, settings: read }) {
    const record = await recordReaderOf(read())
    try {
      const all: Judgement[] = []
      for await (const subject of record.export('decided'))
        if (tenant === undefined || subject.subject.tenant === tenant)
          all.push(...judgementsOf(subject).filter((one) => protocol === undefined || one.protocol === protocol))
      return agreementOf(all)
    } finally {
      await record.close()
    }
  },
  print({ agreement, protocols }, { json, terminal }) {
    if (json) terminal.out(printableJson(JSON.stringify({ agreement, protocols })))
    else if (agreement.length === 0)
      terminal.say('No human verdict in the record is current, so there is nothing to compare.')
    else {
      terminal.out(
        table(
          ['protocol', 'people and', 'drawn', 'part', 'agree', 'of', 'share', '95 %'],
          agreement.map((one) => [
            one.protocol,
            one.beside === 'machine' ? 'machines' : 'people',
            one.drawn,
            one.part === 'all' ? 'all' : `${one.part} ${printable(one.value, 60)}`,
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

function intervalOf(interval: PeopleAgreement['interval']): string {
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
