import type { Ask } from '../../contracts/facts/ask.ts'
import { OFF_SCALE } from '../../contracts/facts/scales.ts'
import { scaledNumbers, scalesOf } from '../../models/scales.ts'
import type { ScalePair } from './role-questions.ts'

/** A role in which a model's scores are on another scale than was asked for, or in the wrong order. */
export interface ScaleFault {
  readonly role: string
  readonly scales: readonly string[]
  readonly why: string
}

/** Asks a model a question; `why` says why it has no answer. */
type AskRole = (ask: Ask) => Promise<{ readonly answer: unknown; readonly why: string | null }>

/**
 * A plain text's score below this part of the scale, or above that one, is on another scale: readers of ten where a hundred were asked
 * for, or from 0 where from -1.
 */
const [LEAST_TOP, MOST_BOTTOM] = [0.2, 0.4]

/** Asks a role of a model about two plain texts; null where its scores are right, or where it gives none. */
export async function checkScale({ role, higher, lower }: ScalePair, askRole: AskRole): Promise<ScaleFault | null> {
  const scales = scalesOf(higher.ask.answer)
  const top = await positionOf(higher.ask, askRole)
  const bottom = await positionOf(lower.ask, askRole)
  const stray = [top, bottom].find((one) => typeof one === 'string')
  if (stray !== undefined) return { role, scales, why: stray }
  if (typeof top !== 'number' || typeof bottom !== 'number') return null
  if (top > bottom && top >= LEAST_TOP && bottom <= MOST_BOTTOM) return null
  const said = `${higher.text} got ${percent(top)} of the scale, and ${lower.text} ${percent(bottom)}`
  return { role, scales, why: said }
}

const percent = (share: number) => `${Math.round(share * 1_000) / 10} %`

/** The highest score, from 0 at the lowest to 1; what is wrong with it, if it is off its scale; null where there is none. */
async function positionOf(ask: Ask, askRole: AskRole): Promise<number | string | null> {
  const { answer, why } = await askRole(ask)
  if (why !== null) return why.includes(OFF_SCALE) ? why : null
  const scored = scaledNumbers(answer, ask.answer).filter(({ isAside }) => !isAside)
  return scored.length === 0 ? null : Math.max(...scored.map(({ position }) => position))
}
