import type { Ask } from '../../contracts/facts/ask.ts'
import { OFF_SCALE } from '../../contracts/facts/scales.ts'
import { OF_HUNDRED } from '../../door/scoring/attributes.ts'
import { scaledNumbers, scalesOf } from '../../models/scales.ts'
import type { PlainPair } from './role-questions.ts'

/** A role in which a model's scores are on another scale than was asked for, or its answers in the wrong order. */
export interface ScaleFault {
  readonly role: string
  /** The scales of its form; none where it answers in words. */
  readonly scales: readonly string[]
  readonly why: string
}

/** A role in which a model keeps to the scales of its form. */
export interface RightScale {
  readonly scales: readonly string[]
  readonly why: null
}

/** Asks a model a question; `why` says why it has no answer. */
type AskRole = (ask: Ask) => Promise<{ readonly answer: unknown; readonly why: string | null }>

/**
 * A plain text's score below this part of the scale, or above that one, is on another scale: readers of ten where a hundred were asked
 * for, or from 0 where from -1.
 */
const [LEAST_TOP, MOST_BOTTOM] = [0.2, 0.4]

/** Asks a role of a model about two plain texts; null where it gives no answer that says anything of it. */
export async function checkScale(
  { role, higher, lower }: PlainPair,
  askRole: AskRole,
): Promise<ScaleFault | RightScale | null> {
  const scales = scalesOf(higher.ask.answer)
  const words = { high: higher.words, low: lower.words }
  const [top, bottom] = await Promise.all([higher, lower].map(({ ask }) => positionOf(ask, words, askRole)))
  const stray = [top, bottom].find((one) => typeof one === 'string')
  if (stray !== undefined) return { role, scales, why: stray }
  if (typeof top !== 'number' || typeof bottom !== 'number') return null
  if (scales.length === 0) {
    // Who answers both alike, or one as expected, may have reasons.
    if (top > 0 || bottom < 1) return { scales, why: null }
    return { role, scales, why: `${higher.text} got the word for ${lower.text}, and the other way round` }
  }
  if (top > bottom && top >= LEAST_TOP && bottom <= MOST_BOTTOM) return { scales, why: null }
  const said = `${higher.text} got ${percent(top)} of the scale, and ${lower.text} ${percent(bottom)}`
  return { role, scales, why: said }
}

/** Whether an answer was not read because its numbers are on another scale. */
export function isOffScale(why: string): boolean {
  return why.includes(OFF_SCALE) || why.includes(OF_HUNDRED)
}

const percent = (share: number) => `${Math.round(share * 1_000) / 10} %`

/**
 * The highest score, from 0 at the lowest to 1; in a form of words 1 for the higher text's, 0 for the lower's. What is wrong with it, if
 * it is off its scale; null where it says nothing.
 */
async function positionOf(
  ask: Ask,
  words: { readonly high: readonly string[]; readonly low: readonly string[] },
  askRole: AskRole,
): Promise<number | string | null> {
  const { answer, why } = await askRole(ask)
  if (why !== null) return isOffScale(why) ? why : null
  const scored = scaledNumbers(answer, ask.answer).filter(({ isAside }) => !isAside)
  if (scored.length > 0) return Math.max(...scored.map(({ position }) => position))
  const said = typeof answer === 'object' && answer !== null ? Object.values(answer) : []
  const sides = said.flatMap((one) => {
    const word = typeof one === 'string' ? one.toLowerCase() : ''
    return words.high.includes(word) ? [1] : words.low.includes(word) ? [0] : []
  })
  return sides[0] ?? null
}
