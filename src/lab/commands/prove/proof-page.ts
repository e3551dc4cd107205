import { type Evaluation, type EvaluationCell, estimateOf } from '../../evaluation/evaluation.ts'
import type { TextTable } from '../../evaluation/report/cells.ts'
import { foreign, html } from '../../evaluation/report/markup.ts'
import { framedPage } from '../../evaluation/report/page-frame.ts'
import { tableOf } from '../../evaluation/report/sections.ts'
import type { Estimate } from '../../evaluation/statistics/intervals.ts'
import { points, withInterval } from '../../evaluation/summary.ts'
import type { PublicSet } from './public-sets.ts'

/** What one row of a protocol is worth. */
interface ProofRow {
  readonly row: string
  /** `accuracy` and `macroF1`, or Spearman's ρ of each aspect. */
  readonly quality: Readonly<Record<string, Estimate>>
  /** Share of items without a label; null where there are none to give. */
  readonly withoutLabel: number | null
  /** Of an item: what it costs, its calls, those that wait for one another, and how long all of them took together. */
  readonly usd: number
  readonly calls: number
  readonly sequence: number
  readonly seconds: number | null
}

/** A protocol on a public data set. */
export interface ProofPart {
  readonly protocol: string
  readonly data: string
  readonly licence: string
  readonly items: number
  readonly models: readonly string[]
  readonly rows: readonly ProofRow[]
  /** What all its answers cost, those kept from an earlier run among them. */
  readonly usd: number
  /** What the figures say and what they can't, a sentence each. */
  readonly unsure: readonly string[]
}

/** What the protocols are worth, by `gavel prove`. */
export interface Proof {
  readonly schema: 1
  readonly gavel: string
  readonly budget: number
  readonly usd: number
  readonly parts: readonly ProofPart[]
  /** Protocols whose data set was not there, and the way to it. */
  readonly missing: readonly Pick<PublicSet, 'protocol' | 'file' | 'get'>[]
}

export function partOf({ protocol, file, licence }: PublicSet, { table, summary }: Evaluation): ProofPart {
  return {
    protocol,
    data: file,
    licence,
    items: table[0]?.counts.items ?? 0,
    models: [...new Set(table.flatMap(({ models }) => models))].sort(),
    rows: table.filter(({ why }) => why === null).map(rowOf),
    usd: costOf(table),
    unsure: summary,
  }
}

/** What the answers of these cells cost. */
export function costOf(table: readonly EvaluationCell[]): number {
  return table.reduce((sum, { perItem, outcomes }) => sum + perItem.costUsd * outcomes.length, 0)
}

function rowOf(cell: EvaluationCell): ProofRow {
  const { row, labels, aspects, perItem, tookMs, outcomes } = cell
  const measures = [
    ...(labels === null ? [] : (['accuracy', 'macroF1'] as const)),
    ...aspects.map(({ aspect }) => `spearman:${aspect}` as const),
  ]
  return {
    row,
    quality: Object.fromEntries(
      measures.flatMap((measure) => {
        const estimate = estimateOf(cell, measure)
        return estimate === null ? [] : [[measure, estimate]]
      }),
    ),
    withoutLabel: labels === null || labels.coverage === null ? null : 1 - labels.coverage,
    usd: perItem.costUsd,
    calls: perItem.calls,
    sequence: perItem.sequence,
    seconds: tookMs === null || outcomes.length === 0 ? null : tookMs / 1000 / outcomes.length,
  }
}

/** A line for each row and figure. */
export function proofTable({ parts }: Pick<Proof, 'parts'>): TextTable {
  const head = [
    'protocol',
    'data',
    'items',
    'row',
    'figure',
    'is',
    'no label',
    'USD for 1,000',
    'calls',
    'in turn',
    'seconds',
  ]
  const rows = parts.flatMap(({ protocol, data, items, rows: all }) =>
    all.flatMap(({ row, quality, withoutLabel, usd, calls, sequence, seconds }) =>
      Object.entries(quality).map(([measure, estimate], at) => [
        protocol,
        data,
        String(items),
        row,
        measure,
        withInterval(estimate),
        ...(at > 0
          ? ['', '', '', '', '']
          : [
              withoutLabel === null ? '' : points(withoutLabel),
              (usd * 1000).toFixed(3),
              calls.toFixed(1),
              sequence.toFixed(1),
              seconds === null ? '–' : seconds.toFixed(2),
            ]),
      ]),
    ),
  )
  return { head, rows }
}

/** The proof as one page, which needs nothing else and holds no text of a data set. */
export function proofPage(proof: Proof): string {
  const { gavel, budget, usd, parts, missing } = proof
  const body = html`<p class="note">Gavel ${gavel}, ${parts.length} ${parts.length === 1 ? 'protocol' : 'protocols'}, $${usd.toFixed(2)} of $${budget.toFixed(2)}.</p>
${tableOf(proofTable(proof), 'Quality, cost and latency')}
<p class="note">Points with 95 % intervals; all else is an item’s. Seconds are those of its calls together; calls in turn wait for one another. Each protocol’s whole report is in the folder of its name.</p>
${parts.map(
  ({ protocol, data, licence, models, unsure }) => html`
<h2>What is unsure: ${protocol}</h2>
<p class="note">${data} (${licence}). Models: ${foreign(models.join(', '), 300)}.</p>
<ul>${unsure.map((sentence) => html`<li>${foreign(sentence)}</li>`)}</ul>`,
)}
${missing.length === 0 ? '' : html`<h2>Not tried</h2><ul>${missing.map(({ protocol, file, get }) => html`<li>${protocol}: ${file} was not there. ${get}</li>`)}</ul>`}`
  return framedPage('What the protocols are worth', body)
}
