import type { Clock } from '../contracts/ports/clock.ts'
import type { HistogramBin, RecordFilter, RecordReader } from '../contracts/ports/record.ts'
import { forNobody } from '../platform/asked-for.ts'
import { type SmallFigure, smallFigure } from './figures.ts'
import { TEXTS } from './texts.ts'
import { html, moment, NOTHING, type SafeMarkup, shown } from './view.ts'

/** Of so many quarters of an hour a strip tells, of so many labels each by itself, and of so many verdicts at most. */
const [WIDTH_MS, QUARTERS, MOST_LABELS, MOST_VERDICTS] = [900_000, 24, 3, 20_000]
/** For so long a strip is shown again as it is, in ms; most that are remembered. */
const [KEPT_MS, MOST_KEPT] = [15_000, 200]

interface StripParts {
  readonly record: Pick<RecordReader, 'histogram'>
  readonly clock: Clock
}

/** How many posts, verdicts and labels came in each of the last quarters of an hour, and how many were contested. */
export function quarterStrips({ record, clock }: StripParts) {
  const kept = new Map<string, { readonly until: number; readonly strip: Promise<SafeMarkup> }>()
  return ({ tenants, protocol }: Pick<RecordFilter, 'tenants' | 'protocol'>): Promise<SafeMarkup> => {
    const now = clock()
    const name = JSON.stringify([tenants ?? null, protocol ?? null])
    const known = kept.get(name)
    if (known !== undefined && known.until > now) return known.strip
    const filter = { tenants, ...(protocol === undefined ? {} : { protocol }) }
    const strip = forNobody(() => stripOf(filter, now))
    kept.delete(name)
    kept.set(name, { until: now + KEPT_MS, strip })
    for (const oldest of kept.keys()) if (kept.size > MOST_KEPT) kept.delete(oldest)
    strip.catch(() => kept.delete(name))
    return strip
  }

  async function stripOf(filter: RecordFilter, now: number): Promise<SafeMarkup> {
    const since = (Math.floor(now / WIDTH_MS) - QUARTERS + 1) * WIDTH_MS
    const of = { width: WIDTH_MS, most: MOST_VERDICTS }
    const { bins, subjects, isCut } = await record.histogram({ ...filter, standing: true, since }, of)
    const all = Array.from({ length: QUARTERS }, (_, nth) => {
      const at = since + nth * WIDTH_MS
      return bins.find((bin) => bin.at === at) ?? { at, verdicts: 0, subjects: 0, contested: 0, labels: [] }
    })
    return stripMarkup(figuresOf(all, subjects), all, { now, isCut })
  }
}

function stripMarkup(
  figures: readonly StripFigure[],
  bins: readonly HistogramBin[],
  { now, isCut }: { now: number; isCut: boolean },
): SafeMarkup {
  const { strip } = TEXTS
  return html`<section class="strip" aria-labelledby="strip"><h2 id="strip">${strip.title} <span class="since">${strip.until} ${moment(now)}${isCut ? ` · ${strip.cut(MOST_VERDICTS)}` : ''}</span></h2>
<div class="small-figures">${figures.map(smallFigure)}</div>
<details><summary>${strip.table}</summary><div class="scrolls" tabindex="0"><table><thead><tr><th scope="col">${strip.from}</th>${figures.map(({ name }) => html`<th scope="col" class="number">${shown(name, 30)}</th>`)}</tr></thead>
<tbody>${bins.map(({ at, verdicts }, nth) => (verdicts === 0 ? NOTHING : html`<tr><th scope="row">${moment(at)}</th>${figures.map(({ told }) => html`<td class="number">${told[nth] ?? ''}</td>`)}</tr>`))}</tbody></table></div></details></section>`
}

interface StripFigure extends SmallFigure {
  /** Each value in words. */
  readonly told: readonly string[]
}

/** `subjects`: posts and replies in all; one may have verdicts in several quarters. */
function figuresOf(bins: readonly HistogramBin[], subjects: number): StripFigure[] {
  const { strip } = TEXTS
  const counted = (name: string, values: readonly number[]): StripFigure => ({
    name,
    values,
    value: String(sumOf(values)),
    most: strip.most(Math.max(...values)),
    told: values.map(String),
  })
  const labels = labelsIn(bins)
  const ofLabel = (label: string | null) =>
    bins.map((bin) => sumOf(bin.labels.filter((one) => one.label === label).map(({ verdicts }) => verdicts)))
  const others = labels.slice(MOST_LABELS).map(ofLabel)
  const shares = bins.map(({ contested, verdicts }) => (verdicts === 0 ? 0 : contested / verdicts))
  const [verdicts, contested] = [sumOf(bins.map((bin) => bin.verdicts)), sumOf(bins.map((bin) => bin.contested))]
  return [
    {
      ...counted(
        strip.posts,
        bins.map((bin) => bin.subjects),
      ),
      value: String(subjects),
    },
    counted(
      strip.verdicts,
      bins.map((bin) => bin.verdicts),
    ),
    {
      name: strip.contested,
      values: shares,
      full: 1,
      value: percent(verdicts === 0 ? 0 : contested / verdicts),
      most: '',
      told: shares.map(percent),
    },
    ...labels.slice(0, MOST_LABELS).map((label) => counted(label ?? TEXTS.row.noLabel, ofLabel(label))),
    ...(others.length === 0
      ? []
      : [
          counted(
            strip.others,
            bins.map((_, at) => sumOf(others.map((values) => values[at] ?? 0))),
          ),
        ]),
  ]
}

/** The most frequent first. */
function labelsIn(bins: readonly HistogramBin[]): (string | null)[] {
  const counts = new Map<string | null, number>()
  for (const { labels } of bins)
    for (const { label, verdicts } of labels) counts.set(label, (counts.get(label) ?? 0) + verdicts)
  return [...counts]
    .toSorted(([a, one], [b, other]) => other - one || ((a ?? '') < (b ?? '') ? -1 : 1))
    .map(([label]) => label)
}

const percent = (share: number) => `${Math.round(share * 100)} %`
const sumOf = (values: readonly number[]) => values.reduce((sum, one) => sum + one, 0)
