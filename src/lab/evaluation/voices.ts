import { entryOf } from '../../contracts/facts/entry-of.ts'
import type { EvaluationCell } from './evaluation.ts'

/** Of one voice (a perspective, an aspect): on how many items it said the same in two rows, of those on which it spoke in both. */
export interface VoiceAgreement {
  readonly name: string
  readonly same: number
  readonly of: number
}

/** How often each voice of a row gives the same answer in another; empty where they have none in common. */
export function agreementOfVoices(
  row: Pick<EvaluationCell, 'outcomes'>,
  other: Pick<EvaluationCell, 'outcomes'>,
): VoiceAgreement[] {
  const others = new Map(other.outcomes.map(({ id, voices }) => [id, voices ?? {}]))
  const counts = new Map<string, { same: number; of: number }>()
  for (const { id, voices = {} } of row.outcomes)
    for (const [name, label] of Object.entries(voices)) {
      const before = entryOf(others.get(id) ?? {}, name)
      if (before === undefined) continue
      const { same, of } = counts.get(name) ?? { same: 0, of: 0 }
      counts.set(name, { same: same + (before === label ? 1 : 0), of: of + 1 })
    }
  return [...counts].map(([name, count]) => ({ name, ...count }))
}
