import { entryOf } from './entry-of.ts'
import { LEFT_OUT, type WhatIfReport, type WhatIfShare } from './what-if-report.ts'

/** The findings in sentences, the first of them the answer. */
export function whatIfSentences({ flips, cases, usd, people, since, until }: WhatIfReport): string[] {
  const { all, byChange } = flips
  const sampled = cases.notDrawn > 0
  const dollars = (value: number | null) => (value === null ? 'unknown' : `$${value.toFixed(2)}`)
  return [
    all.share === null
      ? 'No case could be replayed.'
      : `${percent(all.share)} of verdicts would flip (95 % interval: ${interval(all)}): ${all.hits} of ${all.cases} replayed cases${sampled ? ', each weighted by its chance of being drawn' : ''}.`,
    ...(byChange === undefined || byChange.clauses.length === 0 || all.share === null
      ? []
      : [
          `${byChange.hits} of these ${all.hits} cite a clause that was changed (${byChange.clauses.join(', ')}), before or after: ${byChange.share === null ? '' : percent(byChange.share)} of verdicts (${interval(byChange)}). The others cite none: models waver, and some verdicts flip whatever changes.`,
        ]),
    `Cases decided from ${since} to ${until}: ${cases.found} found, ${cases.replayed} replayed, ${cases.unchanged} of them without a new question${sampled ? `; ${cases.notDrawn} with new questions were not drawn` : ''}.`,
    `New questions cost $${usd.bill.toFixed(4)}, foretold $${usd.drawn.toFixed(4)}; all cases together, as foretold, $${usd.all.toFixed(4)}. A thousand verdicts cost ${dollars(usd.perThousand.before)} before and ${dollars(usd.perThousand.after)} after.`,
    ...(people.before.cases === 0
      ? []
      : [
          `People had decided ${people.before.cases} of them: ${people.before.hits} verdicts had their label before, ${people.after.hits} would have it after.`,
        ]),
  ]
}

/** How many cases can't be replayed, and why. */
export function leftOutSentences(leftOut: WhatIfReport['cases']['leftOut']): string[] {
  return Object.entries(LEFT_OUT).flatMap(([why, words]) => {
    const count = entryOf(leftOut, why) ?? 0
    return count === 0 ? [] : [`${count}: ${words}`]
  })
}

/** Its shares by part, each with the name of what it is a part of. */
export function whatIfParts({
  flips,
}: Pick<WhatIfReport, 'flips'>): { what: string; rows: { name: string; share: WhatIfShare }[] }[] {
  const parts = (of: WhatIfReport['flips']['labels'], absent = '') =>
    of.map(({ value, ...share }) => ({ name: value ?? absent, share }))
  return [
    {
      what: 'direction',
      rows: flips.directions.map(({ from, to, ...share }) => ({ name: `${named(from)} → ${named(to)}`, share })),
    },
    { what: 'label before', rows: parts(flips.labels, named(null)) },
    { what: 'clause cited, before or after', rows: parts(flips.clauses) },
    { what: 'language', rows: parts(flips.languages, 'none named') },
    { what: 'tenant', rows: parts(flips.tenants) },
  ].filter(({ rows }) => rows.length > 0)
}

export function percent(share: number): string {
  return `${(share * 100).toFixed(share > 0 && share < 0.1 ? 2 : 1)} %`
}

export function interval({ interval: { low, high } }: WhatIfShare): string {
  return `${percent(low)} to ${percent(high)}`
}

/** A label, or that there is none. */
export function named(label: string | null): string {
  return label ?? 'no label'
}
