import { entryOf } from '../../contracts/facts/entry-of.ts'

export interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** The samples of one metric on a page in Prometheus' text format, in the page's order. */
export function samplesOf(page: string, metric: string): Sample[] {
  return [...page.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)/gm)].flatMap(([, name, labels = '', value]): Sample[] => {
    if (name !== metric) return []
    const found = labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)
    return [{ labels: Object.fromEntries([...found].map(([, label, text]) => [label, text])), value: Number(value) }]
  })
}

/** The sum over the metric's series that have these labels; undefined if there is none. */
export function sumOf(page: string, metric: string, labels: Readonly<Record<string, string>> = {}): number | undefined {
  const found = samplesOf(page, metric).filter((sample) =>
    Object.entries(labels).every(([label, text]) => entryOf(sample.labels, label) === text),
  )
  return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0)
}
