import type { Judgement } from '../../contracts/ports/review.ts'
import { krippendorffAlpha } from './statistics/agreement.ts'
import { confusionOf, macroF1Of } from './statistics/confusion.ts'
import { bootstrap, type Estimate, type Interval, wilson } from './statistics/intervals.ts'
import { seededRandom } from './statistics/random.ts'

/** How often the same is said of the same, of one part of a protocol's verdicts. */
export interface PeopleAgreement {
  readonly protocol: string
  /** Whom people's verdicts stand beside: the machines' last ruling before, or a second person who did not see the first. */
  readonly beside: 'machine' | 'person'
  /** `audit`: drawn, whatever it said; `chosen`: looked at since something spoke against it, or somebody wanted to. */
  readonly drawn: 'audit' | 'chosen'
  /** Of what it is a part: all of it, or one label (the human one), language, model, or prompts by their hash. */
  readonly part: 'all' | 'label' | 'language' | 'model' | 'prompts'
  readonly value: string
  readonly verdicts: number
  readonly agreeing: number
  /** Wilson's 95 % interval of the share that agrees. */
  readonly interval: Interval | null
}

/** What of a protocol as a whole can be said beyond the share that agrees. */
export interface ProtocolAgreement {
  readonly protocol: string
  readonly beside: 'machine' | 'person'
  readonly drawn: 'audit' | 'chosen'
  /** Krippendorff's nominal alpha: agreement beyond chance. */
  readonly alpha: Estimate
  /** Of the machine's labels with people's as gold; null beside persons. */
  readonly macroF1: Estimate | null
}

export interface ReviewStats {
  readonly agreement: readonly PeopleAgreement[]
  readonly protocols: readonly ProtocolAgreement[]
}

interface Pair {
  readonly protocol: string
  readonly beside: 'machine' | 'person'
  readonly drawn: 'audit' | 'chosen'
  readonly label: string
  readonly other: string
  readonly parts: readonly (readonly [PeopleAgreement['part'], string])[]
}

/** Agreement of people with the machines, and with one another, by the statistics of `gavel eval`. */
export function agreementOf(judgements: Iterable<Judgement>): ReviewStats {
  const pairs = [...judgements].flatMap(pairsOf)
  const agreement: PeopleAgreement[] = []
  for (const [key, own] of Map.groupBy(
    pairs.flatMap((pair) => pair.parts.map((part) => ({ pair, part }))),
    ({ pair: { protocol, beside, drawn }, part }) => JSON.stringify([protocol, beside, drawn, ...part]),
  )) {
    const [protocol, beside, drawn, part, value] = JSON.parse(key)
    const agreeing = own.filter(({ pair }) => pair.label === pair.other).length
    const interval = wilson(agreeing, own.length)
    agreement.push({ protocol, beside, drawn, part, value, verdicts: own.length, agreeing, interval })
  }
  const protocols = [...Map.groupBy(pairs, ({ protocol, beside, drawn }) => JSON.stringify([protocol, beside, drawn]))]
  return {
    agreement: agreement.toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1)),
    protocols: protocols.map(([, own]) => wholeOf(own)).toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1)),
  }
}

function orderOf(one: Pick<PeopleAgreement, 'protocol' | 'beside' | 'drawn'> & Partial<PeopleAgreement>): string {
  const { protocol, beside, drawn, part = 'all', value = '' } = one
  return [protocol, beside, drawn, part === 'all' ? 0 : 1, part, value].join('\0')
}

function pairsOf({ protocol, lang, label, machine, audited, opinions }: Judgement): Pair[] {
  const language = ['language', lang ?? '(none named)'] as const
  const general = [['all', ''], ['label', label], language] as const
  const drawn = audited ? 'audit' : 'chosen'
  const beside: Pair[] =
    machine === null
      ? []
      : [
          {
            protocol,
            beside: 'machine',
            drawn,
            label,
            other: machine.label,
            parts: [
              ...general,
              ...machine.models.map((model) => ['model', model] as const),
              ...(machine.prompts === '' ? [] : [['prompts', machine.prompts] as const]),
            ],
          },
        ]
  const people = opinions.map(
    // Second opinions are drawn by themselves, of whatever people decided.
    (one): Pair => ({ protocol, beside: 'person', drawn: 'chosen', label, other: one.label, parts: general }),
  )
  return [...beside, ...people]
}

function wholeOf(pairs: readonly Pair[]): ProtocolAgreement {
  const { protocol = '', beside = 'machine', drawn = 'chosen' } = pairs[0] ?? {}
  const labels = [...new Set(pairs.flatMap(({ label, other }) => [label, other]))].sort()
  const place = new Map(labels.map((label, at) => [label, at]))
  const numbers = ({ label, other }: Pair) => [place.get(label) ?? 0, place.get(other) ?? 0]
  const estimate = (statistic: (sample: readonly Pair[]) => number | null, kind: 'share' | 'other', absent: string) =>
    bootstrap(pairs, statistic, { random: seededRandom('review'), absent, kind })
  const f1 = (sample: readonly Pair[]) =>
    macroF1Of(
      confusionOf(
        labels,
        sample.map(({ label, other }) => ({ gold: label, predicted: other })),
      ),
    )
  return {
    protocol,
    beside,
    drawn,
    alpha: estimate((sample) => krippendorffAlpha(sample.map(numbers), 'nominal'), 'other', 'all say the same label'),
    macroF1: beside === 'person' ? null : estimate(f1, 'share', 'a label was never given'),
  }
}
