import { entryOf } from '../../../contracts/facts/entry-of.ts'
import type { Evaluation, EvaluationCell } from '../evaluation.ts'
import { foreign, html, type Markup } from './markup.ts'
import { tableOf } from './sections.ts'

/** Reasons that are named, of those for which verdicts of a row are degraded. */
const MOST_REASONS = 12

/** What was read, shown to the judges and left out: of each data set, and of each row. */
export function countsSection({ data, table }: Evaluation): Markup {
  const judged = table.filter(({ why }) => why === null)
  const left = [...new Set(judged.flatMap(({ counts }) => Object.keys(counts.commentsLeftOut)))].filter((why) =>
    judged.some(({ counts }) => (entryOf(counts.commentsLeftOut, why) ?? 0) > 0),
  )
  const head = ['row', 'data', 'items', 'comments', 'judged', ...left.map((why) => `left out: ${why}`)]
  return html`
<h2>What was shown, and what was left out</h2>
<ul>${data.map(
    ({ name, format, items, leftOut, unreadable }) =>
      html`<li>${foreign(name, 120)} (${format}): ${items} items judged, ${unreadable} lines unreadable, ${leftOutText(leftOut)}.</li>`,
  )}</ul>
${tableOf(
  {
    head: [...head, 'refused', 'degraded', 'no verdict', 'held out: itself', 'held out: nearly its text'],
    rows: judged.map(({ row, data: name, counts }) => [
      row,
      name,
      String(counts.items),
      String(counts.comments),
      String(counts.commentsJudged),
      ...left.map((why) => String(entryOf(counts.commentsLeftOut, why) ?? 0)),
      ...[counts.refused, counts.degraded, counts.noVerdict, counts.heldOutOwn, counts.heldOutNearDuplicates].map(
        String,
      ),
    ]),
  },
  'What was shown and left out',
)}
${judged.slice(0, 1).map(degradedBy)}`
}

function leftOutText(leftOut: Readonly<Record<string, number>>): string {
  const reasons = Object.entries(leftOut).map(([why, count]) => `${count} ${why}`)
  return reasons.length === 0 ? 'none left out' : `left out ${reasons.join(', ')}`
}

/** Why the verdicts of a row are degraded, the most frequent first. */
function degradedBy({ row, outcomes }: EvaluationCell): Markup {
  const reasons = [
    ...Map.groupBy(
      outcomes.flatMap(({ degraded }) => degraded),
      (why) => why,
    ),
  ]
    .map(([why, all]) => ({ why, times: all.length }))
    .sort((one, other) => other.times - one.times)
  if (reasons.length === 0) return html``
  const rest = reasons.length - MOST_REASONS
  return html`<details><summary>Why verdicts of ${row} are degraded: ${reasons.length} ${reasons.length === 1 ? 'reason' : 'reasons'}</summary>
<ul>${reasons.slice(0, MOST_REASONS).map(({ why, times }) => html`<li>${times} times: ${foreign(why, 300)}</li>`)}
${rest > 0 ? html`<li>and ${rest} more reasons</li>` : ''}</ul></details>`
}
