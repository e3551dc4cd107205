import { entryOf } from '../service/domain/entry-of.ts'
import type { Verdict } from '../service/domain/verdict.ts'
import { printable } from './terminal.ts'

/** What happened to the comments, if there were any: `18 of 23 comments (cap 2, late 3)`. */
export function commentsJudged({ counts: { accepted, judged, leftOut } }: Pick<Verdict, 'counts'>): string[] {
  if (accepted === 0) return []
  const reasons = Object.entries(leftOut).flatMap(([reason, count]) => (count === 0 ? [] : [`${reason} ${count}`]))
  return [`${judged} of ${accepted} comments${reasons.length === 0 ? '' : ` (${reasons.join(', ')})`}`]
}

/** What a verdict without a label is called, where nothing was decided. */
const WITHOUT_LABEL: Readonly<Record<string, string>> = { none: 'undecided', deleted: 'deleted' }

/** A verdict as one line for a person. */
export function verdictLine(of: Verdict): string {
  const degraded = of.degraded.length === 0 ? '' : `  [${of.degraded.map((text) => printable(text, 80)).join('; ')}]`
  const final = of.final ? ' final' : ''
  const scores = Object.entries(of.scores).map(
    ([name, score]) => `${printable(name, 30)} ${Math.round(score * 1000) / 1000}`,
  )
  const parts = [
    printable(of.timing.decidedAt, 30),
    `${printable(of.id, 60)}${final}`,
    of.label === null ? (entryOf(WITHOUT_LABEL, of.decidedBy) ?? 'scored') : printable(of.label, 30),
    `by ${of.decidedBy}`,
    ...(scores.length === 0 ? [] : [scores.join(', ')]),
    ...commentsJudged(of),
    `${of.usage.calls} calls${degraded}`,
  ]
  return parts.join('  ')
}
