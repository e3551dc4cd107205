import { counted } from '../../cli/terminal.ts'
import type { Verdict } from '../../contracts/facts/verdict.ts'

// The cells of a verdict in a table.

/** The label, or the unified score if the protocol gives no label. */
export function outcome({ label, scores, decidedBy }: Pick<Verdict, 'label' | 'scores' | 'decidedBy'>): string {
  if (label !== null) return label
  return decidedBy === 'none' ? 'no label' : `${(scores.unified ?? Number.NaN).toFixed(2)}`
}

export function how({ decidedBy, rounds, label }: Pick<Verdict, 'decidedBy' | 'rounds' | 'label'>): string {
  if (decidedBy === 'none') return 'not decided'
  const debated = rounds === 0 ? '' : `, ${counted(rounds, 'round')}`
  if (decidedBy === 'consensus') return rounds === 0 ? 'all agreed' : `debaters agreed${debated}`
  if (decidedBy === 'single') return 'by one opinion'
  if (decidedBy === 'scores' && label !== null) return 'nobody asked'
  return `by ${decidedBy}${debated}`
}

export function scoresOf({ scores }: Pick<Verdict, 'scores'>): string {
  const parts = Object.entries(scores).map(([name, score]) => `${name} ${Math.round(score * 100) / 100}`)
  return wrapped(parts.join(', '), 24)
}

/** Breaks a line between words. */
export function wrapped(text: string, width: number): string {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + word.length < width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines.join('\n')
}
