import type { BadLine } from './file-message.ts'

/**
 * What becomes of texts that stand in a file several times with different labels: `keep` takes each as it is, `leave-out` none of them,
 * `majority` one with the label of most, and none where no label has most.
 */
export const CONTRADICTIONS = ['keep', 'leave-out', 'majority'] as const
export type Contradictions = (typeof CONTRADICTIONS)[number]

interface Labelled {
  readonly line: number
  readonly textKey?: string
  readonly label: string | null
  readonly why?: string
  readonly annotations?: readonly string[] | undefined
}

/** Contradictions that are named one by one. */
const NAMED = 10

/** The items, with a reason beside those that are left out. Each text with several labels is reported to `bad`, up to ten by name. */
export function withoutContradictions<Item extends Labelled>(
  items: readonly Item[],
  how: Contradictions,
  bad: (line: BadLine) => void,
): Item[] {
  const texts = Map.groupBy(
    items.filter(({ label, why, textKey }) => label !== null && why === undefined && textKey !== undefined),
    ({ textKey }) => textKey,
  )
  const contradicted = [...texts.values()].filter((same) => new Set(same.map(({ label }) => label)).size > 1)
  const replaced = new Map<Item, Item>()
  for (const [nth, same] of contradicted.entries()) {
    const [first, ...others] = same as [Item, ...Item[]]
    const [most, second] = labelsOf(same)
    const isDecided = how === 'majority' && most !== undefined && most.count > (second?.count ?? 0)
    const outcome = how === 'majority' && !isDecided ? '; left out, because no label has a majority' : OUTCOME[how]
    if (nth < NAMED) bad({ line: first.line, why: `${describeLabels(same)}${outcome}`, read: true })
    else if (nth === NAMED)
      bad({ line: first.line, why: `and ${contradicted.length - NAMED} more texts have several labels`, read: true })
    if (how === 'keep') continue
    const annotations = same.flatMap(({ label }) => label ?? [])
    if (isDecided) replaced.set(first, { ...first, label: most.label, annotations })
    for (const item of isDecided ? others : same)
      replaced.set(item, { ...item, why: isDecided ? 'same text as another item' : 'contradicting labels of one text' })
  }
  return items.map((item) => replaced.get(item) ?? item)
}

function labelsOf(same: readonly Labelled[]) {
  return [...Map.groupBy(same, ({ label }) => label ?? '')]
    .map(([label, of]) => ({ label, count: of.length, line: of[0]?.line ?? 0 }))
    .sort((one, other) => other.count - one.count)
}

function describeLabels(same: readonly Labelled[]): string {
  const labels = labelsOf(same).map(
    ({ label, count, line }) => `${label} ${count === 1 ? `in line ${line}` : `${count} times`}`,
  )
  return `has several labels in the file: ${labels.join(', ')}`
}

const OUTCOME: Record<Contradictions, string> = {
  keep: '; each counts (--contradictions leave-out or majority)',
  'leave-out': '; left out',
  majority: '; the majority counts',
}
