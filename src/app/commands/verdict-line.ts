import type { Tone, TonedText } from '../../cli/drawing.ts'
import { type Drawing, paragraph, printable, printableSentence } from '../../cli/terminal.ts'
import { entryOf } from '../../contracts/facts/entry-of.ts'
import type { Verdict } from '../../contracts/facts/verdict.ts'
import { PROTOCOLS } from '../../protocols/registry.ts'

/** What happened to the comments, if there were any: `18 of 23 comments (cap 2, late 3)`. */
export function commentsJudged({ counts: { accepted, judged, leftOut } }: Pick<Verdict, 'counts'>): string[] {
  if (accepted === 0) return []
  const reasons = Object.entries(leftOut).flatMap(([reason, count]) => (count === 0 ? [] : [`${reason} ${count}`]))
  return [`${judged} of ${accepted} comments${reasons.length === 0 ? '' : ` (${reasons.join(', ')})`}`]
}

/** What a verdict without a label is called, where nothing was decided. */
const WITHOUT_LABEL: Readonly<Record<string, string>> = { none: 'undecided', deleted: 'deleted', veto: 'no label' }

/** How much attention a verdict's label needs: some if it names harm, or if nothing could be decided. */
export function toneOf({
  protocol,
  label,
  decidedBy,
}: Pick<Verdict, 'protocol' | 'label' | 'decidedBy'>): Tone | undefined {
  if (decidedBy === 'none') return 'warning'
  if (label === null) return undefined
  const { labels } = PROTOCOLS.find(({ name }) => name === protocol) ?? {}
  if (label === labels?.harmful) return 'bad'
  return label === labels?.harmless ? 'good' : undefined
}

/** A verdict as one line for a person, with the beginning of what was judged where that is known. */
export function verdictLine(of: Verdict, words = ''): Drawing {
  const degraded = of.degraded.map((text) => printableSentence(text, 80)).join('; ')
  const final = of.final ? ' final' : ''
  const scores = Object.entries(of.scores).map(
    ([name, score]) => `${printable(name, 30)} ${Math.round(score * 1000) / 1000}`,
  )
  const label = of.label === null ? (entryOf(WITHOUT_LABEL, of.decidedBy) ?? 'scored') : printable(of.label, 30)
  const parts: TonedText[] = [
    `${printable(of.id, 60)}${final}`,
    { text: label, tone: toneOf(of) },
    `by ${of.decidedBy}${of.decidedBy === 'veto' && of.veto !== undefined ? ` (${printable(of.veto.list, 64)})` : ''}`,
    ...(scores.length === 0 ? [] : [scores.join(', ')]),
    ...commentsJudged(of),
    `${of.usage.calls} calls`,
    ...(degraded === '' ? [] : [{ text: `[${degraded}]`, tone: 'warning' as const }]),
    ...(words === '' ? [] : [{ text: `"${printable(words, 60)}"`, tone: 'faint' as const }]),
  ]
  const at: TonedText = { text: `${printable(of.timing.decidedAt, 30)}  `, tone: 'faint' }
  return paragraph(at, ...parts.flatMap((part, at) => (at === 0 ? [part] : ['  ', part])))
}
