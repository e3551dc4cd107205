import { Gauge } from 'prom-client'
import type { AgreementFigure, AgreementPart } from '../../contracts/facts/agreement.ts'
import { scoreInterval } from '../../contracts/facts/score-interval.ts'
import type { MetricGroup } from './group.ts'

/** Parts without series: a week is a time, and a pair of label and language would be a series for each pair. */
const UNCOUNTED: readonly AgreementPart[] = ['week', 'label-language']

/** Most values of a part that are told apart, those with the most verdicts; what others say goes under `other`. */
const MOST_VALUES = 20
const OTHER = 'other'

const languages = new Intl.DisplayNames(['en'], { type: 'language', fallback: 'none' })

/** How far verdicts agree with people's words on the same, of the last two weeks. Series are made where a record is kept. */
export const agreementMetrics: MetricGroup = (registry, { protocols }) => {
  const registers = [registry]
  const verdicts = new Gauge({
    name: 'gavel_agreement_verdicts',
    help: 'Verdicts of the last 14 days on which people gave their word, by part and value, and by whether people gave the same label.',
    labelNames: ['protocol', 'part', 'value', 'agrees'],
    registers,
  })
  const share = new Gauge({
    name: 'gavel_agreement_ratio',
    help: 'The share of them with people’s label; bound: share, or low and high of its 95 % interval (Wilson).',
    labelNames: ['protocol', 'part', 'value', 'bound'],
    registers,
  })
  const bounded = ({ protocol, part, value }: AgreementFigure): string => {
    if (part === 'label')
      return protocols.some(({ name, labels }) => name === protocol && labels.includes(value)) ? value : OTHER
    return part === 'language' ? languageOf(value) : value
  }
  return {
    'agreement:counted': ({ figures }) => {
      verdicts.reset()
      share.reset()
      const sums = new Map<string, { labels: Labels; agreeing: number; of: number }>()
      const values = new Map<string, Set<string>>()
      for (const figure of figures) {
        const { protocol, part, agreeing, of } = figure
        if (UNCOUNTED.includes(part) || !protocols.some(({ name }) => name === protocol)) continue
        const known = values.get(`${protocol} ${part}`) ?? new Set()
        values.set(`${protocol} ${part}`, known)
        const named = bounded(figure)
        if (known.size < MOST_VALUES) known.add(named)
        const labels = { protocol, part, value: known.has(named) ? named : OTHER }
        const sum = sums.get(JSON.stringify(labels)) ?? { labels, agreeing: 0, of: 0 }
        sums.set(JSON.stringify(labels), sum)
        sum.agreeing += agreeing
        sum.of += of
      }
      for (const { labels, agreeing, of } of sums.values()) {
        verdicts.set({ ...labels, agrees: 'true' }, agreeing)
        verdicts.set({ ...labels, agrees: 'false' }, of - agreeing)
        if (of === 0) continue
        const { low, high } = scoreInterval(agreeing / of, of)
        for (const [bound, value] of Object.entries({ share: agreeing / of, low, high }))
          share.set({ ...labels, bound }, value)
      }
    },
  }
}

interface Labels {
  readonly protocol: string
  readonly part: string
  readonly value: string
}

/** A language that there is, without its region: strangers write what they like. */
function languageOf(tag: string): string {
  if (tag === '') return 'none'
  try {
    const { language } = new Intl.Locale(tag)
    return languages.of(language) === undefined ? OTHER : language
  } catch {
    return OTHER
  }
}
